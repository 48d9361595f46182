/*
 * Every way to write a request and to read its answer.
 *
 *     ways PORT WRITE READ [CALLS [keep]]
 *
 * A line for each call: the status of its answer, or what failed with which errno. `keep`: all on one connection, a line
 * of input before each call after the first.
 */
#define _FORTIFY_SOURCE 2
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define ROOM 4096

static struct sockaddr_in address = {.sin_family = AF_INET};

/* libc's second names, which no header declares. */
ssize_t __send(int fd, const void *bytes, size_t length, int flags);
ssize_t __write(int fd, const void *bytes, size_t length);
ssize_t __read(int fd, void *bytes, size_t length);
int __connect(int fd, const struct sockaddr *to, socklen_t length);

/* ---- writing ------------------------------------------------------------------------------------------------------ */

/* The request, in a file or in a pipe. */
static int in_file(const char *text)
{
    char name[] = "/tmp/ways-XXXXXX";
    int fd = mkstemp(name);
    unlink(name);
    if (fd == -1 || write(fd, text, strlen(text)) < 0 || lseek(fd, 0, SEEK_SET) != 0) {
        exit(1);
    }
    return fd;
}

static int in_pipe(const char *text)
{
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], text, strlen(text)) < 0) {
        exit(1);
    }
    close(ends[1]);
    return ends[0];
}

/* Half in each of two pieces. */
static struct msghdr message_of(const char *text, struct iovec *iov)
{
    size_t length = strlen(text);
    iov[0] = (struct iovec){(char *)(size_t)text, length / 2};
    iov[1] = (struct iovec){(char *)(size_t)text + length / 2, length - length / 2};
    return (struct msghdr){.msg_iov = iov, .msg_iovlen = 2};
}

static ssize_t by_send(int fd, const char *text)
{
    return send(fd, text, strlen(text), 0);
}

static ssize_t by_second_send(int fd, const char *text)
{
    return __send(fd, text, strlen(text), 0);
}

static ssize_t by_sendto(int fd, const char *text)
{
    return sendto(fd, text, strlen(text), MSG_NOSIGNAL, NULL, 0);
}

static ssize_t by_sendmsg(int fd, const char *text)
{
    struct iovec iov[2];
    struct msghdr message = message_of(text, iov);
    return sendmsg(fd, &message, 0);
}

static ssize_t by_sendmmsg(int fd, const char *text)
{
    struct iovec iov[2];
    struct mmsghdr messages[2] = {{.msg_hdr = message_of(text, iov)}, {.msg_hdr = {.msg_iov = NULL}}};
    messages[1].msg_hdr = messages[0].msg_hdr;
    messages[0].msg_hdr.msg_iovlen = messages[1].msg_hdr.msg_iovlen = 1;
    messages[1].msg_hdr.msg_iov++;
    return sendmmsg(fd, messages, 2, 0);
}

static ssize_t by_write(int fd, const char *text)
{
    return write(fd, text, strlen(text));
}

static ssize_t by_second_write(int fd, const char *text)
{
    return __write(fd, text, strlen(text));
}

static ssize_t by_writev(int fd, const char *text)
{
    struct iovec iov[2];
    struct msghdr message = message_of(text, iov);
    return writev(fd, message.msg_iov, (int)message.msg_iovlen);
}

static ssize_t by_sendfile(int fd, const char *text)
{
    int file = in_file(text);
    ssize_t result = sendfile(fd, file, NULL, strlen(text));
    close(file);
    return result;
}

static ssize_t by_sendfile64(int fd, const char *text)
{
    off64_t offset = 0;
    int file = in_file(text);
    ssize_t result = sendfile64(fd, file, &offset, strlen(text));
    close(file);
    return result;
}

static ssize_t by_splice(int fd, const char *text)
{
    int pipe = in_pipe(text);
    ssize_t result = splice(pipe, NULL, fd, NULL, strlen(text), 0);
    close(pipe);
    return result;
}

static ssize_t by_pwritev2(int fd, const char *text)
{
    struct iovec iov[2];
    struct msghdr message = message_of(text, iov);
    return pwritev2(fd, message.msg_iov, (int)message.msg_iovlen, -1, 0);
}

static ssize_t by_pwritev64v2(int fd, const char *text)
{
    struct iovec iov[2];
    struct msghdr message = message_of(text, iov);
    return pwritev64v2(fd, message.msg_iov, (int)message.msg_iovlen, -1, 0);
}

