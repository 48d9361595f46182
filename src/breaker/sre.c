/*
 * sre: client-side throttling by the counts of the window, and a state that is open or not, decided by evidence in both
 * directions. The bare throttle notices a total outage only after much of its window, leaks meanwhile, and recovers
 * slowly because old refusals hold it up; the streak opens at once, and successes of probes close.
 */
#include "breaker/hang.h"
#include "breaker/probe.h"
#include "breaker/streak.h"

#define RAMP_FIRST            0.8 /* drop ratio at the ramp's beginning */
#define FORGET_NS             (2 * MS_PER_S * NS_PER_MS)
#define FORGET_OK             20
#define FORGET_OK_PER_FAILURE 9
#define SURE_TRIPS            5 /* a streak of this many `trip` needs no missing successes */
#define HANG_FACTOR           2
#define HANG_MOST             10

/* ---- the throttle ------------------------------------------------------------------------------------------------ */

static double sre_throttle(const struct turn *turn, bool *pressed)
{
    *pressed = false;
    if (turn->kind == KIND_OPEN) {
        return 0;
    }
    struct window_sum sum = turn_sum(turn);
    uint64_t total = sum.ok + sum.failed + sum.refused;
    double k = 1 / turn->set->success;
    double excess = (double)total - (double)sum.ok / turn->set->success;
    if (total < turn->set->min || excess < ROUNDING) {
        return 0;
    }
    double v = not_overtaken(turn, newest_ok_ms(turn) * NS_PER_MS);
    excess -= (k - 1) * v;
    *pressed = excess >= ROUNDING;
    return *pressed ? excess / ((double)total + v + 1) : 0;
}

static bool ramp_running(const struct turn *turn)
{
    return turn->kind == KIND_RAMP && (turn->now_ms - turn->since_ms) * NS_PER_MS < turn->set->ramp;
}

static uint32_t ramp_drop(const struct turn *turn)
{
    if (!ramp_running(turn)) {
        return 0;
    }
    double share = (double)((turn->now_ms - turn->since_ms) * NS_PER_MS) / (double)turn->set->ramp;
    return drop_of(RAMP_FIRST * (1 - share));
}

/* ---- admission --------------------------------------------------------------------------------------------------- */

