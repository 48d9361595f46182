/*
 * Every call that prebreak stands before, with arguments that make no sense, each in a process of its own that has one
 * connection under way. What came of it is printed, and must be the same with prebreak and without.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNTOUCHED 4242 /* errno before each call, and after one that succeeds */

/* ---- what the calls are given ------------------------------------------------------------------------------------- */

static struct sockaddr_in listening;
static int listener;
static char *edge;   /* the first byte of a page that cannot be read; those before it can */
static char *closed; /* a page that cannot be read */

/* A connection of this process, and its other end. */
struct pair {
    int ours, theirs;
};

static struct pair pair(int flags)
{
    struct pair made = {socket(AF_INET, SOCK_STREAM | flags, 0), -1};
    int result = connect(made.ours, (struct sockaddr *)&listening, sizeof listening);
    if (result != 0 && errno != EINPROGRESS) {
        _exit(70);
    }
    made.theirs = accept(listener, NULL, NULL);
    return made;
}

/* What stands for a descriptor: fresh ones for every call. */
enum which { PENDING, ASKED, ANSWERED, UNCONNECTED, DATAGRAM, PIPE, READ_ONLY, GONE, NEGATIVE, HUGE_ONE, WHICH };
static const char *const which_name[] = {"pending", "asked", "answered", "unconnected", "datagram",
                                         "pipe",    "file",  "gone",     "-1",          "huge"};

static int descriptor(enum which which)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    struct pair made;
    int pipes[2];
    switch (which) {
    case PENDING:
        return pair(SOCK_NONBLOCK).ours;
    case ASKED:
    case ANSWERED:
        made = pair(SOCK_NONBLOCK);
        if (write(made.ours, request, sizeof request - 1) < 0) {
            _exit(70);
        }
        if (which == ANSWERED && write(made.theirs, answer, sizeof answer - 1) < 0) {
            _exit(70);
        }
        return made.ours;
    case UNCONNECTED:
        return socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    case DATAGRAM:
        return socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    case PIPE:
        return pipe2(pipes, O_NONBLOCK) == 0 ? pipes[1] : -1;
    case READ_ONLY:
        return open("/dev/null", O_RDONLY);
    case GONE:
        made = pair(0);
        syscall(SYS_close, made.ours);
        return made.ours;
    case NEGATIVE:
        return -1;
    default:
        return 1 << 30;
    }
}

static struct {
    const char *name;
    char *bytes;
    size_t length;
} buffers[] = {
    {"null", NULL, 4},           {"null, none", NULL, 0},
    {"wild", (char *)8, 16},     {"closed", NULL, 100},
    {"edge", NULL, 64},          {"over the edge", NULL, 64},
    {"endless", NULL, SIZE_MAX}, {"wild, endless", (char *)-9, SIZE_MAX},
};
#define BUFFERS (sizeof buffers / sizeof *buffers)

/* In each child anew: connections that nobody accepted would fill the queue. */
static void listen_anew(void)
{
    socklen_t length = sizeof listening;
    listening = (struct sockaddr_in){.sin_family = AF_INET};
    listening.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&listening, sizeof listening) != 0 || listen(listener, 100) != 0 ||
        getsockname(listener, (struct sockaddr *)&listening, &length) != 0) {
        _exit(70);
    }
}

static void prepare(void)
{
    char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + 4096, 4096, PROT_NONE);
    closed = edge = pages + 4096;
    memcpy(edge - 64, "GET /edge HTTP/1.1\r\nHost: b.example\r\nAccept: everything-but\r\n", 62);
    buffers[3].bytes = closed;
    buffers[4].bytes = edge - 64;
    buffers[5].bytes = edge - 32;
    buffers[6].bytes = edge - 64;
}

/* ---- telling ------------------------------------------------------------------------------------------------------ */

static const char *group;

static void say(const char *what, const char *with, long result)
{
    int error = errno;
    printf("%s %s %s: %ld %s\n", group, what, with, result, error == UNTOUCHED ? "untouched" : strerror(error));
    fflush(stdout);
}

