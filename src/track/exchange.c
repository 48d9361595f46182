/*
 * See exchange.h.
 */
#include "track/exchange.h"
#include "track/exchange_inner.h"
#include <string.h>

void exchange_begin(struct exchange *exchange)
{
    memset(exchange, 0, sizeof *exchange);
}

/* ---- which protocol ----------------------------------------------------------------------------------------------- */

/* By the first byte of the client's: a handshake record, a letter (HTTP, until its parser says otherwise), or neither. */
static void recognise(struct exchange *exchange, uint8_t first)
{
    if (first == 0x16) {
        exchange_tls_begin(exchange);
    } else if (first >= 'A' && first <= 'Z') {
        exchange_http1_begin(exchange);
    } else {
        exchange->protocol = EXCHANGE_OPAQUE;
    }
}

/* ---- the client's bytes ------------------------------------------------------------------------------------------- */

unsigned exchange_request_begins(struct exchange *exchange)
{
    exchange->asked++;
    return exchange->asked > 1 ? EXCHANGE_NOTHING : EXCHANGE_REQUEST;
}

unsigned exchange_sent(struct exchange *exchange, const uint8_t *bytes, size_t length, size_t *taken)
{
    *taken = length;
    if (exchange->over) {
        return EXCHANGE_NOTHING;
    }
    if (exchange->protocol == EXCHANGE_UNKNOWN) {
        if (length == 0) {
            return EXCHANGE_NOTHING;
        }
        recognise(exchange, bytes[0]);
    }
    switch (exchange->protocol) {
    case EXCHANGE_HTTP1:
        return exchange_http1_sent(exchange, bytes, length, taken);
    case EXCHANGE_TLS:
        return length > 0 ? exchange_tls_sent(exchange, bytes, length) : EXCHANGE_NOTHING;
    default:
        return exchange_opaque_sent(exchange, length);
    }
}

bool exchange_pass(struct exchange *exchange, bool from_client, size_t length)
{
    if (exchange->over) {
        return true;
    }
    switch (exchange->protocol) {
    case EXCHANGE_HTTP1:
        return exchange_http1_pass(exchange, from_client, length);
    case EXCHANGE_OPAQUE:
        return exchange_opaque_pass(exchange, from_client);
    default:
        return false;
    }
}

void exchange_sent_unseen(struct exchange *exchange)
{
    if (exchange->protocol == EXCHANGE_UNKNOWN) {
        exchange->protocol = EXCHANGE_OPAQUE;
    }
    if (exchange->protocol == EXCHANGE_TLS) {
        exchange->protocol = EXCHANGE_OPAQUE;
    }
    exchange->requests_lost = true;
    if (exchange->asked == 0) {
        exchange->asked = 1;
    }
}

bool exchange_wants_request(const struct exchange *exchange)
{
    if (exchange->over) {
        return false;
    }
    switch (exchange->protocol) {
    case EXCHANGE_UNKNOWN:
        return true;
    case EXCHANGE_HTTP1:
        return exchange_http1_wants_request(exchange);
    case EXCHANGE_TLS:
        return exchange_tls_wants_request(exchange);
    default:
        return exchange_opaque_wants_request(exchange);
    }
}

bool exchange_waiting(const struct exchange *exchange)
{
    return exchange->asked > 0;
}

void exchange_name(const struct exchange *exchange, struct exchange_name *name)
{
    if (exchange->protocol == EXCHANGE_TLS) {
        *name = (struct exchange_name){exchange->tls.hello.name, 0, EXCHANGE_SAYS_TLS};
        return;
    }
    const struct http1_facts *facts = &exchange->http.request.facts;
    *name = (struct exchange_name){facts->host, facts->port, facts->absolute ? EXCHANGE_SAYS_URI : EXCHANGE_SAYS_HOST};
}

/* ---- the server's bytes ------------------------------------------------------------------------------------------- */

unsigned exchange_answered(struct exchange *exchange)
{
    exchange->answering = false;
    exchange->head_told = false;
    exchange->completed++;
    if (exchange->asked > 0) {
        exchange->asked--;
    }
    return EXCHANGE_ANSWERED;
}

unsigned exchange_answered_and_over(struct exchange *exchange)
{
    unsigned news = exchange->answering ? EXCHANGE_NOTHING : EXCHANGE_FIRST_BYTE;
    news |= exchange_answered(exchange);
    exchange->over = true;
    return news;
}

unsigned exchange_received(struct exchange *exchange, const uint8_t *bytes, size_t length, size_t *taken)
{
    *taken = length;
    if (exchange->over) {
        return EXCHANGE_NOTHING;
    }
    if (exchange->protocol == EXCHANGE_UNKNOWN && length > 0) {
        exchange->server_first = true;
        exchange->protocol = EXCHANGE_OPAQUE;
        if (bytes[0] == 'H') { /* an answer to a request that was written where nobody sees it */
            exchange_http1_begin(exchange);
            exchange->asked = 1;
        }
    }
    switch (exchange->protocol) {
    case EXCHANGE_HTTP1:
        return exchange_http1_received(exchange, bytes, length, taken);
    case EXCHANGE_TLS:
        return length > 0 ? exchange_tls_received(exchange, bytes, length) : EXCHANGE_NOTHING;
    default:
        return exchange_opaque_received(exchange, length);
    }
}

unsigned exchange_received_unseen(struct exchange *exchange)
{
    return exchange->over ? EXCHANGE_NOTHING : exchange_answered_and_over(exchange);
}

unsigned exchange_went_on(struct exchange *exchange)
{
    return exchange->ambiguous && !exchange->over ? exchange_answered_and_over(exchange) : EXCHANGE_NOTHING;
}

const struct http1_facts *exchange_answer(const struct exchange *exchange)
{
    return exchange->protocol == EXCHANGE_HTTP1 ? &exchange->http.answer.facts : NULL;
}

const struct body *exchange_body(const struct exchange *exchange)
{
    bool told = exchange->protocol == EXCHANGE_HTTP1 && exchange->answering && exchange->head_told;
    return told ? &exchange->http.body : NULL;
}

unsigned exchange_body_ended(struct exchange *exchange)
{
    return exchange_body(exchange) != NULL ? body_end(&exchange->http.body) * EXCHANGE_BODY : EXCHANGE_NOTHING;
}

enum exchange_end exchange_ended(const struct exchange *exchange)
{
    if (exchange->over || exchange->asked == 0) {
        return EXCHANGE_END_IDLE;
    }
    if (exchange->answering && exchange->protocol == EXCHANGE_HTTP1 && http1_closed(&exchange->http.answer)) {
        return exchange->head_told ? EXCHANGE_END_COMPLETE : EXCHANGE_END_CUT;
    }
    return exchange->ambiguous ? EXCHANGE_END_AMBIGUOUS : EXCHANGE_END_CUT;
}
