/*
 * See flow.h: what it says that the client lets go of a connection, by closing it, shutting it down or ending as a process.
 */
#include "real/real.h"
#include "track/flow/fdtable.h"
#include "track/flow/flow.h"
#include "track/process.h"
#include "track/flow/streams.h"
#include <errno.h>

/* ---- given up ---------------------------------------------------------------------------------------------------- */

static void give_up_connecting(struct flow *flow, int fd, uint64_t silence)
{
    if (!flow_is(flow, fd, false)) {
        return;
    }
    switch (flow_kernel_state(fd)) {
    case FLOW_KERNEL_CLOSED:
        if (flow->pending) { /* it had failed, and nobody asked with what */
            flow_fail_connecting(flow, PREBREAK_KIND_CONNECT);
        } else { /* it was left by a jump, or its thread cancelled, before it had begun */
            flow_lost(flow);
        }
        return;
    case FLOW_KERNEL_SYN_SENT:
    case 0:
        break;
    default:
        if (flow_greets(flow)) {
            break;
        }
        /* never used, and closed in peace */
        call_ok(&flow->call);
        attempt_lost(&flow->attempt, PREBREAK_OK, 0, process_now());
        return;
    }
    if (silence < HEDGE_NS) {
        flow_lost(flow);
    } else {
        flow_fail_connecting(flow, PREBREAK_KIND_TIMEOUT);
    }
}

/*
 * A request is outstanding. Was its answer awaited in vain? HTTP and TLS are owed one; of anything else only a provider
 * that is known to answer, or a client that tried to read. An answer that has begun is late only if the client had read
 * all that there was.
 */
static bool awaited(const struct flow *flow)
{
    if (flow->exchange.answering) {
        return flow->drained;
    }
    if (flow->exchange.duplex) {
        return false;
    }
    bool owed = flow->exchange.protocol != EXCHANGE_UNKNOWN && flow->exchange.protocol != EXCHANGE_OPAQUE;
    return owed || flow->receiving ||
           __atomic_load_n(&flow->call.provider->breaker.words->answered, __ATOMIC_RELAXED) != 0;
}

/*
 * Its head is there, and the client has had enough of the rest: it took what it wanted of a file, or the last event of a
 * stream. A provider whose every answer is left so would else never have answered, and would never be found well again.
 */
static bool answered_enough(const struct flow *flow)
{
    return flow->exchange.protocol == EXCHANGE_HTTP1 && flow->exchange.answering && flow->exchange.head_told;
}

/* Did the peer reset it, and the client learn that without a read (libuv closes as soon as epoll says so)? */
static bool was_reset(const struct flow *flow, int fd)
{
    return !flow->finished_out && flow_kernel_state(fd) == FLOW_KERNEL_CLOSED;
}

/*
 * Right behind an event, the client had what it wanted. While it waited for the next one it may have lost patience or its
 * interest: streams pause for seconds while a model thinks, and a user may press a button. Then nobody can tell, until the
 * silence was too long by any measure.
 */
static void give_up_stream(struct flow *flow, uint64_t silence)
{
    uint64_t event = flow->call.event;
    if (call_stalled(&flow->call)) {
        flow_fail(flow, PREBREAK_KIND_STREAM);
    } else if ((event != 0 ? process_now() - event : silence) < HEDGE_NS) {
        flow_answered(flow);
    }
}

/* An answer is outstanding, or the rest of it. */
static void give_up_answer(struct flow *flow, int fd, uint64_t silence)
{
    if (flow_decided(flow)) {
        flow_answered(flow);
        return;
    }
    if (answered_enough(flow) && was_reset(flow, fd)) {
        flow_broken(flow, fd, ECONNRESET);
    } else if (flow_streams(flow)) {
        give_up_stream(flow, silence);
    } else if (silence >= HEDGE_NS && awaited(flow)) {
        if (flow_is_silent(flow, fd)) {
            flow_fail(flow, PREBREAK_KIND_TIMEOUT);
        }
    } else if (answered_enough(flow)) {
        flow_answered(flow);
    }
}

static void give_up_open(struct flow *flow, int fd, uint64_t silence)
{
    bool waiting = exchange_waiting(&flow->exchange) || flow->receiving;
    if (waiting && !flow->exchange.ambiguous) {
        give_up_answer(flow, fd, silence);
        return;
    }
    /* What may have been the answer was, if the client is done as soon as it has it; unless the peer had enough first. */
    bool answered = waiting && silence < HEDGE_NS && !was_reset(flow, fd);
    if (!waiting && flow->untrusted && flow->exchange.completed == 0) {
        flow_fail(flow, PREBREAK_KIND_TLS);
    } else if (!waiting || answered) {
        call_ok(&flow->call); /* or a connection that was never used, closed in peace */
    }
}

void flow_given_up(struct flow *flow, int fd)
{
    uint64_t silence = process_now() - flow->moved;
    if (flow->gone == FLOW_GONE_END) {
        flow_at_end(flow, fd); /* and the client was content with what it had */
    } else if (flow->gone != 0) {
        flow_broken(flow, fd, flow->gone);
    } else if (flow->stage == FLOW_CONNECTING) {
        give_up_connecting(flow, fd, silence);
    } else if (flow->stage == FLOW_OPEN && flow->call.provider != NULL) {
        give_up_open(flow, fd, silence);
    }
    streams_given_up(flow);
    flow_lost(flow);
}

static void at_exit(int fd, uint64_t mark)
{
    flow_drop(mark, fd);
}

REAL_RARE void flow_at_exit(void)
{
    fd_each(0, UINT32_MAX, at_exit);
    attempt_sweep(UINT64_MAX);
}
