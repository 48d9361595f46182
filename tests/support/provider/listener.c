/*
 * Where connections come in, and three ways in which they do not: refused by the kernel, swallowed, or reset in place
 * of a greeting.
 */
#include "provider.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTENERS 8
#define FILLERS   4

struct listener {
    struct source source; /* fd -1 while it refuses */
    const char *text;
    struct sockaddr_storage address;
    socklen_t length;
    enum listening state;
    int filler[FILLERS]; /* connections of our own that fill the queue of a black hole; else -1 */
};
static struct listener listeners[LISTENERS];
static unsigned count;

static int make_socket(const struct listener *l)
{
    int fd = socket(l->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int one = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0) {
        die(l->text);
    }
    return fd;
}

static in_port_t *port_of(struct listener *l)
{
    return l->address.ss_family == AF_INET6 ? &((struct sockaddr_in6 *)&l->address)->sin6_port
                                            : &((struct sockaddr_in *)&l->address)->sin_port;
}

in_port_t listener_port(void)
{
    return count ? *port_of(&listeners[0]) : 0;
}

static void accept_one(struct source *source)
{
    struct listener *l = (struct listener *)source;
    int fd = accept4(l->source.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        return;
    }
    connection_begin(fd);
    if (l->state == LISTEN_RESET) {
        connection_sever(SEVER_NEWEST);
    }
}

void listener_add(const char *address, in_port_t port)
{
    if (count == LISTENERS) {
        errno = E2BIG;
        die(address);
    }
    struct listener *l = &listeners[count++];
    *l = (struct listener){.source = {.fd = -1, .event = accept_one}, .text = address, .state = LISTEN_REFUSE};
    memset(l->filler, -1, sizeof l->filler);
    if (inet_pton(AF_INET, address, &((struct sockaddr_in *)&l->address)->sin_addr) == 1) {
        l->address.ss_family = AF_INET;
        l->length = sizeof(struct sockaddr_in);
    } else if (inet_pton(AF_INET6, address, &((struct sockaddr_in6 *)&l->address)->sin6_addr) == 1) {
        l->address.ss_family = AF_INET6;
        l->length = sizeof(struct sockaddr_in6);
    } else {
        errno = EINVAL;
        die(address);
    }
    *port_of(l) = port;
    /* Bound but never listening, for good: the port stays ours while we refuse, and no client can connect to itself. */
    int keeper = make_socket(l);
    if (bind(keeper, (struct sockaddr *)&l->address, l->length) != 0 ||
        getsockname(keeper, (struct sockaddr *)&l->address, &l->length) != 0) {
        die(address);
    }
    listener_set(address, LISTEN_OPEN);
}

/* As short a queue as there is, filled by ourselves: the kernel drops every further SYN. */
static void fill(struct listener *l)
{
    if (listen(l->source.fd, 0) != 0) {
        die(l->text);
    }
    for (unsigned i = 0; i < FILLERS; i++) {
        l->filler[i] = make_socket(l);
        connect(l->filler[i], (struct sockaddr *)&l->address, l->length);
    }
}

static void stop(struct listener *l)
{
    close(l->source.fd);
    l->source.fd = -1;
    for (unsigned i = 0; i < FILLERS; i++) {
        if (l->filler[i] >= 0) {
            close(l->filler[i]);
        }
        l->filler[i] = -1;
    }
}

static void become(struct listener *l, enum listening state)
{
    /* A black hole's queue holds connections that nobody shall see: away with it, and begin anew. */
    if (l->source.fd >= 0 && (state == LISTEN_REFUSE || state == LISTEN_BLACKHOLE || l->state == LISTEN_BLACKHOLE)) {
        stop(l);
    }
    l->state = state;
    if (state == LISTEN_REFUSE) {
        return;
    }
    if (l->source.fd < 0) {
        l->source.fd = make_socket(l);
        if (bind(l->source.fd, (struct sockaddr *)&l->address, l->length) != 0 || listen(l->source.fd, 4096) != 0) {
            die(l->text);
        }
    }
    if (state == LISTEN_BLACKHOLE) {
        fill(l);
    } else {
        source_watch(&l->source, EPOLLIN);
    }
}

bool listener_set(const char *address, enum listening state)
{
    bool found = false;
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(address, "*") == 0 || strcmp(address, listeners[i].text) == 0) {
            become(&listeners[i], state);
            found = true;
        }
    }
    return found;
}
