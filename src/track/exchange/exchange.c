/*
 * See exchange.h.
 */
#include "track/exchange/exchange.h"
#include "track/exchange/inner.h"
#include <string.h>

void exchange_begin(struct exchange *exchange)
{
    memset(exchange, 0, sizeof *exchange);
}

/* ---- which protocol ---------------------------------------------------------------------------------------------- */

/* By the first byte of the client's: a handshake record, a letter (HTTP, until its parser says otherwise), or neither. */
static void recognise(struct exchange *exchange, uint8_t first)
{
    if (first == TLS_FIRST_BYTE) {
        exchange_tls_begin(exchange);
    } else if (first >= 'A' && first <= 'Z') {
        exchange_http1_begin(exchange);
    } else {
        exchange->protocol = EXCHANGE_OPAQUE;
    }
}

/* ---- the client's bytes ------------------------------------------------------------------------------------------ */

unsigned exchange_request_begins(struct exchange *exchange)
{
    exchange->asked++;
    exchange->written = 0;
    return exchange->asked > 1 ? EXCHANGE_NOTHING : EXCHANGE_REQUEST;
}

void exchange_note_written(struct exchange *exchange, size_t length)
{
    size_t sum = exchange->written + length;
    exchange->written = sum < UINT16_MAX ? (uint16_t)sum : UINT16_MAX;
}

unsigned exchange_sent(struct exchange *exchange, const uint8_t *bytes, size_t length, size_t *taken)
{
    *taken = length;
    if (exchange->over) {
        return EXCHANGE_NOTHING;
    }
    if (exchange->protocol == EXCHANGE_UNKNOWN) {
        unsigned news;
        if (length == 0 || exchange->requests_lost) {
            return EXCHANGE_NOTHING;
        }
        exchange->asked = 0; /* whatever was known of the server is not true here */
        exchange->greets = false;
        if (exchange_http2_announced(exchange, bytes, length, taken, &news)) {
            return news;
        }
        recognise(exchange, bytes[0]);
    }
    switch (exchange->protocol) {
    case EXCHANGE_HTTP1:
        return exchange_http1_sent(exchange, bytes, length, taken);
    case EXCHANGE_HTTP2:
        return exchange_http2_sent(exchange, bytes, length, taken);
    case EXCHANGE_TLS:
        return length > 0 ? exchange_tls_sent(exchange, bytes, length) : EXCHANGE_NOTHING;
    default:
        return length > 0 ? exchange_opaque_sent(exchange, bytes, length) : EXCHANGE_NOTHING;
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
    case EXCHANGE_TLS:
        return exchange_tls_pass(exchange, from_client, length);
    case EXCHANGE_OPAQUE:
        return exchange_opaque_pass(exchange, from_client);
    default:
        return false;
    }
}

void exchange_await_greeting(struct exchange *exchange)
{
    if (exchange->protocol == EXCHANGE_UNKNOWN && exchange->asked == 0) {
        exchange->greets = true;
        exchange->asked = 1;
    }
}

void exchange_sent_unseen(struct exchange *exchange)
{
    exchange->over = exchange->over || exchange->protocol == EXCHANGE_HTTP2; /* no frame may be missed */
    if (exchange->protocol == EXCHANGE_TLS) { /* its records cannot be followed any more */
        exchange->protocol = EXCHANGE_OPAQUE;
        exchange->single = true;
    }
    exchange->requests_lost = true;
    if (exchange->asked == 0 && (exchange->protocol != EXCHANGE_OPAQUE || exchange->completed == 0)) {
        exchange->asked = 1;
    }
    exchange_note_written(exchange, 1);
}

bool exchange_wants_request(const struct exchange *exchange)
{
    if (exchange->over) {
        return false;
    }
    switch (exchange->protocol) {
    case EXCHANGE_UNKNOWN:
        return !exchange->requests_lost;
    case EXCHANGE_HTTP1:
        return exchange_http1_wants_request(exchange);
    case EXCHANGE_HTTP2:
        return true;
    case EXCHANGE_TLS:
        return exchange_tls_wants_request(exchange);
    default:
        return exchange_opaque_wants_request(exchange);
    }
}

