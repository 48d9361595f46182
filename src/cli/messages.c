/* What all subcommands say in the same way. */
#include "cli/cli.h"
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool cli_wants_help(int argc, char *const *argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            return true;
        }
    }
    return false;
}

int cli_help(const char *text)
{
    fputs(text, stdout);
    return 0;
}

int cli_fail(int code, const char *format, ...)
{
    va_list arguments;
    fputs("prebreak: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return code;
}

int cli_usage(const char *name, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "prebreak: %s: ", name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "; see `prebreak %s --help`\n", name);
    return EX_USAGE;
}

int cli_bad_option(char *const *argv, int result, const char *expected)
{
    if (result == ':') {
        return cli_usage(argv[0], "option '%s' lacks its argument, expected %s", argv[optind - 1], expected);
    }
    if (optopt != 0) {
        return cli_usage(argv[0], "unknown option '-%c', expected %s", optopt, expected);
    }
    return cli_usage(argv[0], "unknown option '%s', expected %s", argv[optind - 1], expected);
}