static bool sre_admit(struct turn *turn, bool *probe)
{
    uint32_t throttle = 0;
    turn->drop = DROP_ALL;
    if (turn->kind != KIND_OPEN) {
        throttle = drop_now(turn).ratio;
        turn->drop = (uint32_t)most(throttle, ramp_drop(turn));
    }
    if (turn->drop == 0) {
        return true;
    }
    if (probe_take(turn)) {
        *probe = true;
        return true;
    }
    uint32_t draw = draw_policy(turn->draw);
    if (draw >= turn->drop) {
        return true;
    }
    if (draw < throttle) {
        turn_count(turn, WINDOW_REFUSED);
    }
    return false;
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static void trip(struct turn *turn, struct streak streak)
{
    const struct prebreak_settings *set = turn->set;
    if (set->trip == 0 || set->probe_min == 0 || streak.length < set->trip) {
        return;
    }
    struct window_sum sum = turn_sum(turn);
    bool sure = streak.length >= (uint64_t)SURE_TRIPS * set->trip;
    if (!sure && !turn_successes_missing(turn, sum.ok)) {
        return;
    }
    double k = 1 / set->success;
    if (streak.length + ROUNDING >= (k - 1) * not_overtaken(turn, streak.began)) {
        phase_change(turn, KIND_OPEN, BREAKER_REASON_STREAK, sum);
    }
}

static void sre_failed(struct turn *turn, const struct breaker_call *call, const struct breaker_end *end)
{
    turn_count(turn, WINDOW_FAILED);
    if (turn->kind == KIND_OPEN) {
        score_failure(turn, end->kind == PREBREAK_KIND_HANG);
        return;
    }
    row_empty(turn);
    struct streak streak = streak_fail(turn, call, end->soft);
    if (streak.length > 0) {
        trip(turn, streak);
    }
}

/* ---- successes --------------------------------------------------------------------------------------------------- */

/* A provider that is merely slow is not condemned by our own impatience a second time. */
static void learn_hang(const struct turn *turn, const struct breaker_call *call)
{
    if (call->stream) {
        return; /* its age is how long it talked, and not how long it was silent */
    }
    uint64_t age = turn->now > call->admitted ? turn->now - call->admitted : 0;
    uint64_t hang = least(HANG_FACTOR * age, HANG_MOST * turn->set->hang);
    if (hang > hang_now(turn->words, turn->set)) {
        hang_learn(turn->words, hang);
    }
}

static void sre_ok_open(struct turn *turn, const struct breaker_call *call)
{
    uint32_t score = score_success(turn);
    probe_hasten(turn);
    uint32_t needed = 2 * turn->set->reset;
    if (score < needed || score < needed + overtaken(turn)) {
        return;
    }
    bool ramp = turn->set->reset > 0 && turn->set->ramp > 0;
    if (phase_change(turn, ramp ? KIND_RAMP : KIND_CLOSED, BREAKER_REASON_SCORE, turn_sum(turn)) && call->overdue) {
        learn_hang(turn, call);
    }
}

/* The last two seconds were good: otherwise the window would punish for as long as it is. */
static void forget(struct turn *turn)
{
    uint64_t slice = turn->set->window / turn->set->buckets;
    uint64_t slices = least((FORGET_NS + slice - 1) / slice, turn->set->buckets);
    struct window window = turn_window(turn);
    struct window_sum last = window_sum(&window, (uint32_t)slices);
    if (turn->set->reset > 0 && last.ok >= FORGET_OK && FORGET_OK_PER_FAILURE * last.failed <= last.ok) {
        phase_change(turn, KIND_CLOSED, BREAKER_REASON_FORGET, turn_sum(turn));
    }
}

static void note_ok(const struct turn *turn, const struct breaker_call *call)
{
    turn_count(turn, WINDOW_OK);
    turn_note_ok(turn);
    newest_ok_note(turn, call->admitted);
    streak_end(turn);
}

static void sre_ok(struct turn *turn, const struct breaker_call *call)
{
    if (turn->kind == KIND_OPEN) {
        bool older = call->admitted / NS_PER_MS < turn->since_ms;
        if (call->overdue && older && score_seen_failure(turn)) {
            /* A dead provider's last answers must not re-open it. */
            return;
        }
        note_ok(turn, call);
        sre_ok_open(turn, call);
        return;
    }
    note_ok(turn, call);
    if (call->overdue) {
        /* Not open: nobody doubts that it answers, and the window need not fill with our impatience. */
        learn_hang(turn, call);
    }
    if (ramp_running(turn) || !drop_pressed(turn)) {
        row_empty(turn);
        return;
    }
    row_add(turn);
    probe_hasten(turn);
    forget(turn);
}

/* ---- for people -------------------------------------------------------------------------------------------------- */

static uint32_t sre_drop(const struct turn *turn)
{
    bool pressed;
    return turn->kind == KIND_OPEN ? DROP_ALL : (uint32_t)most(drop_of(sre_throttle(turn, &pressed)), ramp_drop(turn));
}

static uint64_t sre_retry_ms(const struct turn *turn)
{
    return turn->kind == KIND_OPEN ? probe_due_ms(turn) : 0;
}

const struct policy policy_sre = {
    .admit = sre_admit,
    .ok = sre_ok,
    .failed = sre_failed,
    .throttle = sre_throttle,
    .drop = sre_drop,
    .retry_ms = sre_retry_ms,
    .opens = BREAKER_REASON_STREAK,
    .closes = BREAKER_REASON_SCORE,
};
