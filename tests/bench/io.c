/*
 * What the hooks cost a program: makes one kind of call many times over, by turns through the name that it is linked to,
 * which a preload may have taken over, and through libc's own function. Prints the nanoseconds of both: "LIBC LINKED".
 * Turns of some microseconds on one descriptor in one process, and medians over thousands of them, show what is left of a
 * difference on a machine whose speed drifts. Without a preload both are the same function.
 *
 *   io KIND [PORT]   KIND: a row of the table below; PORT: of an HTTP server, or a dead one for `refused`
 *   io count CALLS   that many untracked reads and nothing else, for a counter of instructions
 */
#include "bench.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address = {.sin_family = AF_INET};

// ---- both sides -------------------------------------------------------------------------------------------------------

#define FUNCTIONS(each) each(read) each(write) each(send) each(recv) each(socket) each(connect) each(close)

struct side {
#define MEMBER(name) __typeof__(name) *name;
    FUNCTIONS(MEMBER)
};

static const struct side linked = {
#define LINKED(name) .name = name,
    FUNCTIONS(LINKED)};

static struct side libc;

static bool find_libc(void)
{
    void *handle = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
#define FIND(name) *(void **)&libc.name = handle != NULL ? dlsym(handle, #name) : NULL;
    FUNCTIONS(FIND)
    return libc.close != NULL;
}

// ---- a peer -----------------------------------------------------------------------------------------------------------

enum peer { LISTENS, TALKS, ECHOES };

// Says `hello` after a first read, then does one thing without end.
static void be_peer(int listener, const char *hello, enum peer peer)
{
    static char block[65536];
    int fd = accept(listener, NULL, NULL);
    bool good = fd >= 0 && read(fd, block, sizeof block) > 0 && write(fd, hello, strlen(hello)) >= 0;
    memset(block, 0, sizeof block);
    while (good) {
        ssize_t length = peer == TALKS ? (ssize_t)sizeof block : read(fd, block, sizeof block);
        good = length > 0 && (peer == LISTENS || write(fd, block, (size_t)length) > 0);
    }
}

// A connection to a peer of its own, whose first bytes were `first`.
static int connected_to_peer(const char *first, size_t length, const char *hello, enum peer peer)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&at, &size) != 0) {
        return -1;
    }
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        be_peer(listener, hello, peer);
        _exit(0);
    }
    close(listener);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = connect(fd, (struct sockaddr *)&at, size) == 0 && send(fd, first, length, 0) == (ssize_t)length;
    return good ? fd : -1;
}

// ---- descriptors ------------------------------------------------------------------------------------------------------

static int opened_zero(void)
{
    return open("/dev/zero", O_RDONLY | O_CLOEXEC);
}

static int opened_null(void)
{
    return open("/dev/null", O_WRONLY | O_CLOEXEC);
}

// To a port of our own that nobody reads: the kernel drops what does not fit.
static int opened_datagram(void)
{
    int sink = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof to;
    bool ready = bind(sink, (struct sockaddr *)&to, sizeof to) == 0 &&
                 getsockname(sink, (struct sockaddr *)&to, &length) == 0 &&
                 connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
    return ready ? fd : -1;
}