/* The kernel tells over the error queue when it is done with the bytes, which are no answer. */
static ssize_t by_zerocopy(int fd, const char *text)
{
    int on = 1;
    char aside[100];
    struct msghdr message = {.msg_control = aside, .msg_controllen = sizeof aside};
    if (setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) != 0) {
        exit(1);
    }
    ssize_t result = send(fd, text, strlen(text), MSG_ZEROCOPY);
    if (result > 0) {
        (void)recvmsg(fd, &message, MSG_ERRQUEUE);
    }
    return result;
}

/* In between comes a byte that is no part of the stream. */
static ssize_t by_send_with_urgent(int fd, const char *text)
{
    ssize_t first = send(fd, text, 10, 0);
    if (first < 0 || send(fd, "!", 1, MSG_OOB) < 0) {
        return -1;
    }
    return send(fd, text + 10, strlen(text + 10), 0);
}

/* By the compiler's fortified one, by the plain one, and with a list. */
static ssize_t by_fortified_dprintf(int fd, const char *text)
{
    return dprintf(fd, "%s", text);
}

static ssize_t by_dprintf(int fd, const char *text)
{
    int (*volatile plain)(int, const char *, ...) = dprintf;
    return plain(fd, "%s", text);
}

static ssize_t with_list(int fd, int fortified, const char *format, ...)
{
    int (*volatile plain)(int, const char *, va_list) = vdprintf;
    va_list list;
    va_start(list, format);
    ssize_t result = fortified ? vdprintf(fd, format, list) : plain(fd, format, list);
    va_end(list);
    return result;
}

static ssize_t by_vdprintf(int fd, const char *text)
{
    return with_list(fd, 0, "%s", text);
}

static ssize_t by_fortified_vdprintf(int fd, const char *text)
{
    return with_list(fd, 1, "%s", text);
}

/* These connect as well. */
static ssize_t by_fastopen(int fd, const char *text)
{
    return sendto(fd, text, strlen(text), MSG_FASTOPEN, (struct sockaddr *)&address, sizeof address);
}

static ssize_t by_fastopen_message(int fd, const char *text)
{
    struct iovec iov[2];
    struct msghdr message = message_of(text, iov);
    message.msg_name = &address;
    message.msg_namelen = sizeof address;
    return sendmsg(fd, &message, MSG_FASTOPEN);
}

static ssize_t by_fastopen_messages(int fd, const char *text)
{
    struct iovec iov[2];
    struct mmsghdr message = {.msg_hdr = message_of(text, iov)};
    message.msg_hdr.msg_name = &address;
    message.msg_hdr.msg_namelen = sizeof address;
    return sendmmsg(fd, &message, 1, MSG_FASTOPEN);
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

/* Its length is not known to the compiler: fortified. */
static size_t room;

static ssize_t by_recv(int fd, char *answer)
{
    (void)answer;
    static char own[ROOM];
    ssize_t result = recv(fd, own, room, 0);
    memcpy(answer, own, result > 0 ? (size_t)result : 0);
    return result;
}

static ssize_t by_recvfrom(int fd, char *answer)
{
    static char own[ROOM];
    ssize_t result = recvfrom(fd, own, room, 0, NULL, NULL);
    memcpy(answer, own, result > 0 ? (size_t)result : 0);
    return result;
}

static ssize_t by_read(int fd, char *answer)
{
    static char own[ROOM];
    ssize_t result = read(fd, own, room);
    memcpy(answer, own, result > 0 ? (size_t)result : 0);
    return result;
}

static ssize_t by_second_read(int fd, char *answer)
{
    return __read(fd, answer, room);
}

static ssize_t by_recvmsg(int fd, char *answer)
{
    struct iovec iov[2] = {{answer, 5}, {answer + 5, room - 5}};
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = 2};
    return recvmsg(fd, &message, 0);
}

static ssize_t by_recvmmsg(int fd, char *answer)
{
    struct iovec iov = {answer, room};
    struct mmsghdr message = {.msg_hdr = {.msg_iov = &iov, .msg_iovlen = 1}};
    int count = recvmmsg(fd, &message, 1, 0, NULL);
    return count == 1 ? (ssize_t)message.msg_len : count;
}

static ssize_t by_readv(int fd, char *answer)
{
    struct iovec iov[2] = {{answer, 5}, {answer + 5, room - 5}};
    return readv(fd, iov, 2);
}

static ssize_t by_preadv2(int fd, char *answer)
{
    struct iovec iov[2] = {{answer, 5}, {answer + 5, room - 5}};
    return preadv2(fd, iov, 2, -1, 0);
}

static ssize_t by_preadv64v2(int fd, char *answer)
{
    struct iovec iov[2] = {{answer, 5}, {answer + 5, room - 5}};
    return preadv64v2(fd, iov, 2, -1, 0);
}

