/*
 * The library's start and end. Nothing is mapped and no file of ours is opened at the start: a program that never calls
 * anybody pays for reading its environment, and that is all.
 */
#include "real/real.h"
#include "track/flow/flow.h"
#include "track/process.h"
#include <errno.h>

__attribute__((constructor)) REAL_RARE static void start(void)
{
    process_init();
}

__attribute__((destructor)) REAL_RARE static void end(void)
{
    /* A child of vfork that calls exit() must not give up what its parent has under way. */
    if (process_acts && process_is_own()) {
        int saved = errno;
        flow_at_exit();
        errno = saved;
    }
}
