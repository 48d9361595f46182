/*
 * See exchange.h: how HTTP/2 in the clear is recognised. Its client announces it, in words that up to their fourth byte may
 * be a request of HTTP/1; its server may greet even before it has read them.
 */
#include "protocol/http2.h"
#include "track/exchange/inner.h"

bool exchange_framed(const struct exchange *exchange, bool from_client)
{
    return exchange->protocol == EXCHANGE_HTTP2 && !exchange->over &&
           (!from_client || exchange->preface == HTTP2_PREFACE);
}

static void begin(struct exchange *exchange)
{
    exchange->protocol = EXCHANGE_HTTP2;
    exchange->upgraded = exchange->tunnel && exchange->duplex; /* behind a 101, which is all that was known of it */
    exchange->greets = exchange->duplex = false;
    exchange->asked = 0;
}

/* How many of these bytes go on with the preface. */
static size_t match(struct exchange *exchange, const uint8_t *bytes, size_t length)
{
    size_t at = 0;
    while (at < length && exchange->preface < HTTP2_PREFACE && bytes[at] == http2_preface[exchange->preface]) {
        exchange->preface++;
        at++;
    }
    return at;
}

/* It is HTTP/1 after all: what was held back is told now. */
static unsigned tell_held_back(struct exchange *exchange, size_t length)
{
    unsigned news = EXCHANGE_NOTHING;
    exchange_http1_begin(exchange);
    for (size_t at = 0, taken = 0; at < length; at += taken) {
        news |= exchange_http1_sent(exchange, http2_preface + at, length - at, &taken);
    }
    return news;
}

bool exchange_http2_announced(struct exchange *exchange, const uint8_t *bytes, size_t length, size_t *taken,
                              unsigned *news)
{
    size_t before = exchange->preface;
    *taken = match(exchange, bytes, length);
    *news = EXCHANGE_NOTHING;
    if (exchange->preface == HTTP2_PREFACE) {
        begin(exchange);
        *news = exchange_request_begins(exchange); /* the server owes a greeting */
        return true;
    }
    if (*taken == length) {
        return true;
    }
    *taken = before > 0 ? 0 : length;
    if (before > 0) {
        *news = tell_held_back(exchange, before);
    }
    return before > 0;
}

bool exchange_http2_greeted(struct exchange *exchange, const uint8_t *bytes, size_t length)
{
    bool greeted = http2_greets(bytes, length);
    if (greeted) {
        begin(exchange);
    }
    return greeted;
}

unsigned exchange_http2_sent(struct exchange *exchange, const uint8_t *bytes, size_t length, size_t *taken)
{
    if (exchange->preface == HTTP2_PREFACE) {
        return EXCHANGE_NOTHING;
    }
    *taken = match(exchange, bytes, length);
    if (exchange->preface < HTTP2_PREFACE) {
        exchange->over = *taken < length;
        *taken = length;
    }
    return EXCHANGE_NOTHING;
}
