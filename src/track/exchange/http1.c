/*
 * See exchange.h: HTTP/1 in the clear, message by message in both directions.
 */
#include "track/exchange/inner.h"

void exchange_http1_begin(struct exchange *exchange)
{
    exchange->protocol = EXCHANGE_HTTP1;
    http1_request_begin(&exchange->http.request);
    http1_answer_begin(&exchange->http.answer, HTTP1_GET);
}

bool exchange_http1_pass(struct exchange *exchange, bool from_client, size_t length)
{
    return from_client ? exchange->requests_lost || http1_pass(&exchange->http.request, length)
                       : exchange->answering && http1_pass(&exchange->http.answer, length);
}

/* ---- the client's bytes ------------------------------------------------------------------------------------------ */

bool exchange_http1_wants_request(const struct exchange *exchange)
{
    /* A body is of no interest. */
    return !exchange->requests_lost &&
           (exchange->asked == 0 || exchange->http.pipeline.count + exchange->answering == 0);
}

/*
 * What began with a letter is not HTTP: a protocol of another name, whose turns can be told. HTTP of another version is not
 * among them: in HTTP/2 both sides speak by themselves.
 */
static bool never_was(const struct exchange *exchange)
{
    return exchange->asked == 1 && exchange->completed == 0 && !exchange->answering && !exchange->server_first &&
           exchange->http.pipeline.count == 0 && !http1_other_version(&exchange->http.request);
}

unsigned exchange_http1_sent(struct exchange *exchange, const uint8_t *bytes, size_t length, size_t *taken)
{
    struct http1 *request = &exchange->http.request;
    *taken = 0;
    while (!exchange->requests_lost) {
        size_t step = 0;
        enum http1_event event = http1_feed(request, bytes + *taken, length - *taken, &step);
        *taken += step;
        switch (event) {
        case HTTP1_BEGIN:
            if (exchange_request_begins(exchange) != EXCHANGE_NOTHING) {
                return EXCHANGE_REQUEST;
            }
            break;
        case HTTP1_HEAD_DONE:
            http1_pipeline_push(&exchange->http.pipeline, request->facts.method);
            if (request->facts.host[0] != '\0' && !exchange->tunnel) {
                return EXCHANGE_NAME;
            }
            break;
        case HTTP1_BODY: /* of requests, nobody asks for it */
        case HTTP1_END:
            break;
        case HTTP1_MORE:
            return EXCHANGE_NOTHING;
        case HTTP1_OPAQUE:
            exchange->requests_lost = true;
            break;
        }
    }
    if (never_was(exchange)) {
        exchange->protocol = EXCHANGE_OPAQUE;
        exchange_note_written(exchange, *taken);
    }
    *taken = length;
    return EXCHANGE_NOTHING;
}

/* ---- the server's bytes ------------------------------------------------------------------------------------------ */

/* Can another answer follow on this connection, and be told whose it is? */
static bool may_go_on(const struct exchange *exchange)
{
    if (exchange->requests_lost || exchange->server_first || exchange->http.pipeline.lost ||
        !exchange->http.answer.facts.keep_alive) {
        return false;
    }
    return exchange->asked > 0 || (http1_idle(&exchange->http.request) && exchange->http.request.facts.keep_alive);
}

static unsigned answer_ends(struct exchange *exchange)
{
    unsigned news = exchange_answered(exchange);
    exchange->over = !may_go_on(exchange);
    return exchange->asked > 0 && !exchange->over ? news | EXCHANGE_NEXT : news;
}

/*
 * Behind a tunnel's head, or an upgrade's, is a conversation of its own, which is with whom the head named. An upgraded one
 * (a WebSocket) goes both ways at any time: nobody owes anybody an answer.
 */
static bool is_tunnel(const struct exchange *exchange)
{
    const struct http1_facts *answer = &exchange->http.answer.facts;
    bool connected = exchange->http.request.facts.method == HTTP1_CONNECT && answer->status / 100 == 2;
    return exchange->head_told && (connected || answer->status == 101) && exchange->asked == 1 &&
           !exchange->requests_lost && !exchange->server_first && http1_idle(&exchange->http.request);
}

static unsigned upgraded(struct exchange *exchange)
{
    exchange->duplex = true;
    return exchange_answered(exchange);
}

/*
 * CONNECT has connected, and no more: its call goes on with what is asked within. A provider that is behind a proxy and
 * fails all that is asked would else do half of its calls well.
 */
static unsigned connected(struct exchange *exchange)
{
    exchange->answering = false;
    exchange->head_told = false;
    exchange->asked = 0;
    exchange->completed = 0;
    return EXCHANGE_MAYBE;
}

static unsigned tunnel(struct exchange *exchange)
{
    exchange->protocol = EXCHANGE_UNKNOWN;
    exchange->tunnel = true;
    return exchange->http.answer.facts.status == 101 ? upgraded(exchange) : connected(exchange);
}

/* The head is told, and whether its body is to be read. */
static unsigned head_ends(struct exchange *exchange)
{
    const struct http1_facts *facts = &exchange->http.answer.facts;
    exchange->head_told = true;
    body_begin(&exchange->http.body, facts->status, facts->event_stream, facts->encoded);
    http1_want_body(&exchange->http.answer, body_wants(&exchange->http.body));
    return EXCHANGE_STATUS;
}

static unsigned body_news(struct exchange *exchange, const uint8_t *bytes, size_t length)
{
    unsigned news = body_feed(&exchange->http.body, bytes, length) * EXCHANGE_BODY;
    http1_want_body(&exchange->http.answer, body_wants(&exchange->http.body));
    return news;
}

unsigned exchange_http1_received(struct exchange *exchange, const uint8_t *bytes, size_t length, size_t *taken)
{
    struct http1 *answer = &exchange->http.answer;
    *taken = 0;
    if (!exchange->answering) {
        if (length == 0) {
            return EXCHANGE_NOTHING;
        }
        exchange->answering = true;
        enum http1_method method = http1_pipeline_pop(&exchange->http.pipeline);
        http1_answer_begin(answer, method);
        return method == HTTP1_CONNECT ? EXCHANGE_NOTHING
                                       : EXCHANGE_FIRST_BYTE; /* of a proxy, which is not asked for here */
    }
    for (;;) {
        size_t step = 0;
        enum http1_event event = http1_feed(answer, bytes + *taken, length - *taken, &step);
        *taken += step;
        switch (event) {
        case HTTP1_BEGIN:
            break;
        case HTTP1_HEAD_DONE:
            return head_ends(exchange);
        case HTTP1_BODY: {
            size_t length_of_it = http1_take_body(answer, length - *taken);
            unsigned news = body_news(exchange, bytes + *taken, length_of_it);
            *taken += length_of_it;
            if (news != EXCHANGE_NOTHING) {
                return news;
            }
            break;
        }
        case HTTP1_END: {
            unsigned news = exchange_body_ended(exchange);
            return news | answer_ends(exchange);
        }
        case HTTP1_MORE:
            return EXCHANGE_NOTHING;
        case HTTP1_OPAQUE:
            if (is_tunnel(exchange)) {
                return tunnel(exchange);
            }
            *taken = length;
            return exchange_answered_and_over(exchange);
        }
    }
}
