/*
 * What the hooks cost a program: it makes one kind of call many times over and prints nanoseconds a call. It knows nothing
 * of prebreak; the runner starts it with and without the preload, in turns.
 *
 *   io WHAT ROUNDS [PORT]   WHAT: read write send (untracked), exchange (send and recv on a kept connection to PORT),
 *                           connect (accepted by PORT), refused (connect to PORT, which must fail)
 *   io count CALLS          that many untracked reads and nothing else, for a counter of instructions
 */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address = {.sin_family = AF_INET};

static int opened_stream(void)
{
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int connected(void)
{
    int fd = opened_stream();
    return fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? fd : -1;
}

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

static int opened_nothing(void)
{
    return 0;
}

static bool read_zero(int fd)
{
    char byte;
    return read(fd, &byte, 1) == 1;
}

static bool write_null(int fd)
{
    return write(fd, "x", 1) == 1;
}

static bool send_datagram(int fd)
{
    return send(fd, "x", 1, MSG_DONTWAIT) == 1;
}

static bool exchange(int fd)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: bench\r\n\r\n";
    char answer[2048];
    return send(fd, request, sizeof request - 1, MSG_NOSIGNAL) == (ssize_t)sizeof request - 1 &&
           recv(fd, answer, sizeof answer, 0) > 0;
}

// An abortive close leaves no TIME_WAIT behind: a million of those would measure the port allocator.
static bool connect_and_close(int fd)
{
    struct linger off = {.l_onoff = 1};
    fd = connected();
    return fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_LINGER, &off, sizeof off) == 0 && close(fd) == 0;
}

// One socket for all attempts, so that connect alone is timed.
static bool connect_refused(int fd)
{
    return connect(fd, (struct sockaddr *)&address, sizeof address) < 0 && errno == ECONNREFUSED;
}

static const struct kind {
    const char *name;
    int (*open)(void);
    bool (*call)(int fd);
    int calls; // a round
} kinds[] = {
    {"read", opened_zero, read_zero, 400000},         {"write", opened_null, write_null, 400000},
    {"send", opened_datagram, send_datagram, 100000}, {"exchange", connected, exchange, 10000},
    {"connect", opened_nothing, connect_and_close, 3000},    {"refused", opened_stream, connect_refused, 20000},
};

static int measure(const struct kind *kind, int rounds)
{
    double took[100];
    int fd = kind->open();
    bool good = fd >= 0 && rounds >= 1 && rounds <= 100;
    for (int r = 0; good && r < rounds; r++) {
        uint64_t begun = bench_now();
        for (int call = 0; good && call < kind->calls; call++) {
            good = kind->call(fd);
        }
        took[r] = (double)(bench_now() - begun) / kind->calls;
    }
    if (!good) {
        perror(kind->name);
        return 1;
    }
    printf("%.1f\n", bench_median(took, rounds));
    return 0;
}

int main(int argc, char **argv)
{
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)(argc > 3 ? atoi(argv[3]) : 0));
    if (argc == 3 && strcmp(argv[1], "count") == 0) {
        int fd = opened_zero();
        for (int left = atoi(argv[2]); left > 0; left--) {
            if (!read_zero(fd)) {
                return 1;
            }
        }
        return 0;
    }
    for (size_t i = 0; argc >= 3 && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(argv[1], kinds[i].name) == 0) {
            return measure(&kinds[i], atoi(argv[2]));
        }
    }
    fprintf(stderr, "usage: io read|write|send|exchange|connect|refused ROUNDS [PORT]\n");
    return 64;
}
