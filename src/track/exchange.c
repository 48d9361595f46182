/*
 * See exchange.h.
 */
#include "track/exchange.h"
#include <string.h>

void exchange_begin(struct exchange *exchange)
{
    memset(exchange, 0, sizeof *exchange);
}

/* ---- which protocol ----------------------------------------------------------------------------------------------- */

static void begin_http(struct exchange *exchange)
{
    exchange->protocol = EXCHANGE_HTTP1;
    http1_request_begin(&exchange->http.request);
    http1_answer_begin(&exchange->http.answer, HTTP1_GET);
}

/* By the first byte of the client's: a handshake record, a letter (HTTP, until its parser says otherwise), or neither. */
static void recognise(struct exchange *exchange, uint8_t first)
{
    if (first == 0x16) {
        exchange->protocol = EXCHANGE_TLS;
        tls_hello_begin(&exchange->tls.hello);
        tls_records_begin(&exchange->tls.records);
    } else if (first >= 'A' && first <= 'Z') {
        begin_http(exchange);
    } else {
        exchange->protocol = EXCHANGE_OPAQUE;
    }
}

/* ---- the client's bytes ------------------------------------------------------------------------------------------- */

static unsigned request_begins(struct exchange *exchange)
{
    exchange->asked++;
    if (exchange->asked > 1) {
        exchange->pipelined = true;
        return EXCHANGE_NOTHING;
    }
    return EXCHANGE_REQUEST;
}

static unsigned sent_http(struct exchange *exchange, const uint8_t *bytes, size_t length, size_t *taken)
{
    struct http1 *request = &exchange->http.request;
    *taken = 0;
    while (!exchange->requests_lost) {
        size_t step = 0;
        enum http1_event event = http1_feed(request, bytes + *taken, length - *taken, &step);
        *taken += step;
        switch (event) {
        case HTTP1_BEGIN:
            if (request_begins(exchange) != EXCHANGE_NOTHING) {
                return EXCHANGE_REQUEST;
            }
            break;
        case HTTP1_HEAD_DONE:
            http1_pipeline_push(&exchange->http.pipeline, request->facts.method);
            if (request->facts.host[0] != '\0') {
                return EXCHANGE_NAME;
            }
            break;
        case HTTP1_END:
            break;
        case HTTP1_MORE:
            return EXCHANGE_NOTHING;
        case HTTP1_OPAQUE:
            exchange->requests_lost = true;
            break;
        }
    }
    *taken = length;
    return EXCHANGE_NOTHING;
}

static unsigned sent_tls(struct exchange *exchange, const uint8_t *bytes, size_t length)
{
    unsigned news = EXCHANGE_NOTHING;
    struct tls_hello *hello = &exchange->tls.hello;
    if (exchange->asked == 0) {
        news |= request_begins(exchange); /* the handshake asks for an answer too */
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
        return sent_http(exchange, bytes, length, taken);
    case EXCHANGE_TLS:
        return length > 0 ? sent_tls(exchange, bytes, length) : EXCHANGE_NOTHING;
    default:
        return length > 0 && exchange->asked == 0 ? request_begins(exchange) : EXCHANGE_NOTHING;
    }
}

