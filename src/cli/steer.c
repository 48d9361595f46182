/* See steer.h. */
#include "cli/steer.h"
#include "cli/cli.h"
#include <getopt.h>
#include <sys/random.h>
#include <time.h>

struct breaker_caller steer_caller(const struct state *state)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    struct breaker_caller who = {
        .now = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec, .pid = state->pid, .pid_ns = state->pid_ns};
    if (getrandom(&who.draw, sizeof(who.draw), GRND_NONBLOCK) != (ssize_t)sizeof(who.draw)) {
        who.draw = (uint32_t)who.now;
    }
    return who;
}

int steer_check_name(const char *subcommand, const char *name)
{
    if (state_name_sound(name) == 0) {
        return cli_usage(subcommand, "a provider cannot be called that, expected a NAME as `prebreak status` shows it");
    }
    return 0;
}

int steer_take_name(int argc, char **argv, const char **name)
{
    static const struct option none[] = {{NULL, 0, NULL, 0}};
    opterr = 0;
    int option = getopt_long(argc, argv, ":", none, NULL);
    if (option != -1) {
        return cli_bad_option(argv, option, "--help");
    }
    if (argc - optind != 1) {
        return cli_usage(argv[0], "expected the NAME of one provider");
    }
    *name = argv[optind];
    return steer_check_name(argv[0], *name);
}
