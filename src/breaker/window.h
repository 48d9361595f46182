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

/* A word: tag of the generation 12 | number of the slice 26 | count 26. */
#define WINDOW_COUNT_BITS  26
#define WINDOW_SLICE_SHIFT WINDOW_COUNT_BITS
#define WINDOW_SLICE_BITS  26
#define WINDOW_TAG_SHIFT   (WINDOW_COUNT_BITS + WINDOW_SLICE_BITS)
#define WINDOW_TAG_BITS    12

static inline uint64_t window_head(const struct window *window, uint32_t slice)
{
    return bits_put(window->generation, WINDOW_TAG_SHIFT, WINDOW_TAG_BITS) |
           bits_put(slice, WINDOW_SLICE_SHIFT, WINDOW_SLICE_BITS);
}

/* Words of one ring, rounded up to whole cache lines so that no two rings share one; and how many rings there are. */
#define WINDOW_LINE 8

static inline uint32_t window_ring(uint32_t buckets)
{
    return (buckets * WINDOW_COUNTS + WINDOW_LINE - 1) / WINDOW_LINE * WINDOW_LINE;
}

static inline uint32_t window_rings(uint32_t ring)
{
    _Static_assert(PREBREAK_SHARDS == 4, "4, 2 or 1 rings");
    return ring <= PREBREAK_WINDOW_WORDS / 4 ? 4 : ring <= PREBREAK_WINDOW_WORDS / 2 ? 2 : 1;
}

/* The rest of window_add: a word that is full, of another slice or generation, or contended. */
void window_add_to(const struct window *window, prebreak_word *word, uint64_t found);

/* One more in the current slice. Dropped if the generation is over or the slice was overtaken. */
static inline void window_add(const struct window *window, uint32_t shard, enum window_count which)
{
    uint32_t ring = window_ring(window->buckets);
    uint32_t index = window->slice % window->buckets;
    prebreak_word *word = &window->words[(shard & (window_rings(ring) - 1)) * ring + index * WINDOW_COUNTS + which];
    uint64_t found = word_load(word);
    uint64_t counted = found - window_head(window, window->slice);
    if (counted >= bits_mask(WINDOW_COUNT_BITS) || !word_swap(word, &found, found + 1)) {
        window_add_to(window, word, found);
    }
}

/* The sums of the current slice and the slices - 1 before it (at most `buckets` slices). */
struct window_sum window_sum(const struct window *window, uint32_t slices);

/* The counts of the slice that is `back` before the current one. */
struct window_sum window_slice(const struct window *window, uint32_t back);

#endif
