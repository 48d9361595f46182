/* prebreak mode: the operator's switch for all processes. */
#include "cli/cli.h"
#include "cli/regions.h"
#include "report/report.h"
#include "report/text.h"
#include "rules/rules.h"
#include "state/event.h"
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char help_text[] =
    "usage: prebreak [-u USER | --all] mode [enforce|observe|off|env]\n"
    "\n"
    "Switches all processes at once; each obeys at its next call. Without an\n"
    "argument: tells what is set.\n"
    "\n"
    "  enforce  decide, count and refuse\n"
    "  observe  decide and count, refuse nothing\n"
    "  off      do nothing at all\n"
    "  env      each process as its own PREBREAK_MODE says (the default)\n"
    "\n"
    "examples:\n"
    "  prebreak mode observe\n"
    "  sudo prebreak --all mode off\n"
    "\n"
    "To switch off every process of every user, those with regions of their own\n"
    "among them: touch /run/prebreak/off\n"
    "\n"
    "exit status: 0, 64 bad usage, 69 no state, 77 no permission\n";

static const struct option long_options[] = {{NULL, 0, NULL, 0}};

static int tell_mode(struct state *state, void *context)
{
    char path[TEXT_NAME];
    (void)context;
    if (regions_all()) {
        printf("%s: ", text_printable(state->path, path, sizeof(path)));
    }
    puts(report_mode_name(state_mode(state)));
    return 0;
}

static int set_mode(struct state *state, void *context)
{
    const enum prebreak_mode *mode = context;
    struct event event;
    event_begin(&event, state, EVENT_MODE, NULL);
    event.mode = *mode;
    snprintf(event.text, sizeof(event.text), "%s, was %s", report_mode_name(*mode),
             report_mode_name(state_mode(state)));
    state_set_mode(state, *mode);
    event_put(state, &event);
    return 0;
}

int command_mode(int argc, char **argv)
{
    enum prebreak_mode mode = PREBREAK_MODE_ENV;
    if (cli_wants_help(argc, argv)) {
        return cli_help(help_text);
    }
    opterr = 0;
    int option = getopt_long(argc, argv, ":", long_options, NULL);
    if (option != -1) {
        return cli_bad_option(argv, option, "--help");
    }
    if (argc - optind > 1) {
        return cli_usage("mode", "expected one of enforce, observe, off and env");
    }
    const char *word = argv[optind];
    if (word == NULL) {
        return regions_each(tell_mode, NULL);
    }
    if (strcmp(word, "env") != 0 && !rules_parse_mode(word, strlen(word), &mode)) {
        return cli_usage("mode", "unknown mode '%s', expected enforce, observe, off or env", word);
    }
    return regions_each(set_mode, &mode);
}
