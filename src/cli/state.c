/* prebreak state: where the region is, whether it is sound, how full; and a fresh one in its place. */
#include "cli/cli.h"
#include "cli/regions.h"
#include "report/report.h"
#include "report/text.h"
#include <getopt.h>
#include <stdio.h>

static const char help_text[] =
    "usage: prebreak [-u USER | --all] state [--recreate]\n"
    "\n"
    "Tells where the shared region is, whether it is sound and how full it is. It is\n"
    "the file that PREBREAK_STATE names, or /dev/shm/prebreak-UID.\n"
    "\n"
    "  --recreate  put a fresh one in its place; mode and holds are carried over,\n"
    "              counts are not. Running processes change over within a second\n"
    "\n"
    "examples:\n"
    "  prebreak state\n"
    "  sudo prebreak -u www-data state --recreate\n"
    "\n"
    "exit status: 0 sound, 69 there is none or it cannot be used, 77 no permission\n";

static const struct option long_options[] = {
    {"recreate", no_argument, NULL, 'r'},
    {NULL, 0, NULL, 0},
};

static int show(struct state *state, void *context)
{
    bool *further = context;
    if (*further) {
        putchar('\n');
    }
    *further = true;
    report_state(state, stdout);
    return 0;
}

static int recreate(const char *path, void *context)
{
    (void)context;
    enum state_trouble trouble = state_recreate(path);
    if (trouble != STATE_SOUND) {
        return regions_complain_of(path != NULL ? path : "the default region", trouble);
    }
    return 0;
}

int command_state(int argc, char **argv)
{
    bool fresh = false;
    bool further = false;
    int option;
    if (cli_wants_help(argc, argv)) {
        return cli_help(help_text);
    }
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        if (option != 'r') {
            return cli_bad_option(argv, option, "--recreate or --help");
        }
        fresh = true;
    }
    if (optind < argc) {
        return cli_usage("state", "expected no argument, got '%s'", argv[optind]);
    }
    int code = fresh ? regions_each_path(recreate, NULL) : 0;
    return code != 0 ? code : regions_each(show, &further);
}
