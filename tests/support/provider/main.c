/*
 *   provider [--listen ADDRESS]...        127.0.0.1 when none is given; every address listens on the same port
 *
 * Says {"port":N} on stdout, then obeys one command a line on stdin (control.c). It ends when stdin does, so that a
 * test that dies leaves nothing behind.
 */
#include "provider.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define EVENTS 64

static int epoll = -1;

void die(const char *what)
{
    fprintf(stderr, "provider: %s: %s\n", what, strerror(errno));
    exit(1);
}

uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void source_watch(struct source *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    if (epoll_ctl(epoll, EPOLL_CTL_MOD, source->fd, &event) != 0 &&
        epoll_ctl(epoll, EPOLL_CTL_ADD, source->fd, &event) != 0) {
        die("epoll_ctl");
    }
}

/* Commands may come in pieces, or several at once. */
static void commands(void)
{
    static char line[4096];
    static size_t have;
    ssize_t got = read(STDIN_FILENO, line + have, sizeof line - 1 - have);
    if (got <= 0) {
        exit(0);
    }
    have += (size_t)got;
    line[have] = '\0';
    char *rest = line;
    for (char *end = strchr(rest, '\n'); end; end = strchr(rest, '\n')) {
        *end = '\0';
        control(rest);
        rest = end + 1;
    }
    have = strlen(rest);
    memmove(line, rest, have + 1);
    if (have == sizeof line - 1) {
        errno = E2BIG;
        die("command");
    }
}

int main(int argc, char **argv)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    epoll = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 1; i + 1 < argc && strcmp(argv[i], "--listen") == 0; i += 2) {
        listener_add(argv[i + 1], listener_port());
    }
    if (listener_port() == 0) {
        listener_add("127.0.0.1", 0);
    }
    printf("{\"port\":%u}\n", ntohs(listener_port()));
    fflush(stdout);

    struct source input = {.fd = STDIN_FILENO};
    source_watch(&input, EPOLLIN);
    for (;;) {
        struct epoll_event events[EVENTS];
        int count = epoll_wait(epoll, events, EVENTS, connection_tick());
        bool told = false;
        for (int i = 0; i < count; i++) {
            struct source *source = events[i].data.ptr;
            if (source == &input) {
                told = true;
            } else {
                source->event(source);
            }
        }
        /* Last: a command closes connections, and their events of this round would find them gone. */
        if (told) {
            commands();
        }
    }
}
