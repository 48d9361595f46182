/* prebreak status: what every provider's breaker knows and does. */
#include "cli/cli.h"
#include "cli/regions.h"
#include "report/report.h"
#include <getopt.h>
#include <stdio.h>

static const char help_text[] =
    "usage: prebreak [-u USER | --all] status [--json] [NAME]\n"
    "\n"
    "Shows every provider, the worst first, or the one called NAME:\n"
    "\n"
    "  PHASE     closed: calls pass; throttling: a share is refused; open: all are,\n"
    "            but for probes; recovering: passing again, in growing numbers;\n"
    "            paused: the provider asked to be left alone; held-open,\n"
    "            held-closed: an operator's word\n"
    "  FOR       how long it has been so\n"
    "  DROP      the share of calls that is refused now\n"
    "  window    how the calls of the last seconds ended\n"
    "  total     since the region was made; WOULD: of these, calls that observe mode\n"
    "            let out and enforcing would have refused\n"
    "  first byte  time to the first answer byte: half of them, and 95 % of them, came\n"
    "            within it, as far as a histogram by powers of two can tell\n"
    "  OUT       calls in flight\n"
    "  RETRY IN  until the next call may pass\n"
    "\n"
    "  --json    the same and more for programs; with --all an array, one object for\n"
    "            each user\n"
    "\n"
    "examples:\n"
    "  prebreak status\n"
    "  prebreak status openai\n"
    "  prebreak status --json | jq -r '.providers[] | select(.phase != \"closed\") | .name'\n"
    "  sudo prebreak -u www-data status\n"
    "\n"
    "exit status: 0, 1 there is no provider NAME, 69 no state, 77 no permission\n";

static const struct option long_options[] = {
    {"json", no_argument, NULL, 'j'},
    {NULL, 0, NULL, 0},
};

struct request {
    const char *name; /* NULL: all */
    bool json;
    int regions; /* shown so far */
    int shown;   /* providers */
};

static int show(struct state *state, void *context)
{
    struct request *request = context;
    if (regions_all()) {
        fputs(request->json ? (request->regions > 0 ? "," : "[") : (request->regions > 0 ? "\n" : ""), stdout);
    }
    int shown = request->json ? report_status_json(state, request->name, stdout)
                              : report_status_text(state, request->name, stdout);
    request->regions++;
    if (shown < 0) {
        return cli_fail(1, "out of memory");
    }
    request->shown += shown;
    return 0;
}

static int take_options(int argc, char **argv, struct request *request)
{
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        if (option != 'j') {
            return cli_bad_option(argv, option, "--json or --help");
        }
        request->json = true;
    }
    if (argc - optind > 1) {
        return cli_usage("status", "expected at most one NAME");
    }
    request->name = argv[optind]; /* NULL at the end */
    return 0;
}

int command_status(int argc, char **argv)
{
    struct request request = {0};
    if (cli_wants_help(argc, argv)) {
        return cli_help(help_text);
    }
    int code = take_options(argc, argv, &request);
    if (code != 0) {
        return code;
    }
    code = regions_each(show, &request);
    if (request.json && regions_all()) {
        fputs(request.regions > 0 ? "]\n" : "[]\n", stdout);
    }
    if (code == 0 && request.name != NULL && request.shown == 0) {
        return cli_fail(1, "no provider '%s' has been called or held; `prebreak status` lists those that have",
                        request.name);
    }
    return code;
}
