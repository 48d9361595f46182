/*
 * The real libc. Every function that prebreak wraps or needs is resolved once, here, and called through these pointers
 * from here only: nothing of prebreak ever calls its own exports.
 *
 * real_init() runs first thing in the constructor; a hook that runs before it (another library's constructor) finds the
 * pointers filled by real_init() all the same, which is idempotent, takes no lock and allocates nothing.
 */
#ifndef REAL_REAL_H
#define REAL_REAL_H

#include <stdbool.h>
#include <stdint.h>

/* The list of functions is in real_list.h, X(return, name, arguments): adding one is adding a row. */

void real_init(void);

/*
 * A function of a second library (libcurl, libssl, libgnutls), by the object that calls us: `caller` is the hook's return
 * address. NULL: cannot be told, pass through what can be passed. Never allocates; may be called from any hook.
 */
void *real_by_caller(const char *name, const void *caller);

#endif
