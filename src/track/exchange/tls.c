/*
 * See exchange.h: TLS seen from outside, by its ClientHello and the headers of its records. The first call is the
 * handshake, what the client asks after it, and the answer; later turns are told by application data alone.
 */
#include "track/exchange/inner.h"

void exchange_tls_begin(struct exchange *exchange)
{
    exchange->protocol = EXCHANGE_TLS;
    exchange->secured = exchange->requested = false;
    exchange->written = 0;
    tls_hello_begin(&exchange->tls.hello);
    tls_records_begin(&exchange->tls.records);
}

const uint8_t *exchange_random(const struct exchange *exchange)
{
    return exchange->protocol == EXCHANGE_TLS && exchange->tls.hello.done ? exchange->tls.hello.random : NULL;
}

bool exchange_tls_wants_request(const struct exchange *exchange)
{
    return (!exchange->tls.hello.done && !exchange->tls.hello.opaque) || exchange->asked == 0;
}

bool exchange_tls_pass(struct exchange *exchange, bool from_client, size_t length)
{
    return tls_records_pass(&exchange->tls.records, from_client, length);
}

/*
 * It is not TLS, or no TLS that can be followed. Bytes that only looked like a ClientHello are a turn like any other; what
 * was a handshake is not to be told from data any more.
 */
static void strange(struct exchange *exchange)
{
    exchange->single = exchange->single || exchange->tls.hello.done;
    exchange->protocol = EXCHANGE_OPAQUE;
    exchange->secured = exchange->requested = exchange->ambiguous = false;
}

/* Over HTTP/2 both sides speak by themselves, so that turns say nothing; nor where it may be that, for all that shows. */
static bool is_single(const struct exchange *exchange)
{
    return tls_h2(&exchange->tls.hello, &exchange->tls.records) != TLS_H2_NO;
}

/* The server has spoken: an answer, if one is outstanding. */
static unsigned answered(struct exchange *exchange)
{
    if (exchange->asked == 0 && exchange->completed > 0) {
        return EXCHANGE_NOTHING;
    }
    return is_single(exchange) ? exchange_answered_and_over(exchange)
                               : EXCHANGE_FIRST_BYTE | exchange_answered(exchange);
}

/* The handshake is over, and as long as the client asks for nothing, nothing is owed. */
static unsigned note_secured(struct exchange *exchange, unsigned sights)
{
    bool before = exchange->secured && !exchange->requested;
    exchange->secured = exchange->secured || (sights & TLS_SECURED) != 0;
    exchange->requested = exchange->requested || (sights & TLS_REQUEST) != 0;
    return exchange->secured && !exchange->requested && !before ? EXCHANGE_MAYBE : EXCHANGE_NOTHING;
}

unsigned exchange_tls_sent(struct exchange *exchange, const uint8_t *bytes, size_t length)
{
    unsigned news = EXCHANGE_NOTHING;
    struct tls_hello *hello = &exchange->tls.hello;
    bool named = !hello->done && !hello->opaque && tls_hello_feed(hello, bytes, length) && hello->done &&
                 hello->name[0] != '\0' && !exchange->tunnel;
    unsigned sights = tls_records_feed(&exchange->tls.records, true, bytes, length);
    if (exchange->asked == 0 && !exchange->late && (!exchange->secured || (sights & TLS_REQUEST) != 0)) {
        news |= exchange_request_begins(exchange); /* the handshake asks for an answer too */
    }
    if ((sights & TLS_STRANGE) != 0 || hello->opaque) {
        strange(exchange);
        exchange_note_written(exchange, length);
        return news;
    }
    (void)note_secured(exchange, sights);
    exchange_note_written(exchange, exchange->requested ? length : 0); /* a handshake is no request */
    if ((sights & TLS_REJECTED) != 0) {
        news |= EXCHANGE_BROKEN_OFF;
    }
    return named ? news | EXCHANGE_NAME : news;
}

/* Something came that may have been an answer, or turned out to be none. */
static unsigned maybe(struct exchange *exchange, unsigned sights)
{
    bool before = exchange->ambiguous;
    if (exchange->asked == 0 || !exchange->requested) {
        return EXCHANGE_NOTHING;
    }
    if ((sights & TLS_TICKETS) != 0) {
        exchange->ambiguous = false;
        return before ? EXCHANGE_NOT_YET : EXCHANGE_NOTHING;
    }
    exchange->ambiguous = before || (sights & TLS_MAYBE) != 0;
    return (sights & TLS_MAYBE) != 0 ? EXCHANGE_MAYBE : EXCHANGE_NOTHING;
}

unsigned exchange_tls_received(struct exchange *exchange, const uint8_t *bytes, size_t length)
{
    struct tls_records *records = &exchange->tls.records;
    records->known = exchange->ticket;
    unsigned sights = tls_records_feed(records, false, bytes, length);
    if ((sights & TLS_STRANGE) != 0) {
        strange(exchange);
        return exchange_opaque_received(exchange, length);
    }
    if ((sights & TLS_ALERT) != 0) {
        return EXCHANGE_BROKEN_OFF;
    }
    unsigned news = note_secured(exchange, sights);
    /* Over HTTP/2 what the server says by itself is all that can be told from an answer. */
    bool counts = (sights & TLS_ANSWER) != 0 ||
                  ((sights & (TLS_MAYBE | TLS_TICKETS)) != 0 && tls_h2(&exchange->tls.hello, records) == TLS_H2_YES);
    return counts ? answered(exchange) : news | maybe(exchange, sights);
}

uint16_t exchange_tickets(const struct exchange *exchange)
{
    const struct tls_records *records = &exchange->tls.records;
    return exchange->protocol == EXCHANGE_TLS && records->ticketed ? records->ticket : 0;
}

unsigned exchange_tls_went_on(struct exchange *exchange)
{
    tls_records_went_on(&exchange->tls.records);
    return answered(exchange);
}
