/*
 * See flow.h: marks, locks, and how a connection and the call on it end.
 */
#include "track/flow/flow.h"
#include "real/real.h"
#include "track/flow/fdtable.h"
#include "track/process.h"
#include "track/flow/streams.h"
#include <errno.h>
#include <string.h>

#define STALE_NS  SECOND_NS       /* a re-used connection that breaks within this was broken before */
#define UNUSED_NS (5 * SECOND_NS) /* a peer that hangs up on an unused connection earlier has turned us away */

/* ---- marks and locks --------------------------------------------------------------------------------------------- */

static uint64_t mark_of(unsigned number, uint32_t generation)
{
    return (uint64_t)generation << 32 | FD_STREAM | number;
}

uint64_t flow_mark(const struct flow *flow)
{
    return mark_of(flow->number, flow->generation);
}

#define SPINS    200
#define NAP_NS   100000
#define NAPS     200 /* 20 ms: on a busy machine, what a thread may have to do without a processor */
#define SPIN_FEW 20

static bool spin(struct flow *flow, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        if (flow_try(flow)) {
            return true;
        }
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    return false;
}

/*
 * The holder lost its processor: it is given the time to come back. What would go by unseen else is the view of this
 * connection, and of HTTP/2, where many threads share one, that would be of all there is. Not for who interrupted the holder,
 * which cannot come back before; and once only, should the holder be gone for good (cancelled).
 */
static bool nap(struct flow *flow)
{
    const struct timespec time = {0, NAP_NS};
    int saved = errno;
    bool mine = false;
    for (unsigned i = 0; i < NAPS && !mine; i++) {
        (void)real_syscall(SYS_nanosleep, (long)&time, 0, 0, 0, 0, 0);
        mine = spin(flow, SPIN_FEW);
    }
    errno = saved;
    return mine;
}

bool flow_wait(struct flow *flow)
{
    if (__atomic_load_n(&flow->busy, __ATOMIC_RELAXED) != flow_self()) {
        bool missed = __atomic_load_n(&flow->missed, __ATOMIC_RELAXED) != 0;
        if (spin(flow, SPINS) || (!missed && !process_confined() && nap(flow))) {
            return true;
        }
    }
    __atomic_store_n(&flow->missed, 1, __ATOMIC_RELAXED);
    return false;
}

struct flow *flow_check(struct flow *flow, uint64_t mark)
{
    if (flow->generation != mark >> 32) {
        flow_unlock(flow);
        return NULL;
    }
    if (__atomic_exchange_n(&flow->missed, 0, __ATOMIC_RELAXED) != 0) {
        flow_lost(flow);
    }
    return flow;
}

static void retire(struct flow *flow);

/*
 * Descriptors that let go of it while somebody else had it, perhaps the last ones: whoever is done with it lets go for
 * them. True: it is gone.
 */
static bool left_by_all(struct flow *flow)
{
    uint32_t gone = __atomic_exchange_n(&flow->abandoned, 0, __ATOMIC_ACQ_REL);
    if (gone == 0 || flow->holders == 0) {
        return false;
    }
    flow->holders -= gone < flow->holders ? gone : flow->holders;
    if (flow->holders > 0) {
        return false;
    }
    flow_lost(flow);
    retire(flow);
    return true;
}

void flow_let_go(struct flow *flow)
{
    do {
        if (__atomic_load_n(&flow->abandoned, __ATOMIC_RELAXED) != 0 && left_by_all(flow)) {
            return;
        }
        __atomic_store_n(&flow->busy, 0, __ATOMIC_SEQ_CST);
    } while (__atomic_load_n(&flow->abandoned, __ATOMIC_SEQ_CST) != 0 && flow_try(flow));
}

/* Somebody else has it: that one will let go for us. */
static void abandon(struct flow *flow)
{
    __atomic_add_fetch(&flow->abandoned, 1, __ATOMIC_SEQ_CST);
    if (flow_try(flow)) {
        flow_let_go(flow);
    }
}

struct flow *flow_new(uint64_t *mark)
{
    unsigned number = flow_take();
    struct flow *flow = flow_at(number);
    if (flow == NULL) {
        return NULL;
    }
    uint32_t generation = flow->generation + 1;
    __atomic_store_n(&flow->busy, flow_self(), __ATOMIC_RELAXED);
    __atomic_store_n(&flow->missed, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&flow->abandoned, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&flow->look, true, __ATOMIC_RELAXED);
    __atomic_store_n(&flow->look_plain, false, __ATOMIC_RELAXED);
    memset(&flow->holders, 0, sizeof *flow - offsetof(struct flow, holders));
    flow->number = number;
    flow->holders = 1;
    __atomic_store_n(&flow->generation, generation, __ATOMIC_RELEASE);
    *mark = mark_of(number, generation);
    return flow;
}

/* A condemned one stays: what is written on it must go on failing. */
static bool has_told_all(const struct flow *flow)
{
    return flow->call.provider == NULL && flow->attempt.number == 0 &&
           (flow->stage == FLOW_ENDED || (flow->stage == FLOW_OPEN && flow->exchange.over));
}

