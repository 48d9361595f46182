/*
 * See exchange.h: a protocol that cannot be read. That bytes move, and which way, is all there is to go by: what the
 * client writes when nothing is outstanding begins a turn, the server's first byte after that ends it. A server may speak
 * first, which ends the call that its connection is; what it says later when nothing was asked is the rest of an answer,
 * or news that a client has subscribed to.
 *
 * Some protocols become another one on the way: HTTP/2 announces itself, and TLS begins with a ClientHello after a few
 * words in the clear (PostgreSQL, MySQL, STARTTLS).
 */
#include "track/exchange/inner.h"
#include <string.h>

/* MySQL's client says in 36 bytes that it wants TLS, and has its ClientHello follow without waiting. */
#define OPENING 64

/* What HTTP/2 begins with when the other side has agreed to it (h2c). */
static const uint8_t preface[] = {'P', 'R', 'I', ' ', '*'};

bool exchange_opaque_pass(struct exchange *exchange, bool from_client)
{
    return from_client ? exchange->asked > 0 && exchange->written > OPENING
                       : exchange->asked == 0 && exchange->completed > 0;
}

bool exchange_opaque_wants_request(const struct exchange *exchange)
{
    return exchange_wants_turn(exchange);
}

unsigned exchange_opaque_sent(struct exchange *exchange, const uint8_t *bytes, size_t length)
{
    if (exchange->late && exchange->asked == 0) {
        return EXCHANGE_NOTHING;
    }
    unsigned news = exchange->asked == 0 ? exchange_request_begins(exchange) : EXCHANGE_NOTHING;
    if (bytes[0] == TLS_FIRST_BYTE && exchange->written <= OPENING && !exchange->single) {
        exchange_tls_begin(exchange); /* or so it seems: else it comes back */
        return news | exchange_tls_sent(exchange, bytes, length);
    }
    if (exchange->written == 0 && length >= sizeof preface && memcmp(bytes, preface, sizeof preface) == 0) {
        exchange->single = true;
    }
    exchange_note_written(exchange, length);
    return news;
}

unsigned exchange_opaque_received(struct exchange *exchange, size_t length)
{
    if (length == 0 || (exchange->asked == 0 && exchange->completed > 0)) {
        return EXCHANGE_NOTHING;
    }
    return exchange->single ? exchange_answered_and_over(exchange) : EXCHANGE_FIRST_BYTE | exchange_answered(exchange);
}
