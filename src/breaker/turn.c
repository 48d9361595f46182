#include "breaker/phase.h"
#include "breaker/policy.h"

/* ---- beginning --------------------------------------------------------------------------------------------------- */

#define REPAIR_TRIES 8

const struct policy *const policies[PREBREAK_POLICIES] = {
    [PREBREAK_SRE] = &policy_sre,
    [PREBREAK_AEGIS] = &policy_aegis,
    [PREBREAK_GOZERO] = &policy_gozero,
    [PREBREAK_GOBREAKER] = &policy_gobreaker,
    [PREBREAK_CONSECUTIVE] = &policy_consecutive,
};

#define KINDS_COUNTED (1u << KIND_CLOSED)
#define KINDS_SRE     (1u << KIND_CLOSED | 1u << KIND_OPEN | 1u << KIND_RAMP)
#define KINDS_PROBED  (1u << KIND_CLOSED | 1u << KIND_OPEN | 1u << KIND_HALF)

const uint8_t policy_kinds[PREBREAK_POLICIES] = {
    [PREBREAK_SRE] = KINDS_SRE,          [PREBREAK_AEGIS] = KINDS_COUNTED,      [PREBREAK_GOZERO] = KINDS_COUNTED,
    [PREBREAK_GOBREAKER] = KINDS_PROBED, [PREBREAK_CONSECUTIVE] = KINDS_PROBED,
};

/* Never touched: generation 1 begins now. Nonsense: the next one does. */
void turn_repair(struct turn *turn)
{
    for (unsigned i = 0; i < REPAIR_TRIES && !turn_sound(turn); i++) {
        if (turn->change == NULL) {
            turn_take_state(turn, state_make(turn->generation ? turn->generation : 1, KIND_CLOSED, turn->now_ms));
            return;
        }
        if (turn->generation != 0) {
            if (phase_change(turn, KIND_CLOSED, BREAKER_REASON_REPAIR, (struct window_sum){0})) {
                return;
            }
        } else {
            uint64_t found = turn->state;
            uint64_t fresh = state_make(1, KIND_CLOSED, turn->now_ms);
            if (word_swap(&turn->words->state, &found, fresh)) {
                turn_take_state(turn, fresh);
                phase_begin(turn);
                return;
            }
        }
        turn_take_state(turn, word_load(&turn->words->state));
    }
}

/* ---- the window and the last success --------------------------------------------------------------------------------- */

struct window_sum turn_sum(const struct turn *turn)
{
    struct window window = turn_window(turn);
    struct window_sum sum = window_sum(&window, window.buckets);
    if (turn->set->policy == PREBREAK_GOBREAKER) {
        sum.refused = 0; /* it counts something else there */
    }
    return sum;
}

uint64_t turn_last_ok_ms(const struct turn *turn)
{
    uint64_t last = word_load(&turn->words->last_ok);
    if (last > turn->now_ms + MS_PER_S) {
        return turn->since_ms;
    }
    return most(least(last, turn->now_ms), turn->since_ms);
}

/*
 * The time that the window's counts are from, ms. With its current slice partial that is less than the window: were the
 * window taken, no success in it and the last one just outside would look as if they had stopped only now.
 */
static uint64_t turn_counted_ms(const struct turn *turn)
{
    uint64_t since = turn->since_ms * NS_PER_MS;
    uint64_t slice = turn->set->window / turn->set->buckets;
    uint64_t counted = turn->set->policy == PREBREAK_GOBREAKER ? (turn->now - since) % turn->set->window
                                                               : turn->set->window - slice + turn->now % slice;
    return least(counted, turn->now - since) / NS_PER_MS;
}

bool turn_successes_missing(const struct turn *turn, uint64_t ok)
{
    double silent = (double)(turn->now_ms - turn_last_ok_ms(turn));
    double span = (double)turn_counted_ms(turn);
    return (double)ok * silent >= (double)turn->set->trip * (span - silent);
}
