/*
 * A connection whose bytes on the wire are not to be read any more, since a TLS library says what they mean: from when its
 * handshake is over its exchange is fed with plaintext. What moves on the wire then is a sign of life and no more; how the
 * connection ends is judged by what the library tells the program, or when that gives it up.
 *
 * Refusing: no result of the library is made up. A connection whose next request is not to go out is doomed; whatever
 * writes to it next, within the library's own call or (memory BIOs) after it, is refused on the wire (traffic_ask).
 *
 * All of it async-signal-safe, and leaves errno alone.
 */
#ifndef TRACK_TLS_PLAIN_H
#define TRACK_TLS_PLAIN_H

#include "protocol/tls.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A handshake is over whose ClientHello had this random: is it this connection's? Then it is read in the clear from now on. */
bool plain_begin(uint64_t mark, const uint8_t random[TLS_RANDOM]);

/* The client was told not to trust the server. If it leaves without another word, that is why. */
void plain_untrusted(uint64_t mark);
/* What is sent next goes out before the handshake is over; it is over, and the server took that, or did not. */
void plain_early(uint64_t mark);
void plain_shaken(uint64_t mark, bool taken);

/* Before the library is given bytes to send. */
void plain_ask(uint64_t mark, const void *bytes, size_t length);
/* It has them, and wants to be asked again for its result, perhaps without them. */
void plain_took(uint64_t mark, const void *bytes, size_t length);
/* It sent so many of them; bytes NULL: of those that it had. */
void plain_sent(uint64_t mark, const void *bytes, size_t length);
void plain_received(uint64_t mark, const void *bytes, size_t length);

/*
 * The library had nothing to read (true: nor will there be anything, the connection has ended beneath it); the peer said
 * goodbye; nothing more can be read, since the connection is at its end, or (alert) since what came over it said so.
 */
bool plain_waits(uint64_t mark);
void plain_closed(uint64_t mark);
void plain_broken(uint64_t mark, bool alert);
/* The client says goodbye. */
void plain_finishing(uint64_t mark);

#endif
