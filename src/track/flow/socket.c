/*
 * See flow.h: what the kernel says of a flow's socket, asked before something is done that would surprise.
 */
#include "real/real.h"
#include "track/flow/flow.h"
#include "track/process.h"
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>

#ifndef SO_COOKIE
#define SO_COOKIE 57
#endif

bool flow_is(const struct flow *flow, int fd, bool sure)
{
    if (process_confined() || flow->cookie == 0 || fd < 0) {
        return !sure;
    }
    uint64_t cookie = 0;
    socklen_t length = sizeof cookie;
    if (real_getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &length) != 0) {
        return false;
    }
    return cookie == flow->cookie;
}

/* The first bytes of what the kernel knows of a connection, up to `length`. False: it does not tell. */
static bool kernel_info(int fd, struct tcp_info *info, socklen_t length)
{
    socklen_t got = length;
    return fd >= 0 && !process_confined() && real_getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &got) == 0 &&
           got >= length;
}

unsigned flow_kernel_state(int fd)
{
    struct tcp_info info;
    return kernel_info(fd, &info, sizeof info.tcpi_state) ? info.tcpi_state : 0;
}

bool flow_is_unopened(const struct flow *flow, int fd)
{
    return flow->stage == FLOW_CONNECTING && flow_kernel_state(fd) == FLOW_KERNEL_CLOSED;
}

/*
 * More bytes came than were read here: they were read where no hook is (io_uring, a bare system call, a child), or lie there
 * unread. Either way the peer has spoken.
 */
static bool has_spoken(const struct flow *flow, int fd)
{
    struct tcp_info info;
    const socklen_t length = offsetof(struct tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received;
    const uint32_t end = 1; /* which the kernel counts as a byte */
    return kernel_info(fd, &info, length) && (uint32_t)info.tcpi_bytes_received - flow->bytes_read > end;
}

bool flow_is_silent(const struct flow *flow, int fd)
{
    return flow_is(flow, fd, false) && !has_spoken(flow, fd);
}