bool exchange_wants_turn(const struct exchange *exchange)
{
    return !exchange->over && exchange->protocol == EXCHANGE_OPAQUE && exchange->asked == 0;
}

unsigned exchange_turn(struct exchange *exchange)
{
    return exchange_request_begins(exchange);
}

bool exchange_waiting(const struct exchange *exchange)
{
    return exchange->asked > 0 && !(exchange->secured && !exchange->requested);
}

bool exchange_owed(const struct exchange *exchange)
{
    return exchange_waiting(exchange) && !exchange->ambiguous && !exchange->duplex;
}

/*
 * A client that writes again while an answer is outstanding may have written a second request. When the first is answered
 * the second still is to be, and for want of knowing what is what, so may others be: refusing the next turn would cut them
 * off. The doubt ends with so many turns without such a thing, or when nothing has moved for a while.
 */
#define DOUBT 16
/*
 * The rest of an answer does not keep the client waiting for so long; what comes later was not asked for. Where the client
 * offers a protocol by name that is most likely HTTP, whose answers may pause (a model thinks) but are all asked for.
 */
#define UNASKED_NS      UINT64_C(1000000000)
#define UNASKED_HTTP_NS UINT64_C(30000000000)

static uint64_t unasked_after(const struct exchange *exchange)
{
    return exchange->protocol == EXCHANGE_TLS && exchange->tls.hello.alpn_other ? UNASKED_HTTP_NS : UNASKED_NS;
}

void exchange_after_silence(struct exchange *exchange, bool from_client, uint64_t silence)
{
    if (exchange->protocol != EXCHANGE_OPAQUE && exchange->protocol != EXCHANGE_TLS) {
        return;
    }
    if (!from_client) {
        bool unasked = exchange->asked == 0 && exchange->completed > 0 && silence >= unasked_after(exchange);
        exchange->duplex = exchange->duplex || unasked;
    } else if (exchange->asked > 0 && exchange->written > 0) {
        exchange->doubt = DOUBT;
    }
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

/* ---- the server's bytes ------------------------------------------------------------------------------------------ */

unsigned exchange_answered(struct exchange *exchange)
{
    exchange->answering = false;
    exchange->head_told = false;
    exchange->ambiguous = false;
    exchange->doubt -= exchange->doubt > 0 ? 1 : 0;
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
    if (exchange->protocol == EXCHANGE_UNKNOWN && exchange_http2_greeted(exchange, bytes, length)) {
        *taken = 0;
        return EXCHANGE_NOTHING;
    }
    if (exchange->protocol == EXCHANGE_UNKNOWN && length > 0) {
        exchange->server_first = exchange->asked == 0;
        exchange->protocol = EXCHANGE_OPAQUE;
        if (bytes[0] == 'H' && !exchange->tunnel &&
            !exchange->greets) { /* an answer to a request that was written where nobody sees it */
            exchange_http1_begin(exchange);
            exchange->asked = 1;
        }
    }
    switch (exchange->protocol) {
    case EXCHANGE_HTTP2:
        return EXCHANGE_NOTHING;
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
    exchange->over = exchange->over || exchange->protocol == EXCHANGE_HTTP2;
    if (exchange->over) {
        return EXCHANGE_NOTHING;
    }
    return exchange->protocol == EXCHANGE_OPAQUE ? exchange_opaque_received(exchange, 1)
                                                 : exchange_answered_and_over(exchange);
}

unsigned exchange_went_on(struct exchange *exchange)
{
    return exchange->ambiguous && !exchange->over ? exchange_tls_went_on(exchange) : EXCHANGE_NOTHING;
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
    if (exchange->over || !exchange_waiting(exchange)) {
        return EXCHANGE_END_IDLE;
    }
    if (exchange->answering && exchange->protocol == EXCHANGE_HTTP1 && http1_closed(&exchange->http.answer)) {
        return exchange->head_told ? EXCHANGE_END_COMPLETE : EXCHANGE_END_CUT;
    }
    return exchange->ambiguous ? EXCHANGE_END_AMBIGUOUS : EXCHANGE_END_CUT;
}
