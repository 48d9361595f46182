/*
 * What came of a run: how much leaked, how fast a provider was isolated and given back, what its callers lost.
 */
#include "cli/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPAN_CALLS  10 /* a verdict on a span of time takes at least so many calls */
#define RUNS        16
#define SEEDS_APART 1000 /* of one seed to the next, so that they share no run */

const struct sim_measure sim_measures[SIM_MEASURES] = {
    [SIM_OFFERED] = {"offered", "calls asked for", 0, 1},
    [SIM_SENT] = {"sent", "calls sent", 0, 1},
    [SIM_OK] = {"ok", "calls that went well", 0, 1},
    [SIM_FAILED] = {"failed", "calls that failed", 0, 1},
    [SIM_REFUSED] = {"refused", "calls refused", 0, 1},
    [SIM_WOULD_REFUSE] = {"would_refuse", "calls that enforcing would refuse", 0, 1},
    [SIM_WOULD_REFUSE_OK] = {"would_refuse_ok", "of those, went well", 0, 1},
    [SIM_WOULD_REFUSE_FAILED] = {"would_refuse_failed", "of those, failed", 0, 1},
    [SIM_LEAKED] = {"leaked", "calls sent into the trouble", 0, 1},
    [SIM_REFUSED_SHARE] = {"refused_share", "refused in the trouble, %", 2, 100},
    [SIM_GOODPUT] = {"goodput", "successes per capacity", 2, 1},
    [SIM_SENT_PER_CAPACITY] = {"sent_per_capacity", "calls sent per capacity", 2, 1},
    [SIM_STUCK] = {"stuck", "workers stuck, on average", 1, 1},
    [SIM_SERVED] = {"served_share", "served of what could be, %", 1, 100},
    [SIM_ISOLATED] = {"isolated_seconds", "isolated in, s", 2, 1},
    [SIM_BACK] = {"back_seconds", "95 % passing again after, s", 1, 1},
    [SIM_REFUSED_AFTER] = {"refused_after", "refused after the trouble", 0, 1},
};

/* ---- counts ----------------------------------------------------------------------------------------------------- */

