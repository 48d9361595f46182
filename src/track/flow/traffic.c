/*
 * See flow.h: the bytes of a connection. What the client is about to write is read before the real call only where it may
 * begin a request or say whom it is for, since that is the moment to refuse; everything else is read when it has moved.
 */
#include "real/real.h"
#include "track/flow/fdtable.h"
#include "track/flow/feed.h"
#include "track/flow/flow.h"
#include "track/layer.h"
#include "track/process.h"
#include <errno.h>

#define PAUSE_NS UINT64_C(100000000) /* a client that writes again after that had its answer */

/* ---- an upper layer's connections -------------------------------------------------------------------------------- */

static bool is_upper(uint64_t mark)
{
    return (mark & FD_FLOW) == FD_UPPER;
}

/* A byte moved on a connection of a layer above: a sign of life for the call that it has under way. */
static void upper_heard(void)
{
    struct layer *layer = layer_current(__builtin_frame_address(0));
    if (layer != NULL) {
        layer_heard(layer);
    }
}

/* ---- refusing ---------------------------------------------------------------------------------------------------- */

/*
 * Shut down for real, so that whoever waits for an answer is told at once; but only if it still is that socket. For reading
 * alone: others may hold it too (a child, a process that it was passed to), or write where no hook is, and a broken pipe's
 * signal would kill them. What they write is let through.
 */
static bool refuse(struct flow *flow, int fd)
{
    if (!flow_is(flow, fd, true)) {
        return false;
    }
    if (flow_is_unopened(flow, fd)) {
        flow->stage = FLOW_ENDED; /* MSG_FASTOPEN: another connect may follow, and a shutdown would outlive it */
    } else if (real_shutdown(fd, SHUT_RD) == 0) {
        flow->stage = FLOW_CONDEMNED;
    } else {
        return false;
    }
    flow->exchange.over = true;
    return true;
}

/*
 * Something may begin here that looks like a request. Is the number another's by now, closed where nobody saw it? Asked of the
 * kernel when that is likelier than usual: what stood idle for a second, or no longer says what it used to.
 */
static bool is_stale(const struct flow *flow, int fd, const struct iovec *iov, size_t count)
{
    if (exchange_waiting(&flow->exchange)) {
        return false;
    }
    bool strange = false;
    if (flow->exchange.protocol == EXCHANGE_HTTP1 && count > 0 && iov->iov_len > 0 &&
        process_readable(iov->iov_base, 1)) {
        unsigned char first = *(const unsigned char *)iov->iov_base;
        strange = first < 'A' || first > 'Z';
    }
    return (strange || process_now() - flow->moved >= SECOND_NS) && !flow_is(flow, fd, false);
}

static bool ask_request(struct flow *flow, int fd, const struct iovec *iov, size_t count)
{
    if (is_stale(flow, fd, iov, count)) {
        flow_lost(flow);
        return true;
    }
    return feed_ahead(flow, iov, count) || !refuse(flow, fd);
}

bool traffic_ask(int fd, uint64_t mark, const struct iovec *iov, size_t count)
{
    if (!flow_looks(mark)) {
        return true;
    }
    int saved = errno;
    bool pass = true;
    struct flow *flow = flow_lock(mark);
    if (flow != NULL) {
        if (flow->stage == FLOW_CONDEMNED) {
            pass = !flow_is(flow, fd, true);
            flow->stage = pass ? FLOW_ENDED : flow->stage;
        } else if (flow->stage == FLOW_DOOMED) {
            pass = !refuse(flow, fd);
            flow->stage = pass ? FLOW_ENDED : flow->stage;
        } else if (!flow->plain && flow->stage != FLOW_ENDED && feed_wants(flow)) {
            pass = ask_request(flow, fd, iov, count);
        }
        flow_note_look(flow);
        flow_unlock(flow);
    }
    errno = pass ? saved : ECONNRESET;
    return pass;
}

