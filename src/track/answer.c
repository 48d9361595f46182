/*
 * See flow.h: what an answer says of the call that it is to.
 */
#include "real/real.h"
#include "track/flow.h"
#include "track/process.h"

/* How long the provider asks to be left alone, ns; 0: it does not, or that cannot be read. */
static uint64_t retry_after(const struct http1_facts *facts)
{
    if (facts == NULL) {
        return 0;
    }
    if (facts->retry_after_ms != 0) {
        return facts->retry_after_ms < 86400000 ? facts->retry_after_ms * 1000000 : 86400 * SECOND_NS;
    }
    if (facts->retry_after != 0) {
        return facts->retry_after < 86400 ? facts->retry_after * SECOND_NS : 86400 * SECOND_NS;
    }
    if (facts->retry_date == 0) {
        return 0;
    }
    struct timespec now;
    real_clock_gettime(CLOCK_REALTIME_COARSE, &now);
    int64_t seconds = facts->retry_date - now.tv_sec;
    return seconds <= 0 ? 0 : (seconds < 86400 ? (uint64_t)seconds : 86400) * SECOND_NS;
}

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
        call_status(&flow->call, status, retry_after(facts));
    }
    if ((news & EXCHANGE_ANSWERED) != 0) {
        flow->receiving = false;
        if (status != 0) {
            call_status(&flow->call, status, retry_after(facts));
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
