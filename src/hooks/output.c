/*
 * Bytes out. A descriptor that is not followed costs one look into the table, and a jump.
 */
#include "hooks/hook.h"
#include "track/flow/descriptors.h"
#include "track/flow/fdtable.h"
#include "track/flow/flow.h"
#include <stdarg.h>

#define CALLER __builtin_return_address(0)

/* What is sent out of band is no part of the stream. */
static inline uint64_t stream_mark(int fd, int flags)
{
    return (flags & MSG_OOB) == 0 ? fd_mark(fd) : 0;
}

HOOK ssize_t send(int fd, const void *buf, size_t len, int flags)
{
    uint64_t mark = stream_mark(fd, flags);
    if (mark == 0) {
        return real_send(fd, buf, len, flags);
    }
    return traffic_ask_bytes(fd, mark, buf, len)
               ? traffic_sent_bytes(fd, mark, buf, len, real_send(fd, buf, len, flags))
               : -1;
}

/* With MSG_FASTOPEN a send to an address is a connect too. */
HOOK ssize_t sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr, socklen_t addr_len)
{
    uint64_t mark = stream_mark(fd, flags);
    bool opens = (flags & MSG_FASTOPEN) != 0 && addr != NULL;
    if (opens && !connect_ask(fd, addr, addr_len, CALLER, &mark)) {
        return -1;
    }
    if (mark == 0) {
        return real_sendto(fd, buf, len, flags, addr, addr_len);
    }
    if (!traffic_ask_bytes(fd, mark, buf, len)) {
        return -1;
    }
    ssize_t result = real_sendto(fd, buf, len, flags, addr, addr_len);
    return opens && result < 0 ? connect_told(fd, mark, -1) : traffic_sent_bytes(fd, mark, buf, len, result);
}

HOOK ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
    uint64_t mark = stream_mark(fd, flags);
    bool opens = (flags & MSG_FASTOPEN) != 0 && connect_has_address(msg);
    if (opens && !connect_ask(fd, msg->msg_name, msg->msg_namelen, CALLER, &mark)) {
        return -1;
    }
    if (mark == 0) {
        return descriptors_sent(msg, real_sendmsg(fd, msg, flags));
    }
    if (!traffic_ask_message(fd, mark, msg)) {
        return -1;
    }
    ssize_t result = real_sendmsg(fd, msg, flags);
    return opens && result < 0 ? connect_told(fd, mark, -1) : traffic_sent_message(fd, mark, msg, result);
}

HOOK int sendmmsg(int fd, struct mmsghdr *msgs, unsigned count, int flags)
{
    uint64_t mark = stream_mark(fd, flags);
    bool opens = (flags & MSG_FASTOPEN) != 0 && count > 0 && connect_has_address(&msgs->msg_hdr);
    if (opens && !connect_ask(fd, msgs->msg_hdr.msg_name, msgs->msg_hdr.msg_namelen, CALLER, &mark)) {
        return -1;
    }
    if (mark == 0) {
        return descriptors_sent_messages(msgs, real_sendmmsg(fd, msgs, count, flags));
    }
    if (!traffic_ask_messages(fd, mark, msgs, count)) {
        return -1;
    }
    int result = real_sendmmsg(fd, msgs, count, flags);
    return opens && result < 0 ? connect_told(fd, mark, -1) : traffic_sent_messages(fd, mark, msgs, result);
}

HOOK ssize_t write(int fd, const void *buf, size_t len)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return real_write(fd, buf, len);
    }
    return traffic_ask_bytes(fd, mark, buf, len) ? traffic_sent_bytes(fd, mark, buf, len, real_write(fd, buf, len))
                                                 : -1;
}

HOOK ssize_t writev(int fd, const struct iovec *iov, int count)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return real_writev(fd, iov, count);
    }
    return traffic_ask_vector(fd, mark, iov, count)
               ? traffic_sent_vector(fd, mark, iov, count, real_writev(fd, iov, count))
               : -1;
}

/* On a socket, which has no place, as writev. */
HOOK ssize_t pwritev2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return real_pwritev2(fd, iov, count, offset, flags);
    }
    return traffic_ask_vector(fd, mark, iov, count)
               ? traffic_sent_vector(fd, mark, iov, count, real_pwritev2(fd, iov, count, offset, flags))
               : -1;
}

HOOK ssize_t pwritev64v2(int fd, const struct iovec *iov, int count, off64_t offset, int flags)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return real_pwritev64v2(fd, iov, count, offset, flags);
    }
    return traffic_ask_vector(fd, mark, iov, count)
               ? traffic_sent_vector(fd, mark, iov, count, real_pwritev64v2(fd, iov, count, offset, flags))
               : -1;
}

HOOK ssize_t sendfile(int out, int in, off_t *offset, size_t count)
{
    uint64_t mark = fd_mark(out);
    if (mark != 0 && !traffic_ask(out, mark, NULL, 0)) {
        return -1;
    }
    ssize_t result = real_sendfile(out, in, offset, count);
    return mark != 0 ? traffic_sent_unseen(out, mark, result) : result;
}

HOOK ssize_t sendfile64(int out, int in, off64_t *offset, size_t count)
{
    uint64_t mark = fd_mark(out);
    if (mark != 0 && !traffic_ask(out, mark, NULL, 0)) {
        return -1;
    }
    ssize_t result = real_sendfile64(out, in, offset, count);
    return mark != 0 ? traffic_sent_unseen(out, mark, result) : result;
}

HOOK ssize_t splice(int in, off64_t *in_offset, int out, off64_t *out_offset, size_t len, unsigned flags)
{
    uint64_t from = fd_mark(in);
    uint64_t to = fd_mark(out);
    if (to != 0 && !traffic_ask(out, to, NULL, 0)) {
        return -1;
    }
    ssize_t result = real_splice(in, in_offset, out, out_offset, len, flags);
    if (from != 0) {
        traffic_received_unseen(in, from, len, result);
    }
    return to != 0 ? traffic_sent_unseen(out, to, result) : result;
}

/*
 * libc formats into a buffer of its own, and writes that past every hook. Not dprintf and vdprintf themselves: many a library
 * has a function of that name which is another one, and would meet ours in its place. Of what they write, the answer tells.
 */
HOOK int __vdprintf_chk(int fd, int flag, const char *format, va_list list)
{
    uint64_t mark = fd_mark(fd);
    if (mark == 0) {
        return real___vdprintf_chk(fd, flag, format, list);
    }
    return traffic_ask(fd, mark, NULL, 0)
               ? (int)traffic_sent_unseen(fd, mark, real___vdprintf_chk(fd, flag, format, list))
               : -1;
}

HOOK int __dprintf_chk(int fd, int flag, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    uint64_t mark = fd_mark(fd);
    bool pass = mark == 0 || traffic_ask(fd, mark, NULL, 0);
    int result = pass ? real___vdprintf_chk(fd, flag, format, list) : -1;
    va_end(list);
    return mark != 0 && pass ? (int)traffic_sent_unseen(fd, mark, result) : result;
}

extern __typeof__(send) __send HOOK_ALIAS(send);
extern __typeof__(write) __write HOOK_ALIAS(write);

#if REAL_TIME64
extern __typeof__(sendmsg) __sendmsg64 HOOK_ALIAS(sendmsg);
extern __typeof__(sendmmsg) __sendmmsg64 HOOK_ALIAS(sendmmsg);
#endif