/* ---- written ----------------------------------------------------------------------------------------------------- */

/* Bytes moved: the connection is there, and so is its provider. */
static void heard(struct flow *flow, bool from_client)
{
    if (flow->stage == FLOW_CONNECTING) {
        flow_established(flow);
    }
    uint64_t now = process_now();
    if (now != flow->moved) {
        if (flow->ahead == 0 && !(flow->plain && from_client)) {
            exchange_after_silence(&flow->exchange, from_client, now - flow->moved);
        }
        flow->moved = now;
        call_heard(&flow->call);
    }
}

/* Silence is to be watched if the client waits for the answer to a request, and not else. */
static inline void wake(struct flow *flow)
{
    if (flow->plain) {
        return;
    }
    bool owed = exchange_owed(&flow->exchange);
    if (owed && flow->call.ticket.word == 0) {
        call_wake(&flow->call);
    } else if (!owed) {
        call_rest(&flow->call);
    }
}

/* Bytes that say nothing more than that they moved: the common case, and nothing here can touch errno. */
static inline bool passes(struct flow *flow, bool from_client, size_t length)
{
    if (flow->stage != FLOW_OPEN) {
        return false;
    }
    if (!flow->plain &&
        (flow->ahead != 0 || flow->exchange.ambiguous || !exchange_pass(&flow->exchange, from_client, length))) {
        return false;
    }
    heard(flow, from_client);
    return true;
}

static bool is_passing(int error)
{
    return error == EAGAIN || error == EINTR || error == EFAULT || error == EINVAL || error == ENOBUFS ||
           error == ENOMEM || error == EMSGSIZE || error == EINPROGRESS || error == EALREADY;
}

/* Moved on a connection that is not followed, or that somebody else has just now. */
static ssize_t not_followed(uint64_t mark, ssize_t result)
{
    if (result > 0 && is_upper(mark)) {
        upper_heard();
    }
    return result;
}

static ssize_t sent(struct flow *flow, int fd, uint64_t mark, const struct iovec *iov, size_t count, ssize_t result)
{
    int error = errno;
    if (result > 0 && flow->plain) {
        heard(flow, true);
    } else if (result > 0) {
        uint64_t before = flow->moved;
        heard(flow, true);
        bool went_on = flow->exchange.ambiguous && flow->moved - before > PAUSE_NS;
        if (went_on) {
            flow_answer(flow, exchange_went_on(&flow->exchange));
        }
        feed_written(flow, iov, count, (size_t)result, went_on);
        wake(flow);
    } else if (result < 0 && !is_passing(error)) {
        /* A goodbye that nobody is there to hear: that it broke was found before, and the client knows */
        flow_broken(flow, fd, flow->gone > 0 ? flow->gone : error);
    }
    flow_leave(flow, fd, mark);
    errno = error;
    return result;
}

ssize_t traffic_sent(int fd, uint64_t mark, const struct iovec *iov, size_t count, ssize_t result)
{
    struct flow *flow = flow_lock(mark);
    return flow != NULL ? sent(flow, fd, mark, iov, count, result) : not_followed(mark, result);
}

static __attribute__((noinline)) ssize_t sent_bytes(struct flow *flow, int fd, uint64_t mark, const void *bytes,
                                                    size_t length, ssize_t result)
{
    const struct iovec iov = {(void *)(uintptr_t)bytes, length};
    return sent(flow, fd, mark, &iov, 1, result);
}

ssize_t traffic_sent_bytes(int fd, uint64_t mark, const void *bytes, size_t length, ssize_t result)
{
    struct flow *flow = flow_lock(mark);
    if (flow == NULL) {
        return not_followed(mark, result);
    }
    if (result <= 0 || !passes(flow, true, (size_t)result)) {
        return sent_bytes(flow, fd, mark, bytes, length, result);
    }
    wake(flow);
    flow_unlock(flow);
    return result;
}