/* Looked at, measured, then taken. */
static ssize_t by_peeking(int fd, char *answer)
{
    struct iovec iov = {answer, 4};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (recv(fd, answer, 12, MSG_PEEK | MSG_WAITALL) != 12 || recvmsg(fd, &message, MSG_PEEK | MSG_TRUNC) != 4) {
        return -1;
    }
    return recv(fd, answer, room, 0);
}

static ssize_t by_waiting_for_all(int fd, char *answer)
{
    return recv(fd, answer, room, MSG_WAITALL); /* until the server closes */
}

static ssize_t by_splicing(int fd, char *answer)
{
    int ends[2];
    if (pipe(ends) != 0) {
        exit(1);
    }
    ssize_t result = splice(fd, NULL, ends[1], NULL, room, 0);
    if (result > 0) {
        result = read(ends[0], answer, (size_t)result);
    }
    close(ends[0]);
    close(ends[1]);
    return result;
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    ssize_t (*write)(int fd, const char *text);
    int connects;
} writers[] = {
    {"send", by_send, 0},
    {"__send", by_second_send, 0},
    {"sendto", by_sendto, 0},
    {"sendmsg", by_sendmsg, 0},
    {"sendmmsg", by_sendmmsg, 0},
    {"write", by_write, 0},
    {"__write", by_second_write, 0},
    {"writev", by_writev, 0},
    {"pwritev2", by_pwritev2, 0},
    {"pwritev64v2", by_pwritev64v2, 0},
    {"zerocopy", by_zerocopy, 0},
    {"urgent", by_send_with_urgent, 0},
    {"dprintf", by_dprintf, 0},
    {"__dprintf_chk", by_fortified_dprintf, 0},
    {"vdprintf", by_vdprintf, 0},
    {"__vdprintf_chk", by_fortified_vdprintf, 0},
    {"sendfile", by_sendfile, 0},
    {"sendfile64", by_sendfile64, 0},
    {"splice", by_splice, 0},
    {"fastopen", by_fastopen, 1},
    {"fastopen-message", by_fastopen_message, 1},
    {"fastopen-messages", by_fastopen_messages, 1},
    {"fastopen-connect", by_send, 2},
};

static const struct {
    const char *name;
    ssize_t (*read)(int fd, char *answer);
} readers[] = {
    {"recv", by_recv},       {"recvfrom", by_recvfrom},     {"read", by_read},    {"__read", by_second_read},
    {"recvmsg", by_recvmsg}, {"recvmmsg", by_recvmmsg},     {"readv", by_readv},  {"splice", by_splicing},
    {"preadv2", by_preadv2}, {"preadv64v2", by_preadv64v2}, {"peek", by_peeking}, {"waitall", by_waiting_for_all},
};

static void failed(const char *what)
{
    printf("%s %s\n", what, strerrorname_np(errno));
}

static int open_connection(int connects)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int on = 1;
    if (connects == 2 && setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof on) != 0) {
        exit(1);
    }
    if (connects != 1 && (connects == 2 ? connect : __connect)(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        failed("connect");
        close(fd);
        return -1;
    }
    return fd;
}

int main(int count, char **words)
{
    size_t writer = 0, reader = 0;
    if (count < 4) {
        return 64;
    }
    signal(SIGPIPE, SIG_DFL); /* one of ours would kill */
    setvbuf(stdout, NULL, _IOLBF, 0);
    address.sin_port = htons((unsigned short)atoi(words[1]));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    room = (size_t)atoi("2000");
    while (strcmp(writers[writer].name, words[2]) != 0) {
        writer++;
    }
    while (strcmp(readers[reader].name, words[3]) != 0) {
        reader++;
    }
    int calls = count > 4 ? atoi(words[4]) : 1, keep = count > 5, fd = -1;
    for (int i = 0; i < calls; i++) {
        char answer[ROOM] = "", line[10];
        if (keep && i > 0 && fgets(line, sizeof line, stdin) == NULL) {
            return 1;
        }
        if (fd == -1 && (fd = open_connection(writers[writer].connects)) == -1) {
            continue;
        }
        const char *request =
            keep ? "GET / HTTP/1.1\r\nHost: acme.test\r\n\r\n" : "GET / HTTP/1.0\r\nHost: acme.test\r\n\r\n";
        if (writers[writer].write(fd, request) < 0) {
            failed("write");
        } else if (readers[reader].read(fd, answer) < 0) {
            failed("read");
        } else {
            printf("%.3s\n", strncmp(answer, "HTTP/1.", 7) == 0 ? answer + 9 : "cut");
        }
        if (!keep) {
            close(fd);
            fd = -1;
        }
    }
    return 0;
}
