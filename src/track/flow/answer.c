/*
 * See flow.h: what an answer says of the call that it is to.
 */
#include "track/flow/flow.h"
#include "track/process.h"

/* An answer is complete, and requests may be outstanding that were written before it was. */
static void after(struct flow *flow, unsigned news)
{
    if ((news & EXCHANGE_NEXT) == 0) {
        flow_void(flow, flow->exchange.asked);
    } else if (flow->provider != NULL) {
        flow->began = flow->moved;
        call_pass(&flow->call, flow->provider);
    }
}

/* What is outstanding of an answer after its head. */
static void head_told(struct flow *flow)
{
    const struct body *body = exchange_body(&flow->exchange);
    if (!call_status_decides(&flow->call, exchange_answer(&flow->exchange)->status)) {
        if (body != NULL && body->stream && body_wants(body)) { /* of one that cannot be read, any byte is life */
            call_stream(&flow->call);
        }
    } else if (body != NULL && body_wants(body)) {
        call_rest(&flow->call); /* it is known how it ended, and the body may say more; it may also never be read */
    } else {
        flow_answered(flow);
    }
}

/* What its body said. The connection goes on: only the call is over. */
static void body_told(struct flow *flow, unsigned news)
{
    if ((news & EXCHANGE_LIFE) != 0) {
        call_event(&flow->call);
    }
    if ((news & EXCHANGE_STREAM_FAILED) != 0) {
        call_failed(&flow->call, PREBREAK_KIND_STREAM);
    } else if ((news & EXCHANGE_STREAM_DONE) != 0) {
        call_ok(&flow->call);
    } else if ((news & EXCHANGE_QUOTA) != 0) {
        const struct http1_facts *facts = exchange_answer(&flow->exchange);
        call_quota(&flow->call, facts->status, &facts->retry);
    }
}

void flow_answered(struct flow *flow)
{
    const struct http1_facts *facts = exchange_answer(&flow->exchange);
    if (facts != NULL && facts->status != 0) {
        call_status(&flow->call, facts->status, &facts->retry);
    } else {
        call_ok(&flow->call);
    }
}

bool flow_decided(const struct flow *flow)
{
    return exchange_body(&flow->exchange) != NULL && flow->call.provider != NULL &&
           call_status_decides(&flow->call, exchange_answer(&flow->exchange)->status);
}

/* The first answer on a connection shows how its server goes about things, which helps to understand the next one. */
static void learn(const struct flow *flow)
{
    struct provider *provider = flow->provider;
    uint16_t port = flow->address.port;
    if (flow->exchange.completed != 1 || provider == NULL) {
        return;
    }
    uint16_t tickets = exchange_tickets(&flow->exchange);
    if (tickets != 0) {
        __atomic_store_n(&provider->tickets, tickets, __ATOMIC_RELAXED);
    }
    if (flow->exchange.server_first && flow->exchange.protocol == EXCHANGE_OPAQUE) {
        __atomic_store_n(&provider->greets, port, __ATOMIC_RELAXED);
    } else if (__atomic_load_n(&provider->greets, __ATOMIC_RELAXED) == port) {
        __atomic_store_n(&provider->greets, 0, __ATOMIC_RELAXED);
    }
}

void flow_answer(struct flow *flow, unsigned news)
{
    if ((news & EXCHANGE_FIRST_BYTE) != 0) {
        uint64_t began = flow->began != 0 ? flow->began : flow->opened;
        call_first_byte(&flow->call, flow->moved > began ? flow->moved - began : 0);
    }
    if ((news & EXCHANGE_STATUS) != 0) {
        head_told(flow);
    }
    body_told(flow, news);
    if ((news & EXCHANGE_ANSWERED) != 0) {
        flow->receiving = false;
        learn(flow);
        flow_answered(flow);
        after(flow, news);
    }
    if ((news & EXCHANGE_MAYBE) != 0) {
        call_rest(&flow->call); /* if it was, then nothing is awaited any more */
    }
    if ((news & EXCHANGE_NOT_YET) != 0) {
        call_wake(&flow->call);
    }
    if ((news & EXCHANGE_BROKEN_OFF) != 0) {
        flow_fail(flow, PREBREAK_KIND_TLS);
    }
}
