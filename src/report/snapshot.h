/*
 * All that a region says at one moment, copied out and checked, for every way of showing it.
 */
#ifndef REPORT_SNAPSHOT_H
#define REPORT_SNAPSHOT_H

#include "breaker/breaker.h"
#include "state/state.h"

/* One breaker. Two rules of one name with different settings are two of these. */
struct snapshot_provider {
    char name[PREBREAK_NAME]; /* as in the region: show it through text_printable() */
    int slot;
    bool twin;                /* another breaker has this name too */
    enum prebreak_mode mode;  /* PREBREAK_MODE_ENV: not known, each process as its environment says */
    enum prebreak_phase hold; /* PREBREAK_CLOSED: not held */
    uint64_t hold_until;      /* CLOCK_MONOTONIC ns; 0: until released */
    uint64_t calls;           /* asked for, refused ones too */
    struct prebreak_settings settings;
    struct breaker_view view;
    struct breaker_first_bytes first_bytes;
    uint64_t transitions[PREBREAK_PHASES][PREBREAK_PHASES]; /* [from][to] */
};

/* A held name. */
struct snapshot_hold {
    char name[PREBREAK_NAME];
    enum prebreak_phase phase;
    uint64_t until;   /* as above */
    bool breakerless; /* no breaker has this name yet */
};

struct snapshot {
    uint64_t now;      /* CLOCK_MONOTONIC, ns */
    uint64_t realtime; /* CLOCK_REALTIME at that moment, ns */
    uint64_t created;  /* the region, CLOCK_REALTIME, ns */
    enum prebreak_mode mode;
    uint32_t processes;
    int providers, holds;
    struct snapshot_provider *provider; /* by name, then slot; free by snapshot_free() */
    struct snapshot_hold hold[PREBREAK_HOLDS];
};

/* Of one provider (name) or all (NULL). False: out of memory. The state must have a region. */
bool snapshot_take(struct state *state, const char *name, struct snapshot *snapshot);
void snapshot_free(struct snapshot *snapshot);

/* When this breaker's phase began: CLOCK_REALTIME, ns. */
uint64_t snapshot_since(const struct snapshot *snapshot, const struct snapshot_provider *provider);

/* For qsort over providers: worst phase first, then by name. */
int snapshot_by_severity(const void *left, const void *right);

#endif