/* The first call asked for at `time` or later. */
static size_t call_at(const struct sim_run *run, uint64_t time)
{
    size_t low = 0, high = run->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (run->decisions[middle].time < time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Of the calls from number `from` to before number `to`, those that were let out. */
static double let_out(const struct sim_run *run, size_t from, size_t to)
{
    return from < to ? run->decisions[to - 1].lets - run->decisions[from].lets + run->decisions[from].let : 0;
}

/* Calls of a stage: asked for, and let out. */
static double asked_in(const struct sim_run *run, uint32_t stage)
{
    return (double)(call_at(run, run->begun[stage + 1]) - call_at(run, run->begun[stage]));
}

static double let_in(const struct sim_run *run, uint32_t stage)
{
    return let_out(run, call_at(run, run->begun[stage]), call_at(run, run->begun[stage + 1]));
}

static double trouble_seconds(const struct sim_run *run)
{
    return (double)(run->begun[2] - run->begun[1]) / SIM_SECOND;
}

static double per_capacity(const struct sim_run *run, double calls)
{
    double capacity = run->scenario->per_second * trouble_seconds(run);
    return capacity > 0 ? calls / capacity : NAN;
}

/* ---- moments ---------------------------------------------------------------------------------------------------- */

/*
 * Of the calls from `first` on, those of one span of time, or ten calls if it holds fewer: the share that was let out.
 * NaN when the run ends before.
 */
static double share_let(const struct sim_run *run, size_t first, uint64_t span)
{
    size_t past = call_at(run, run->decisions[first].time + span);
    past = past < first + SPAN_CALLS ? first + SPAN_CALLS : past;
    return past < run->count ? let_out(run, first, past) / (double)(past - first) : NAN;
}

/* The first call of the trouble or later that was refused. */
static size_t first_refusal(const struct sim_run *run)
{
    size_t i = 0;
    while (i < run->count && (run->decisions[i].let || run->decisions[i].time < run->begun[1])) {
        i++;
    }
    return i;
}

/* The first refusal after which half a second (or ten calls) is 90 % refused, in seconds of the trouble. */
static double isolated(const struct sim_run *run)
{
    for (size_t i = first_refusal(run); i < run->count && run->decisions[i].time < run->begun[2]; i++) {
        if (!run->decisions[i].let && share_let(run, i, SIM_SECOND / 2) <= 0.1) {
            return (double)(run->decisions[i].time - run->begun[1]) / SIM_SECOND;
        }
    }
    return INFINITY;
}

/* The start of the first second (or ten calls) after the trouble, a moment one as well, in which 95 % were let out. */
static double back(const struct sim_run *run)
{
    const uint64_t over = run->scenario->stage[2].seconds > 0 ? run->begun[2] : run->begun[1];
    if (first_refusal(run) == run->count) {
        return NAN;
    }
    for (size_t i = 0; i < run->count; i++) {
        if (run->decisions[i].time >= over && run->decisions[i].let && share_let(run, i, SIM_SECOND) >= 0.95) {
            return (double)(run->decisions[i].time - over) / SIM_SECOND;
        }
    }
    return INFINITY;
}

/* ---- all of them ------------------------------------------------------------------------------------------------ */

double sim_measure(const struct sim_run *run, enum sim_measure_id measure)
{
    const struct breaker_view *view = &run->view;
    switch (measure) {
    case SIM_OFFERED:
        return (double)run->count;
    case SIM_SENT:
        return (double)(run->count - view->total_refused);
    case SIM_OK:
        return (double)view->outcome[PREBREAK_OK];
    case SIM_FAILED:
        return (double)view->outcome[PREBREAK_FAILED];
    case SIM_REFUSED:
        return (double)view->total_refused;
    case SIM_WOULD_REFUSE:
        return (double)view->would_refuse;
    case SIM_WOULD_REFUSE_OK:
        return (double)view->would_refuse_ok;
    case SIM_WOULD_REFUSE_FAILED:
        return (double)view->would_refuse_failed;
    case SIM_LEAKED:
        return let_in(run, 1);
    case SIM_ISOLATED:
        return isolated(run);
    case SIM_BACK:
        return back(run);
    case SIM_REFUSED_SHARE:
        return asked_in(run, 1) > 0 ? 1 - let_in(run, 1) / asked_in(run, 1) : NAN;
    case SIM_REFUSED_AFTER:
        return asked_in(run, 2) - let_in(run, 2);
    case SIM_GOODPUT:
        return per_capacity(run, (double)run->ok[1]);
    case SIM_SENT_PER_CAPACITY:
        return per_capacity(run, let_in(run, 1));
    case SIM_STUCK:
        return run->scenario->workers > 0 ? run->stuck / trouble_seconds(run) : NAN;
    case SIM_SERVED:
        return run->good > 0 ? (double)run->ok[1] / ((double)run->good * (1 - run->scenario->errors)) : NAN;
    case SIM_MEASURES:
        break;
    }
    return NAN;
}

/* What does not apply sorts first. */
static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    if (isnan(x) || isnan(y)) {
        return isnan(y) - isnan(x);
    }
    return (x > y) - (x < y);
}

void sim_result(struct sim_result *result, const struct sim_scenario *scenario, const struct rules_settings *settings,
                uint64_t seed, bool observe)
{
    double value[SIM_MEASURES][RUNS];
    const uint32_t runs = scenario->runs < RUNS ? scenario->runs : RUNS;
    for (uint32_t i = 0; i < runs; i++) {
        struct sim_run run;
        sim_run(&run, scenario, settings, seed * SEEDS_APART + i, observe);
        for (int measure = 0; measure < SIM_MEASURES; measure++) {
            value[measure][i] = sim_measure(&run, (enum sim_measure_id)measure);
        }
        sim_run_free(&run);
        if (i == 0) {
            result->run = run;
        }
    }
    for (int measure = 0; measure < SIM_MEASURES; measure++) {
        qsort(value[measure], runs, sizeof value[measure][0], by_value);
        result->value[measure] = value[measure][runs / 2];
    }
}
