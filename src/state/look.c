/*
 * The look at the calls in flight of a whole region: what breaker/inflight.h needs to know of slots and processes, told
 * from the region and the system.
 */
#include "breaker/inflight.h"
#include "state/internal.h"
#include "state/words.h"
#include <errno.h>
#include <time.h>

struct look {
    struct state *state;
    const struct breaker_caller *who;
    state_told *told; /* NULL: nobody is */
    void *context;
    uint64_t suspended; /* by how much CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, ns */
};

static uint64_t look_hang(void *context, uint32_t slot, bool stream)
{
    struct look *look = context;
    struct prebreak_settings settings;
    struct breaker breaker;

    if (!state_breaker(look->state, (int)slot, NULL, &settings, &breaker)) {
        return 0;
    }
    return stream ? breaker_stall(&breaker) : breaker_hang(&breaker);
}

/* The words' times are exact to a tick only, and so is the comparison. */
static bool look_alive(void *context, uint32_t pid, uint64_t heard)
{
    struct look *look = context;

    return process_alive(pid, heard + look->suspended + INFLIGHT_TICK_NS);
}

static void look_overdue(void *context, uint32_t slot, uint64_t heard, bool stream)
{
    struct look *look = context;
    struct prebreak_settings settings;
    struct breaker breaker;
    struct breaker_change change = {0};

    if (!state_breaker(look->state, (int)slot, NULL, &settings, &breaker)) {
        return;
    }
    breaker_overdue(&breaker, look->who, heard, stream, &change);
    if (change.from != change.to && look->told) {
        look->told(look->context, (int)slot, &change);
    }
}

static void look_lost(void *context, uint32_t slot)
{
    struct look *look = context;
    struct prebreak_settings settings;
    struct breaker breaker;

    if (state_breaker(look->state, (int)slot, NULL, &settings, &breaker)) {
        breaker_lost(&breaker, look->who);
    }
}

static struct inflight_world world_of(struct look *look)
{
    uint64_t boottime = clock_ns(CLOCK_BOOTTIME), monotonic = clock_ns(CLOCK_MONOTONIC);

    look->suspended = boottime > monotonic ? boottime - monotonic : 0;
    return (struct inflight_world){look, look_hang, look_alive, look_overdue, look_lost};
}

void state_look(struct state *state, const struct breaker_caller *who, state_told *told, void *context)
{
    struct look look = {state, who, told, context, 0};
    struct inflight_world world;
    int saved = errno;

    if (!state->region) {
        return;
    }
    world = world_of(&look);
    if (inflight_look(state->region->inflight, &state->region->header.last_look, who, &world)) {
        hold_sweep(state->region, who->now);
    }
    errno = saved;
}

/* ---- calls of a predecessor that had our pid -------------------------------------------------------------------- */

#define CLOCK_SLACK_NS (10 * UINT64_C(1000000)) /* a caller may have read the time a little before we did */

/*
 * When this process first took up a region, or was forked. Several threads may map it at once, and while one still looks
 * for what a predecessor left, the others make calls already: those were heard of later.
 */
static prebreak_word began;

static uint64_t moment(void)
{
    return clock_ns(CLOCK_MONOTONIC_COARSE) - CLOCK_SLACK_NS;
}

void look_begin(void)
{
    if (word_load(&began) == 0) {
        word_change(&began, 0, moment());
    }
}

void look_forked(void)
{
    word_store(&began, moment());
}

void look_disown(struct state *state)
{
    struct breaker_caller who = {.now = word_load(&began), .pid = state->pid, .pid_ns = state->pid_ns};
    struct look look = {state, &who, NULL, NULL, 0};
    struct inflight_world world = world_of(&look);

    inflight_disown(state->region->inflight, &who, &world);
}
