/*
 * aegis: go-kratos/aegis' SRE breaker, with refusals counted as the kratos client does. No timer, no half-open, no
 * forced pass: the window's counts are all there is.
 */
#include "breaker/policy.h"

static double aegis_throttle(const struct turn *turn, bool *pressed)
{
    struct window_sum sum = turn_sum(turn);
    uint64_t total = sum.ok + sum.failed + (turn->set->count_refused ? sum.refused : 0);
    double excess = (double)total - (double)sum.ok / turn->set->success;
    /* The original's "open": at its threshold exactly that is so, and yet nothing is refused. */
    *pressed = total >= turn->set->min && excess > -ROUNDING;
    if (!*pressed || excess < ROUNDING) {
        return 0;
    }
    return excess / ((double)total + 1);
}

static bool aegis_admit(struct turn *turn, bool *probe)
{
    (void)probe;
    turn->drop = drop_now(turn).ratio;
    if (draw_policy(turn->draw) >= turn->drop) {
        return true;
    }
    turn_count(turn, WINDOW_REFUSED);
    return false;
}

static void aegis_ok(struct turn *turn, const struct breaker_call *call)
{
    (void)call;
    turn_count(turn, WINDOW_OK);
    turn_note_ok(turn);
}

static void aegis_failed(struct turn *turn, const struct breaker_call *call, const struct breaker_end *end)
{
    (void)call;
    (void)end;
    turn_count(turn, WINDOW_FAILED);
}

static uint32_t aegis_drop(const struct turn *turn)
{
    bool pressed;
    return drop_of(aegis_throttle(turn, &pressed));
}

const struct policy policy_aegis = {
    .admit = aegis_admit,
    .ok = aegis_ok,
    .failed = aegis_failed,
    .throttle = aegis_throttle,
    .drop = aegis_drop,
    .opens = BREAKER_REASON_RATIO,
    .closes = BREAKER_REASON_RATIO,
};
