/*
 * gobreaker: sony/gobreaker's three states, in the shape that LLM gateways use: a ratio of failures in a fixed window
 * opens, a wait leads to half-open, a few successes in a row close.
 */
#include "breaker/places.h"

/* ---- requests of the fixed window -----------------------------------------------------------------------------------
 *
 * As in the original a request counts when it is admitted and a result when it ends, and only in the window that the call
 * was admitted in: calls still out weigh against a few quick errors, and one that takes longer than the window says
 * nothing. The window counts requests where other policies count refusals: this one refuses nothing while it is closed.
 * Those that said nothing are taken off again: generation 21 | number of the window 15 | neutral ends in it 28.
 */

#define WINDOW_REQUESTS WINDOW_REFUSED
#define NEUTRAL_BITS    28
#define NUMBER_BITS     15

static uint64_t window_number(const struct turn *turn, uint64_t ns)
{
    uint64_t since = turn->since_ms * NS_PER_MS;
    return bits_get(ns > since ? (ns - since) / turn->set->window : 0, 0, NUMBER_BITS);
}

static uint64_t neutral_in(const struct turn *turn, uint64_t word)
{
    uint64_t value = tagged_value(word, turn->generation, 0);
    bool same = value >> NEUTRAL_BITS == window_number(turn, turn->now);
    return same ? bits_get(value, 0, NEUTRAL_BITS) : 0;
}

static void neutral_add(const struct turn *turn)
{
    uint64_t found = word_load(&turn->words->counts);
    uint64_t fresh;
    do {
        uint64_t count = least(neutral_in(turn, found) + 1, bits_mask(NEUTRAL_BITS));
        fresh = tagged_make(turn->generation, window_number(turn, turn->now) << NEUTRAL_BITS | count);
    } while (!word_swap(&turn->words->counts, &found, fresh));
}

static uint64_t requests_of(const struct turn *turn, uint64_t results)
{
    struct window window = turn_window(turn);
    uint64_t begun = window_sum(&window, window.buckets).refused;
    uint64_t neutral = neutral_in(turn, word_load(&turn->words->counts));
    /* Calls that a hold let out were not asked about, and have results all the same. */
    return most(begun - least(begun, neutral), results);
}

/* Does the end of this call belong to the window as it is now? */
static bool of_this_window(const struct turn *turn, const struct breaker_call *call)
{
    return turn->kind != KIND_CLOSED || window_number(turn, call->admitted) == window_number(turn, turn->now);
}

/* ---- the policy ----------------------------------------------------------------------------------------------------- */

static uint64_t wait_over_ms(const struct turn *turn)
{
    return turn->since_ms + turn->set->open_min / NS_PER_MS;
}

static bool gobreaker_admit(struct turn *turn, bool *probe)
{
    uint64_t lapse_ms = turn->set->open_min / NS_PER_MS;
    if (turn->kind == KIND_OPEN && turn->now_ms >= wait_over_ms(turn)) {
        phase_change(turn, KIND_HALF, BREAKER_REASON_TIME, turn_sum(turn));
    }
    turn->drop = turn->kind == KIND_CLOSED ? 0 : DROP_ALL;
    if (turn->kind == KIND_HALF) {
        *probe = places_take(turn, turn->set->half_open, lapse_ms);
        return *probe;
    }
    if (turn->kind == KIND_CLOSED) {
        turn_count(turn, WINDOW_REQUESTS);
    }
    return turn->kind == KIND_CLOSED;
}

static void gobreaker_ok(struct turn *turn, const struct breaker_call *call)
{
    bool stale = call->overdue && (turn->kind != KIND_CLOSED || call->admitted / NS_PER_MS < turn->since_ms);
    if (stale || !of_this_window(turn, call)) {
        return;
    }
    turn_count(turn, WINDOW_OK);
    turn_note_ok(turn);
    if (turn->kind == KIND_HALF && counts_add(turn) >= turn->set->half_open) {
        phase_change(turn, KIND_CLOSED, BREAKER_REASON_PROBE, turn_sum(turn));
    }
}

static void gobreaker_failed(struct turn *turn, const struct breaker_call *call, const struct breaker_end *end)
{
    /* Of silence the moment counts at which it was noticed. */
    if (end->kind != PREBREAK_KIND_HANG && !of_this_window(turn, call)) {
        return;
    }
    turn_count(turn, WINDOW_FAILED);
    if (turn->kind == KIND_CLOSED && end->kind == PREBREAK_KIND_HANG) {
        turn_count(turn, WINDOW_REQUESTS);
    }
    struct window_sum sum = turn_sum(turn);
    uint64_t requests = requests_of(turn, sum.ok + sum.failed);
    if (turn->kind == KIND_HALF) {
        phase_change(turn, KIND_OPEN, BREAKER_REASON_PROBE, sum);
    } else if (turn->kind == KIND_CLOSED && requests >= turn->set->min &&
               (double)sum.failed / (double)requests >= turn->set->ratio) {
        phase_change(turn, KIND_OPEN, BREAKER_REASON_RATIO, sum);
    }
}

static void gobreaker_neutral(struct turn *turn, const struct breaker_call *call)
{
    if (call->probe && turn->kind == KIND_HALF) {
        places_give(turn);
    } else if (turn->kind == KIND_CLOSED && of_this_window(turn, call)) {
        neutral_add(turn);
    }
}

static uint32_t gobreaker_drop(const struct turn *turn)
{
    uint64_t lapse_ms = turn->set->open_min / NS_PER_MS;
    bool refuses =
        turn->kind == KIND_OPEN || (turn->kind == KIND_HALF && places_full(turn, turn->set->half_open, lapse_ms));
    return refuses ? DROP_ALL : 0;
}

static uint64_t gobreaker_retry_ms(const struct turn *turn)
{
    return turn->kind == KIND_OPEN ? wait_over_ms(turn) : 0;
}

const struct policy policy_gobreaker = {
    .admit = gobreaker_admit,
    .ok = gobreaker_ok,
    .failed = gobreaker_failed,
    .neutral = gobreaker_neutral,
    .drop = gobreaker_drop,
    .retry_ms = gobreaker_retry_ms,
    .opens = BREAKER_REASON_RATIO,
    .closes = BREAKER_REASON_TIME,
};