/* Runs it in a child, and tells of a child that died. */
#define IN_CHILD(...)                                                                                                  \
    do {                                                                                                               \
        pid_t child = fork();                                                                                          \
        int status;                                                                                                    \
        if (child == 0) {                                                                                              \
            signal(SIGPIPE, SIG_IGN);                                                                                  \
            alarm(10);                                                                                                 \
            listen_anew();                                                                                             \
            __VA_ARGS__;                                                                                               \
            _exit(0);                                                                                                  \
        }                                                                                                              \
        waitpid(child, &status, 0);                                                                                    \
        if (status != 0) {                                                                                             \
            printf("%s: died of %d\n", group, status), fflush(stdout);                                                 \
        }                                                                                                              \
    } while (0)

#define TELL(with, call)                                                                                               \
    do {                                                                                                               \
        errno = UNTOUCHED;                                                                                             \
        long result = (long)(call);                                                                                    \
        say(#call, with, result);                                                                                      \
    } while (0)

/* ---- bytes -------------------------------------------------------------------------------------------------------- */

static void bytes_out(enum which which, const char *with, char *bytes, size_t length)
{
    struct iovec vector = {bytes, length};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    struct mmsghdr messages = {.msg_hdr = message};
    int fd;
    IN_CHILD(fd = descriptor(which); TELL(with, send(fd, bytes, length, MSG_NOSIGNAL));
             TELL(with, send(fd, "x", 1, MSG_NOSIGNAL)));
    IN_CHILD(fd = descriptor(which); TELL(with, write(fd, bytes, length)));
    IN_CHILD(fd = descriptor(which); TELL(with, sendto(fd, bytes, length, MSG_NOSIGNAL, NULL, 0)));
    IN_CHILD(fd = descriptor(which); TELL(with, sendto(fd, bytes, length, 0, (struct sockaddr *)closed, 16)));
    IN_CHILD(fd = descriptor(which); TELL(with, writev(fd, &vector, 1)));
    IN_CHILD(fd = descriptor(which); TELL(with, sendmsg(fd, &message, MSG_NOSIGNAL)));
    IN_CHILD(fd = descriptor(which); TELL(with, sendmmsg(fd, &messages, 1, MSG_NOSIGNAL)));
}

static void bytes_in(enum which which, const char *with, char *bytes, size_t length)
{
    struct iovec vector = {bytes, length};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    struct mmsghdr messages = {.msg_hdr = message};
    int fd;
    IN_CHILD(fd = descriptor(which); TELL(with, recv(fd, bytes, length, MSG_PEEK));
             TELL(with, recv(fd, bytes, length, MSG_DONTWAIT)));
    IN_CHILD(fd = descriptor(which); TELL(with, recv(fd, bytes, length, MSG_TRUNC)));
    IN_CHILD(fd = descriptor(which); TELL(with, read(fd, bytes, length)));
    IN_CHILD(fd = descriptor(which);
             TELL(with, recvfrom(fd, bytes, length, 0, (struct sockaddr *)closed, (socklen_t *)closed)));
    IN_CHILD(fd = descriptor(which); TELL(with, readv(fd, &vector, 1)));
    IN_CHILD(fd = descriptor(which); TELL(with, recvmsg(fd, &message, 0)));
    IN_CHILD(fd = descriptor(which); TELL(with, recvmsg(fd, &message, MSG_TRUNC)));
    IN_CHILD(fd = descriptor(which); TELL(with, recvmmsg(fd, &messages, 1, MSG_DONTWAIT, NULL)));
}

static void structures(enum which which, const char *with)
{
    struct iovec vectors[3] = {{NULL, 0}, {edge - 64, 64}, {closed, 5}};
    struct msghdr wild = {.msg_iov = (struct iovec *)closed, .msg_iovlen = 3};
    struct msghdr many = {.msg_iov = vectors, .msg_iovlen = SIZE_MAX};
    struct msghdr none = {.msg_iov = NULL, .msg_iovlen = 0};
    struct msghdr *messages[] = {
        NULL, (struct msghdr *)8, (struct msghdr *)closed, (struct msghdr *)(edge - 16), &wild, &many, &none};
    struct iovec *lists[] = {NULL, (struct iovec *)8, (struct iovec *)closed, (struct iovec *)(edge - 16), vectors};
    int counts[] = {-1, 0, 1, 2, 3, 1024, 1025, 1 << 30};
    int fd;
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        struct msghdr *message = messages[i];
        IN_CHILD(fd = descriptor(which); TELL(with, sendmsg(fd, message, MSG_NOSIGNAL)));
        IN_CHILD(fd = descriptor(which); TELL(with, recvmsg(fd, message, MSG_DONTWAIT)));
        IN_CHILD(fd = descriptor(which); TELL(with, sendmmsg(fd, (struct mmsghdr *)message, 1, MSG_NOSIGNAL)));
        IN_CHILD(fd = descriptor(which); TELL(with, recvmmsg(fd, (struct mmsghdr *)message, 1, MSG_DONTWAIT, NULL)));
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            struct iovec *list = lists[i];
            int count = counts[k];
            if (list == vectors && count > 3) {
                continue;
            }
            IN_CHILD(fd = descriptor(which); TELL(with, writev(fd, list, count)));
            IN_CHILD(fd = descriptor(which); TELL(with, readv(fd, list, count)));
            IN_CHILD(fd = descriptor(which); TELL(with, pwritev2(fd, list, count, -1, 0));
                     TELL(with, pwritev2(fd, list, count, 5, 1 << 30)));
            IN_CHILD(fd = descriptor(which); TELL(with, preadv2(fd, list, count, -1, 0));
                     TELL(with, preadv2(fd, list, count, -1, 1 << 30)));
        }
    }
}

