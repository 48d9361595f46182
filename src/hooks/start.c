/*
 * The library's start and end. Nothing is mapped and no file of ours is opened at the start: a program that never calls
 * anybody pays for reading its environment, and that is all.
 */
#include "track/flow.h"
#include "track/process.h"
#include <errno.h>

__attribute__((constructor)) static void start(void)
{
    process_init();
}

__attribute__((destructor)) static void end(void)
{
    if (process_acts) {
        int saved = errno;
        flow_at_exit();
        errno = saved;
    }
}
