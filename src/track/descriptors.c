/*
 * See descriptors.h.
 */
#include "track/descriptors.h"
#include "real/real.h"
#include "track/fdtable.h"
#include "track/flow.h"
#include "track/layer.h"
#include "track/process.h"
#include <errno.h>
#include <linux/close_range.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

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

void descriptors_closing(unsigned first, unsigned last)
{
    if (process_acts && process_is_own()) {
        int saved = errno;
        fd_each(first, last, closing);
        errno = saved;
    }
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
        if (((int)c & (int)CLOSE_RANGE_CLOEXEC) == 0) {
            descriptors_closing((unsigned)a, (unsigned)b);
        }
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
