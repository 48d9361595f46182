/*
 * A program that speaks to its provider over plain sockets: a blocking connect, a send, and a wait for the answer that has
 * no end.
 *
 *   ask HOST PORT [TIMES]
 */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A connection to the first address that takes one; -1 and errno. */
static int connect_to(const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses;
    int fd = -1;

    if (getaddrinfo(host, port, &hints, &addresses) != 0) {
        errno = ENXIO;
        return -1;
    }
    for (const struct addrinfo *at = addresses; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, at->ai_socktype, at->ai_protocol);
        if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
            int reason = errno;
            close(fd);
            errno = reason;
            fd = -1;
        }
    }
    freeaddrinfo(addresses);
    return fd;
}

/* Sends the question and reads the first line of the answer. 0, or -1 and errno. */
static int ask(int fd, const char *host, char *answer, size_t size)
{
    char question[512];
    size_t length = 0;
    int asked = snprintf(question, sizeof(question), "GET / HTTP/1.0\r\nHost: %s\r\n\r\n", host);

    if (send(fd, question, (size_t)asked, MSG_NOSIGNAL) != asked) {
        return -1;
    }
    while (length < size - 1) {
        ssize_t got = recv(fd, answer + length, size - 1 - length, 0);
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        length += (size_t)got;
    }
    answer[length] = '\0';
    answer[strcspn(answer, "\r\n")] = '\0';
    if (length == 0) {
        errno = ECONNRESET;
        return -1;
    }
    return 0;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    int good = 0;

    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: %s HOST PORT [TIMES]\n", argv[0]);
        return 2;
    }
    int times = argc > 3 ? atoi(argv[3]) : 1;

    for (int i = 1; i <= times; i++) {
        char answer[1024];
        double began = now();
        int fd = connect_to(argv[1], argv[2]);
        int failed = fd < 0 || ask(fd, argv[1], answer, sizeof(answer)) != 0;
        printf("%3d  %s after %.3f s\n", i, failed ? strerror(errno) : answer, now() - began);
        good += !failed;
        if (fd >= 0) {
            close(fd);
        }
    }
    printf("%d of %d answered\n", good, times);
    return good == times ? 0 : 1;
}
