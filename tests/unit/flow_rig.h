/*
 * Connections on loopback driven through track as the hooks drive it, in this process, against a private region.
 */
#ifndef TESTS_FLOW_RIG_H
#define TESTS_FLOW_RIG_H

#include "real/real.h"
#include "track/flow/descriptors.h"
#include "track/flow/fdtable.h"
#include "track/flow/flow.h"
#include "track/names/names.h"
#include "track/process.h"
#include "track/provider.h"
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the process and its rules ------------------------------------------------------------------------------------ */

static inline void rig_start(const char *rules)
{
    setenv("PREBREAK_STATE", "private", 1);
    setenv("PREBREAK_PROVIDERS", rules, 1);
    process_init();
    ck_assert(process_acts);
}

/* What has been counted for a provider. */
static inline struct breaker_view rig_view(const struct provider *provider)
{
    struct breaker_view view;
    ck_assert_ptr_nonnull(provider);
    breaker_view(&provider->breaker, process_now(), PREBREAK_CLOSED, &view);
    return view;
}

#define rig_counts(provider, ok_, failed_, neutral_)                                                                   \
    do {                                                                                                               \
        struct breaker_view view_ = rig_view(provider);                                                                \
        ck_assert_uint_eq(view_.outcome[PREBREAK_OK], ok_);                                                            \
        ck_assert_uint_eq(view_.outcome[PREBREAK_FAILED], failed_);                                                    \
        ck_assert_uint_eq(view_.outcome[PREBREAK_NEUTRAL], neutral_);                                                  \
    } while (0)

/* ---- a server ----------------------------------------------------------------------------------------------------- */

struct server {
    int fd;
    struct sockaddr_in at;
    struct address address;
};

static inline struct server rig_server_on(const char *address, uint16_t port)
{
    struct server server = {.at = {.sin_family = AF_INET, .sin_port = htons(port)}};
    inet_pton(AF_INET, address, &server.at.sin_addr);
    socklen_t length = sizeof server.at;
    server.fd = real_socket(AF_INET, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(server.fd, (struct sockaddr *)&server.at, length), 0);
    ck_assert_int_eq(listen(server.fd, 16), 0);
    getsockname(server.fd, (struct sockaddr *)&server.at, &length);
    ck_assert(address_read((struct sockaddr *)&server.at, length, &server.address));
    return server;
}

static inline struct server rig_server(void)
{
    return rig_server_on("127.0.0.1", 0);
}

static inline struct provider *rig_provider(const struct server *server, const char *host)
{
    return provider_of(
        &(struct rules_target){.host = host, .address = server->address.bytes, .port = server->address.port});
}

/* ---- a client, call by call as the hooks make them ---------------------------------------------------------------- */

static inline int rig_socket(int flags)
{
    return descriptor_made(real_socket(AF_INET, SOCK_STREAM | flags, 0), AF_INET, SOCK_STREAM | flags);
}

static inline int rig_connect(int fd, const struct server *server)
{
    uint64_t mark;
    const struct sockaddr *at = (const struct sockaddr *)&server->at;
    return connect_ask(fd, at, sizeof server->at, NULL, &mark)
               ? connect_told(fd, mark, real_connect(fd, at, sizeof server->at))
               : -1;
}

static inline ssize_t rig_send(int fd, const void *bytes, size_t length)
{
    uint64_t mark = fd_mark(fd);
    struct iovec iov = {(void *)(uintptr_t)bytes, length};
    if (mark == 0) {
        return real_send(fd, bytes, length, MSG_NOSIGNAL);
    }
    return traffic_ask(fd, mark, &iov, 1) ? traffic_sent(fd, mark, &iov, 1, real_send(fd, bytes, length, MSG_NOSIGNAL))
                                          : -1;
}

static inline ssize_t rig_say(int fd, const char *text)
{
    return rig_send(fd, text, strlen(text));
}

static inline ssize_t rig_receive(int fd, int flags)
{
    char buffer[1024];
    uint64_t mark = fd_mark(fd);
    struct iovec iov = {buffer, sizeof buffer};
    ssize_t result = real_recv(fd, buffer, sizeof buffer, flags);
    return mark == 0 ? result : traffic_received(fd, mark, &iov, 1, flags, result);
}

static inline void rig_close(int fd)
{
    descriptor_closing(fd);
    real_close(fd);
}

/* As if so much time had passed since the last byte. */
static inline void rig_age(int fd, uint64_t ns)
{
    struct flow *flow = flow_lock(fd_mark(fd));
    ck_assert_ptr_nonnull(flow);
    flow->moved -= ns;
    flow->opened -= ns;
    flow->began -= flow->began != 0 ? ns : 0;
    flow->call.event -= flow->call.event != 0 ? ns : 0;
    flow_unlock(flow);
}

/* A connection, both ends; the server's is *peer. */
static inline int rig_dial(const struct server *server, int *peer)
{
    int fd = rig_socket(0);
    ck_assert_int_eq(rig_connect(fd, server), 0);
    *peer = real_accept(server->fd, NULL, NULL);
    ck_assert_int_ge(*peer, 0);
    return fd;
}

/* The server reads what there is, and answers. */
static inline void rig_answer(int peer, const char *text)
{
    char buffer[1024];
    ck_assert_int_gt(real_recv(peer, buffer, sizeof buffer, 0), 0);
    ck_assert_int_eq(real_send(peer, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* The server cuts the connection off. */
static inline void rig_reset(int peer)
{
    struct linger linger = {1, 0};
    setsockopt(peer, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    real_close(peer);
}

#endif
