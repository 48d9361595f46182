/* See snapshot.h. */
#include "report/snapshot.h"
#include "state/event.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

// ---- order ----------------------------------------------------------------------------------------------------------

static int by_name(const void *left, const void *right)
{
    const struct snapshot_provider *a = left;
    const struct snapshot_provider *b = right;
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : a->slot - b->slot;
}

int snapshot_by_severity(const void *left, const void *right)
{
    const struct snapshot_provider *a = left;
    const struct snapshot_provider *b = right;
    int order = (int)b->view.phase - (int)a->view.phase;
    return order != 0 ? order : by_name(left, right);
}

// ---- taking it ------------------------------------------------------------------------------------------------------

static void take_holds(struct state *state, const char *name, struct snapshot *snapshot)
{
    for (int i = 0; i < PREBREAK_HOLDS; i++) {
        struct snapshot_hold *hold = &snapshot->hold[snapshot->holds];
        if (state_hold_at(state, i, snapshot->now, hold->name, &hold->phase, &hold->until) &&
            (name == NULL || strcmp(name, hold->name) == 0)) {
            hold->breakerless = true;
            snapshot->holds++;
        }
    }
}

/* What holds this provider, if anything does. */
static void apply_hold(struct snapshot *snapshot, struct snapshot_provider *provider)
{
    for (int i = 0; i < snapshot->holds; i++) {
        struct snapshot_hold *hold = &snapshot->hold[i];
        if (strcmp(hold->name, provider->name) == 0) {
            hold->breakerless = false;
            provider->hold = hold->phase;
            provider->hold_until = hold->until;
        }
    }
}

static bool take_provider(struct state *state, int slot, const char *name, struct snapshot *snapshot)
{
    struct snapshot_provider *provider = &snapshot->provider[snapshot->providers];
    struct breaker breaker;
    memset(provider, 0, sizeof(*provider));
    if (!state_name(state, slot, provider->name) || (name != NULL && strcmp(name, provider->name) != 0) ||
        !state_breaker(state, slot, NULL, &provider->settings, &breaker)) {
        return false;
    }
    provider->slot = slot;
    provider->mode = snapshot->mode;
    provider->hold = PREBREAK_CLOSED;
    apply_hold(snapshot, provider);
    breaker_view(&breaker, snapshot->now, provider->hold, &provider->view);
    breaker_first_bytes(&breaker, &provider->first_bytes);
    breaker_transitions(&breaker, provider->transitions);
    const struct breaker_view *view = &provider->view;
    provider->calls = view->outcome[PREBREAK_OK] + view->outcome[PREBREAK_FAILED] + view->outcome[PREBREAK_NEUTRAL] +
                      view->total_refused + view->inflight;
    return true;
}

/*
 * The mode is each process's own, unless the operator has set one for all. The last event about a provider tells under
 * which mode it was decided for.
 */
static void take_modes(struct state *state, struct snapshot *snapshot)
{
    struct event event;
    uint64_t after = 0;
    for (int i = 0; i < PREBREAK_EVENTS && event_next(state, after, &event); i++) {
        after = event.sequence;
        bool decided = event.what == EVENT_PHASE || event.what == EVENT_REFUSED;
        for (int p = 0; decided && p < snapshot->providers; p++) {
            if (strcmp(event.name, snapshot->provider[p].name) == 0) {
                snapshot->provider[p].mode = event.mode;
            }
        }
    }
}

static void mark_twins(struct snapshot *snapshot)
{
    for (int i = 1; i < snapshot->providers; i++) {
        struct snapshot_provider *pair = &snapshot->provider[i - 1];
        if (strcmp(pair[0].name, pair[1].name) == 0) {
            pair[0].twin = true;
            pair[1].twin = true;
        }
    }
}

bool snapshot_take(struct state *state, const char *name, struct snapshot *snapshot)
{
    memset(snapshot, 0, sizeof(*snapshot));
    snapshot->provider = calloc(PREBREAK_SLOTS, sizeof(*snapshot->provider));
    if (snapshot->provider == NULL) {
        return false;
    }
    snapshot->now = clock_ns(CLOCK_MONOTONIC);
    snapshot->realtime = clock_ns(CLOCK_REALTIME);
    snapshot->created = __atomic_load_n(&state->region->header.created, __ATOMIC_RELAXED);
    snapshot->mode = state_mode(state);
    snapshot->processes = state_processes(state);
    take_holds(state, name, snapshot);
    for (int slot = 0; slot < PREBREAK_SLOTS; slot++) {
        snapshot->providers += take_provider(state, slot, name, snapshot);
    }
    qsort(snapshot->provider, (size_t)snapshot->providers, sizeof(*snapshot->provider), by_name);
    mark_twins(snapshot);
    if (snapshot->mode == PREBREAK_MODE_ENV) {
        take_modes(state, snapshot);
    }
    return true;
}

void snapshot_free(struct snapshot *snapshot)
{
    free(snapshot->provider);
    snapshot->provider = NULL;
}

uint64_t snapshot_since(const struct snapshot *snapshot, const struct snapshot_provider *provider)
{
    uint64_t since = provider->view.since;
    if (since == 0 || since > snapshot->now || snapshot->now - since > snapshot->realtime) {
        return snapshot->created <= snapshot->realtime ? snapshot->created : snapshot->realtime;
    }
    return snapshot->realtime - (snapshot->now - since);
}