/* Bytes that nobody saw, but of a body, up to its end at most: whatever they were, it is the same. */
static bool passes_unseen(struct flow *flow, bool from_client, size_t length)
{
    static const uint8_t any;
    const struct iovec last = {(void *)(uintptr_t)&any, 1};
    if (flow->plain) {
        return true;
    }
    if (flow->ahead != 0) {
        return false;
    }
    if (exchange_pass(&flow->exchange, from_client, length)) {
        return true;
    }
    if (!exchange_pass(&flow->exchange, from_client, length - 1)) {
        return false;
    }
    if (from_client) {
        feed_written(flow, &last, 1, 1, false);
    } else {
        feed_read(flow, &last, 1, 1);
    }
    return true;
}

/* Errors of a connection, and not of the other descriptor. */
static bool is_broken(ssize_t result, int error)
{
    return result < 0 && (error == ECONNRESET || error == ECONNREFUSED || error == ETIMEDOUT || error == EHOSTUNREACH);
}

ssize_t traffic_sent_unseen(int fd, uint64_t mark, ssize_t result)
{
    int error = errno;
    bool broken = is_broken(result, error) || (result < 0 && error == EPIPE);
    struct flow *flow = result > 0 || broken ? flow_lock(mark) : NULL;
    if (flow == NULL) {
        return not_followed(mark, result);
    }
    if (broken) {
        flow_broken(flow, fd, error);
    } else {
        heard(flow, true);
        if (!passes_unseen(flow, true, (size_t)result)) {
            exchange_sent_unseen(&flow->exchange);
        }
        wake(flow);
    }
    flow_leave(flow, fd, mark);
    errno = error;
    return result;
}

/* ---- read -------------------------------------------------------------------------------------------------------- */

static size_t room(const struct iovec *iov, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += iov[i].iov_len;
    }
    return sum;
}

/*
 * The client tried to read, and there was nothing. On a blocking socket that is SO_RCVTIMEO running out; that it blocks is
 * asked only when something had been awaited long enough to matter.
 */
static void nothing_there(struct flow *flow, int fd, int flags)
{
    bool listens = flow->plain || flow->exchange.protocol == EXCHANGE_HTTP2;
    if (listens && !exchange_waiting(&flow->exchange)) {
        return; /* it looks for what the peer may say by itself */
    }
    flow->receiving = flow->drained = true;
    const struct exchange *exchange = &flow->exchange;
    bool open = flow->stage == FLOW_OPEN && !exchange->ambiguous && !exchange->duplex;
    if (open) {
        call_wake(&flow->call);
    }
    if (!open || (flags & MSG_DONTWAIT) != 0 || !flow_under_way(flow) || process_confined() ||
        process_now() - flow->moved < SECOND_NS) {
        return;
    }
    int blocking = real_fcntl(fd, F_GETFL);
    if (blocking != -1 && (blocking & O_NONBLOCK) == 0 && flow_is_silent(flow, fd)) {
        flow_fail(flow, PREBREAK_KIND_TIMEOUT);
    }
}

/* Nothing more will be read. What a TLS library was given before may still be in there, and complete an answer. */
static void ended(struct flow *flow, int fd, int error)
{
    if (flow->plain) {
        flow->gone = (int16_t)error;
    } else if (error == FLOW_GONE_END) {
        flow_at_end(flow, fd);
    } else {
        flow_broken(flow, fd, error);
    }
}

