/*
 * prebreak: runs programs with the breaker, and shows and steers what they know together. This file finds the
 * subcommand; each of them is a file of its own.
 */
#include "cli/cli.h"
#include <errno.h>
#include <fcntl.h>
#include <prebreak/version.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// ---- the subcommands
// --------------------------------------------------------------------------------------------------

static const struct {
    const char *name;
    command *function;
    const char *summary;
} commands[] = {
    {"run", command_run, "run a program with the breaker"},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

// ---- help
// -------------------------------------------------------------------------------------------------------------

static void print_usage(void)
{
    puts("usage: prebreak COMMAND [ARGUMENT...]\n"
         "\n"
         "A circuit breaker per provider for programs you cannot change.\n"
         "\n"
         "commands:");
    for (size_t i = 0; i < COMMANDS; i++) {
        printf("  %-10s %s\n", commands[i].name, commands[i].summary);
    }
    puts("\n"
         "  -h, --help     this text; `prebreak COMMAND --help` tells about one, with examples\n"
         "  -V, --version  the version\n"
         "\n"
         "exit status: 0 done, 1 failure, 64 bad usage, 69 no state, 77 no permission, 78 bad configuration");
}

// ---- finding the subcommand
// -------------------------------------------------------------------------------------------

static command *command_named(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return commands[i].function;
        }
    }
    return NULL;
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

/* `prebreak help NAME` is `prebreak NAME --help`. */
static int help(int argc, char **argv)
{
    static char option[] = "--help";
    if (argc < 2) {
        print_usage();
        return 0;
    }
    command *function = command_named(argv[1]);
    if (function == NULL) {
        return unknown_command(argv[1]);
    }
    char *arguments[] = {argv[1], option, NULL};
    return function(2, arguments);
}

static bool either(const char *argument, const char *brief, const char *full)
{
    return strcmp(argument, brief) == 0 || strcmp(argument, full) == 0;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        return cli_fail(EX_USAGE, "expected a command; `prebreak --help` lists them");
    }
    const char *name = argv[1];
    if (either(name, "-h", "--help")) {
        print_usage();
        return 0;
    }
    if (either(name, "-V", "--version")) {
        puts("prebreak " PREBREAK_VERSION);
        return 0;
    }
    if (strcmp(name, "help") == 0) {
        return help(argc - 1, argv + 1);
    }
    command *function = command_named(name);
    if (function == NULL) {
        return unknown_command(name);
    }
    return function(argc - 1, argv + 1);
}

// ---- standard streams
// -------------------------------------------------------------------------------------------------

/*
 * A closed stdout must stay an error: were fd 1 free, the next file that is opened, a region, would get that number and
 * our output would go into it. The stand-in is opened the wrong way round, so that using it fails, and close-on-exec,
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
    int code = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        return cli_fail(1, "cannot write to standard output: %s", strerror(errno));
    }
    return code;
}
