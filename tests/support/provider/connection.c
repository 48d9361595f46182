/*
 * One connection: takes whole requests out of what was read, and does to each what its host's script says.
 */
#include "provider.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_HEAD 16384

enum stage {
    READING, /* no request outstanding */
    WAITING, /* answers when due */
    WRITING,
    SILENT /* never will */
};

struct connection {
    struct source source;
    struct connection *next, *previous;
    uint64_t number, due; /* ns; NEVER */
    enum stage stage;
    unsigned host;
    enum action action;
    unsigned status;
    bool close_after;
    size_t have, skip;    /* bytes read of a head; bytes of a body still to come */
    enum stream_end last; /* of an event stream: how it ends, how many places there are where it pauses, for how long */
    unsigned ends, pause;
    size_t end[STREAM_EVENTS + 1];
    char *out;                 /* the answer */
    size_t out_size, out_sent; /* out_size: of what is to be sent of it */
    char head[REQUEST_HEAD];
};

static struct connection *all; /* newest first */
static uint64_t accepted;      /* since `clear` */
static uint64_t numbers;

static uint64_t after_ms(unsigned ms)
{
    return now() + (uint64_t)ms * 1000000u;
}

uint64_t connection_count(void)
{
    return accepted;
}

void connection_clear_count(void)
{
    accepted = 0;
}

static void finish(struct connection *c, bool reset)
{
    if (reset) {
        struct linger hard = {.l_onoff = 1, .l_linger = 0};
        setsockopt(c->source.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    }
    close(c->source.fd);
    *(c->previous ? &c->previous->next : &all) = c->next;
    if (c->next) {
        c->next->previous = c->previous;
    }
    free(c->out);
    free(c);
}

/* The client went away. */
static void abandoned(struct connection *c)
{
    if (c->stage != READING) {
        host_at(c->host)->abandoned++;
    }
    finish(c, false);
}

/* ---- requests
 * -------------------------------------------------------------------------------------------------------- */

/* The value of a header in a head, into value; false if it is not there. */
static bool header(const char *head, const char *name, char *value, size_t size)
{
    size_t length = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, length) != 0 || line[length] != ':') {
            continue;
        }
        line += length + 1;
        line += strspn(line, " \t");
        snprintf(value, size, "%.*s", (int)strcspn(line, "\r\n"), line);
        return true;
    }
    return false;
}

static bool closes(const char *head)
{
    char token[32] = "";
    header(head, "connection", token, sizeof token);
    return strcasecmp(token, "close") == 0 || (strstr(head, " HTTP/1.0\r\n") && strcasecmp(token, "keep-alive") != 0);
}

#define STREAM_ROOM 16384

/* Head and events; the head goes by itself. */
static void prepare_stream(struct connection *c, const struct host *script)
{
    c->out = malloc(STREAM_ROOM);
    if (!c->out) {
        die("answer");
    }
    int head = snprintf(
        c->out, STREAM_ROOM, "HTTP/1.1 %u Fine\r\nContent-Type: text/event-stream; charset=utf-8\r\n%s%s\r\n",
        c->status, script->headers, script->until_close ? "Connection: close\r\n" : "Transfer-Encoding: chunked\r\n");
    c->close_after = c->close_after || script->until_close;
    c->last = script->end;
    c->pause = script->interval;
    c->out_size = stream_write(script, c->out, STREAM_ROOM, (size_t)head, c->end, &c->ends);
    c->out_sent = 0;
}

static void prepare(struct connection *c, const struct host *script, bool scripted)
{
    c->status = scripted && script->status ? script->status : 200;
    c->close_after = c->close_after || (scripted && script->close);
    if (c->action == STREAM) {
        prepare_stream(c, script);
        return;
    }
    bool text = scripted && script->text[0];
    size_t body = scripted && script->body ? script->body : 16;
    body = text ? strlen(script->text) : body;
    size_t room = 256 + sizeof script->headers + body;
    c->out = malloc(room);
    if (!c->out) {
        die("answer");
    }
    int head = snprintf(c->out, room, "HTTP/1.1 %u %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s%s\r\n",
                        c->status, c->status < 400 ? "Fine" : "Bad", text ? "application/json" : "text/plain", body,
                        scripted ? script->headers : "", c->close_after ? "Connection: close\r\n" : "");
    c->out_size = (size_t)head + body;
    if (text) {
        memcpy(c->out + head, script->text, body);
    } else {
        memset(c->out + head, 'x', body);
        c->out[c->out_size - 1] = '\n';
    }
    c->out_sent = 0;
    if (c->action == HALF || c->action == HALF_RESET) {
        c->out_size -= body / 2;
    }
}

/* A whole request is here: decide what becomes of it. */
static void arrived(struct connection *c)
{
    char name[NAME] = "-", path[120] = "", length[32];
    sscanf(c->head, "%*15s %119s", path);
    if (header(c->head, "host", name, sizeof name)) {
        name[name[0] == '[' ? strcspn(name, "]") + (strchr(name, ']') != NULL) : strcspn(name, ":")] = '\0';
    }
    c->skip = header(c->head, "content-length", length, sizeof length) ? strtoul(length, NULL, 10) : 0;
    c->close_after = closes(c->head);
    c->host = host_find(name);
    host_at(c->host)->requests++;
    log_request(c->host, path, c->number);

    struct host *script = host_script(c->host);
    bool scripted = script->every < 2 || ++script->turn % script->every == 0;
    c->action = scripted ? script->action : ANSWER;
    if (c->action == HANG) {
        c->stage = SILENT;
        return;
    }
    prepare(c, script, scripted);
    c->stage = WAITING;
    c->due = after_ms(scripted ? script->latency : 0);
}

