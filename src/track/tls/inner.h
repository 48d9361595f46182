/*
 * What openssl.c and gnutls.c share.
 */
#ifndef TRACK_TLS_INNER_H
#define TRACK_TLS_INNER_H

#include "track/flow/fdtable.h"
#include "track/tls/tls.h"
#include "track/tls/ties.h"

#define TLS_NONE FD_UPPER /* in a tie: the object's connection is not followed */

/* Whose ClientHello had this random? Its connection is taken over. 0: nobody's that was seen. */
uint64_t tls_find(const uint8_t random[TLS_RANDOM]);
/* A handshake of the object's is over, in which this was its client's random: whose is it? */
void tls_settle(struct tls_use *use, const uint8_t random[TLS_RANDOM]);

/* Is this object's library at work on it by itself (tls_silence)? */
bool tls_is_silent(const void *object);
void tls_end_silence(void);

/* The mark of a tie whose connection is still there; 0: it has none. */
uint64_t tls_alive(uint64_t tie);

#endif
