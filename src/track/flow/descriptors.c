/*
 * See descriptors.h.
 */
#include "track/flow/descriptors.h"
#include "real/real.h"
#include "track/flow/fdtable.h"
#include "track/flow/flow.h"
#include "track/layer.h"
#include "track/process.h"
#include <errno.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/single_threaded.h>

/* What the number stood for is gone, and nobody saw it go. */
static void stale(int fd)
{
    uint64_t mark = fd_mark(fd);
    if (mark != 0 && process_is_own() && fd_replace(fd, mark, 0)) {
        flow_forget(mark);
    }
}

int descriptor_came(int fd)
{
    if (process_acts && fd >= 0) {
        int saved = errno;
        stale(fd);
        errno = saved;
    }
    return fd;
}

int descriptor_made(int fd, int domain, int type)
{
    if (!process_acts) {
        return fd;
    }
    if (fd < 0) {
        struct layer *layer = layer_current(__builtin_frame_address(0));
        if (layer != NULL) {
            layer_failed(layer, errno);
        }
        return fd;
    }
    int saved = errno;
    stale(fd);
    bool inet = domain == AF_INET || domain == AF_INET6;
    bool stream = (type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) == SOCK_STREAM;
    if (fd_mark(fd) == 0) { /* else this is a child of vfork, and the number its parent's connection */
        fd_put(fd, stream && (inet || domain == AF_UNIX) ? FD_STREAM : FD_OTHER);
    }
    errno = saved;
    return fd;
}

void descriptor_closing(int fd)
{
    uint64_t mark = fd_look(fd);
    if (__builtin_expect(mark == 0, 1)) {
        return;
    }
    if ((mark & FD_FLOW) == 0) {
        fd_replace(fd, mark, 0);
        return;
    }
    int saved = errno;
    if (process_is_own() && fd_replace(fd, mark, 0)) {
        flow_drop(mark, fd);
    }
    errno = saved;
}

static void closing(int fd, uint64_t mark)
{
    if (fd_replace(fd, mark, 0)) {
        flow_drop(mark, fd);
    }
}

static void forgetting(int fd, uint64_t mark)
{
    if (fd_replace(fd, mark, 0)) {
        flow_forget(mark);
    }
}

void descriptors_closing(unsigned first, unsigned last, unsigned flags)
{
    /* With flags that nobody knows, nothing is closed. */
    if ((flags & ~(unsigned)CLOSE_RANGE_UNSHARE) != 0 || !process_acts || !process_is_own()) {
        return;
    }
    int saved = errno;
    /* One thread that goes on with descriptors of its own; the others keep theirs, and the table knows but one of a number. */
    bool parts = (flags & CLOSE_RANGE_UNSHARE) != 0 && !__libc_single_threaded;
    fd_each(first, last, parts ? forgetting : closing);
    errno = saved;
}

int descriptor_copied(int from, int to)
{
    uint64_t mark = fd_look(from);
    uint64_t old = fd_look(to);
    if (__builtin_expect((mark | old) == 0, 1) || to < 0 || from == to) {
        return to;
    }
    if (((mark | old) & FD_FLOW) == 0) {
        /* Of its kind we are not sure: this may be a child of vfork, and the table its parent's. */
        fd_replace(to, old, 0);
        return to;
    }
    int saved = errno;
    if (process_is_own()) {
        flow_hold(mark);
        if (!fd_put(to, mark) && (mark & FD_FLOW) != 0) {
            flow_forget(mark);
        }
        if ((old & FD_FLOW) != 0) {
            flow_drop(old, -1);
        }
    }
    errno = saved;
    return to;
}

/* ---- handed on --------------------------------------------------------------------------------------------------- */

#define PASSED_MAX 253 /* more, the kernel does not pass in one message */

/* Each descriptor that came along with a message which the kernel has taken or made, and so can be read. */
static void each_passed(const struct msghdr *msg, void (*each)(int fd))
{
    for (struct cmsghdr *head = CMSG_FIRSTHDR(msg); head != NULL;
         head = CMSG_NXTHDR((struct msghdr *)(uintptr_t)msg, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS || head->cmsg_len < CMSG_LEN(0)) {
            continue;
        }
        size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count && i < PASSED_MAX; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(head) + i * sizeof fd, sizeof fd);
            each(fd);
        }
    }
}

/* Whoever has it now may be who reads the answer: closing it here gives nothing up. One that is idle may still be used here. */
static void handed_over(int fd)
{
    uint64_t mark = fd_mark(fd);
    struct flow *flow = mark != 0 && process_is_own() ? flow_lock(mark) : NULL;
    if (flow != NULL) {
        if (exchange_waiting(&flow->exchange)) {
            flow_lost(flow);
        }
        flow_leave(flow, fd, mark);
    }
}

static void handed_out(int fd)
{
    (void)descriptor_came(fd);
}

void descriptors_handed_over(const struct msghdr *msg)
{
    if (process_acts) {
        int saved = errno;
        each_passed(msg, handed_over);
        errno = saved;
    }
}

void descriptors_handed_out(const struct msghdr *msg)
{
    if (process_acts) {
        each_passed(msg, handed_out);
    }
}

/* ---- overdue, gone, or not listened to --------------------------------------------------------------------------- */

#define BEFORE_NS (3 * SECOND_NS) /* it is overdue: a look may be late */

static bool nearly_overdue(const struct flow *flow)
{
    const struct provider *provider = __atomic_load_n(&flow->call.provider, __ATOMIC_RELAXED);
    uint64_t hang = provider != NULL ? breaker_hang(&provider->breaker) : 0;
    return hang != 0 && process_now() - __atomic_load_n(&flow->moved, __ATOMIC_RELAXED) + BEFORE_NS >= hang;
}

/* Whoever has it locked is at it, and so it is not overdue: it may be our own caller. */
static void check(int fd, uint64_t mark)
{
    struct flow *flow = flow_of(mark);
    if (flow == NULL || !nearly_overdue(flow) || !flow_try(flow)) {
        return;
    }
    bool due = flow->generation == mark >> 32 && nearly_overdue(flow);
    bool gone = due && !flow_is(flow, fd, false);
    if (due && !gone && !flow_is_silent(flow, fd)) {
        call_rest(&flow->call); /* what came lies there unread, or somebody else reads it */
    }
    flow_unlock(flow);
    if (gone) {
        forgetting(fd, mark);
    }
}

REAL_RARE void descriptors_look(void)
{
    if (process_is_own()) {
        fd_each(0, UINT32_MAX, check);
    }
}

/* ---- by other means ---------------------------------------------------------------------------------------------- */

void descriptor_stream_closing(FILE *stream)
{
    if (process_acts && stream != NULL) {
        int saved = errno;
        descriptor_closing(fileno(stream));
        errno = saved;
    }
}

void descriptor_raw_call(long number, long a, long b, long c)
{
    switch (number) {
    case SYS_close:
        descriptor_closing((int)a);
        break;
    case SYS_close_range:
        descriptors_closing((unsigned)a, (unsigned)b, (unsigned)c);
        break;
    case SYS_seccomp:
        if (a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER) {
            process_confine();
        }
        break;
    case SYS_prctl:
        if (a == PR_SET_SECCOMP) {
            process_confine();
        }
        break;
    default:
        break;
    }
}
