/*
 * What the steering subcommands share: whom they speak of, and who speaks.
 */
#ifndef CLI_STEER_H
#define CLI_STEER_H

#include "state/state.h"

/* This process as a caller of the breaker, now. */
struct breaker_caller steer_caller(const struct state *state);

/* May a provider be called so? 0, or says that it may not and returns an exit code. */
int steer_check_name(const char *subcommand, const char *name);

/* For a subcommand without options: its only operand, a provider's name. 0 and *name, or an exit code. */
int steer_take_name(int argc, char **argv, const char **name);

#endif