/* ---- descriptors -------------------------------------------------------------------------------------------------- */

static void descriptors(enum which which, const char *with)
{
    int fd;
    int value;
    socklen_t length = sizeof value;
    socklen_t none = 0;
    off_t offset = 0;
    IN_CHILD(fd = descriptor(which); TELL(with, getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, &length));
             TELL(with, value));
    IN_CHILD(fd = descriptor(which); TELL(with, getsockopt(fd, SOL_SOCKET, SO_ERROR, NULL, NULL)));
    IN_CHILD(fd = descriptor(which); TELL(with, getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, &none)));
    IN_CHILD(fd = descriptor(which); TELL(with, getsockopt(fd, SOL_SOCKET, SO_ERROR, closed, &length)));
    IN_CHILD(fd = descriptor(which); TELL(with, getsockopt(fd, SOL_SOCKET, SO_ERROR, &value, (socklen_t *)closed)));
    IN_CHILD(fd = descriptor(which); TELL(with, shutdown(fd, SHUT_WR)); TELL(with, shutdown(fd, 77));
             TELL(with, shutdown(fd, SHUT_RDWR)); TELL(with, send(fd, "x", 1, MSG_NOSIGNAL)); TELL(with, close(fd)));
    IN_CHILD(fd = descriptor(which); TELL(with, close(fd)); TELL(with, close(fd)); TELL(with, send(fd, "x", 1, 0)));
    IN_CHILD(fd = descriptor(which); TELL(with, dup(fd)); TELL(with, dup2(fd, fd)); TELL(with, dup2(fd, 99));
             TELL(with, dup3(fd, 98, 0)); TELL(with, dup3(fd, fd, 0)); TELL(with, dup2(fd, -1));
             TELL(with, dup2(fd, 1 << 30)); TELL(with, close(98)));
    IN_CHILD(fd = descriptor(which); TELL(with, fcntl(fd, F_DUPFD, 50)); TELL(with, fcntl(fd, F_DUPFD_CLOEXEC, 51));
             TELL(with, fcntl(fd, F_DUPFD, -1)); TELL(with, fcntl(fd, F_GETFD)); TELL(with, fcntl(fd, F_GETFL));
             TELL(with, fcntl(fd, F_SETFL, O_NONBLOCK)); TELL(with, fcntl(fd, F_GETLK, closed));
             TELL(with, fcntl(fd, 9999)));
    IN_CHILD(fd = descriptor(which); TELL(with, sendfile(fd, listener, NULL, 4));
             TELL(with, sendfile(fd, fd, &offset, 4)); TELL(with, sendfile(fd, -1, (off_t *)closed, 4));
             TELL(with, splice(fd, NULL, fd, NULL, 5, SPLICE_F_NONBLOCK));
             TELL(with, splice(-1, (off64_t *)closed, fd, NULL, 5, 0)));
    IN_CHILD(fd = descriptor(which); TELL(with, accept(fd, NULL, NULL));
             TELL(with, accept4(fd, (struct sockaddr *)8, (socklen_t *)8, 77)));
    IN_CHILD(fd = descriptor(which); TELL(with, syscall(SYS_close, fd)); TELL(with, syscall(SYS_close, fd));
             TELL(with, syscall(99999, 1)));
    IN_CHILD(fd = descriptor(which); TELL(with, close_range(9, 5, 0));
             TELL(with, close_range(fd, fd, CLOSE_RANGE_CLOEXEC)); TELL(with, send(fd, "x", 1, MSG_NOSIGNAL));
             TELL(with, close_range(3, ~0U, 77)); TELL(with, close_range(3, ~0U, 0));
             TELL(with, send(fd, "x", 1, MSG_NOSIGNAL)));
    IN_CHILD(fd = descriptor(which); closefrom(3); TELL(with, send(fd, "x", 1, MSG_NOSIGNAL)); closefrom(-1));
    IN_CHILD(fd = descriptor(which); FILE *stream = fdopen(fd, "r+"); TELL(with, stream != NULL);
             TELL(with, stream == NULL ? 0 : fputs("hello", stream)); TELL(with, stream == NULL ? 0 : fclose(stream));
             TELL(with, close(fd)));
    IN_CHILD(fd = descriptor(which); TELL(with, fdopen(fd, "nonsense") == NULL); TELL(with, close(fd)));
    IN_CHILD(fd = descriptor(which); TELL(with, dprintf(fd, "%d %s\n", 5, "hello")); TELL(with, dprintf(fd, "%s", ""));
             TELL(with, close(fd)));
    IN_CHILD(fd = descriptor(which); FILE *stream = fdopen(fd, "r+"); TELL(with, stream != NULL);
             TELL(with, stream == NULL ? 0 : freopen("/dev/null", "w", stream) == stream);
             TELL(with, stream == NULL ? 0 : fputs("hello", stream)); TELL(with, stream == NULL ? 0 : fclose(stream));
             TELL(with, fcntl(fd, F_GETFD)));
    IN_CHILD(fd = descriptor(which); TELL(with, send(fd, "x", 1, MSG_OOB | MSG_NOSIGNAL));
             TELL(with, recv(fd, &value, 1, MSG_OOB | MSG_DONTWAIT));
             TELL(with, recv(fd, &value, 1, MSG_ERRQUEUE | MSG_DONTWAIT));
             TELL(with, send(fd, "x", 1, MSG_ZEROCOPY | MSG_NOSIGNAL)));
}

