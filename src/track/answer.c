/*
 * See flow.h: what an answer says of the call that it is to.
 */
#include "track/flow.h"
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

void flow_answer(struct flow *flow, unsigned news)
{
    if ((news & EXCHANGE_FIRST_BYTE) != 0) {
        uint64_t began = flow->began != 0 ? flow->began : flow->opened;
        call_first_byte(&flow->call, flow->moved > began ? flow->moved - began : 0);
    }
    const struct http1_facts *facts = exchange_answer(&flow->exchange);
    unsigned status = facts != NULL ? facts->status : 0;
    if ((news & EXCHANGE_STATUS) != 0 && call_status_decides(&flow->call, status)) {
        call_status(&flow->call, status, &facts->retry);
    }
    if ((news & EXCHANGE_ANSWERED) != 0) {
        flow->receiving = false;
        if (status != 0) {
            call_status(&flow->call, status, &facts->retry);
        } else {
            call_ok(&flow->call);
        }
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
