/*
 * See exchange.h: how HTTP/2 in the clear is recognised. Its client announces it, in words that up to their fourth byte may
 * be a request of HTTP/1; its server may greet even before it has read them.
 */
#include "protocol/http2.h"
#include "track/exchange_inner.h"

bool exchange_framed(const struct exchange *exchange, bool from_client)
{
    return exchange->protocol == EXCHANGE_HTTP2 && !exchange->over &&
           (!from_client || exchange->preface == HTTP2_PREFACE);
}

/* Behind the head of a 101, the first stream is one that was asked for in HTTP/1: that is not followed. */
static bool may_be(const struct exchange *exchange)
{
    return !(exchange->tunnel && exchange->duplex);
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
    *taken = may_be(exchange) ? match(exchange, bytes, length) : 0;
    *news = EXCHANGE_NOTHING;
    if (exchange->preface == HTTP2_PREFACE) {
        exchange->protocol = EXCHANGE_HTTP2;
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
    if (!may_be(exchange) || !http2_greets(bytes, length)) {
        return false;
    }
    exchange->protocol = EXCHANGE_HTTP2;
    exchange->greets = false;
    exchange->asked = 0;
    return true;
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
