/*
 * What a program says and hears through a TLS library, in the clear: ties the library's object to the connection that it
 * talks over (ties.h), and hands the plaintext to it (plain.h).
 *
 * Objects of servers are never tied, nor those whose connection is not followed (a layer above has it, or no rule names it).
 * Of the library nothing is asked that could change it or its queue of errors; errno is as the real call left it.
 */
#ifndef TRACK_TLS_TLS_H
#define TRACK_TLS_TLS_H

#include "track/tls/library.h"
#include <stddef.h>
#include <sys/types.h>

/* One call of a function, under way. */
struct tls_use {
    const struct tls_library *real;
    const void *object;
    uint64_t mark; /* of its connection; 0: none that is followed, as far as is known */
    bool settled;  /* and there is nothing more to find out */
};

/* Before the real call; caller: the hook's return address. */
struct tls_use tls_openssl_use(SSL *ssl, const void *caller);
struct tls_use tls_gnutls_use(gnutls_session_t session, const void *caller);

/* The program is about to write: a request that is not to go out is refused by the connection below (plain_ask). */
void tls_ask(const struct tls_use *use, const void *bytes, size_t length);

/* After it, with its result, which they return. `moved`: bytes written or read, valid if it went well. */
int tls_openssl_shaken(struct tls_use *use, int result);
/* The program asked what to think of the server's certificate. */
long tls_openssl_verified(const struct tls_use *use, long result);
/* Before the handshake was over: what the server may turn down. */
int tls_openssl_early(struct tls_use *use, const void *bytes, const size_t *moved, int result);
int tls_openssl_wrote(struct tls_use *use, const void *bytes, const size_t *moved, int result);
int tls_openssl_read(struct tls_use *use, const void *bytes, const size_t *moved, int result);

/* A session was made; returns 0. */
int tls_gnutls_made(const struct tls_use *use, gnutls_session_t session, unsigned flags);
int tls_gnutls_shaken(struct tls_use *use, int result);
ssize_t tls_gnutls_wrote(const struct tls_use *use, const void *bytes, size_t length, ssize_t result);
int tls_gnutls_verified(const struct tls_use *use, const unsigned *status, int result);
int tls_gnutls_uncorked(const struct tls_use *use, int result);
ssize_t tls_gnutls_read(const struct tls_use *use, const void *bytes, size_t wanted, ssize_t result);

/*
 * Until the real call is back (and the function that is told of that ends it), what the library does with the object by
 * functions that are hooked is its own affair. For this thread.
 */
void tls_silence(const struct tls_use *use);

/* The program says goodbye. */
void tls_finishing(const struct tls_use *use);

#endif
