/*
 * See plain.h.
 */
#include "track/tls/plain.h"
#include "real/real.h"
#include "track/flow/feed.h"
#include "track/flow/flow.h"
#include "track/flow/streams.h"
#include <errno.h>
#include <string.h>

/* ---- from the handshake on --------------------------------------------------------------------------------------- */

static bool said(const struct flow *flow, const uint8_t random[TLS_RANDOM])
{
    const uint8_t *hello = exchange_random(&flow->exchange);
    return hello != NULL && memcmp(hello, random, TLS_RANDOM) == 0;
}

bool plain_begin(uint64_t mark, const uint8_t random[TLS_RANDOM])
{
    struct flow *flow = flow_lock(mark);
    if (flow == NULL) {
        return false;
    }
    int saved = errno;
    bool begins = !flow->plain && flow->stage == FLOW_OPEN && said(flow, random);
    if (begins) {
        bool tunnel = flow->exchange.tunnel;
        flow->plain = true;
        exchange_begin(&flow->exchange);
        flow->exchange.tunnel = tunnel; /* whom it leads to is known */
        flow->receiving = flow->drained = false;
        flow->ahead = 0;
        flow->began = 0;
        call_rest(&flow->call); /* a handshake is no answer, and nothing else was asked yet */
        flow_note_look(flow);
    }
    flow_unlock(flow);
    errno = saved;
    return begins;
}

/* The flow, locked, if its plaintext is still of interest. */
static struct flow *lock_open(uint64_t mark)
{
    struct flow *flow = flow_lock(mark);
    if (flow != NULL && flow->stage != FLOW_OPEN) {
        flow_unlock(flow);
        return NULL;
    }
    return flow;
}

static void leave(struct flow *flow)
{
    flow_note_look(flow);
    flow_unlock(flow);
}

void plain_untrusted(uint64_t mark)
{
    struct flow *flow = lock_open(mark);
    if (flow != NULL) {
        flow->untrusted = true;
        flow_unlock(flow);
    }
}

void plain_early(uint64_t mark)
{
    struct flow *flow = lock_open(mark);
    if (flow != NULL) {
        flow->early = true;
        flow_unlock(flow);
    }
}

void plain_shaken(uint64_t mark, bool taken)
{
    struct flow *flow = lock_open(mark);
    if (flow == NULL) {
        return;
    }
    if (flow->early && !taken) {
        streams_lost(flow);
        exchange_begin(&flow->exchange); /* the client says it again */
    }
    flow->early = false;
    leave(flow);
}

static struct iovec vector_of(const void *bytes, size_t length)
{
    return (struct iovec){(void *)(uintptr_t)bytes, length};
}

/* ---- written ----------------------------------------------------------------------------------------------------- */

void plain_ask(uint64_t mark, const void *bytes, size_t length)
{
    const struct flow *seen = flow_of(mark);
    if (seen == NULL || !__atomic_load_n(&seen->look_plain, __ATOMIC_RELAXED)) {
        return;
    }
    struct flow *flow = lock_open(mark);
    if (flow == NULL) {
        return;
    }
    int saved = errno;
    const struct iovec iov = vector_of(bytes, length);
    if (feed_wants(flow) && !feed_ahead(flow, &iov, 1)) {
        flow->stage = FLOW_DOOMED;
        flow->exchange.over = true;
    }
    leave(flow);
    errno = saved;
}

/* The client waits for an answer that it is owed. */
static void wake(struct flow *flow)
{
    if (!exchange_owed(&flow->exchange)) {
        call_rest(&flow->call);
    } else if (flow->call.ticket.word == 0) {
        call_wake(&flow->call);
    }
}

void plain_sent(uint64_t mark, const void *bytes, size_t length)
{
    struct flow *flow = lock_open(mark);
    if (flow == NULL) {
        return;
    }
    if (flow->ahead == 0 && exchange_pass(&flow->exchange, true, length)) {
        wake(flow);
        flow_unlock(flow);
        return;
    }
    int saved = errno;
    const struct iovec iov = vector_of(bytes, length);
    if (bytes != NULL) {
        feed_written(flow, &iov, 1, length, false);
    } else {
        flow->ahead -= flow->ahead < length ? flow->ahead : (uint32_t)length;
    }
    wake(flow);
    leave(flow);
    errno = saved;
}

void plain_took(uint64_t mark, const void *bytes, size_t length)
{
    struct flow *flow = lock_open(mark);
    if (flow == NULL) {
        return;
    }
    int saved = errno;
    uint32_t known = flow->ahead;
    if (known < length) {
        const struct iovec iov = vector_of(bytes, length);
        feed_written(flow, &iov, 1, length, false);
        flow->ahead = (uint32_t)length;
    }
    wake(flow);
    leave(flow);
    errno = saved;
}

/* ---- read -------------------------------------------------------------------------------------------------------- */

void plain_received(uint64_t mark, const void *bytes, size_t length)
{
    struct flow *flow = lock_open(mark);
    if (flow == NULL) {
        return;
    }
    if (exchange_pass(&flow->exchange, false, length)) {
        flow_unlock(flow);
        return;
    }
    int saved = errno;
    const struct iovec iov = vector_of(bytes, length);
    feed_read(flow, &iov, 1, length);
    leave(flow);
    errno = saved;
}

bool plain_waits(uint64_t mark)
{
    struct flow *flow = lock_open(mark);
    if (flow == NULL) {
        return false;
    }
    if (exchange_waiting(&flow->exchange)) {
        flow->receiving = flow->drained = true;
    }
    bool ended = flow->gone != 0;
    flow_unlock(flow);
    return ended;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

void plain_closed(uint64_t mark)
{
    struct flow *flow = lock_open(mark);
    if (flow == NULL) {
        return;
    }
    int saved = errno;
    flow_at_end(flow, -1);
    leave(flow);
    errno = saved;
}

/* An answer that ends with the connection ends with a goodbye, or was cut. */
static void end_without_goodbye(struct flow *flow)
{
    if (exchange_ended(&flow->exchange) == EXCHANGE_END_COMPLETE) {
        flow_broken(flow, -1, ECONNRESET);
    } else {
        flow_at_end(flow, -1);
    }
}

/* The peer sent an alert, or something that is no TLS of this connection's. */
static void end_by_alert(struct flow *flow)
{
    if (flow->exchange.answering || flow->exchange.completed > 0) {
        flow_broken(flow, -1, ECONNRESET);
    } else {
        flow_fail(flow, PREBREAK_KIND_TLS);
    }
}

void plain_broken(uint64_t mark, bool alert)
{
    struct flow *flow = lock_open(mark);
    if (flow == NULL) {
        return;
    }
    int saved = errno;
    if (flow->gone == FLOW_GONE_END) {
        end_without_goodbye(flow);
    } else if (flow->gone != 0) {
        flow_broken(flow, -1, flow->gone);
    } else if (flow->finished_out) {
        flow_lost(flow);
    } else if (alert) {
        end_by_alert(flow);
    }
    leave(flow);
    errno = saved;
}

void plain_finishing(uint64_t mark)
{
    struct flow *flow = lock_open(mark);
    if (flow != NULL) {
        flow->finished_out = true;
        flow_unlock(flow);
    }
}
