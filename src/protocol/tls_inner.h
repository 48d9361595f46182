/*
 * What the two parts of the TLS parser share: tls_hello.c walks hellos, tls_records.c the records around and after
 * them.
 */
#ifndef PROTOCOL_TLS_INNER_H
#define PROTOCOL_TLS_INNER_H

#include "protocol/tls.h"

enum tls_type {
    TLS_CHANGE_CIPHER = 20,
    TLS_ALERTS = 21,
    TLS_HANDSHAKE = TLS_FIRST_BYTE,
    TLS_DATA = 23,
    TLS_HEARTBEAT = 24
};

/* A record's plaintext is at most this long, its ciphertext (of TLS 1.2) at most that. */
#define TLS_PLAIN_MAX  (1u << 14)
#define TLS_CIPHER_MAX (TLS_PLAIN_MAX + 2048)

void tls_walk_begin(struct tls_walk *walk);

/*
 * One byte of a hello message. hello: takes a ClientHello's name and random, and then it is a ClientHello; NULL: it is
 * a ServerHello. Returns true when it is over, well or badly.
 */
bool tls_walk_feed(struct tls_walk *walk, struct tls_hello *hello, uint8_t byte);
/* It was walked to its end. / It is no hello. */
bool tls_walk_done(const struct tls_walk *walk);
bool tls_walk_bad(const struct tls_walk *walk);

#endif
