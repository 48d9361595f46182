/*
 * Connections: made, opened, asked about, shut down.
 */
#include "hooks/hook.h"
#include "track/flow/descriptors.h"
#include "track/flow/fdtable.h"
#include "track/flow/flow.h"

HOOK int socket(int domain, int type, int protocol)
{
    return descriptor_made(real_socket(domain, type, protocol), domain, type);
}

HOOK int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
    uint64_t mark;
    return connect_ask(fd, addr, len, __builtin_return_address(0), &mark)
               ? connect_told(fd, mark, real_connect(fd, addr, len))
               : -1;
}

HOOK int accept(int fd, struct sockaddr *restrict addr, socklen_t *restrict len)
{
    return descriptor_came(real_accept(fd, addr, len));
}

HOOK int accept4(int fd, struct sockaddr *restrict addr, socklen_t *restrict len, int flags)
{
    return descriptor_came(real_accept4(fd, addr, len, flags));
}

static int option_read(int fd, int level, int name, const void *value, const socklen_t *len, int result)
{
    uint64_t mark = fd_mark(fd);
    if (mark != 0 && result == 0 && level == SOL_SOCKET && name == SO_ERROR && *len >= sizeof(int)) {
        connect_error_read(fd, mark, *(const int *)value);
    }
    return result;
}

HOOK int getsockopt(int fd, int level, int name, void *restrict value, socklen_t *restrict len)
{
    return option_read(fd, level, name, value, len, real_getsockopt(fd, level, name, value, len));
}

#if REAL_TIME64
HOOK int __getsockopt64(int fd, int level, int name, void *value, socklen_t *len)
{
    return option_read(fd, level, name, value, len, real___getsockopt64(fd, level, name, value, len));
}
#endif

HOOK int shutdown(int fd, int how)
{
    uint64_t mark = fd_mark(fd);
    if (mark != 0) {
        traffic_shutdown(fd, mark, how);
    }
    return real_shutdown(fd, how);
}

extern __typeof__(connect) __connect HOOK_ALIAS(connect);
