/*
 * The project's own scripted provider: an HTTP/1.1 server on loopback that goes bad on command, and counts what it saw.
 *
 * One thread and epoll: a count is exact at the moment when the command that asks for it is answered. main.c waits and
 * hands out; control.c obeys and reports; listener.c is what a client meets before its connection stands, connection.c
 * what it meets after, stream.c what is in an event stream.
 */
#ifndef PROVIDER_H
#define PROVIDER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAME  256
#define NEVER UINT64_MAX

/* What becomes of a request. RESET and END come instead of an answer, HALF and HALF_RESET in the midst of its body. */
enum action { ANSWER, HANG, RESET, END, HALF, HALF_RESET, DRIP, STREAM, ACTIONS };

/* How an event stream ends. REPEAT: its last event comes again and again. */
enum stream_end { STREAM_WHOLE, STREAM_CUT, STREAM_RESET, STREAM_SILENT, STREAM_REPEAT, STREAM_ENDS };
#define STREAM_EVENTS 32

/* A Host seen or scripted: what its requests meet, and how many there were. */
struct host {
    char name[NAME];
    bool scripted; /* else requests meet what `*` has */
    enum action action;
    unsigned status, body; /* 0: 200, and a few bytes */
    unsigned latency, interval,
        idle;             /* ms: before the answer, between bytes that drip, until an idle connection is closed */
    unsigned every;       /* only each Nth request so, the others 200 at once */
    unsigned close;       /* close after each answer */
    unsigned until_close; /* STREAM: not in chunks */
    enum stream_end end;
    char events[256];   /* STREAM: their names, in order */
    char text[512];     /* instead of `body` bytes: JSON */
    char headers[1024]; /* further ones, each with its CRLF */
    uint64_t turn;      /* requests met by this script, for `every` */
    uint64_t requests, abandoned, answers[600];
};

/* control.c: the one table of hosts; an index, since it never shrinks. Index 0 is `*`. */
struct host *host_at(unsigned index);
unsigned host_find(const char *name);
/* The script that a host's requests meet. */
struct host *host_script(unsigned index);
void log_request(unsigned host, const char *path, uint64_t connection);
/* Obeys one line and answers it with one line on stdout. */
void control(char *line);

/* stream.c */
bool stream_known(const char *names);
/* Writes the events behind `at` in out; where each ends, and how many there are (at most STREAM_EVENTS and one). */
size_t stream_write(const struct host *script, char *out, size_t room, size_t at, size_t *ends, unsigned *count);

/* listener.c */
struct listener;
enum listening { LISTEN_OPEN, LISTEN_REFUSE, LISTEN_BLACKHOLE, LISTEN_RESET, LISTENINGS };
void listener_add(const char *address, in_port_t port); /* network order; 0: of the kernel's choice */
in_port_t listener_port(void);
/* `address` as it was given to listener_add, or `*` for all. False: no such one. */
bool listener_set(const char *address, enum listening state);

/* connection.c */
void connection_begin(int fd);
uint64_t connection_count(void);
void connection_clear_count(void);
/* Does what is due, and returns how many ms later something else will be; -1: nothing will. */
int connection_tick(void);
enum severed { SEVER_ALL, SEVER_BUSY, SEVER_NEWEST }; /* busy: with a request outstanding */
unsigned connection_sever(enum severed which);        /* resets them at once; how many there were */

/* main.c: what epoll waits for. The first member of whoever is waiting. */
struct source {
    int fd;
    void (*event)(struct source *source);
};
/* Waits for these events (EPOLLIN...), or for others than before; no event is told any more once the fd is closed. */
void source_watch(struct source *source, uint32_t events);
uint64_t now(void); /* CLOCK_MONOTONIC, ns */
void die(const char *what) __attribute__((noreturn));

#endif
