/*
 * Probes of sre: calls that go out of turn, whatever the draw, at moments that one word names. A probe is a moment and
 * not a place: one whose result never arrives cannot wedge anything.
 */
#ifndef BREAKER_PROBE_H
#define BREAKER_PROBE_H

#include "breaker/inflight.h"
#include "breaker/policy.h"

/* Is a probe due, and did this caller take it? */
bool probe_take(const struct turn *turn);

/* A success while open or pressed: the next probe comes soon. */
void probe_hasten(const struct turn *turn);

/* When the next one is due, ms. */
uint64_t probe_due_ms(const struct turn *turn);

/* Successes in the row, which shorten the interval while a throttle presses. */
void row_add(const struct turn *turn);
void row_clear(const struct turn *turn);

/* Its word: generation 21 | successes. */
static inline void row_empty(const struct turn *turn)
{
    if (tagged_value(word_peek(&turn->words->row), turn->generation, 0) != 0) {
        row_clear(turn);
    }
}

/*
 * The score while open: 2 for a success, -1 for a failure, never below 0. A failure that was not silence is remembered:
 * the provider has answered with trouble, or not at all where it used to.
 */
uint32_t score_success(const struct turn *turn);
void score_failure(const struct turn *turn, bool silence);
uint32_t score_now(const struct turn *turn);
bool score_seen_failure(const struct turn *turn);

/* U: calls of this generation that were overtaken, and those silent for 2 s where none has succeeded. */
uint32_t overtaken(const struct turn *turn);
/* t*: the latest admission of a call that succeeded in this generation, ms; `since` while there is none. */
uint64_t newest_ok_ms(const struct turn *turn);
void newest_ok_move(const struct turn *turn, uint64_t admitted_ms);

/* A call that was admitted then has succeeded. Its word: generation 21 | ms. */
static inline void newest_ok_note(const struct turn *turn, uint64_t admitted)
{
    uint64_t admitted_ms = admitted / NS_PER_MS;
    uint64_t newest = tagged_value(word_peek(&turn->words->newest_ok), turn->generation, 0);
    /* Times of calls compare in steps of 64 ms: no need to write more often. */
    if (admitted_ms / INFLIGHT_TICK_MS != newest / INFLIGHT_TICK_MS) {
        newest_ok_move(turn, admitted_ms);
    }
}
/* V(t): calls last heard of at t (ns) or later. */
uint32_t not_overtaken(const struct turn *turn, uint64_t t);

#endif
