/*
 * The words of a breaker: atomic access, and what their bits mean where more than one file must know it.
 *
 * Every word that belongs to a generation carries that generation's number in its top bits. A word with another number
 * is read as it would stand at the generation's beginning: so one compare-and-swap of the state word empties them all,
 * and a process killed before, in or after it leaves nothing half done.
 */
#ifndef BREAKER_WORDS_H
#define BREAKER_WORDS_H

#include <prebreak/region.h>
#include <stdbool.h>
#include <stdint.h>

#define NS_PER_MS UINT64_C(1000000)
#define MS_PER_S  UINT64_C(1000)

/* ---- atomic access ----------------------------------------------------------------------------------------------- */

static inline uint64_t word_load(const prebreak_word *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* For a word that says all there is to know by itself: no order with other words is asked for. */
static inline uint64_t word_peek(const prebreak_word *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void word_store(prebreak_word *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* On failure *found is what stands there now. */
static inline bool word_swap(prebreak_word *word, uint64_t *found, uint64_t value)
{
    return __atomic_compare_exchange_n(word, found, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static inline void word_add(prebreak_word *word, uint64_t n)
{
    __atomic_fetch_add(word, n, __ATOMIC_RELAXED);
}

/* ---- bit fields -------------------------------------------------------------------------------------------------- */

static inline uint64_t bits_mask(unsigned width)
{
    return (UINT64_C(1) << width) - 1;
}

static inline uint64_t bits_get(uint64_t word, unsigned shift, unsigned width)
{
    return (word >> shift) & bits_mask(width);
}

static inline uint64_t bits_put(uint64_t value, unsigned shift, unsigned width)
{
    return (value & bits_mask(width)) << shift;
}

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- the state word: generation 21 | kind 2 | since 41 (ms) ------------------------------------------------------ */

enum kind { KIND_CLOSED, KIND_OPEN, KIND_RAMP, KIND_HALF };

#define GENERATION_BITS  21
#define GENERATION_SHIFT 43
#define KIND_BITS        2
#define KIND_SHIFT       41
#define SINCE_BITS       41

static inline uint64_t state_make(uint32_t generation, enum kind kind, uint64_t since_ms)
{
    return bits_put(generation, GENERATION_SHIFT, GENERATION_BITS) | bits_put(kind, KIND_SHIFT, KIND_BITS) |
           bits_put(since_ms, 0, SINCE_BITS);
}

static inline uint32_t state_generation(uint64_t state)
{
    return (uint32_t)(state >> GENERATION_SHIFT);
}

static inline enum kind state_kind(uint64_t state)
{
    return (enum kind)bits_get(state, KIND_SHIFT, KIND_BITS);
}

static inline uint64_t state_since_ms(uint64_t state)
{
    return bits_get(state, 0, SINCE_BITS);
}

/* 0 is a state word that was never touched, so no generation has that number. */
static inline uint32_t generation_after(uint32_t generation)
{
    uint32_t next = (generation + 1) & (uint32_t)bits_mask(GENERATION_BITS);
    return next ? next : 1;
}

/* ---- a word of one generation: generation 21 | value 43 ---------------------------------------------------------- */

static inline uint64_t tagged_make(uint32_t generation, uint64_t value)
{
    return bits_put(generation, GENERATION_SHIFT, GENERATION_BITS) | bits_put(value, 0, GENERATION_SHIFT);
}

/* The value, or `fresh` when the word is another generation's. */
static inline uint64_t tagged_value(uint64_t word, uint32_t generation, uint64_t fresh)
{
    return state_generation(word) == generation ? bits_get(word, 0, GENERATION_SHIFT) : fresh;
}

#endif
