#include "breaker/breaker.h"

#define MS UINT64_C(1000000)
#define S  (1000 * MS)

/* ---- defaults ---------------------------------------------------------------------------------------------------- */

/* What a policy does not read is the same for all. */
#define COMMON                                                                                                         \
    .window = 10 * S, .buckets = 10, .success = 0.6, .k = 1.5, .min_k = 1.1, .ratio = 0.4, .jitter = 0.5, .min = 10,   \
    .trip = 10, .reset = 4, .protection = 5, .half_open = 3, .inflight = 1, .count_refused = 1, .probe_min = 1 * S,    \
    .probe_max = 5 * S, .ramp = 1 * S, .force_pass = 1 * S, .open_min = 15 * S, .open_max = 15 * S, .hang = 30 * S,    \
    .pause_max = 60 * S, .stall = 60 * S

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct prebreak_settings defaults[PREBREAK_POLICIES] = {
    [PREBREAK_SRE] = {COMMON, .policy = PREBREAK_SRE},
    [PREBREAK_AEGIS] = {COMMON, .policy = PREBREAK_AEGIS, .window = 3 * S, .min = 100},
    [PREBREAK_GOZERO] = {COMMON, .policy = PREBREAK_GOZERO, .buckets = 40},
    [PREBREAK_GOBREAKER] = {COMMON, .policy = PREBREAK_GOBREAKER},
    [PREBREAK_CONSECUTIVE] = {COMMON, .policy = PREBREAK_CONSECUTIVE, .trip = 7, .open_min = 1 * S, .open_max = 60 * S},
};
#pragma GCC diagnostic pop

void breaker_settings_default(enum prebreak_policy policy, struct prebreak_settings *settings)
{
    *settings = defaults[policy < PREBREAK_POLICIES ? policy : PREBREAK_SRE];
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static bool between(uint64_t value, uint64_t low, uint64_t high)
{
    return value >= low && value <= high;
}

/* False for NaN too. */
static bool within(double value, double low, double high)
{
    return value >= low && value <= high;
}

/* A time that may be 0, which switches something off. */
static bool time_or_off(uint64_t ns)
{
    return ns == 0 || between(ns, BREAKER_TIME_MIN, BREAKER_TIME_MAX);
}

static bool time_range(uint64_t low, uint64_t high)
{
    return between(low, BREAKER_TIME_MIN, high) && high <= BREAKER_TIME_MAX;
}

bool breaker_settings_sound(const struct prebreak_settings *s)
{
    bool window = between(s->buckets, 1, PREBREAK_BUCKETS) &&
                  between(s->window, BREAKER_SLICE_MIN * s->buckets, BREAKER_TIME_MAX);
    bool shares = within(s->success, BREAKER_SHARE_MIN, 1) && within(s->ratio, BREAKER_SHARE_MIN, 1) &&
                  within(s->jitter, 0, 1) && within(s->min_k, 1, BREAKER_K_MAX) &&
                  within(s->k, s->min_k, BREAKER_K_MAX);
    bool counts = s->min <= BREAKER_MIN_MAX && s->protection <= BREAKER_MIN_MAX && s->trip <= BREAKER_TRIP_MAX &&
                  s->reset <= BREAKER_RESET_MAX && between(s->half_open, 1, BREAKER_RESET_MAX) && s->inflight <= 1 &&
                  s->count_refused <= 1;
    bool probe = (s->probe_min == 0 && s->probe_max == 0) || time_range(s->probe_min, s->probe_max);
    bool times = time_or_off(s->ramp) && time_or_off(s->hang) && time_or_off(s->pause_max) && time_or_off(s->stall) &&
                 time_range(s->force_pass, s->force_pass) && time_range(s->open_min, s->open_max);
    return s->policy < PREBREAK_POLICIES && window && shares && counts && probe && times;
}
