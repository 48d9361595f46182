/*
 * gozero: go-zero's googleBreaker. The throttle's factor shrinks while slices fail one after the other, its ratio while
 * they work, and one call a second is let through by force.
 */
#include "breaker/policy.h"

/* The ring read from its oldest slice to the newest. */
struct history {
    double total, ok;
    uint32_t failing; /* slices with failures, without one with a success in between */
    uint32_t working; /* the other way round */
};

static struct history history(const struct turn *turn)
{
    struct window window = turn_window(turn);
    struct history h = {0};
    for (uint32_t back = window.buckets; back-- > 0;) {
        struct window_sum slice = window_slice(&window, back);
        h.total += (double)(slice.ok + slice.failed + slice.refused);
        h.ok += (double)slice.ok;
        h.failing = slice.ok > 0 ? 0 : h.failing + (slice.failed > 0);
        h.working = slice.failed > 0 ? 0 : h.working + (slice.ok > 0);
    }
    return h;
}

/* r of the original, before the working run softens it. */
static double condemned(const struct turn *turn, const struct history *h)
{
    const struct prebreak_settings *set = turn->set;
    double w = set->k - (set->k - set->min_k) * h->failing / set->buckets;
    w = w > set->min_k ? w : set->min_k;
    double r = (h->total - set->protection - w * h->ok) / (h->total + 1);
    return r > 0 ? r : 0;
}

static double gozero_throttle(const struct turn *turn, bool *pressed)
{
    struct history h = history(turn);
    double r = condemned(turn, &h);
    *pressed = r > 0;
    return r * (turn->set->buckets - h.working) / turn->set->buckets;
}

/* ---- passes by force --------------------------------------------------------------------------------------------- */

/* Where the original lets several callers through one forced pass (load, then store), this lets exactly one. */
static bool forced_pass(const struct turn *turn)
{
    uint64_t last = word_load(&turn->words->last_pass);
    if (last > turn->now + MS_PER_S * NS_PER_MS) {
        word_swap(&turn->words->last_pass, &last, 0);
        return false;
    }
    return last > 0 && turn->now > last && turn->now - last > turn->set->force_pass &&
           word_swap(&turn->words->last_pass, &last, turn->now);
}

static bool gozero_admit(struct turn *turn, bool *probe)
{
    struct drop drop = drop_now(turn);
    turn->drop = drop.ratio;
    if (!drop.pressed) {
        return true;
    }
    if (forced_pass(turn)) {
        *probe = true;
        return true;
    }
    if (draw_policy(turn->draw) < turn->drop) {
        turn_count(turn, WINDOW_REFUSED);
        return false;
    }
    word_store(&turn->words->last_pass, turn->now);
    return true;
}

/* ---- ends and people --------------------------------------------------------------------------------------------- */

static void gozero_ok(struct turn *turn, const struct breaker_call *call)
{
    (void)call;
    turn_count(turn, WINDOW_OK);
    turn_note_ok(turn);
}

static void gozero_failed(struct turn *turn, const struct breaker_call *call, const struct breaker_end *end)
{
    (void)call;
    (void)end;
    turn_count(turn, WINDOW_FAILED);
}

static uint32_t gozero_drop(const struct turn *turn)
{
    bool condemns;
    return drop_of(gozero_throttle(turn, &condemns));
}

const struct policy policy_gozero = {
    .admit = gozero_admit,
    .ok = gozero_ok,
    .failed = gozero_failed,
    .throttle = gozero_throttle,
    .drop = gozero_drop,
    .opens = BREAKER_REASON_RATIO,
    .closes = BREAKER_REASON_RATIO,
};
