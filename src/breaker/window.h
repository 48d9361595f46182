/*
 * The rolling window: how many calls ended ok, failed or were refused lately, in a ring of equal slices of time.
 *
 * Lock-free: each count of each slice is one word (tag of generation and slice, count), changed by compare-and-swap.
 * What is older than the window, or of another generation, is not counted by a reader, whoever wrote last. Counts
 * saturate. With few slices the ring exists several times, so that threads need not share its cache lines.
 */
#ifndef BREAKER_WINDOW_H
#define BREAKER_WINDOW_H

#include "breaker/words.h"

enum window_count { WINDOW_OK, WINDOW_FAILED, WINDOW_REFUSED, WINDOW_COUNTS };

/* A look at the ring at one moment; owns nothing. */
struct window {
    prebreak_word *words;       /* PREBREAK_WINDOW_WORDS of them */
    const prebreak_word *state; /* whose generation may move on meanwhile */
    uint32_t buckets;           /* 1..PREBREAK_BUCKETS */
    uint32_t generation;
    uint32_t slice; /* number of the current slice, modulo 2^26 */
};

struct window_sum {
    uint64_t ok, failed, refused;
};

#define WINDOW_COUNT_BITS 26
#define WINDOW_SLICE_BITS 26
#define WINDOW_TAG_BITS   12 /* of the generation */

/* One more in the current slice. Dropped if the generation is over or the slice was overtaken. */
void window_add(const struct window *window, uint32_t shard, enum window_count which);

/* The sums of the current slice and the slices - 1 before it (at most `buckets` slices). */
struct window_sum window_sum(const struct window *window, uint32_t slices);

/* The counts of the slice that is `back` before the current one. */
struct window_sum window_slice(const struct window *window, uint32_t back);

#endif