/* Takes a request out of what was read, if there is a whole one. */
static void parse(struct connection *c)
{
    size_t skipped = c->skip < c->have ? c->skip : c->have;
    c->skip -= skipped;
    c->have -= skipped;
    memmove(c->head, c->head + skipped, c->have);
    c->head[c->have] = '\0';
    char *end = strstr(c->head, "\r\n\r\n");
    if (c->skip || !end) {
        return;
    }
    end += 4;
    char kept = *end;
    *end = '\0';
    arrived(c);
    *end = kept;
    c->have -= (size_t)(end - c->head);
    memmove(c->head, end, c->have + 1);
}

/* ---- answers
 * --------------------------------------------------------------------------------------------------------- */

static void answered(struct connection *c)
{
    if (c->action == HALF || c->action == HALF_RESET || c->close_after) {
        finish(c, c->action == HALF_RESET);
        return;
    }
    free(c->out);
    c->out = NULL;
    c->stage = READING;
    unsigned idle = host_script(c->host)->idle;
    c->due = idle ? after_ms(idle) : NEVER;
    source_watch(&c->source, EPOLLIN | EPOLLRDHUP);
    parse(c); /* what the client sent ahead */
}

/* All of a stream's events were sent. */
static void streamed(struct connection *c)
{
    switch (c->last) {
    case STREAM_CUT:
    case STREAM_RESET:
        finish(c, c->last == STREAM_RESET);
        break;
    case STREAM_SILENT:
        c->stage = SILENT;
        break;
    case STREAM_REPEAT:
        c->out_sent = c->end[c->ends > 1 ? c->ends - 2 : 0];
        c->due = after_ms(c->pause);
        break;
    default:
        answered(c);
        break;
    }
}

/* Bytes of an answer that go at once. */
static size_t piece_of(const struct connection *c)
{
    for (unsigned i = 0; c->action == STREAM && i < c->ends; i++) {
        if (c->end[i] > c->out_sent) {
            return c->end[i] - c->out_sent;
        }
    }
    return c->action == DRIP ? 1 : c->out_size - c->out_sent;
}

/* Sends what can be sent; of an answer that drips one byte, of a stream one event. */
static void answer(struct connection *c)
{
    struct host *host = host_at(c->host);
    if (c->stage == WAITING) {
        /* Before its first byte, so that no client can know of an answer that is not counted. */
        host->answers[c->status < 600 ? c->status : 599]++;
    }
    ssize_t sent = send(c->source.fd, c->out + c->out_sent, piece_of(c), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) {
        abandoned(c);
        return;
    }
    c->out_sent += sent > 0 ? (size_t)sent : 0;
    c->stage = WRITING;
    if (c->out_sent == c->out_size && c->action == STREAM) {
        streamed(c);
    } else if (c->out_sent == c->out_size) {
        answered(c);
    } else if (c->action == STREAM) {
        c->due = after_ms(c->pause);
    } else if (c->action == DRIP) {
        c->due = after_ms(host_script(c->host)->interval);
    } else {
        source_watch(&c->source, EPOLLOUT);
    }
}

/* Its time has come. */
static void due(struct connection *c)
{
    c->due = NEVER;
    if (c->stage == READING) {
        finish(c, false);
    } else if (c->action == RESET || c->action == END) {
        finish(c, c->action == RESET);
    } else {
        answer(c);
    }
}

int connection_tick(void)
{
    uint64_t earliest = NEVER, time = now();
    for (struct connection *c = all, *next; c; c = next) {
        next = c->next;
        if (c->due <= time) {
            due(c);
        }
    }
    /* Once more: what was due may be due again, or gone. */
    for (struct connection *c = all; c; c = c->next) {
        earliest = c->due < earliest ? c->due : earliest;
    }
    if (earliest == NEVER) {
        return -1;
    }
    return earliest > time ? (int)((earliest - time) / 1000000u) + 1 : 0;
}

/* ---- events
 * ---------------------------------------------------------------------------------------------------------- */

static void event(struct source *source)
{
    struct connection *c = (struct connection *)source;
    if (c->stage == WRITING && c->action != DRIP && c->action != STREAM) {
        answer(c);
        return;
    }
    char spill[4096];
    size_t room = sizeof c->head - 1 - c->have;
    ssize_t got = room ? recv(source->fd, c->head + c->have, room, 0) : recv(source->fd, spill, sizeof spill, 0);
    if (got < 0 && errno == EAGAIN) {
        return;
    }
    if (got <= 0) {
        abandoned(c);
        return;
    }
    c->have += room ? (size_t)got : 0;
    if (c->stage == READING) {
        parse(c);
    }
}

void connection_begin(int fd)
{
    struct connection *c = calloc(1, sizeof *c);
    if (!c) {
        die("connection");
    }
    accepted++;
    c->source.fd = fd;
    c->source.event = event;
    c->number = ++numbers;
    c->due = NEVER;
    c->next = all;
    if (all) {
        all->previous = c;
    }
    all = c;
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    source_watch(&c->source, EPOLLIN | EPOLLRDHUP);
}

unsigned connection_sever(enum severed which)
{
    unsigned count = 0;
    for (struct connection *c = all, *next; c; c = next) {
        next = c->next;
        if (which != SEVER_BUSY || c->stage != READING) {
            finish(c, true);
            count++;
        }
        if (which == SEVER_NEWEST) {
            break;
        }
    }
    return count;
}