static ssize_t received(struct flow *flow, int fd, uint64_t mark, const struct iovec *iov, size_t count, int flags,
                        ssize_t result)
{
    int error = errno;
    size_t wanted = result >= 0 ? room(iov, count) : 0;
    if (result > 0) {
        heard(flow, false);
        flow->bytes_read += (uint32_t)result;
        flow->drained = (size_t)result < wanted;
        if (flow->plain) {
            /* told by the library */
        } else if ((flags & MSG_TRUNC) != 0) {
            flow_answer(flow, exchange_received_unseen(&flow->exchange));
        } else {
            feed_read(flow, iov, count, (size_t)result);
        }
    } else if (result == 0 && wanted > 0) {
        ended(flow, fd, FLOW_GONE_END);
    } else if (result < 0 && error == EAGAIN) {
        nothing_there(flow, fd, flags);
    } else if (result < 0 && !is_passing(error)) {
        ended(flow, fd, error);
    }
    flow_leave(flow, fd, mark);
    errno = error;
    return result;
}

/* What is peeked at will be read again; an error or the end that a peek found is found once. */
static inline bool is_beside(int flags, ssize_t result)
{
    return (flags & (MSG_ERRQUEUE | MSG_OOB)) != 0 || ((flags & MSG_PEEK) != 0 && result > 0);
}

ssize_t traffic_received(int fd, uint64_t mark, const struct iovec *iov, size_t count, int flags, ssize_t result)
{
    if (is_beside(flags, result)) {
        return result;
    }
    struct flow *flow = flow_lock(mark);
    return flow != NULL ? received(flow, fd, mark, iov, count, flags, result) : not_followed(mark, result);
}

static __attribute__((noinline)) ssize_t received_bytes(struct flow *flow, int fd, uint64_t mark, void *bytes,
                                                        size_t length, int flags, ssize_t result)
{
    const struct iovec iov = {bytes, length};
    return received(flow, fd, mark, &iov, 1, flags, result);
}

ssize_t traffic_received_bytes(int fd, uint64_t mark, void *bytes, size_t length, int flags, ssize_t result)
{
    if (is_beside(flags, result)) {
        return result;
    }
    struct flow *flow = flow_lock(mark);
    if (flow == NULL) {
        return not_followed(mark, result);
    }
    if (result <= 0 || (flags & MSG_TRUNC) != 0 || !passes(flow, false, (size_t)result)) {
        return received_bytes(flow, fd, mark, bytes, length, flags, result);
    }
    flow->bytes_read += (uint32_t)result;
    flow->drained = (size_t)result < length;
    flow_unlock(flow);
    return result;
}

ssize_t traffic_received_unseen(int fd, uint64_t mark, size_t wanted, ssize_t result)
{
    int error = errno;
    bool broken = is_broken(result, error);
    struct flow *flow = result >= 0 || broken ? flow_lock(mark) : NULL;
    if (flow == NULL) {
        return not_followed(mark, result);
    }
    if (broken) {
        ended(flow, fd, error);
    } else if (result > 0) {
        heard(flow, false);
        flow->bytes_read += (uint32_t)result;
        if (!passes_unseen(flow, false, (size_t)result)) {
            flow_answer(flow, exchange_received_unseen(&flow->exchange));
        }
    } else if (wanted > 0) {
        ended(flow, fd, FLOW_GONE_END);
    }
    flow_leave(flow, fd, mark);
    errno = error;
    return result;
}

/* ---- by other means ---------------------------------------------------------------------------------------------- */

void traffic_shutdown(int fd, uint64_t mark, int how)
{
    int saved = errno;
    struct flow *flow = flow_lock(mark);
    if (flow != NULL) {
        if (how == SHUT_WR) {
            flow->finished_out = true;
        } else if (how == SHUT_RD || how == SHUT_RDWR) {
            flow_given_up(flow, fd);
        }
        flow_leave(flow, fd, mark);
    }
    errno = saved;
}

void traffic_unseen(int fd, uint64_t mark)
{
    int saved = errno;
    struct flow *flow = flow_lock(mark);
    if (flow != NULL) {
        if (flow->stage == FLOW_OPEN && !exchange_waiting(&flow->exchange)) {
            call_ok(&flow->call); /* that it was established is all that will be seen */
        }
        flow_lost(flow);
        flow_leave(flow, fd, mark);
    }
    errno = saved;
}
