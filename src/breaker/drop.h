/*
 * The drop ratio that a window's counts call for, kept in one word for ten milliseconds: a busy key does not add up its
 * window with every call.
 */
#ifndef BREAKER_DROP_H
#define BREAKER_DROP_H

#include "breaker/turn.h"

/* A policy that may still let a call pass never says DROP_ALL, however close it comes: that is `open`. */
#define DROP_MOST 65534u

/* The word: generation 14 | pressed 1 | ratio 16 | when computed 33 (ms). */
#define DROP_TAG_SHIFT     50
#define DROP_TAG_BITS      14
#define DROP_PRESSED_SHIFT 49
#define DROP_RATIO_SHIFT   33
#define DROP_RATIO_BITS    16
#define DROP_TIME_BITS     33
#define DROP_AGE_MS        10
#define DROP_AHEAD_MS      4 /* a tick of the clock: computed by somebody whose clock has ticked when ours has not yet */

struct drop {
    uint32_t ratio; /* of DROP_ALL */
    bool pressed;   /* as the policy's throttle() said */
};

/* As kept: 0 stays 0, everything above is at least 1 and at most DROP_MOST. */
uint32_t drop_of(double p);

/* The word computed now, and kept. */
uint64_t drop_renew(const struct turn *turn);

static inline bool drop_current(const struct turn *turn, uint64_t word)
{
    return bits_get(word ^ (uint64_t)turn->generation << DROP_TAG_SHIFT, DROP_TAG_SHIFT, DROP_TAG_BITS) == 0;
}

/* The policy's ratio: the word's if that is of this generation and at most 10 ms old, else computed. */
static inline struct drop drop_now(const struct turn *turn)
{
    uint64_t word = word_peek(&turn->words->drop);
    uint64_t age = bits_get(turn->now_ms + DROP_AHEAD_MS - word, 0, DROP_TIME_BITS);
    if (__builtin_expect(!drop_current(turn, word) || age > DROP_AGE_MS + DROP_AHEAD_MS, 0)) {
        word = drop_renew(turn);
    }
    return (struct drop){.ratio = (uint32_t)bits_get(word, DROP_RATIO_SHIFT, DROP_RATIO_BITS),
                         .pressed = bits_get(word, DROP_PRESSED_SHIFT, 1) != 0};
}

/* Did it press when it was last computed in this generation? */
static inline bool drop_pressed(const struct turn *turn)
{
    uint64_t word = word_peek(&turn->words->drop);
    return drop_current(turn, word) && bits_get(word, DROP_PRESSED_SHIFT, 1) != 0;
}

#endif