void flow_note_look(struct flow *flow)
{
    bool refused = flow->stage == FLOW_DOOMED || flow->stage == FLOW_CONDEMNED;
    bool wants = !refused && exchange_wants_request(&flow->exchange);
    __atomic_store_n(&flow->look, refused || (wants && !flow->plain), __ATOMIC_RELAXED);
    __atomic_store_n(&flow->look_plain, wants && flow->plain, __ATOMIC_RELAXED);
}

void flow_leave(struct flow *flow, int fd, uint64_t mark)
{
    bool done = has_told_all(flow);
    flow_note_look(flow);
    flow_unlock(flow);
    if (done && fd_replace(fd, mark, mark & FD_KIND)) {
        flow_forget(mark);
    }
}

/* Its memory may be used for another connection: no mark fits it any more. */
static void retire(struct flow *flow)
{
    unsigned number = flow->number;
    __atomic_add_fetch(&flow->generation, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&flow->busy, 0, __ATOMIC_SEQ_CST);
    flow_give_back(number);
}

void flow_hold(uint64_t mark)
{
    struct flow *flow = flow_lock(mark);
    if (flow != NULL) {
        flow->holders++;
        flow_unlock(flow);
    }
}

static void let_go(uint64_t mark, int fd, void (*ending)(struct flow *flow, int fd))
{
    struct flow *flow = flow_lock(mark);
    if (flow == NULL) {
        flow = flow_of(mark);
        if (flow != NULL) {
            abandon(flow);
        }
        return;
    }
    if (--flow->holders > 0) {
        flow_unlock(flow);
        return;
    }
    ending(flow, fd);
    retire(flow);
}

void flow_drop(uint64_t mark, int fd)
{
    let_go(mark, fd, flow_given_up);
}

static void forget(struct flow *flow, int fd)
{
    (void)fd;
    flow_lost(flow);
}

void flow_forget(uint64_t mark)
{
    let_go(mark, -1, forget);
}

