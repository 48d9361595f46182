/* prebreak metrics: every count, for Prometheus. */
#include "report/metrics.h"
#include "cli/cli.h"
#include "cli/regions.h"
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help_text[] =
    "usage: prebreak [-u USER | --all] metrics [--textfile FILE]\n"
    "\n"
    "Prints every count in Prometheus' text format. Breakers of one name are one\n"
    "provider: added up, in the worst phase of any; with --all over all users.\n"
    "\n"
    "  --textfile FILE  write it into FILE, for node_exporter's textfile collector:\n"
    "                   under another name first, so that nobody reads half of it,\n"
    "                   and readable for everybody\n"
    "\n"
    "examples:\n"
    "  prebreak metrics\n"
    "  prebreak metrics | grep '^prebreak_phase.* 1$'\n"
    "  * * * * * root prebreak --all metrics --textfile \\\n"
    "      /var/lib/prometheus/node-exporter/prebreak.prom\n"
    "\n"
    "exit status: 0, 1 FILE cannot be written, 69 no state, 77 no permission\n";

static const struct option long_options[] = {
    {"textfile", required_argument, NULL, 't'},
    {NULL, 0, NULL, 0},
};

struct request {
    const char *textfile; /* NULL: standard output */
    struct metrics metrics;
    bool any; /* a region was to be had */
};

static int take_in(struct state *state, void *context)
{
    struct request *request = context;
    struct snapshot snapshot;
    if (!snapshot_take(state, NULL, &snapshot)) {
        return cli_fail(1, "out of memory");
    }
    bool taken = metrics_add(&request->metrics, &snapshot);
    snapshot_free(&snapshot);
    request->any = true;
    return taken ? 0 : cli_fail(1, "out of memory");
}

// ---- the file -------------------------------------------------------------------------------------------------------

/* Closes it either way. */
static bool write_whole(int fd, struct metrics *metrics)
{
    FILE *out = fdopen(fd, "w");
    if (out == NULL) {
        close(fd);
        return false;
    }
    metrics_print(metrics, out);
    /* mkstemp has made it ours alone, whatever the umask; node_exporter is another user */
    bool written = fflush(out) == 0 && !ferror(out) && fchmod(fd, 0644) == 0;
    int error = errno;
    written = fclose(out) == 0 && written;
    errno = written ? 0 : error;
    return written;
}

/* The other name does not end as the collector wants a file's name to end. */
static int write_file(const char *path, struct metrics *metrics)
{
    char other[PATH_MAX];
    if (snprintf(other, sizeof(other), "%s.XXXXXX", path) >= (int)sizeof(other)) {
        errno = ENAMETOOLONG;
    } else {
        int fd = mkstemp(other);
        if (fd >= 0 && write_whole(fd, metrics) && rename(other, path) == 0) {
            return 0;
        }
        int error = errno;
        if (fd >= 0) {
            unlink(other);
        }
        errno = error;
    }
    return cli_fail(1, "metrics: cannot write '%s': %s", path, strerror(errno));
}

// ---- the whole ------------------------------------------------------------------------------------------------------

static int take_options(int argc, char **argv, struct request *request)
{
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
        if (option != 't') {
            return cli_bad_option(argv, option, "--textfile FILE or --help");
        }
        request->textfile = optarg;
    }
    if (argc > optind) {
        return cli_usage("metrics", "unexpected argument '%s'", argv[optind]);
    }
    if (request->textfile != NULL && request->textfile[0] == '\0') {
        return cli_usage("metrics", "expected --textfile FILE");
    }
    return 0;
}

int command_metrics(int argc, char **argv)
{
    struct request request = {0};
    if (cli_wants_help(argc, argv)) {
        return cli_help(help_text);
    }
    int code = take_options(argc, argv, &request);
    if (code != 0) {
        return code;
    }
    code = regions_each(take_in, &request);
    if (request.any && request.textfile != NULL) {
        int written = write_file(request.textfile, &request.metrics);
        code = code == 0 ? written : code;
    } else if (request.any) {
        metrics_print(&request.metrics, stdout);
    }
    metrics_free(&request.metrics);
    return code;
}
