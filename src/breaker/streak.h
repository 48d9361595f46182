/*
 * The streak: failures in a row of which each said something new (sre).
 */
#ifndef BREAKER_STREAK_H
#define BREAKER_STREAK_H

#include "breaker/policy.h"

/* What a failure made of the streak. */
struct streak {
    uint32_t length; /* 0: it changed nothing */
    uint64_t began;  /* ns, at the steps of an in-flight word */
};

/* A failure: begins a streak, lengthens it if it says something new, or changes nothing. */
struct streak streak_fail(const struct turn *turn, const struct ended *call);

/* A success ends it. */
void streak_end(const struct turn *turn);

#endif
