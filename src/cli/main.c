/*
 * prebreak: runs programs with the breaker, and shows and steers what they know together. This file finds the
 * subcommand; each of them is a file of its own.
 */
#include "cli/cli.h"
#include "cli/regions.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <prebreak/version.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// ---- the subcommands ------------------------------------------------------------------------------------------------

static const struct {
    const char *name;
    cli_command *function;
    bool regions; /* takes -u and --all */
    const char *summary;
} commands[] = {
    {"run", command_run, false, "run a program with the breaker"},
    {"status", command_status, true, "every provider: phase, counts, what is refused"},
    {"events", command_events, true, "what happened: changes of phase, refusals, operators' words"},
    {"explain", command_explain, true, "which rule a host falls under, and what a call would meet"},
    {"hold", command_hold, true, "hold a provider's breaker open or closed"},
    {"release", command_release, true, "end a hold"},
    {"reset", command_reset, true, "let a provider's breaker begin anew, closed"},
    {"mode", command_mode, true, "enforce, observe or off, for all processes at once"},
    {"metrics", command_metrics, true, "every count for Prometheus, or for node_exporter's text files"},
    {"state", command_state, true, "where the shared region is, whether it is sound, how full"},
    {"simulate", command_simulate, false, "step the breaker through trouble, show what each policy makes of it"},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))
#define NONE     COMMANDS

static size_t command_named(const char *name)
{
    size_t i = 0;
    while (i < COMMANDS && strcmp(commands[i].name, name) != 0) {
        i++;
    }
    return i;
}

static int unknown_command(const char *name)
{
    fprintf(stderr, "prebreak: unknown command '%s', expected one of:", name);
    for (size_t i = 0; i < COMMANDS; i++) {
        fprintf(stderr, " %s", commands[i].name);
    }
    fputc('\n', stderr);
    return EX_USAGE;
}

// ---- help -----------------------------------------------------------------------------------------------------------

static int print_usage(void)
{
    puts(
        "usage: prebreak [-u USER | --all] COMMAND [ARGUMENT...]\n"
        "\n"
        "A circuit breaker per provider for programs you cannot change.\n"
        "\n"
        "commands:");
    for (size_t i = 0; i < COMMANDS; i++) {
        printf("  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    puts(
        "\n"
        "options:\n"
        "  -u, --user USER  another user's region, /dev/shm/prebreak-UID (root)\n"
        "  -a, --all        every user's region (root)\n"
        "  -h, --help       this text; `prebreak COMMAND --help` has examples\n"
        "  -V, --version    the version\n"
        "\n"
        "exit status: 0 done, 1 failure, 64 bad usage, 69 no state, 77 no permission,\n"
        "78 bad configuration");
    return 0;
}

/* `prebreak help NAME` is `prebreak NAME --help`. */
static int help(int argc, char **argv)
{
    static char option[] = "--help";
    if (argc < 2) {
        return print_usage();
    }
    size_t command = command_named(argv[1]);
    if (command == NONE) {
        return unknown_command(argv[1]);
    }
    char *arguments[] = {argv[1], option, NULL};
    return commands[command].function(2, arguments);
}

// ---- options, and the subcommand ------------------------------------------------------------------------------------

static const struct option long_options[] = {
    {"user", required_argument, NULL, 'u'},
    {"all", no_argument, NULL, 'a'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {NULL, 0, NULL, 0},
};

/* The subcommand argv[0]. */
static int dispatch(int argc, char **argv, const char *user, bool all)
{
    if (argc < 1) {
        return cli_fail(EX_USAGE, "expected a command; `prebreak --help` lists them");
    }
    if (strcmp(argv[0], "help") == 0) {
        return help(argc, argv);
    }
    size_t command = command_named(argv[0]);
    if (command == NONE) {
        return unknown_command(argv[0]);
    }
    if ((user != NULL || all) && !commands[command].regions) {
        return cli_usage(argv[0], "takes neither -u nor --all");
    }
    regions_choose(user, all);
    optind = 0; /* getopt begins anew */
    return commands[command].function(argc, argv);
}

static int take_options(int argc, char **argv)
{
    const char *user = NULL;
    bool all = false;
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "+:u:ahV", long_options, NULL)) != -1) {
        switch (option) {
        case 'u':
            user = optarg;
            break;
        case 'a':
            all = true;
            break;
        case 'h':
            return print_usage();
        case 'V':
            puts("prebreak " PREBREAK_VERSION);
            return 0;
        default:
            return cli_fail(EX_USAGE,
                            "bad option '%s', expected -u USER, --all, --help or --version before the command",
                            argv[optind - 1]);
        }
    }
    if (user != NULL && all) {
        return cli_fail(EX_USAGE, "expected either -u USER or --all, not both");
    }
    return dispatch(argc - optind, argv + optind, user, all);
}

// ---- standard streams -----------------------------------------------------------------------------------------------

/*
 * A closed stdout must stay an error: were fd 1 free, the next file that is opened (a picture to write, a name service's
 * socket) would get that number, and our output would go into it. The stand-in is opened the wrong way round, so that using it fails, and close-on-exec,
 * so that a program that we run finds its streams as they were.
 */
static void guard_streams(void)
{
    static const int wrong_way[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF) {
            int stand_in = open("/dev/null", wrong_way[fd] | O_CLOEXEC);
            (void)stand_in; /* the lowest free number: fd */
        }
    }
}

int main(int argc, char **argv)
{
    guard_streams();
    int code = take_options(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        return cli_fail(1, "cannot write to standard output: %s", strerror(errno));
    }
    return code;
}