static int opened_stream(void)
{
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int opened_nothing(void)
{
    return 0;
}

static int opened_connection(void)
{
    int fd = opened_stream();
    return connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

static int opened_upload(void)
{
    static const char head[] = "POST / HTTP/1.1\r\nHost: bench\r\nContent-Length: 1000000000000000\r\n\r\n";
    return connected_to_peer(head, sizeof head - 1, "", LISTENS);
}

static int opened_download(void)
{
    static const char get[] = "GET / HTTP/1.1\r\nHost: bench\r\n\r\n";
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000000000\r\n\r\n";
    char came[sizeof head - 1];
    int fd = connected_to_peer(get, sizeof get - 1, head, TALKS);
    return recv(fd, came, sizeof came, MSG_WAITALL) == sizeof came ? fd : -1;
}

// A ClientHello without extensions, and the records that follow it.
#define ZEROS8 "\0\0\0\0\0\0\0\0"
static const char hello[] =
    "\x16\x03\x01\x00\x2d\x01\x00\x00\x29\x03\x03" ZEROS8 ZEROS8 ZEROS8 ZEROS8 "\x00\x00\x02\x13\x01\x01\x00";
static char record[5 + 1024] = "\x17\x03\x03\x04\x00";

static int opened_tls(void)
{
    return connected_to_peer(hello, sizeof hello - 1, "", LISTENS);
}

static int opened_opaque(void)
{
    return connected_to_peer("\0", 1, "", LISTENS);
}

// One that has been answered once: what follows are turns.
static int opened_turns(void)
{
    char answer[8];
    int fd = connected_to_peer("\0", 1, "answer", ECHOES);
    return recv(fd, answer, sizeof answer, 0) > 0 ? fd : -1;
}

// ---- calls ------------------------------------------------------------------------------------------------------------

static char buffer[1024];

static bool read_zero(const struct side *by, int fd)
{
    char byte;
    return by->read(fd, &byte, 1) == 1;
}

static bool write_null(const struct side *by, int fd)
{
    return by->write(fd, "x", 1) == 1;
}

static bool send_datagram(const struct side *by, int fd)
{
    return by->send(fd, "x", 1, MSG_DONTWAIT) == 1;
}

static bool take_turn(const struct side *by, int fd)
{
    char answer[64];
    return by->send(fd, "\0question", 9, MSG_NOSIGNAL) == 9 && by->recv(fd, answer, sizeof answer, 0) > 0;
}

static bool exchange(const struct side *by, int fd)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: bench\r\n\r\n";
    char answer[2048];
    return by->send(fd, request, sizeof request - 1, MSG_NOSIGNAL) == (ssize_t)sizeof request - 1 &&
           by->recv(fd, answer, sizeof answer, 0) > 0;
}

static bool send_body(const struct side *by, int fd)
{
    return by->send(fd, buffer, sizeof buffer, MSG_NOSIGNAL) == sizeof buffer;
}

static bool recv_body(const struct side *by, int fd)
{
    return by->recv(fd, buffer, sizeof buffer, 0) > 0;
}

static bool send_record(const struct side *by, int fd)
{
    return by->send(fd, record, sizeof record, MSG_NOSIGNAL) == sizeof record;
}

// An abortive close leaves no TIME_WAIT behind: a million of those would measure the port allocator.
static bool connect_and_close(const struct side *by, int fd)
{
    struct linger off = {.l_onoff = 1};
    fd = by->socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && by->connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof off) == 0 && by->close(fd) == 0;
}

// One socket for all attempts, so that connect alone is timed.
static bool connect_refused(const struct side *by, int fd)
{
    return by->connect(fd, (struct sockaddr *)&address, sizeof address) < 0 && errno == ECONNREFUSED;
}

// ---- turns ------------------------------------------------------------------------------------------------------------

static const struct kind {
    const char *name;
    int (*open)(void);
    bool (*call)(const struct side *by, int fd);
    int calls; // a turn
} kinds[] = {
    {"read", opened_zero, read_zero, 100},          {"write", opened_null, write_null, 100},
    {"send", opened_datagram, send_datagram, 20},   {"exchange", opened_connection, exchange, 5},
    {"body-send", opened_upload, send_body, 10},    {"body-recv", opened_download, recv_body, 10},
    {"tls-send", opened_tls, send_record, 10},      {"opaque-send", opened_opaque, send_body, 10},
    {"turn", opened_turns, take_turn, 5},           {"connect", opened_nothing, connect_and_close, 3},
    {"refused", opened_stream, connect_refused, 5},
};

#define TURNS 3001

// Nanoseconds a call of one turn; negative: a call failed.
static double turn(const struct kind *kind, const struct side *by, int fd)
{
    uint64_t begun = bench_now();
    for (int call = 0; call < kind->calls; call++) {
        if (!kind->call(by, fd)) {
            return -1;
        }
    }
    return (double)(bench_now() - begun) / kind->calls;
}

static int measure(const struct kind *kind)
{
    static double took[2][TURNS];
    static const struct side *const sides[] = {&libc, &linked};
    int fd = kind->open();
    bool good = fd >= 0 && find_libc();
    for (int i = 0; good && i < TURNS; i++) {
        // Who goes first changes too.
        int first = i % 2;
        took[first][i] = turn(kind, sides[first], fd);
        took[1 - first][i] = turn(kind, sides[1 - first], fd);
        good = took[0][i] >= 0 && took[1][i] >= 0;
    }
    if (!good) {
        perror(kind->name);
        return 1;
    }
    printf("%.1f %.1f\n", bench_median(took[0], TURNS), bench_median(took[1], TURNS));
    return 0;
}

int main(int argc, char **argv)
{
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)(argc > 2 ? atoi(argv[2]) : 0));
    if (argc == 3 && strcmp(argv[1], "count") == 0) {
        int fd = opened_zero();
        for (int left = atoi(argv[2]); left > 0; left--) {
            if (!read_zero(&linked, fd)) {
                return 1;
            }
        }
        return 0;
    }
    for (size_t i = 0; argc >= 2 && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(argv[1], kinds[i].name) == 0) {
            return measure(&kinds[i]);
        }
    }
    fprintf(stderr, "usage: io KIND [PORT] | io count CALLS\n");
    return 64;
}
