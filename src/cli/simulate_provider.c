/*
 * The provider: what becomes of a call that went out.
 */
#include "cli/simulate.h"

#include <math.h>

#define BUCKET_HOLDS  20.0
#define REFUSED_AFTER 0.002 /* seconds: a connect, refused */
#define TURNED_AFTER  0.005 /* a call turned away for want of capacity */
#define NEVER         1e9   /* later than any run ends */

/* ---- chance ----------------------------------------------------------------------------------------------------- */

/* splitmix64's mixing of one word. */
static uint64_t mix(uint64_t word)
{
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

uint64_t sim_bits(uint64_t seed, uint64_t number, enum sim_purpose purpose)
{
    return mix(mix(seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)purpose + 1) ^
               (number * UINT64_C(0xd1342543de82ef95)));
}

double sim_uniform(uint64_t seed, uint64_t number, enum sim_purpose purpose)
{
    return ((double)(sim_bits(seed, number, purpose) >> 12) + 0.5) * 0x1p-52;
}

/* Seconds that an answer to this call takes. */
static double answer_time(const struct sim_time *time, uint64_t seed, uint64_t number)
{
    double u = sim_uniform(seed, number, SIM_FOR_TIME), seconds;
    if (time->kind == SIM_UNIFORM) {
        seconds = time->a + (time->b - time->a) * u;
    } else {
        double variance = log1p((time->b / time->a) * (time->b / time->a));
        double normal = sqrt(-2 * log(u)) * cos(2 * M_PI * sim_uniform(seed, number, SIM_FOR_TIME_TOO));
        seconds = exp(log(time->a) - variance / 2 + sqrt(variance) * normal);
    }
    return fmax(seconds, time->least);
}

/* ---- capacity --------------------------------------------------------------------------------------------------- */

static bool bucket_has_room(struct sim_provider *provider, uint64_t now, bool shadow)
{
    double gained = (double)(now - provider->filled) / SIM_SECOND * provider->scenario->limit;
    provider->tokens = fmin(BUCKET_HOLDS, provider->tokens + gained);
    provider->filled = now;
    bool room = provider->tokens >= 1;
    if (room && !shadow) {
        provider->tokens -= 1;
    }
    return room;
}

static bool quota_has_room(struct sim_provider *provider, uint64_t now, bool shadow)
{
    if (provider->second != now / SIM_SECOND) {
        provider->second = now / SIM_SECOND;
        provider->used = 0;
    }
    bool room = (double)provider->used < provider->scenario->limit;
    if (room && !shadow) {
        provider->used++;
    }
    return room;
}

static bool has_room(struct sim_provider *provider, uint64_t now, bool shadow)
{
    switch (provider->scenario->capacity) {
    case SIM_BUCKET:
        return bucket_has_room(provider, now, shadow);
    case SIM_QUOTA:
        return quota_has_room(provider, now, shadow);
    case SIM_CONCURRENCY:
        return provider->busy < provider->scenario->limit;
    case SIM_UNLIMITED:
        break;
    }
    return true;
}

/* ---- answers ---------------------------------------------------------------------------------------------------- */

static struct breaker_end failure(enum prebreak_kind kind)
{
    return (struct breaker_end){.outcome = PREBREAK_FAILED, .kind = kind};
}

/* How a status is read, by the rule's settings. */
static struct breaker_end status_end(const struct rules_settings *settings, unsigned status)
{
    struct breaker_end end = {.outcome = PREBREAK_OK, .answered = true};
    if (rules_status_in(&settings->neutral, status) || (status == 429 && settings->status_429 == RULES_429_NEUTRAL)) {
        end.outcome = PREBREAK_NEUTRAL;
    } else if (rules_status_in(&settings->fail, status)) {
        end.outcome = PREBREAK_FAILED;
        end.kind = PREBREAK_KIND_STATUS;
        end.soft = status == 429;
    }
    return end;
}

bool sim_stage_ails(const struct sim_stage *stage, uint64_t begun, uint64_t now)
{
    if (stage->fault == SIM_HEALTHY) {
        return false;
    }
    return stage->period <= 0 || fmod((double)(now - begun) / SIM_SECOND, stage->period) < stage->down;
}

/* A call that was served, in `seconds`: well, unless that is too long for its caller. */
static struct breaker_end served(const struct rules_settings *settings, double seconds)
{
    if (settings->slow != 0 && rules_slow_enforced(settings) && seconds * SIM_SECOND > (double)settings->slow) {
        struct breaker_end end = failure(PREBREAK_KIND_SLOW);
        end.answered = true;
        return end;
    }
    return status_end(settings, 200);
}

struct sim_answer sim_provider_answer(struct sim_provider *provider, const struct sim_stage *stage, uint64_t begun,
                                      uint64_t number, uint64_t now, bool shadow)
{
    const struct sim_scenario *scenario = provider->scenario;
    double seconds = answer_time(&scenario->time, provider->seed, number);
    double fate = sim_uniform(provider->seed, number, SIM_FOR_FATE);
    enum sim_fault fault = sim_stage_ails(stage, begun, now) && fate < stage->share ? stage->fault : SIM_HEALTHY;
    struct sim_answer answer = {0};

    if (fault == SIM_REFUSING) {
        seconds = REFUSED_AFTER;
        answer.end = failure(PREBREAK_KIND_CONNECT);
    } else if (fault == SIM_HANGING) {
        seconds = NEVER;
    } else if (!has_room(provider, now, shadow)) {
        seconds = TURNED_AFTER;
        answer.end = status_end(provider->settings, scenario->status);
    } else if (fault == SIM_FAILING || fate < scenario->errors) {
        seconds *= scenario->quick;
        answer.end = status_end(provider->settings, 503);
        answer.busy = !shadow;
    } else {
        answer.end = served(provider->settings, seconds);
        answer.busy = !shadow;
    }
    if (scenario->timeout > 0 && seconds > scenario->timeout) {
        seconds = scenario->timeout;
        answer.end = failure(PREBREAK_KIND_TIMEOUT);
    }
    provider->busy += answer.busy;
    answer.time = now + (uint64_t)(seconds * SIM_SECOND);
    return answer;
}

void sim_provider_done(struct sim_provider *provider)
{
    provider->busy--;
}
