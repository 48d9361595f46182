/*
 * consecutive: failures in a row open, a wait that doubles each time leads to one probe, which closes or opens again
 * (Linkerd's failure accrual).
 */
#include "breaker/places.h"

#define ROUNDS_MOST 63

/* ---- the round and its wait: words of the generation that opened ------------------------------------------------- */

/* How often a probe has failed since it was closed. In the half-open generation it still is the one before's. */
static uint32_t rounds_of(const struct turn *turn, uint32_t generation)
{
    uint64_t rounds = tagged_value(word_load(&turn->words->score), generation, 0);
    return (uint32_t)least(rounds, ROUNDS_MOST);
}

static uint32_t generation_before(uint32_t generation)
{
    return generation > 1 ? generation - 1 : (uint32_t)bits_mask(GENERATION_BITS);
}

static uint64_t wait_ms(const struct turn *turn, uint32_t rounds)
{
    uint64_t low = turn->set->open_min / NS_PER_MS;
    uint64_t high = turn->set->open_max / NS_PER_MS;
    return rounds < 32 ? least(low << rounds, high) : high;
}

/* A winner that died before it wrote the end of its wait leaves the shortest one. */
static uint64_t wait_over_ms(const struct turn *turn)
{
    uint64_t over = tagged_value(word_load(&turn->words->next), turn->generation, 0);
    uint64_t soonest = turn->since_ms + turn->set->open_min / NS_PER_MS;
    uint64_t latest = turn->since_ms + 2 * (turn->set->open_max / NS_PER_MS);
    return over >= soonest && over <= latest ? over : soonest;
}

static void open_for(struct turn *turn, uint32_t rounds, enum breaker_reason reason, struct window_sum sum)
{
    double stretch = turn->set->jitter * draw_policy(turn->draw) / DROP_ALL;
    uint64_t wait = wait_ms(turn, rounds);
    if (phase_change(turn, KIND_OPEN, reason, sum)) {
        uint64_t over = turn->since_ms + wait + (uint64_t)((double)wait * stretch);
        word_store(&turn->words->score, tagged_make(turn->generation, rounds));
        word_store(&turn->words->next, tagged_make(turn->generation, over));
    }
}

/* A probe's place lapses after the wait that led to it. */
static uint64_t lapse_ms(const struct turn *turn)
{
    return wait_ms(turn, rounds_of(turn, generation_before(turn->generation)));
}

/* ---- the policy -------------------------------------------------------------------------------------------------- */

static bool consecutive_admit(struct turn *turn, bool *probe)
{
    if (turn->kind == KIND_OPEN && turn->now_ms >= wait_over_ms(turn)) {
        phase_change(turn, KIND_HALF, BREAKER_REASON_TIME, turn_sum(turn));
    }
    turn->drop = turn->kind == KIND_CLOSED ? 0 : DROP_ALL;
    if (turn->kind == KIND_HALF) {
        *probe = places_take(turn, 1, lapse_ms(turn));
        return *probe;
    }
    return turn->kind == KIND_CLOSED;
}

static void consecutive_ok(struct turn *turn, const struct breaker_call *call)
{
    if (call->overdue && (turn->kind != KIND_CLOSED || call->admitted / NS_PER_MS < turn->since_ms)) {
        return;
    }
    turn_count(turn, WINDOW_OK);
    turn_note_ok(turn);
    if (turn->kind == KIND_CLOSED) {
        counts_clear(turn);
    } else if (turn->kind == KIND_HALF) {
        phase_change(turn, KIND_CLOSED, BREAKER_REASON_PROBE, turn_sum(turn));
    }
}

static void consecutive_failed(struct turn *turn, const struct breaker_call *call, const struct breaker_end *end)
{
    (void)call;
    (void)end;
    turn_count(turn, WINDOW_FAILED);
    if (turn->kind == KIND_HALF) {
        uint32_t rounds = rounds_of(turn, generation_before(turn->generation));
        open_for(turn, rounds + 1, BREAKER_REASON_PROBE, turn_sum(turn));
    } else if (turn->kind == KIND_CLOSED) {
        uint32_t failures = counts_add(turn);
        if (turn->set->trip > 0 && failures >= turn->set->trip) {
            open_for(turn, 0, BREAKER_REASON_STREAK, turn_sum(turn));
        }
    }
}

static void consecutive_neutral(struct turn *turn, const struct breaker_call *call)
{
    if (call->probe && turn->kind == KIND_HALF) {
        places_give(turn);
    }
}

static uint32_t consecutive_drop(const struct turn *turn)
{
    bool refuses = turn->kind == KIND_OPEN || (turn->kind == KIND_HALF && places_full(turn, 1, lapse_ms(turn)));
    return refuses ? DROP_ALL : 0;
}

static uint64_t consecutive_retry_ms(const struct turn *turn)
{
    return turn->kind == KIND_OPEN ? wait_over_ms(turn) : 0;
}

const struct policy policy_consecutive = {
    .admit = consecutive_admit,
    .ok = consecutive_ok,
    .failed = consecutive_failed,
    .neutral = consecutive_neutral,
    .drop = consecutive_drop,
    .retry_ms = consecutive_retry_ms,
    .opens = BREAKER_REASON_STREAK,
    .closes = BREAKER_REASON_TIME,
};
