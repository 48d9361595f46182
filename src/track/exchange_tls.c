/*
 * See exchange.h: TLS seen from outside, by its ClientHello and the headers of its records.
 */
#include "track/exchange_inner.h"

void exchange_tls_begin(struct exchange *exchange)
{
    exchange->protocol = EXCHANGE_TLS;
    tls_hello_begin(&exchange->tls.hello);
    tls_records_begin(&exchange->tls.records);
}

const uint8_t *exchange_random(const struct exchange *exchange)
{
    return exchange->protocol == EXCHANGE_TLS && exchange->tls.hello.done ? exchange->tls.hello.random : NULL;
}

bool exchange_tls_wants_request(const struct exchange *exchange)
{
    return !exchange->tls.hello.done && !exchange->tls.hello.opaque;
}

unsigned exchange_tls_sent(struct exchange *exchange, const uint8_t *bytes, size_t length)
{
    unsigned news = EXCHANGE_NOTHING;
    struct tls_hello *hello = &exchange->tls.hello;
    if (exchange->asked == 0) {
        news |= exchange_request_begins(exchange); /* the handshake asks for an answer too */
    }
    if (!hello->done && !hello->opaque && tls_hello_feed(hello, bytes, length) && hello->done &&
        hello->name[0] != '\0') {
        news |= EXCHANGE_NAME;
    }
    unsigned sights = tls_records_feed(&exchange->tls.records, true, bytes, length);
    if ((sights & TLS_STRANGE) != 0 || hello->opaque) {
        exchange->protocol = EXCHANGE_OPAQUE;
    }
    return (sights & TLS_REJECTED) != 0 ? news | EXCHANGE_BROKEN_OFF : news;
}

unsigned exchange_tls_received(struct exchange *exchange, const uint8_t *bytes, size_t length)
{
    struct tls_records *records = &exchange->tls.records;
    unsigned sights = tls_records_feed(records, false, bytes, length);
    if ((sights & TLS_STRANGE) != 0) {
        return exchange_answered_and_over(exchange);
    }
    if ((sights & TLS_ALERT) != 0) {
        return EXCHANGE_BROKEN_OFF;
    }
    /* Over HTTP/2 what the server says by itself is all that can be told from an answer. */
    bool counts = (sights & TLS_ANSWER) != 0 ||
                  ((sights & TLS_MAYBE) != 0 && tls_h2(&exchange->tls.hello, records) == TLS_H2_YES);
    if (counts) {
        return exchange_answered_and_over(exchange);
    }
    exchange->ambiguous = exchange->ambiguous || (sights & TLS_MAYBE) != 0;
    return (sights & TLS_MAYBE) != 0 ? EXCHANGE_MAYBE : EXCHANGE_NOTHING;
}