bool flow_under_way(const struct flow *flow)
{
    return flow->call.provider != NULL || streams_under_way(flow);
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

void flow_void(struct flow *flow, uint32_t requests)
{
    for (uint32_t i = 0; i < requests && i < HTTP1_PIPELINE && flow->provider != NULL; i++) {
        struct call call;
        call_pass(&call, flow->provider);
        call_neutral(&call);
    }
}

/* Requests of a pipeline behind one whose answer will not end. */
static void leave_behind(struct flow *flow)
{
    const struct exchange *exchange = &flow->exchange;
    if (exchange->protocol == EXCHANGE_HTTP1 && !exchange->over && !exchange->requests_lost && exchange->asked > 1) {
        flow_void(flow, exchange->asked - 1);
    }
}

/* Is the answer under way an event stream? It is not over with its head, and what breaks it is a failure of its own kind. */
bool flow_streams(const struct flow *flow)
{
    const struct body *body = exchange_body(&flow->exchange);
    return body != NULL && body->stream;
}

void flow_lost(struct flow *flow)
{
    leave_behind(flow);
    streams_lost(flow);
    if (flow_decided(flow)) {
        flow_answered(flow);
    }
    call_neutral(&flow->call);
    attempt_lost(&flow->attempt, PREBREAK_NEUTRAL, 0, process_now());
    flow->exchange.over = true;
    if (flow->stage != FLOW_DOOMED && flow->stage != FLOW_CONDEMNED) {
        flow->stage = FLOW_ENDED;
    }
}

void flow_fail(struct flow *flow, enum prebreak_kind kind)
{
    streams_fail(flow, kind);
    if (flow_decided(flow)) {
        flow_answered(flow);
    }
    call_failed(&flow->call, kind == PREBREAK_KIND_RESET && flow_streams(flow) ? PREBREAK_KIND_STREAM : kind);
    leave_behind(flow);
    attempt_lost(&flow->attempt, PREBREAK_FAILED, kind, process_now());
    flow->exchange.over = true;
    flow->stage = FLOW_ENDED;
}

/* ---- connecting -------------------------------------------------------------------------------------------------- */

bool flow_greets(const struct flow *flow)
{
    uint16_t port = flow->address.port;
    return port != 0 && flow->provider != NULL && __atomic_load_n(&flow->provider->greets, __ATOMIC_RELAXED) == port;
}

void flow_established(struct flow *flow)
{
    if (flow->stage != FLOW_CONNECTING) {
        return;
    }
    flow->stage = FLOW_OPEN;
    flow->opened = flow->moved = process_now();
    attempt_won(&flow->attempt, &flow->call);
    if (flow_greets(flow)) {
        exchange_await_greeting(&flow->exchange);
        call_wake(&flow->call);
    } else {
        call_rest(&flow->call);
    }
}

/* What a failed connect says about the provider. All else is our own side's trouble. */
static bool peers_fault(int error, bool at_once)
{
    switch (error) {
    case ECONNREFUSED:
    case ETIMEDOUT:
    case ECONNRESET:
    case ECONNABORTED:
    case ENOENT: /* a unix socket that is not there */
        return true;
    case EHOSTUNREACH: /* the network's word takes a while; at once it is our own routing table's */
        return !at_once;
    default:
        return false;
    }
}

/* Its address is dead, which says something of the provider unless another may answer that we cannot follow. */
void flow_fail_connecting(struct flow *flow, enum prebreak_kind kind)
{
    if (flow->crowded) {
        flow_lost(flow);
    } else {
        flow_fail(flow, kind);
    }
}

void flow_not_established(struct flow *flow, int error, bool at_once)
{
    if (flow->stage != FLOW_CONNECTING) {
        return;
    }
    if (peers_fault(error, at_once)) {
        /* Whose names share the address are all down with it; told of the one that was looked up last. */
        if (flow->undecided && flow->provider != NULL && !call_admit(&flow->call, flow->provider)) {
            flow->call.provider = NULL;
        }
        flow_fail_connecting(flow, PREBREAK_KIND_CONNECT);
    } else {
        flow_lost(flow);
    }
}

/* ---- established ------------------------------------------------------------------------------------------------- */

/*
 * A connection that was kept alive and broke when it was used again, before any answer byte: the peer had closed it while
 * it was idle, which is its right.
 */
static bool was_stale(const struct flow *flow)
{
    const struct exchange *exchange = &flow->exchange;
    bool upgrading = exchange->protocol == EXCHANGE_TLS && !exchange->secured; /* STARTTLS: it was not idle */
    return exchange->completed > 0 && !exchange->answering && !upgrading && process_now() - flow->began < STALE_NS;
}

/*
 * Of two threads, the one that reads may learn of the end before the one that wrote the request is back from writing it: a
 * reset or an end that is read says that the connection stood (one that is refused says ECONNREFUSED).
 */
static void stood(struct flow *flow)
{
    if (exchange_waiting(&flow->exchange)) {
        flow_established(flow);
    }
}

void flow_broken(struct flow *flow, int fd, int error)
{
    if (error == ECONNRESET) {
        stood(flow);
    }
    if (flow->stage == FLOW_CONNECTING) {
        flow_not_established(flow, error, false);
        return;
    }
    bool ours = error == EPIPE && flow->finished_out;
    if (flow->stage != FLOW_OPEN || !flow_under_way(flow) || ours || was_stale(flow) || !flow_is(flow, fd, false)) {
        flow_lost(flow);
        return;
    }
    switch (error) {
    case ECONNRESET:
    case EPIPE:
    case ECONNABORTED:
        flow_fail(flow, PREBREAK_KIND_RESET);
        break;
    case ECONNREFUSED: /* a connect that TCP Fast Open had put off */
        flow_fail(flow, PREBREAK_KIND_CONNECT);
        break;
    case ETIMEDOUT:
    case EHOSTUNREACH:
        flow_fail(flow, PREBREAK_KIND_TIMEOUT);
        break;
    default:
        flow_lost(flow);
        break;
    }
}

/* The peer hung up on a connection that carried nothing: at once it turned us away, later it tidied up. */
static void hung_up_unused(struct flow *flow, int fd)
{
    bool early = process_now() - flow->opened < UNUSED_NS;
    if (flow->finished_out) { /* so did we */
        call_ok(&flow->call);
        flow_lost(flow);
    } else if (early && flow->exchange.completed == 0 && flow_is(flow, fd, false)) {
        flow_fail(flow, PREBREAK_KIND_RESET);
    } else {
        flow_lost(flow);
    }
}

/*
 * Some programs have their TLS library take the end of the connection for a goodbye (Python and PHP do), for the sake of
 * sloppy servers, who are left alone here too. But a stream of events that lasts until then was promised a real one.
 */
static bool was_torn(const struct flow *flow)
{
    const struct body *body = exchange_body(&flow->exchange);
    return flow->plain && flow->gone == FLOW_GONE_END && body != NULL && body->stream;
}

void flow_at_end(struct flow *flow, int fd)
{
    stood(flow);
    if (flow->stage != FLOW_OPEN || !flow_under_way(flow)) {
        flow_lost(flow);
        return;
    }
    switch (exchange_ended(&flow->exchange)) {
    case EXCHANGE_END_IDLE:
        hung_up_unused(flow, fd);
        break;
    case EXCHANGE_END_COMPLETE:
        if (was_torn(flow)) {
            flow_broken(flow, fd, ECONNRESET);
            break;
        }
        flow_answer(flow, exchange_body_ended(&flow->exchange));
        flow_answered(flow);
        flow_lost(flow);
        break;
    case EXCHANGE_END_CUT:
        if ((flow->finished_out && !exchange_answer(&flow->exchange)) || flow->exchange.duplex) {
            flow_lost(flow); /* we said goodbye, and so did the peer; or nothing was owed */
        } else {
            flow_broken(flow, fd, ECONNRESET);
        }
        break;
    case EXCHANGE_END_AMBIGUOUS:
        flow_lost(flow);
        break;
    }
}
