/*
 * The exported symbols. A hook holds no logic: it asks track, calls the real one, tells track. What is exported is listed
 * in exports.map; the prototypes are those of libc's headers, or the file would not compile.
 */
#ifndef HOOKS_HOOK_H
#define HOOKS_HOOK_H

#include "real/real.h"

#define HOOK __attribute__((visibility("default")))

/* libc's second name for the same function. */
#define HOOK_ALIAS(of) __attribute__((visibility("default"), alias(#of)))

#endif
