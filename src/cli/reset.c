/* prebreak reset: a breaker begins anew. */
#include "cli/cli.h"
#include "cli/regions.h"
#include "cli/steer.h"
#include "state/event.h"
#include <string.h>

static const char help_text[] =
    "usage: prebreak [-u USER | --all] reset NAME\n"
    "\n"
    "Closes a provider's breaker at once and forgets what led to its state: window,\n"
    "streak, pause, and what was learnt about its silences. Totals and holds stay.\n"
    "Where the provider is still down it opens again after as many calls as before.\n"
    "\n"
    "example:\n"
    "  prebreak reset openai\n"
    "\n"
    "exit status: 0, 1 there is no provider NAME, 64 bad usage, 69 no state, 77 no\n"
    "permission\n";

struct reset {
    const char *name;
    int breakers; /* reset so far */
};

/* Of one slot, if it is one of ours. */
static bool reset_slot(struct state *state, int slot, const char *name)
{
    struct event event;
    char found[PREBREAK_NAME];
    struct prebreak_settings settings;
    struct breaker breaker;
    if (!state_name(state, slot, found) || strcmp(found, name) != 0 ||
        !state_breaker(state, slot, NULL, &settings, &breaker)) {
        return false;
    }
    struct breaker_caller who = steer_caller(state);
    event_begin(&event, state, EVENT_RESET, name);
    breaker_reset(&breaker, &who, &event.change);
    event.mode = state_mode(state);
    event.policy = (enum prebreak_policy)settings.policy;
    event.change.reason = BREAKER_REASON_OPERATOR;
    event_put(state, &event);
    return true;
}

static int reset_region(struct state *state, void *context)
{
    struct reset *reset = context;
    for (int slot = 0; slot < PREBREAK_SLOTS; slot++) {
        reset->breakers += reset_slot(state, slot, reset->name);
    }
    return 0;
}

int command_reset(int argc, char **argv)
{
    struct reset reset = {0};
    if (cli_wants_help(argc, argv)) {
        return cli_help(help_text);
    }
    int code = steer_take_name(argc, argv, &reset.name);
    if (code == 0) {
        code = regions_each(reset_region, &reset);
    }
    if (code == 0 && reset.breakers == 0) {
        return cli_fail(1, "reset: no provider '%s' has been called; `prebreak status` lists those that have",
                        reset.name);
    }
    return code;
}