/* ---- connect ------------------------------------------------------------------------------------------------------ */

static void connects(enum which which, const char *with)
{
    struct sockaddr_storage address = {.ss_family = AF_INET};
    struct sockaddr_un path = {.sun_family = AF_UNIX, .sun_path = "/nowhere/at/all"};
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    static const sa_family_t families[] = {AF_INET, AF_INET6, AF_UNIX, AF_UNSPEC, AF_NETLINK, 200};
    int fd;
    memcpy(&address, &listening, sizeof listening);
    IN_CHILD(fd = descriptor(which); TELL(with, connect(fd, NULL, 0)); TELL(with, connect(fd, NULL, 16));
             TELL(with, connect(fd, NULL, ~0U)); TELL(with, connect(fd, (struct sockaddr *)8, 16));
             TELL(with, connect(fd, (struct sockaddr *)closed, 16));
             TELL(with, connect(fd, (struct sockaddr *)(edge - 8), 16)));
    IN_CHILD(fd = descriptor(which); TELL(with, connect(fd, (struct sockaddr *)&path, sizeof path)));
    IN_CHILD(fd = descriptor(which); TELL(with, connect(fd, &none, sizeof none)); TELL(with, fcntl(fd, F_GETFL));
             TELL(with, connect(fd, (struct sockaddr *)&address, sizeof listening)); TELL(with, fcntl(fd, F_GETFL));
             TELL(with, connect(fd, (struct sockaddr *)&address, sizeof listening));
             TELL(with, send(fd, "x", 1, MSG_NOSIGNAL)); TELL(with, recv(fd, &none, 1, 0)));
    for (size_t family = 0; family < sizeof families / sizeof *families; family++) {
        address.ss_family = families[family];
        for (socklen_t length = 0; length <= 200; length++) {
            if (which != UNCONNECTED && length % 16 != 0 && length != 28 && length != 2) {
                continue;
            }
            struct {
                struct sockaddr_storage address;
                char more[100];
            } whole = {.address = address};
            fd = -1;
            IN_CHILD(fd = descriptor(which); TELL(with, connect(fd, (struct sockaddr *)&whole, length)));
        }
    }
}

