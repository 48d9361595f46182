/*
 * The phase for people, and who tells that it changed. A change of state is told by the caller whose CAS won it; a phase
 * that only time, counts, a hold or a pause brought is told by the caller whose CAS moves the phase word.
 */
#ifndef BREAKER_PHASE_H
#define BREAKER_PHASE_H

#include "breaker/pause.h"
#include "breaker/turn.h"

/*
 * A new generation of this kind, by one CAS of the state word as the turn found it. The winner is told of it as a change
 * of phase, with `sum`, the counts of the old generation; then the turn stands in the new one. False: somebody was
 * faster.
 */
bool phase_change(struct turn *turn, enum kind kind, enum breaker_reason reason, struct window_sum sum);

/* The word: generation 21 | phase 3 | when it began 40 (ms). */
#define PHASE_SHIFT     40
#define PHASE_BITS      3
#define PHASE_TIME_BITS 40

/* The word of the very first generation. */
void phase_begin(struct turn *turn);
void phase_tell_other(struct turn *turn, enum prebreak_phase phase);

/* Tells a phase that nobody decided but that time or the counts brought, if it differs from the one last told. */
static inline void phase_tell(struct turn *turn, enum prebreak_phase phase)
{
    uint64_t same = (uint64_t)turn->generation << PHASE_BITS | (uint64_t)phase;
    if (__builtin_expect(word_peek(&turn->words->phase) >> PHASE_SHIFT != same, 0)) {
        phase_tell_other(turn, phase);
    }
}

/* Was a hold the phase last told? For those who do not know of holds. */
bool phase_told_hold(const struct turn *turn);

/* When the phase last told began, ms, if it is this one; else when the generation began. */
uint64_t phase_since_ms(const struct turn *turn, enum prebreak_phase phase);

/* The phase of a kind of state, with the turn's drop ratio. */
static inline enum prebreak_phase phase_of_kind(const struct turn *turn, enum kind kind)
{
    if (kind != KIND_CLOSED) {
        return kind == KIND_OPEN ? PREBREAK_OPEN : PREBREAK_RECOVERING;
    }
    return turn->drop == 0 ? PREBREAK_CLOSED : turn->drop < DROP_ALL ? PREBREAK_THROTTLING : PREBREAK_OPEN;
}

static inline bool phase_is_hold(enum prebreak_phase phase)
{
    return phase == PREBREAK_HELD_OPEN || phase == PREBREAK_HELD_CLOSED;
}

/* The phase for people: the first that holds of hold, pause, state and drop ratio. */
static inline enum prebreak_phase phase_now(const struct turn *turn, enum prebreak_phase hold)
{
    if (phase_is_hold(hold)) {
        return hold;
    }
    if (pause_until(turn) != 0) {
        return PREBREAK_PAUSED;
    }
    bool ramp_over = turn->kind == KIND_RAMP && turn->now_ms - turn->since_ms >= turn->set->ramp / NS_PER_MS;
    return phase_of_kind(turn, ramp_over ? KIND_CLOSED : turn->kind);
}

#endif
