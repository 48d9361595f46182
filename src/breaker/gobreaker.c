/*
 * gobreaker: sony/gobreaker's three states, in the shape that LLM gateways use: a ratio of failures in a fixed window
 * opens, a wait leads to half-open, a few successes in a row close.
 */
#include "breaker/places.h"

static uint64_t wait_over_ms(const struct turn *turn)
{
    return turn->since_ms + turn->set->open_min / NS_PER_MS;
}

static bool gobreaker_admit(struct turn *turn, bool *probe)
{
    uint64_t lapse_ms = turn->set->open_min / NS_PER_MS;
    if (turn->kind == KIND_OPEN && turn->now_ms >= wait_over_ms(turn)) {
        turn_change(turn, KIND_HALF, BREAKER_REASON_TIME, turn_sum(turn));
    }
    turn->drop = turn->kind == KIND_CLOSED ? 0 : DROP_ALL;
    if (turn->kind == KIND_HALF) {
        *probe = places_take(turn, turn->set->half_open, lapse_ms);
        return *probe;
    }
    return turn->kind == KIND_CLOSED;
}

static void gobreaker_ok(struct turn *turn, const struct ended *call)
{
    if (call->late && (turn->kind != KIND_CLOSED || call->admitted / NS_PER_MS < turn->since_ms)) {
        return;
    }
    turn_count(turn, WINDOW_OK);
    turn_note_ok(turn);
    if (turn->kind == KIND_HALF && counts_add(turn) >= turn->set->half_open) {
        turn_change(turn, KIND_CLOSED, BREAKER_REASON_PROBE, turn_sum(turn));
    }
}

static void gobreaker_failed(struct turn *turn, const struct ended *call)
{
    (void)call;
    turn_count(turn, WINDOW_FAILED);
    struct window_sum sum = turn_sum(turn);
    uint64_t requests = sum.ok + sum.failed;
    if (turn->kind == KIND_HALF) {
        turn_change(turn, KIND_OPEN, BREAKER_REASON_PROBE, sum);
    } else if (turn->kind == KIND_CLOSED && requests >= turn->set->min &&
               (double)sum.failed / (double)requests >= turn->set->ratio) {
        turn_change(turn, KIND_OPEN, BREAKER_REASON_RATIO, sum);
    }
}

static void gobreaker_neutral(struct turn *turn, const struct ended *call)
{
    if (call->probe && turn->kind == KIND_HALF) {
        places_give(turn);
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
    .kinds = 1u << KIND_CLOSED | 1u << KIND_OPEN | 1u << KIND_HALF,
    .admit = gobreaker_admit,
    .ok = gobreaker_ok,
    .failed = gobreaker_failed,
    .neutral = gobreaker_neutral,
    .drop = gobreaker_drop,
    .retry_ms = gobreaker_retry_ms,
    .opens = BREAKER_REASON_RATIO,
    .closes = BREAKER_REASON_TIME,
};
