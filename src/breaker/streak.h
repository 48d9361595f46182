/*
 * The streak: failures in a row of which each said something new (sre).
 */
#ifndef BREAKER_STREAK_H
#define BREAKER_STREAK_H

#include "breaker/policy.h"

/* The word: generation 12 | number 16 | length 12 | when it began 24 (64 ms). */
#define STREAK_TAG_SHIFT    52
#define STREAK_TAG_BITS     12
#define STREAK_NUMBER_SHIFT 36
#define STREAK_NUMBER_BITS  16
#define STREAK_LENGTH_SHIFT 24
#define STREAK_LENGTH_BITS  12
#define STREAK_BEGAN_BITS   24

static inline uint32_t streak_length(const struct turn *turn, uint64_t word)
{
    bool current =
        bits_get(word ^ (uint64_t)turn->generation << STREAK_TAG_SHIFT, STREAK_TAG_SHIFT, STREAK_TAG_BITS) == 0;
    return current ? (uint32_t)bits_get(word, STREAK_LENGTH_SHIFT, STREAK_LENGTH_BITS) : 0;
}

/* The number of the streak that is running, 0 none: what an admitted call carries. */
static inline uint32_t streak_running(const struct turn *turn)
{
    uint64_t word = word_peek(&turn->words->streak);
    return streak_length(turn, word) > 0 ? (uint32_t)bits_get(word, STREAK_NUMBER_SHIFT, STREAK_NUMBER_BITS) : 0;
}

/* What a failure made of the streak. */
struct streak {
    uint32_t length; /* 0: it changed nothing */
    uint64_t began;  /* ns, at the steps of an in-flight word */
};

/* A failure (soft: a 429): begins a streak, lengthens it if it says something new, or changes nothing. */
struct streak streak_fail(const struct turn *turn, const struct breaker_call *call, bool soft);

void streak_clear(const struct turn *turn);

/* A success ends it. */
static inline void streak_end(const struct turn *turn)
{
    if (streak_length(turn, word_peek(&turn->words->streak)) > 0) {
        streak_clear(turn);
    }
}

#endif
