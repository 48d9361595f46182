/*
 * Events: what prebreak did, kept in the region (the last PREBREAK_EVENTS) and told in the log. An event is written
 * into memory and formatted into the caller's buffer; who may open which file is track's business.
 *
 * Never in an event: a URL, a header, a body, the environment, a credential.
 *
 * All functions leave errno alone, make no system call, and may be called from any thread and signal handler.
 */
#ifndef STATE_EVENT_H
#define STATE_EVENT_H

#include "state/state.h"

enum event_what {
    EVENT_PHASE,   /* a provider's phase changed */
    EVENT_REFUSED, /* the first refusal of this process in this generation */
    EVENT_HOLD,
    EVENT_RELEASE,
    EVENT_RESET,
    EVENT_MODE,   /* an operator's word */
    EVENT_CONFIG, /* rules read again, or something in them not understood: `text` says where and what */
    EVENT_STATE,  /* a region that could not be used, was replaced or is full: `text` says which */
    EVENT_QUOTA,  /* a provider says that the account is out of quota */
    EVENT_OFF,    /* the off file appeared or went */
    EVENT_WHATS
};
const char *event_what_name(enum event_what what);

struct event {
    enum event_what what;
    uint64_t time; /* CLOCK_REALTIME ns */
    uint64_t sequence;
    struct breaker_change change;
    enum prebreak_policy policy;
    enum prebreak_mode mode;
    uint32_t pid;
    char comm[PREBREAK_COMM];
    char name[PREBREAK_NAME];
    char text[168]; /* the ring keeps as much as fits there */
};

/* Begins one: what, about whom (a provider's name, or NULL), and now, this process. All else is zero, for the caller to
 * fill. */
void event_begin(struct event *event, const struct state *state, enum event_what what, const char *name);
/* Puts it into the region's ring, and its number into event->sequence. */
void event_put(struct state *state, struct event *event);
/* The oldest whole event with a sequence number above `after`. False: there is none (yet). */
bool event_next(struct state *state, uint64_t after, struct event *event);

/* Is it one to worry about (level=warn), or only to know? */
bool event_is_warning(const struct event *event);

enum event_format { EVENT_LOGFMT, EVENT_JSON };
#define EVENT_LINE 768 /* bytes that any line fits into, with its newline */
/*
 * One line, newline included, no NUL. Everything that is not plain is escaped; what would be too long is cut. Returns
 * its length; 0 when size is below EVENT_LINE.
 */
size_t event_format(const struct event *event, enum event_format format, char *line, size_t size);

#endif
