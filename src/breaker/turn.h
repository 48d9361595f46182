/*
 * One turn: a single operation on a breaker (admit, finish, overdue, reset, view), with everything it looked at first:
 * settings, clock, draw, and the state word, checked. The window and the last success are read through it.
 *
 * Here as in the other headers of this folder, what every call passes through is inline, and only what is rare is not.
 */
#ifndef BREAKER_TURN_H
#define BREAKER_TURN_H

#include "breaker/breaker.h"
#include "breaker/window.h"
#include "breaker/words.h"

#define DROP_ALL 65535u /* drop ratios are of this */
#define ROUNDING 1e-9   /* of a division that should have come out whole */

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
    uint32_t draw;
    enum kind kind;
    uint32_t shard; /* not beside draw: one load of both would wait for the two stores that have just filled them */
    uint32_t drop;  /* once decided */
    struct breaker_change *change;
};

/* ---- beginning --------------------------------------------------------------------------------------------------- */

#define SINCE_AHEAD_MS MS_PER_S /* `since` further ahead of now than this is garbage */

extern const struct policy *const policies[PREBREAK_POLICIES];
/* By policy, a bit mask of enum kind: those that a state word may hold. */
extern const uint8_t policy_kinds[PREBREAK_POLICIES];

static inline uint32_t turn_policy(const struct turn *turn)
{
    return turn->set->policy < PREBREAK_POLICIES ? turn->set->policy : PREBREAK_SRE;
}

static inline void turn_take_state(struct turn *turn, uint64_t state)
{
    turn->state = state;
    turn->generation = state_generation(state);
    turn->kind = state_kind(state);
    turn->since_ms = state_since_ms(state);
}

static inline bool turn_sound(const struct turn *turn)
{
    bool kind = turn->kind == KIND_CLOSED || (policy_kinds[turn_policy(turn)] >> turn->kind & 1) != 0;
    return turn->generation != 0 && kind && turn->since_ms <= turn->now_ms + SINCE_AHEAD_MS;
}

/* Puts a state word right that was never touched or makes no sense: a new generation, closed. */
void turn_repair(struct turn *turn);

/*
 * Begins a turn, with a state word that makes sense. `change` is emptied, and told of a repair. With `change` NULL
 * nothing is written: for a view.
 */
static inline void turn_begin(struct turn *turn, const struct breaker *b, const struct breaker_caller *who,
                              struct breaker_change *change)
{
    turn->b = b;
    turn->words = b->words;
    turn->set = b->settings;
    turn->policy = policies[turn_policy(turn)];
    turn->now = who->now;
    turn->now_ms = who->now / NS_PER_MS;
    turn->draw = who->draw;
    turn->shard = who->shard;
    turn->drop = 0;
    turn->change = change;
    if (change != NULL) {
        *change = (struct breaker_change){0};
    }
    turn_take_state(turn, word_load(&b->words->state));
    if (__builtin_expect(!turn_sound(turn), 0)) {
        turn_repair(turn);
    }
    if (__builtin_expect(turn->now_ms < turn->since_ms, 0)) {
        turn->now_ms = turn->since_ms;
        turn->now = turn->since_ms * NS_PER_MS;
    }
}

/* ---- the window and the last success ------------------------------------------------------------------------------- */

/* The window of this turn's generation. */
static inline struct window turn_window(const struct turn *turn)
{
    const struct prebreak_settings *set = turn->set;
    struct window window = {.words = turn->words->window,
                            .state = &turn->words->state,
                            .buckets = set->buckets,
                            .generation = turn->generation};
    uint64_t slice;
    if (__builtin_expect(set->policy == PREBREAK_GOBREAKER, 0)) {
        /* Its window is a fixed one that begins with the generation: one slice. */
        window.buckets = 1;
        slice = (turn->now - turn->since_ms * NS_PER_MS) / set->window;
    } else {
        slice = turn->now / (set->window / set->buckets);
    }
    window.slice = (uint32_t)bits_get(slice, 0, WINDOW_SLICE_BITS);
    return window;
}

static inline void turn_count(const struct turn *turn, enum window_count which)
{
    struct window window = turn_window(turn);
    window_add(&window, turn->shard, which);
}

struct window_sum turn_sum(const struct turn *turn);

/* The last success (ms), not before `since`. */
uint64_t turn_last_ok_ms(const struct turn *turn);

/* A success now. Kept to the millisecond, so that a busy key does not write the word with every call. */
static inline void turn_note_ok(const struct turn *turn)
{
    uint64_t last = word_peek(&turn->words->last_ok);
    if (last < turn->now_ms || last > turn->now_ms + MS_PER_S) {
        word_store(&turn->words->last_ok, turn->now_ms);
    }
}

/* At the pace of success so far, should `trip` successes have come since the last one? */
bool turn_successes_missing(const struct turn *turn, uint64_t ok);

/* ---- draws --------------------------------------------------------------------------------------------------------- */

/* 0..65534: below a drop ratio of DROP_ALL always, below 0 never. From one half of the random bits each. */
static inline uint32_t draw_policy(uint32_t draw)
{
    return (uint32_t)((draw >> 16) * (uint64_t)DROP_ALL >> 16);
}

static inline uint32_t draw_enforce(uint32_t draw)
{
    return (uint32_t)((draw & 0xffff) * (uint64_t)DROP_ALL >> 16);
}

#endif
