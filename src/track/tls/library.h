/*
 * The TLS libraries of this process, OpenSSL's and GnuTLS's: a program and its modules may use several at once, of
 * several versions. Which of them a call is meant for is told by the object that calls (real_by_caller), and remembered for
 * each place in it that calls: found again without a lock.
 *
 * Where that cannot be told (a function that jumps to its callee hides its object) it is the one that the TLS object was
 * seen with, or the only one there is. If there is none at all, calls fail as the library's own do.
 */
#ifndef TRACK_TLS_LIBRARY_H
#define TRACK_TLS_LIBRARY_H

#include <gnutls/gnutls.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

/* Those that are hooked; those that we ask. */
#define TLS_OPENSSL(FUNCTION)                                                                                          \
    FUNCTION(SSL_free)                                                                                                 \
    FUNCTION(SSL_clear)                                                                                                \
    FUNCTION(SSL_connect)                                                                                              \
    FUNCTION(SSL_do_handshake)                                                                                         \
    FUNCTION(SSL_read)                                                                                                 \
    FUNCTION(SSL_read_ex)                                                                                              \
    FUNCTION(SSL_write)                                                                                                \
    FUNCTION(SSL_write_ex)                                                                                             \
    FUNCTION(SSL_write_early_data)                                                                                     \
    FUNCTION(SSL_shutdown)                                                                                             \
    FUNCTION(SSL_get_verify_result)                                                                                    \
    FUNCTION(SSL_get_early_data_status)                                                                                \
    FUNCTION(SSL_is_server)                                                                                            \
    FUNCTION(SSL_is_init_finished)                                                                                     \
    FUNCTION(SSL_want)                                                                                                 \
    FUNCTION(SSL_get_client_random)                                                                                    \
    FUNCTION(SSL_get_error)

#define TLS_GNUTLS(FUNCTION)                                                                                           \
    FUNCTION(gnutls_init)                                                                                              \
    FUNCTION(gnutls_deinit)                                                                                            \
    FUNCTION(gnutls_handshake)                                                                                         \
    FUNCTION(gnutls_record_send)                                                                                       \
    FUNCTION(gnutls_record_send2)                                                                                      \
    FUNCTION(gnutls_record_uncork)                                                                                     \
    FUNCTION(gnutls_record_recv)                                                                                       \
    FUNCTION(gnutls_record_recv_seq)                                                                                   \
    FUNCTION(gnutls_bye)                                                                                               \
    FUNCTION(gnutls_certificate_verify_peers2)                                                                         \
    FUNCTION(gnutls_certificate_verify_peers3)                                                                         \
    FUNCTION(gnutls_session_get_random)                                                                                \
    FUNCTION(gnutls_error_is_fatal)

#define TLS_MEMBER(name) __typeof__(name) *(name);

/* Functions of one library; none is NULL: what it lacks fails. */
struct tls_library {
    uint8_t number;     /* from 1 */
    bool complete;      /* it has all that it takes to know whose connection an object has */
    uintptr_t from, to; /* where it lies */
    union {
        struct {
            TLS_OPENSSL(TLS_MEMBER)
        };
        struct {
            TLS_GNUTLS(TLS_MEMBER)
        };
    };
};

/*
 * The library that a hook of OpenSSL's (GnuTLS's) stands in for; caller: the hook's return address. object: the TLS object
 * that is used, or NULL. Never NULL. Asks the dynamic loader, which may allocate and lock, once for each caller.
 */
const struct tls_library *tls_openssl(const void *caller, const void *object);
const struct tls_library *tls_gnutls(const void *caller, const void *object);

/*
 * A real function is about to be called that may end by jumping to another one which is hooked: that hook then seems to be
 * called by ours, and is to find the same library. Returns it.
 */
const struct tls_library *tls_enter(const struct tls_library *library);

/* Does the library call itself, by such a jump or plainly? */
bool tls_calls_itself(const struct tls_library *library, const void *caller);

#endif
