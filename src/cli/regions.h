/*
 * The regions that a subcommand shows or steers: the caller's own (PREBREAK_STATE, or the default of its uid), another
 * user's (-u) or everybody's (--all).
 *
 * Another user's region is opened as that user: what that user could not do to it, root does not do to it either, and
 * what is built there belongs to that user.
 */
#ifndef CLI_REGIONS_H
#define CLI_REGIONS_H

#include "state/state.h"

/* From the options before the subcommand. user: a name or a number; NULL: not given. */
void regions_choose(const char *user, bool all);
/* Were several asked for, so that output must say whose is whose? */
bool regions_all(void);

/* Done with each region, mapped and sound. Returns an exit code. */
typedef int regions_act(struct state *state, void *context);

/*
 * Opens each of them in turn, in the order of the uids, and acts on it. Of one that cannot be used it says why and what
 * to do, on stderr. Returns the greatest exit code: 69 where a region was not to be had, 77 where it was not permitted.
 */
int regions_each(regions_act *act, void *context);

/* The path of each of them, opened or not: for what replaces them. */
typedef int regions_path_act(const char *path, void *context);
int regions_each_path(regions_path_act *act, void *context);

/* Says why a region cannot be used, and what to do. Returns 69, or 77 where it was not permitted. */
int regions_complain(const struct state *state);
/* The same of a path alone. */
int regions_complain_of(const char *path, enum state_trouble trouble);

#endif
