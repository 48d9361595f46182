/*
 * The demonstration: two providers that go bad in the same way at the same time, and a service before each, whose workers
 * call it with stock curl: one service runs plainly, the other under prebreak. main.c is the script and the clock,
 * service.c the callers and their provider, measure.c and picture.c what is seen of them.
 */
#ifndef DEMO_H
#define DEMO_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define RATE      16   /* callers a second */
#define WORKERS   12   /* calls at once; further callers wait for a worker */
#define MAX_TIME  "4"  /* curl's, seconds */
#define CALLS_MAX 4096 /* of one service, in the whole demonstration */

/* One stretch of the script. */
struct act {
    unsigned seconds;
    const char *title;
    const char *script;   /* of the provider: `set * ...` */
    const char *listener; /* open, refuse */
};
extern const struct act acts[];
extern const unsigned act_count;
unsigned act_begin(unsigned act); /* ms after the start */

enum how { WAITING, CALLING, ANSWERED, REFUSED, FAILED, HOWS };

/* A caller: came, got a worker, was done. Times in ms after the start. */
struct call {
    unsigned came, began, ended;
    enum how how;
    pid_t pid;
    int output;     /* of its curl; -1 */
    char said[256]; /* curl's: status and error text */
    size_t said_length;
};

struct service {
    const char *name;
    const char *preload; /* NULL: none */
    const char *state;
    unsigned port;
    pid_t provider;
    int tell;     /* to the provider */
    FILE *answer; /* from it */
    struct call call[CALLS_MAX];
    unsigned calls, begun, running; /* came; got a worker; have one */
};

/* service.c. All die with a message when the machine does not let them. */
void service_start(struct service *service, const char *build);
void service_act(struct service *service, const struct act *act);
void service_caller(struct service *service, unsigned ms);
/* Gives workers to those who wait. */
void service_work(struct service *service, unsigned ms);
/* The running calls' outputs, to be polled; how many. */
unsigned service_polled(const struct service *service, struct pollfd *polled, struct call **calls);
/* Something came from this call's curl. */
void service_heard(struct service *service, struct call *call, unsigned ms);
bool service_busy(const struct service *service);
/* Requests that the provider itself counted. */
unsigned long service_provider_count(struct service *service);
void service_stop(struct service *service);

/* picture.c */
void picture_start(const struct service *services);
/* Draws over the last one, where the terminal can do that. */
void picture_live(const struct service *services, unsigned ms);
void picture_end(const struct service *services, const unsigned long *counted);

void die(const char *what) __attribute__((noreturn));

#endif
