/*
 * The table of calls in flight, shared by all breakers of a region: who is out, for which key, and when it was last heard
 * of. One word a call: pid 22 bits, slot 10, hash of the pid namespace 8, whether it is an event stream 1, time of the last
 * sign of life 23 (in 64 ms); 0 is free. A sign of life is any byte, of an event stream an event.
 *
 * Pure; async-signal-safe; any number of threads and processes.
 */
#ifndef BREAKER_INFLIGHT_H
#define BREAKER_INFLIGHT_H

#include "breaker/breaker.h"

#define INFLIGHT_TRIES   16
#define INFLIGHT_TICK_NS UINT64_C(64000000)
#define INFLIGHT_TICK_MS 64

/* Enters a call, at one of INFLIGHT_TRIES places that begin where the caller's shard says. The word written, 0: full. */
uint64_t inflight_enter(prebreak_word *table, const struct breaker_caller *who, uint32_t slot, uint32_t *place);
/* Takes it out again. False: somebody else did (it was overdue). */
bool inflight_leave(prebreak_word *table, uint32_t place, uint64_t word);
/* Notes that it was heard of now: the word as it stands then, 0 if it is gone. */
uint64_t inflight_refresh(prebreak_word *table, uint32_t place, uint64_t word, uint64_t now);

/* From now on it is an event stream, heard of now: the word as it stands then, 0 if it is gone. */
uint64_t inflight_stream(prebreak_word *table, uint32_t place, uint64_t word, uint64_t now);

/* How many calls of `slot` are out; with `since` those last heard of at that time (ns) or later. */
uint32_t inflight_count(const prebreak_word *table, uint32_t slot, uint64_t now, uint64_t since);
/* The same with an end: those last heard of at `from` or later, but before `before`. */
uint32_t inflight_between(const prebreak_word *table, uint32_t slot, uint64_t now, uint64_t from, uint64_t before);

/* The parts of a word. Time as nanoseconds, the latest that is not after `now` plus a minute. */
uint32_t inflight_pid(uint64_t word);
uint32_t inflight_slot(uint64_t word);
uint32_t inflight_pid_ns(uint64_t word);
bool inflight_is_stream(uint64_t word);
uint64_t inflight_heard(uint64_t word, uint64_t now);

/* What the look at all words needs to know of the world; both may be asked about any slot and pid, garbage included. */
struct inflight_world {
    void *context;
    /* ns of silence after which a call of this slot is overdue, or an event stream has stalled; 0: never. */
    uint64_t (*hang)(void *context, uint32_t slot, bool stream);
    /* Is the process alive, and did it start before `heard` (ns)? Asked at most 16 times a look. */
    bool (*alive)(void *context, uint32_t pid, uint64_t heard);
    /* This word was cleared by this look: overdue, or lost with its process. */
    void (*overdue)(void *context, uint32_t slot, uint64_t heard, bool stream);
    void (*lost)(void *context, uint32_t slot);
};

/*
 * Once a second for a whole region: `last_look` is the region's word, moved by CAS so that one caller looks. A look that
 * comes more than 5 s and more than half a key's hang after the last one only notes that it looked, unless the last one
 * did the same. Returns whether this caller looked.
 */
bool inflight_look(prebreak_word *table, prebreak_word *last_look, const struct breaker_caller *who,
                   const struct inflight_world *world);

/*
 * Frees the words of this pid in this namespace that were last heard of before `who->now`, to the tick: at mapping and
 * after fork, when they are a predecessor's. `lost` is told of each.
 */
void inflight_disown(prebreak_word *table, const struct breaker_caller *who, const struct inflight_world *world);

#endif
