/*
 * One turn: a single operation on a breaker (admit, finish, overdue, reset, view), with everything it looked at first.
 * What the policies share is here: the state word checked and changed, the window as it stands, the cached drop ratio,
 * and the telling of phases.
 */
#ifndef BREAKER_TURN_H
#define BREAKER_TURN_H

#include "breaker/breaker.h"
#include "breaker/window.h"
#include "breaker/words.h"

#define DROP_ALL 65535u /* drop ratios are of this */
/* A policy that may still let a call pass never says DROP_ALL, however close it comes: that is `open`. */
#define DROP_MOST 65534u

#define ROUNDING 1e-9 /* of a division that should have come out whole */

struct policy;

struct turn {
    const struct breaker *b;
    struct prebreak_breaker *words;
    const struct prebreak_settings *set;
    const struct policy *policy;
    uint64_t now; /* ns, never before since_ms */
    uint64_t now_ms;
    uint64_t state; /* the word; its parts follow */
    uint64_t since_ms;
    uint32_t generation;
    enum kind kind;
    uint32_t draw;
    uint32_t shard;
    uint32_t drop; /* once decided */
    struct breaker_change *change;
};

/*
 * Begins a turn. A state word that was never touched, or makes no sense, is put right first: a new generation, closed.
 * `change` is emptied and told of that. With `change` NULL nothing is written: for a view.
 */
void turn_begin(struct turn *turn, const struct breaker *b, uint64_t now, struct breaker_change *change);

/*
 * A new generation of this kind, by one CAS of the state word as the turn found it. The winner has it told as a change
 * of phase, with `sum`, the counts of the old generation; then the turn stands in the new one. False: somebody was
 * faster.
 */
bool turn_change(struct turn *turn, enum kind kind, enum breaker_reason reason, struct window_sum sum);

/* Tells a phase that nobody decided but that time or the counts brought, if it differs from the one last told. */
void turn_tell(struct turn *turn, enum prebreak_phase phase);
/* Was a hold the phase last told? For those who do not know of holds. */
bool turn_told_hold(const struct turn *turn);
/* When the phase last told began, ms, if it is this one; else when the generation began. */
uint64_t turn_phase_since_ms(const struct turn *turn, enum prebreak_phase phase);

/* The phase for people. */
enum prebreak_phase turn_phase(const struct turn *turn, enum prebreak_phase hold);

/* The window of this turn's generation. */
struct window turn_window(const struct turn *turn);
struct window_sum turn_sum(const struct turn *turn);
void turn_count(const struct turn *turn, enum window_count which);

/*
 * The policy's drop ratio of DROP_ALL, from the cached word if that is of this generation and at most 10 ms old, else
 * computed and kept. *pressed (may be NULL): as the policy's throttle() said.
 */
uint32_t turn_drop(const struct turn *turn, bool *pressed);
/* Did it press when it was last computed in this generation? */
bool turn_pressed(const struct turn *turn);
/* As kept: 0 stays 0, everything above is at least 1 and at most DROP_MOST. */
uint32_t drop_of(double p);

/* The last success (ms), not before `since`. */
uint64_t turn_last_ok_ms(const struct turn *turn);
void turn_note_ok(const struct turn *turn);
/* At the pace of success so far, should `trip` successes have come since the last one? */
bool turn_successes_missing(const struct turn *turn, uint64_t ok);

/* A draw of 0..65534: below a drop ratio of DROP_ALL always, below 0 never. From one half of the random bits each. */
static inline uint32_t draw_policy(uint32_t draw)
{
    return (uint32_t)((draw >> 16) * (uint64_t)DROP_ALL >> 16);
}

static inline uint32_t draw_enforce(uint32_t draw)
{
    return (uint32_t)((draw & 0xffff) * (uint64_t)DROP_ALL >> 16);
}

/* hang.c: the silence after which a call is overdue, ns: as configured, or as learnt (at most ten times that); 0: off.
 */
uint64_t hang_now(const struct prebreak_breaker *words, const struct prebreak_settings *settings);
void hang_learn(struct prebreak_breaker *words, uint64_t hang);
void hang_forget(struct prebreak_breaker *words);

/* pause.c: until when calls are refused because the provider asked for it, ns; 0: no pause. */
uint64_t pause_until(const struct turn *turn);
bool pause_wanted(const struct turn *turn, const struct breaker_end *end);
void pause_begin(struct turn *turn, uint64_t until);
void pause_end(const struct turn *turn);

#endif
