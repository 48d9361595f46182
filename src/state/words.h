/*
 * The words of the region, beyond what breaker/words.h knows of single ones: text and settings are moved as words too,
 * since whatever is in the region changes under our eyes.
 */
#ifndef STATE_WORDS_H
#define STATE_WORDS_H

#include "breaker/words.h"
#include <stddef.h>

/* Text and settings seen as words: the region's fields are aligned to 8 and a multiple of it long. */
typedef uint64_t word_alias __attribute__((may_alias, aligned(8)));

/* Changes a word that reads `from`; false: it reads otherwise. */
static inline bool word_change(prebreak_word *word, uint64_t from, uint64_t to)
{
    return word_swap(word, &from, to);
}

/* Adds one and returns the sum; wraps. */
static inline uint64_t word_next(prebreak_word *word)
{
    return __atomic_add_fetch(word, 1, __ATOMIC_ACQ_REL);
}

/* Region to memory of ours. */
static inline void words_read(void *to, const void *from, size_t bytes)
{
    word_alias *ours = to;
    const word_alias *theirs = from;

    for (size_t i = 0; i < bytes / sizeof *ours; i++) {
        ours[i] = __atomic_load_n(theirs + i, __ATOMIC_RELAXED);
    }
}

/* Memory of ours to the region; whoever writes a word that publishes it does that after. */
static inline void words_write(void *to, const void *from, size_t bytes)
{
    word_alias *theirs = to;
    const word_alias *ours = from;

    for (size_t i = 0; i < bytes / sizeof *ours; i++) {
        __atomic_store_n(theirs + i, ours[i], __ATOMIC_RELAXED);
    }
}

static inline bool words_equal(const void *theirs, const void *ours, size_t bytes)
{
    const word_alias *one = theirs, *other = ours;
    uint64_t difference = 0;

    for (size_t i = 0; i < bytes / sizeof *one; i++) {
        difference |= __atomic_load_n(one + i, __ATOMIC_RELAXED) ^ other[i];
    }
    return difference == 0;
}

static inline void words_clear(void *to, size_t bytes)
{
    word_alias *theirs = to;

    for (size_t i = 0; i < bytes / sizeof *theirs; i++) {
        __atomic_store_n(theirs + i, 0, __ATOMIC_RELAXED);
    }
}

#endif