static void sockets(const char *with)
{
    for (int domain = -1; domain < 48; domain++) {
        for (int type = 0; type < 7; type++) {
            int fd;
            IN_CHILD(fd = socket(domain, type | SOCK_NONBLOCK, 0); TELL(with, fd < 0); TELL(with, connect(fd, NULL, 0));
                     TELL(with, connect(fd, (struct sockaddr *)&listening, sizeof listening)));
        }
    }
}

static void fast_open(const char *with)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int one = 1;
    TELL(with, sendto(fd, "GET / HTTP/1.0\r\n\r\n", 18, MSG_FASTOPEN | MSG_NOSIGNAL, (struct sockaddr *)&listening,
                      sizeof listening));
    TELL(with, send(fd, "x", 1, MSG_NOSIGNAL));
    TELL(with, close(fd));
    fd = socket(AF_INET, SOCK_STREAM, 0);
    TELL(with, setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof one));
    TELL(with, connect(fd, (struct sockaddr *)&listening, sizeof listening));
    TELL(with, write(fd, "GET / HTTP/1.0\r\n\r\n", 18));
    TELL(with, close(fd));
}

/* ---- names -------------------------------------------------------------------------------------------------------- */

static void names(const char *with)
{
    struct addrinfo *found = NULL;
    struct addrinfo hints = {.ai_family = AF_INET, .ai_flags = AI_NUMERICHOST};
    struct addrinfo nonsense = {.ai_family = 99, .ai_flags = -1};
    static char long_name[70000];
    memset(long_name, 'a', sizeof long_name - 1);
    IN_CHILD(TELL(with, getaddrinfo(NULL, NULL, NULL, &found)));
    IN_CHILD(TELL(with, getaddrinfo(NULL, "80", NULL, &found)));
    IN_CHILD(TELL(with, getaddrinfo("127.0.0.1", NULL, &hints, &found)); TELL(with, found->ai_family));
    IN_CHILD(TELL(with, getaddrinfo("x.invalid", NULL, &hints, &found)));
    IN_CHILD(TELL(with, getaddrinfo("localhost", NULL, &nonsense, &found)));
    IN_CHILD(TELL(with, getaddrinfo("", "", NULL, &found)));
    IN_CHILD(TELL(with, getaddrinfo(long_name, NULL, &hints, &found)));
    IN_CHILD(TELL(with, getaddrinfo("localhost", "no-such-service", NULL, &found)));
    IN_CHILD(TELL(with, getaddrinfo("127.0.0.1", NULL, NULL, NULL)));
    IN_CHILD(TELL(with, getaddrinfo((char *)8, NULL, NULL, &found)));
    IN_CHILD(TELL(with, gethostbyname("") == NULL));
    IN_CHILD(TELL(with, gethostbyname("127.0.0.1") == NULL));
    IN_CHILD(TELL(with, gethostbyname(NULL) == NULL));
    IN_CHILD(TELL(with, gethostbyname2("127.0.0.1", 99) == NULL));
    IN_CHILD(struct hostent host; struct hostent * out; char room[10]; int failure;
             TELL(with, gethostbyname_r("127.0.0.1", &host, room, sizeof room, &out, &failure));
             TELL(with, gethostbyname2_r("127.0.0.1", AF_INET, &host, room, 0, &out, &failure)));
    IN_CHILD(struct hostent host; struct hostent * out; char room[1000]; int *volatile nowhere = NULL;
             TELL(with, gethostbyname_r("127.0.0.1", &host, room, sizeof room, &out, nowhere));
             TELL(with, gethostbyname2_r("127.0.0.1", AF_INET, &host, room, sizeof room, &out, nowhere)));
}

int main(void)
{
    prepare();
    for (enum which which = 0; which < WHICH; which++) {
        for (size_t i = 0; i < BUFFERS; i++) {
            group = which_name[which];
            bytes_out(which, buffers[i].name, buffers[i].bytes, buffers[i].length);
            bytes_in(which, buffers[i].name, buffers[i].bytes, buffers[i].length);
        }
        structures(which, "");
        descriptors(which, "");
        connects(which, "");
    }
    group = "socket";
    sockets("");
    IN_CHILD(fast_open(""));
    group = "names";
    names("");
    return 0;
}
