/*
 * See flow.h: bytes in buffers, messages and vectors, whose own memory has to be believed before their contents can be. Before a
 * real call they are asked for; after one that succeeded the kernel has read them.
 */
#include "real/real.h"
#include "track/flow/flow.h"
#include "track/process.h"
#include <limits.h>
#include <string.h>

bool traffic_ask_first(int fd, uint64_t mark, const void *bytes, size_t length)
{
    const struct iovec iov = {(void *)(uintptr_t)bytes, length};
    return traffic_ask(fd, mark, &iov, 1);
}

bool traffic_ask_vector(int fd, uint64_t mark, const struct iovec *iov, int count)
{
    if (!flow_looks(mark) || count <= 0 || count > IOV_MAX) {
        return true;
    }
    /* A page of vectors holds more bytes than are looked at. */
    size_t some = (size_t)count < 64 ? (size_t)count : 64;
    return !process_readable(iov, some * sizeof *iov) || traffic_ask(fd, mark, iov, some);
}

bool traffic_ask_message(int fd, uint64_t mark, const struct msghdr *msg)
{
    if (!flow_looks(mark) || !process_readable(msg, sizeof *msg)) {
        return true;
    }
    return msg->msg_iovlen > IOV_MAX || traffic_ask_vector(fd, mark, msg->msg_iov, (int)msg->msg_iovlen);
}

ssize_t traffic_sent_vector(int fd, uint64_t mark, const struct iovec *iov, int count, ssize_t result)
{
    return result >= 0 ? traffic_sent(fd, mark, iov, (size_t)count, result) : traffic_sent(fd, mark, NULL, 0, result);
}

ssize_t traffic_sent_message(int fd, uint64_t mark, const struct msghdr *msg, ssize_t result)
{
    return result >= 0 ? traffic_sent(fd, mark, msg->msg_iov, msg->msg_iovlen, result)
                       : traffic_sent(fd, mark, NULL, 0, result);
}

ssize_t traffic_received_message(int fd, uint64_t mark, const struct msghdr *msg, int flags, ssize_t result)
{
    return result >= 0 ? traffic_received(fd, mark, msg->msg_iov, msg->msg_iovlen, flags, result)
                       : traffic_received(fd, mark, NULL, 0, flags, result);
}

ssize_t traffic_received_vector(int fd, uint64_t mark, const struct iovec *iov, int count, ssize_t result)
{
    return result >= 0 ? traffic_received(fd, mark, iov, (size_t)count, 0, result)
                       : traffic_received(fd, mark, NULL, 0, 0, result);
}

/* ---- several messages at once ------------------------------------------------------------------------------------ */

/* Begins of buffers that a request is looked for in. */
#define SOME 16

static size_t gather(const struct msghdr *msg, struct iovec *some, size_t room)
{
    size_t count = msg->msg_iovlen < room ? msg->msg_iovlen : room;
    if (count == 0 || !process_readable(msg->msg_iov, count * sizeof *some)) {
        return 0;
    }
    memcpy(some, msg->msg_iov, count * sizeof *some);
    return count;
}

bool traffic_ask_messages(int fd, uint64_t mark, const struct mmsghdr *msgs, unsigned count)
{
    struct iovec some[SOME];
    size_t found = 0;
    if (!flow_looks(mark)) {
        return true;
    }
    for (unsigned i = 0; i < count && found < SOME && process_readable(&msgs[i], sizeof *msgs); i++) {
        found += gather(&msgs[i].msg_hdr, some + found, SOME - found);
    }
    return traffic_ask(fd, mark, some, found);
}

int traffic_sent_messages(int fd, uint64_t mark, const struct mmsghdr *msgs, int result)
{
    for (int i = 0; i < result; i++) {
        (void)traffic_sent_message(fd, mark, &msgs[i].msg_hdr, msgs[i].msg_len);
    }
    return result < 0 ? (int)traffic_sent(fd, mark, NULL, 0, result) : result;
}

int traffic_received_messages(int fd, uint64_t mark, const struct mmsghdr *msgs, int flags, int result)
{
    for (int i = 0; i < result; i++) {
        (void)traffic_received_message(fd, mark, &msgs[i].msg_hdr, flags, msgs[i].msg_len);
    }
    return result < 0 ? (int)traffic_received(fd, mark, NULL, 0, flags, result) : result;
}
