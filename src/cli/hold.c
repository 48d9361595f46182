/* prebreak hold, prebreak release: an operator's word over the breaker's. */
#include "cli/cli.h"
#include "cli/regions.h"
#include "cli/steer.h"
#include "report/text.h"
#include "rules/rules.h"
#include "state/event.h"
#include <getopt.h>
#include <stdio.h>
#include <string.h>

// ---- hold -----------------------------------------------------------------------------------------------------------

static const char hold_help[] =
    "usage: prebreak [-u USER | --all] hold NAME open|closed [--for DURATION]\n"
    "\n"
    "Holds a provider's breaker open (refuse every call) or closed (let every call\n"
    "pass), whatever its policy says. All processes obey at their next call.\n"
    "Counting goes on. NAME need not have been called yet.\n"
    "\n"
    "  --for DURATION  the hold ends by itself after 30s, 10m, 2h...; without it, it\n"
    "                  stays until `prebreak release NAME`\n"
    "\n"
    "examples:\n"
    "  prebreak hold payments open --for 30m   # they announced maintenance\n"
    "  prebreak hold openai closed             # let it through, we know better\n"
    "\n"
    "exit status: 0, 1 no room for another hold, 64 bad usage, 69 no state, 77 no\n"
    "permission\n";

static const struct option hold_options[] = {
    {"for", required_argument, NULL, 'f'},
    {NULL, 0, NULL, 0},
};

struct hold {
    const char *name;
    enum prebreak_phase phase;
    uint64_t lasts; /* ns; 0: until released */
};

static int set_hold(struct state *state, void *context)
{
    const struct hold *hold = context;
    struct breaker_caller who = steer_caller(state);
    struct event event;
    event_begin(&event, state, EVENT_HOLD, hold->name);
    event.mode = state_mode(state);
    event.change.from = state_held(state, hold->name, who.now);
    event.change.to = hold->phase;
    event.change.reason = BREAKER_REASON_HOLD;
    if (hold->lasts != 0) {
        char span[TEXT_TIME];
        snprintf(event.text, sizeof(event.text), "for %s", text_span(hold->lasts, span, sizeof(span)));
    }
    if (!state_hold(state, hold->name, hold->phase, hold->lasts != 0 ? who.now + hold->lasts : 0)) {
        return cli_fail(1, "hold: no room for another hold, %d are set; `prebreak release NAME` frees one",
                        PREBREAK_HOLDS);
    }
    event_put(state, &event);
    return 0;
}

static int take_duration(const char *text, uint64_t *ns)
{
    /* A year is longer than any hold is meant, and far below what could overflow. */
    const uint64_t longest = UINT64_C(366) * 86400 * 1000000000;
    if (!rules_parse_duration(text, strlen(text), ns) || *ns == 0 || *ns > longest) {
        return cli_usage("hold", "bad duration '%s' for --for, expected something like 30s, 10m or 2h", text);
    }
    return 0;
}

static int take_phase(const char *text, enum prebreak_phase *phase)
{
    if (strcmp(text, "open") == 0) {
        *phase = PREBREAK_HELD_OPEN;
    } else if (strcmp(text, "closed") == 0) {
        *phase = PREBREAK_HELD_CLOSED;
    } else {
        return cli_usage("hold", "cannot hold '%s', expected open or closed", text);
    }
    return 0;
}

int command_hold(int argc, char **argv)
{
    struct hold hold = {0};
    int option;
    if (cli_wants_help(argc, argv)) {
        return cli_help(hold_help);
    }
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", hold_options, NULL)) != -1) {
        int code = option == 'f' ? take_duration(optarg, &hold.lasts) : cli_bad_option(argv, option, "--for DURATION");
        if (code != 0) {
            return code;
        }
    }
    if (argc - optind != 2) {
        return cli_usage("hold", "expected NAME and then open or closed");
    }
    int code = take_phase(argv[optind + 1], &hold.phase);
    if (code == 0) {
        code = steer_check_name(argv[0], argv[optind]);
    }
    hold.name = argv[optind];
    return code != 0 ? code : regions_each(set_hold, &hold);
}

// ---- release --------------------------------------------------------------------------------------------------------

static const char release_help[] =
    "usage: prebreak [-u USER | --all] release NAME\n"
    "\n"
    "Ends what `prebreak hold NAME` began: the breaker decides again, from what it\n"
    "has counted meanwhile.\n"
    "\n"
    "example:\n"
    "  prebreak release payments\n"
    "\n"
    "exit status: 0, 1 NAME was not held, 64 bad usage, 69 no state, 77 no\n"
    "permission\n";

struct release {
    const char *name;
    int released; /* regions in which it was held */
};

static int end_hold(struct state *state, void *context)
{
    struct release *release = context;
    struct breaker_caller who = steer_caller(state);
    struct event event;
    event_begin(&event, state, EVENT_RELEASE, release->name);
    event.mode = state_mode(state);
    event.change.from = state_held(state, release->name, who.now);
    event.change.to = PREBREAK_CLOSED;
    event.change.reason = BREAKER_REASON_RELEASE;
    if (state_release(state, release->name)) {
        release->released++;
        event_put(state, &event);
    }
    return 0;
}

int command_release(int argc, char **argv)
{
    struct release release = {0};
    if (cli_wants_help(argc, argv)) {
        return cli_help(release_help);
    }
    int code = steer_take_name(argc, argv, &release.name);
    if (code == 0) {
        code = regions_each(end_hold, &release);
    }
    if (code == 0 && release.released == 0) {
        return cli_fail(1, "release: '%s' was not held", release.name);
    }
    return code;
}
