#include "breaker/phase.h"
#include "breaker/policy.h"

/* ---- telling phases ---------------------------------------------------------------------------------------------- */

/* How long a winner may take to tell its change before another caller takes it for dead and tells. */
#define TELL_WITHIN_MS MS_PER_S
/* A throttle at its threshold turns on and off a hundred times a second: its end is told once it has lasted. */
#define THROTTLE_LASTS_MS MS_PER_S

static uint64_t told_make(const struct turn *turn, enum prebreak_phase phase)
{
    return tagged_make(turn->generation,
                       bits_put(phase, PHASE_SHIFT, PHASE_BITS) | bits_put(turn->now_ms, 0, PHASE_TIME_BITS));
}

static enum prebreak_phase told_phase(uint64_t told)
{
    uint64_t phase = bits_get(told, PHASE_SHIFT, PHASE_BITS);
    return phase < PREBREAK_PHASES ? (enum prebreak_phase)phase : PREBREAK_CLOSED;
}

static void change_fill(struct turn *turn, enum prebreak_phase from, enum prebreak_phase to, enum breaker_reason reason,
                        struct window_sum sum)
{
    *turn->change = (struct breaker_change){.from = from,
                                            .to = to,
                                            .reason = reason,
                                            .ok = (uint32_t)least(sum.ok, UINT32_MAX),
                                            .failed = (uint32_t)least(sum.failed, UINT32_MAX),
                                            .refused = (uint32_t)least(sum.refused, UINT32_MAX),
                                            .drop = turn->drop};
    if (from != to) {
        word_add(&turn->words->transitions[from][to], 1);
    }
}

/*
 * The phase word moves on to this turn's generation, unless it is further already. False: it stands there, as somebody
 * took this caller for dead and told in its place.
 */
static bool phase_renew(struct turn *turn, enum prebreak_phase phase)
{
    uint64_t told = word_load(&turn->words->phase);
    uint64_t fresh = told_make(turn, phase);
    do {
        if (state_generation(told) == turn->generation) {
            return false;
        }
        uint64_t ahead = bits_get(state_generation(told) - (uint64_t)turn->generation, 0, GENERATION_BITS);
        bool newer = ahead < bits_mask(GENERATION_BITS) / 2 &&
                     state_generation(word_load(&turn->words->state)) != turn->generation;
        if (newer) {
            return true;
        }
    } while (!word_swap(&turn->words->phase, &told, fresh));
    return true;
}

bool phase_change(struct turn *turn, enum kind kind, enum breaker_reason reason, struct window_sum sum)
{
    uint64_t found = turn->state;
    uint64_t fresh = state_make(generation_after(turn->generation), kind, turn->now_ms);
    uint64_t told = word_load(&turn->words->phase);
    enum prebreak_phase from = phase_of_kind(turn, turn->kind);
    if (state_generation(told) == turn->generation || phase_is_hold(told_phase(told))) {
        from = told_phase(told);
    }
    if (!word_swap(&turn->words->state, &found, fresh)) {
        return false;
    }
    turn_take_state(turn, fresh);
    turn->drop = kind == KIND_OPEN ? DROP_ALL : 0;
    enum prebreak_phase to = phase_of_kind(turn, kind);
    /* What an operator or the provider asked for stands above, before and after: nothing changes for people. */
    if (phase_is_hold(from) || (from == PREBREAK_PAUSED && pause_until(turn) != 0)) {
        to = from;
    }
    if (phase_renew(turn, to)) {
        change_fill(turn, from, to, reason, sum);
    }
    return true;
}

/* Why a phase came that nobody told: nearly always there is only one way there. */
static enum breaker_reason reason_of(const struct turn *turn, enum prebreak_phase from, enum prebreak_phase to)
{
    if (phase_is_hold(to)) {
        return BREAKER_REASON_HOLD;
    }
    if (phase_is_hold(from)) {
        return BREAKER_REASON_RELEASE;
    }
    if (to == PREBREAK_PAUSED) {
        return BREAKER_REASON_RETRY_AFTER;
    }
    if (from == PREBREAK_PAUSED || from == PREBREAK_RECOVERING) {
        return BREAKER_REASON_TIME;
    }
    if (to == PREBREAK_OPEN) {
        return turn->policy->opens;
    }
    return from == PREBREAK_OPEN ? turn->policy->closes : BREAKER_REASON_RATIO;
}

void phase_tell_other(struct turn *turn, enum prebreak_phase phase)
{
    uint64_t told = word_load(&turn->words->phase);
    enum prebreak_phase from = told_phase(told);
    bool current = state_generation(told) == turn->generation;
    if (current && from == phase) {
        return;
    }
    bool above = phase_is_hold(from) || phase_is_hold(phase);
    if (!current && !above && turn->now_ms - turn->since_ms < TELL_WITHIN_MS) {
        return;
    }
    if (state_generation(word_load(&turn->words->state)) != turn->generation) {
        /* What this turn saw is over, and whoever ended it tells. */
        return;
    }
    uint64_t lasted = bits_get(turn->now_ms - told, 0, PHASE_TIME_BITS);
    if (current && from == PREBREAK_THROTTLING && phase == PREBREAK_CLOSED && lasted < THROTTLE_LASTS_MS) {
        return;
    }
    if (word_swap(&turn->words->phase, &told, told_make(turn, phase)) && from != phase) {
        change_fill(turn, from, phase, reason_of(turn, from, phase), turn_sum(turn));
    }
}

bool phase_told_hold(const struct turn *turn)
{
    return phase_is_hold(told_phase(word_load(&turn->words->phase)));
}

uint64_t phase_since_ms(const struct turn *turn, enum prebreak_phase phase)
{
    uint64_t told = word_load(&turn->words->phase);
    uint64_t began = bits_get(told, 0, PHASE_TIME_BITS);
    bool known = state_generation(told) == turn->generation && told_phase(told) == phase && began <= turn->now_ms;
    return known ? began : turn->since_ms;
}

void phase_begin(struct turn *turn)
{
    phase_renew(turn, PREBREAK_CLOSED);
}