bool exchange_pass(struct exchange *exchange, bool from_client, size_t length)
{
    if (exchange->over) {
        return true;
    }
    switch (exchange->protocol) {
    case EXCHANGE_HTTP1:
        return from_client ? exchange->requests_lost || http1_pass(&exchange->http.request, length)
                           : exchange->answering && http1_pass(&exchange->http.answer, length);
    case EXCHANGE_OPAQUE:
        return from_client && exchange->asked > 0;
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
    case EXCHANGE_HTTP1: /* a body is of no interest */
        return !exchange->requests_lost &&
               (exchange->asked == 0 || exchange->http.pipeline.count + exchange->answering == 0);
    case EXCHANGE_TLS:
        return !exchange->tls.hello.done && !exchange->tls.hello.opaque;
    default:
        return false;
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

static unsigned answered(struct exchange *exchange)
{
    exchange->answering = false;
    exchange->head_told = false;
    exchange->completed++;
    if (exchange->asked > 0) {
        exchange->asked--;
    }
    return EXCHANGE_ANSWERED;
}

/* All that will be told: an answer came. */
static unsigned answered_and_over(struct exchange *exchange)
{
    unsigned news = exchange->answering ? EXCHANGE_NOTHING : EXCHANGE_FIRST_BYTE;
    news |= answered(exchange);
    exchange->over = true;
    return news;
}

/* Can another request follow on this connection, and be told from what went before? */
static bool may_go_on(const struct exchange *exchange)
{
    return !exchange->pipelined && !exchange->requests_lost && !exchange->server_first &&
           http1_idle(&exchange->http.request) && exchange->http.request.facts.keep_alive &&
           exchange->http.answer.facts.keep_alive && exchange->asked == 0;
}

static unsigned received_http(struct exchange *exchange, const uint8_t *bytes, size_t length, size_t *taken)
{
    struct http1 *answer = &exchange->http.answer;
    *taken = 0;
    if (!exchange->answering) {
        if (length == 0) {
            return EXCHANGE_NOTHING;
        }
        exchange->answering = true;
        http1_answer_begin(answer, http1_pipeline_pop(&exchange->http.pipeline));
        return EXCHANGE_FIRST_BYTE;
    }
    for (;;) {
        size_t step = 0;
        enum http1_event event = http1_feed(answer, bytes + *taken, length - *taken, &step);
        *taken += step;
        switch (event) {
        case HTTP1_BEGIN:
            break;
        case HTTP1_HEAD_DONE:
            exchange->head_told = true;
            return EXCHANGE_STATUS;
        case HTTP1_END:
            answered(exchange);
            exchange->over = !may_go_on(exchange);
            return EXCHANGE_ANSWERED;
        case HTTP1_MORE:
            return EXCHANGE_NOTHING;
        case HTTP1_OPAQUE:
            *taken = length;
            return answered_and_over(exchange);
        }
    }
}

static unsigned received_tls(struct exchange *exchange, const uint8_t *bytes, size_t length)
{
    struct tls_records *records = &exchange->tls.records;
    unsigned sights = tls_records_feed(records, false, bytes, length);
    if ((sights & TLS_STRANGE) != 0) {
        return answered_and_over(exchange);
    }
    if ((sights & TLS_ALERT) != 0) {
        return EXCHANGE_BROKEN_OFF;
    }
    /* Over HTTP/2 what the server says by itself is all that can be told from an answer. */
    bool counts = (sights & TLS_ANSWER) != 0 ||
                  ((sights & TLS_MAYBE) != 0 && tls_h2(&exchange->tls.hello, records) == TLS_H2_YES);
    if (counts) {
        return answered_and_over(exchange);
    }
    exchange->ambiguous = exchange->ambiguous || (sights & TLS_MAYBE) != 0;
    return (sights & TLS_MAYBE) != 0 ? EXCHANGE_MAYBE : EXCHANGE_NOTHING;
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
            begin_http(exchange);
            exchange->asked = 1;
        }
    }
    switch (exchange->protocol) {
    case EXCHANGE_HTTP1:
        return received_http(exchange, bytes, length, taken);
    case EXCHANGE_TLS:
        return length > 0 ? received_tls(exchange, bytes, length) : EXCHANGE_NOTHING;
    default:
        return length > 0 ? answered_and_over(exchange) : EXCHANGE_NOTHING;
    }
}

unsigned exchange_received_unseen(struct exchange *exchange)
{
    return exchange->over ? EXCHANGE_NOTHING : answered_and_over(exchange);
}

unsigned exchange_went_on(struct exchange *exchange)
{
    return exchange->ambiguous && !exchange->over ? answered_and_over(exchange) : EXCHANGE_NOTHING;
}

const struct http1_facts *exchange_answer(const struct exchange *exchange)
{
    return exchange->protocol == EXCHANGE_HTTP1 ? &exchange->http.answer.facts : NULL;
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
