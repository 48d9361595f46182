/*
 * Bytes in. A descriptor that is not followed costs one look into the table, and a jump.
 */
#include "hooks/hook.h"
#include "track/flow/descriptors.h"
#include "track/flow/fdtable.h"
#include "track/flow/flow.h"

HOOK ssize_t recv(int fd, void *buf, size_t len, int flags)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return real_recv(fd, buf, len, flags);
    }
    return traffic_received_bytes(fd, mark, buf, len, flags, real_recv(fd, buf, len, flags));
}

HOOK ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return real___recv_chk(fd, buf, len, room, flags);
    }
    return traffic_received_bytes(fd, mark, buf, len, flags, real___recv_chk(fd, buf, len, room, flags));
}

HOOK ssize_t recvfrom(int fd, void *restrict buf, size_t len, int flags, struct sockaddr *restrict addr,
                      socklen_t *restrict addr_len)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return real_recvfrom(fd, buf, len, flags, addr, addr_len);
    }
    return traffic_received_bytes(fd, mark, buf, len, flags, real_recvfrom(fd, buf, len, flags, addr, addr_len));
}

HOOK ssize_t __recvfrom_chk(int fd, void *restrict buf, size_t len, size_t room, int flags,
                            struct sockaddr *restrict addr, socklen_t *restrict addr_len)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return real___recvfrom_chk(fd, buf, len, room, flags, addr, addr_len);
    }
    return traffic_received_bytes(fd, mark, buf, len, flags,
                                  real___recvfrom_chk(fd, buf, len, room, flags, addr, addr_len));
}

HOOK ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return descriptors_received(msg, real_recvmsg(fd, msg, flags));
    }
    return traffic_received_message(fd, mark, msg, flags, real_recvmsg(fd, msg, flags));
}

HOOK int recvmmsg(int fd, struct mmsghdr *msgs, unsigned count, int flags, struct timespec *timeout)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return descriptors_received_messages(msgs, real_recvmmsg(fd, msgs, count, flags, timeout));
    }
    return traffic_received_messages(fd, mark, msgs, flags, real_recvmmsg(fd, msgs, count, flags, timeout));
}

HOOK ssize_t read(int fd, void *buf, size_t len)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return real_read(fd, buf, len);
    }
    return traffic_received_bytes(fd, mark, buf, len, 0, real_read(fd, buf, len));
}

HOOK ssize_t __read_chk(int fd, void *buf, size_t len, size_t room)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return real___read_chk(fd, buf, len, room);
    }
    return traffic_received_bytes(fd, mark, buf, len, 0, real___read_chk(fd, buf, len, room));
}

HOOK ssize_t readv(int fd, const struct iovec *iov, int count)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return real_readv(fd, iov, count);
    }
    return traffic_received_vector(fd, mark, iov, count, real_readv(fd, iov, count));
}

/* On a socket, which has no place, as readv. */
HOOK ssize_t preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return real_preadv2(fd, iov, count, offset, flags);
    }
    return traffic_received_vector(fd, mark, iov, count, real_preadv2(fd, iov, count, offset, flags));
}

HOOK ssize_t preadv64v2(int fd, const struct iovec *iov, int count, off64_t offset, int flags)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return real_preadv64v2(fd, iov, count, offset, flags);
    }
    return traffic_received_vector(fd, mark, iov, count, real_preadv64v2(fd, iov, count, offset, flags));
}

extern __typeof__(read) __read HOOK_ALIAS(read);

#if REAL_TIME64
HOOK ssize_t __recvmsg64(int fd, struct msghdr *msg, int flags)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return descriptors_received(msg, real___recvmsg64(fd, msg, flags));
    }
    return traffic_received_message(fd, mark, msg, flags, real___recvmsg64(fd, msg, flags));
}

HOOK int __recvmmsg64(int fd, struct mmsghdr *msgs, unsigned count, int flags, void *timeout)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return descriptors_received_messages(msgs, real___recvmmsg64(fd, msgs, count, flags, timeout));
    }
    return traffic_received_messages(fd, mark, msgs, flags, real___recvmmsg64(fd, msgs, count, flags, timeout));
}
#endif
