/* prebreak events: the last events of the region's ring, in the log's own format, and those that follow. */
#include "cli/cli.h"
#include "cli/regions.h"
#include "state/event.h"
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <unistd.h>

#define LOOK_MS 200 /* between two looks for further events */

static const char help_text[] =
    "usage: prebreak [-u USER | --all] events [-f] [--json]\n"
    "\n"
    "Shows the last 256 events, the oldest first: changes of phase with the counts\n"
    "that caused them, the first refusal of each process, an operator's words,\n"
    "complaints about rules. The lines are those of the log (PREBREAK_LOG), and are\n"
    "kept without one.\n"
    "\n"
    "  -f, --follow  stay, and show what comes (one region only); ends on an\n"
    "                interrupt, or when its reader goes\n"
    "  --json        one JSON object on each line\n"
    "\n"
    "examples:\n"
    "  prebreak events | tail\n"
    "  prebreak events -f | grep --line-buffered event=phase\n"
    "\n"
    "exit status: 0, 69 no state, 77 no permission\n";

static const struct option long_options[] = {
    {"follow", no_argument, NULL, 'f'},
    {"json", no_argument, NULL, 'j'},
    {NULL, 0, NULL, 0},
};

struct request {
    enum event_format format;
    bool follow;
};

// ---- printing -------------------------------------------------------------------------------------------------------

/* All events after *after, which moves. False: stdout does not take them. */
static bool print_after(struct state *state, enum event_format format, uint64_t *after)
{
    struct event event;
    char line[EVENT_LINE];
    while (event_next(state, *after, &event)) {
        *after = event.sequence;
        size_t length = event_format(&event, format, line, sizeof(line));
        if (fwrite(line, 1, length, stdout) != length) {
            return false;
        }
    }
    return fflush(stdout) == 0;
}

// ---- following ------------------------------------------------------------------------------------------------------

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* From now on an interrupt and a reader that goes end us as a matter of course. */
static void expect_the_end(void)
{
    struct sigaction action = {.sa_handler = interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
}

/* Waits a moment. False: nobody reads any more, or we were interrupted. */
static bool wait_for_more(void)
{
    struct pollfd reader = {.fd = STDOUT_FILENO}; /* no events: only whether the other end is gone */
    int ready = poll(&reader, 1, LOOK_MS);
    return interrupted == 0 && ready <= 0;
}

/* Another region has taken this one's place: its events count from the start. */
static bool move_on(struct state *state, uint64_t *after)
{
    struct state next;
    if (state_open(&next, state->path, STATE_EXISTING) != STATE_SOUND) {
        state_close(&next);
        return false;
    }
    state_close(state);
    *state = next;
    *after = 0;
    return true;
}

static int follow(struct state *state, enum event_format format)
{
    uint64_t after = 0;
    expect_the_end();
    bool writable = print_after(state, format, &after);
    while (writable && wait_for_more()) {
        if (state_stale(state)) {
            move_on(state, &after);
        }
        writable = print_after(state, format, &after);
    }
    if (!writable && errno != EPIPE) {
        return 1; /* main says what stdout's trouble is */
    }
    __fpurge(stdout); /* what its reader did not wait for */
    clearerr(stdout);
    return 0;
}

// ---- the subcommand -------------------------------------------------------------------------------------------------

static int show(struct state *state, void *context)
{
    const struct request *request = context;
    if (request->follow) {
        return follow(state, request->format);
    }
    uint64_t after = 0;
    return print_after(state, request->format, &after) ? 0 : 1;
}

int command_events(int argc, char **argv)
{
    struct request request = {.format = EVENT_LOGFMT};
    int option;
    if (cli_wants_help(argc, argv)) {
        return cli_help(help_text);
    }
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":f", long_options, NULL)) != -1) {
        switch (option) {
        case 'f':
            request.follow = true;
            break;
        case 'j':
            request.format = EVENT_JSON;
            break;
        default:
            return cli_bad_option(argv, option, "-f, --json or --help");
        }
    }
    if (optind < argc) {
        return cli_usage("events", "expected no argument, got '%s'", argv[optind]);
    }
    if (request.follow && regions_all()) {
        return cli_usage("events", "-f follows one region, expected -u USER instead of --all");
    }
    return regions_each(show, &request);
}
