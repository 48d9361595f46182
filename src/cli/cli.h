/*
 * The prebreak command: its subcommands and what they share. One file per subcommand, one row in main.c's table for
 * each.
 *
 * Every message of ours is one line on stderr that begins with "prebreak: ". Exit codes are those of DESIGN's contract:
 * 0, 1 failure, EX_USAGE 64, EX_UNAVAILABLE 69 (no state), EX_NOPERM 77, EX_CONFIG 78.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <sysexits.h>

/*
 * A subcommand. argv[0] is its name, options and operands follow. Returns the exit code; what it leaves unwritten in
 * stdout is flushed, and an error there found, by main. Each answers --help by cli_help() with a text of its own.
 */
typedef int cli_command(int argc, char **argv);

cli_command command_run;
cli_command command_status;
cli_command command_mode;
cli_command command_hold;
cli_command command_release;
cli_command command_reset;
cli_command command_events;
cli_command command_state;
cli_command command_explain;
cli_command command_metrics;
cli_command command_simulate;

/* Does --help or -h stand among the arguments? For subcommands that take no other program's. */
bool cli_wants_help(int argc, char *const *argv);

/* Prints a help text on stdout. Returns 0. */
int cli_help(const char *text);

/* One line on stderr. Returns `code`, so that a subcommand may end with it. */
int cli_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for bad usage of subcommand `name`: adds where to read more. Returns EX_USAGE. */
int cli_usage(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * After getopt_long() (with opterr 0 and a leading ':' in its short options) returned '?' or ':': says which option was
 * not known or lacks its argument. `expected` names the options there are. Returns EX_USAGE.
 */
int cli_bad_option(char *const *argv, int result, const char *expected);

#endif
