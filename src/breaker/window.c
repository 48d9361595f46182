#include "breaker/window.h"

#define SLICE_SHIFT WINDOW_COUNT_BITS
#define TAG_SHIFT   (WINDOW_COUNT_BITS + WINDOW_SLICE_BITS)

#define LINE_WORDS 8

/* ---- geometry ---------------------------------------------------------------------------------------------------- */

/* Words of one ring, rounded up to whole cache lines so that no two rings share one. */
static uint32_t ring_words(uint32_t buckets)
{
    return (buckets * WINDOW_COUNTS + LINE_WORDS - 1) / LINE_WORDS * LINE_WORDS;
}

static uint32_t ring_count(uint32_t ring)
{
    uint32_t rings = PREBREAK_SHARDS;
    while (rings > 1 && rings * ring > PREBREAK_WINDOW_WORDS) {
        rings /= 2;
    }
    return rings;
}

/* ---- one word ---------------------------------------------------------------------------------------------------- */

static uint64_t word_head(const struct window *window, uint32_t slice)
{
    return bits_put(window->generation, TAG_SHIFT, WINDOW_TAG_BITS) | bits_put(slice, SLICE_SHIFT, WINDOW_SLICE_BITS);
}

static bool same_generation(const struct window *window, uint64_t word)
{
    return bits_get(word, TAG_SHIFT, WINDOW_TAG_BITS) == (window->generation & bits_mask(WINDOW_TAG_BITS));
}

/* How many slices the word is ahead of the current one, modulo the width of a slice number. */
static uint32_t word_ahead(const struct window *window, uint64_t word)
{
    return (uint32_t)bits_get((word >> SLICE_SHIFT) - window->slice, 0, WINDOW_SLICE_BITS);
}

/*
 * What is in the word, if it lies in the last `slices`. One slice ahead counts too: it is somebody's whose clock has
 * ticked when ours has not yet.
 */
static uint64_t word_count(const struct window *window, uint64_t word, uint32_t slices)
{
    uint32_t age = (uint32_t)bits_get(1 - (uint64_t)word_ahead(window, word), 0, WINDOW_SLICE_BITS);
    return same_generation(window, word) && age <= slices ? bits_get(word, 0, WINDOW_COUNT_BITS) : 0;
}

/* ---- public ------------------------------------------------------------------------------------------------------ */

void window_add(const struct window *window, uint32_t shard, enum window_count which)
{
    uint32_t ring = ring_words(window->buckets);
    uint32_t index = window->slice % window->buckets;
    prebreak_word *word = &window->words[(shard & (ring_count(ring) - 1)) * ring + index * WINDOW_COUNTS + which];
    uint64_t head = word_head(window, window->slice);
    uint64_t found = word_load(word);
    for (;;) {
        uint64_t value = head | 1;
        if (found >> SLICE_SHIFT == head >> SLICE_SHIFT) {
            if (bits_get(found, 0, WINDOW_COUNT_BITS) == bits_mask(WINDOW_COUNT_BITS)) {
                return;
            }
            value = found + 1;
        } else if (same_generation(window, found)) {
            uint32_t ahead = word_ahead(window, found);
            if (ahead <= window->buckets) {
                return;
            }
        } else if (state_generation(word_load(window->state)) != window->generation) {
            /* Looked at after the word: a newer count that has come since fails the swap below. */
            return;
        }
        if (word_swap(word, &found, value)) {
            return;
        }
    }
}

struct window_sum window_sum(const struct window *window, uint32_t slices)
{
    uint32_t ring = ring_words(window->buckets);
    uint32_t rings = ring_count(ring);
    slices = slices < window->buckets ? slices : window->buckets;
    struct window_sum sum = {0};
    for (uint32_t i = 0; i < rings; i++) {
        const prebreak_word *words = &window->words[i * ring];
        for (uint32_t j = 0; j < window->buckets; j++, words += WINDOW_COUNTS) {
            sum.ok += word_count(window, word_load(&words[WINDOW_OK]), slices);
            sum.failed += word_count(window, word_load(&words[WINDOW_FAILED]), slices);
            sum.refused += word_count(window, word_load(&words[WINDOW_REFUSED]), slices);
        }
    }
    return sum;
}

struct window_sum window_slice(const struct window *window, uint32_t back)
{
    uint32_t ring = ring_words(window->buckets);
    uint32_t rings = ring_count(ring);
    uint32_t slice = (uint32_t)bits_get((uint64_t)window->slice - back, 0, WINDOW_SLICE_BITS);
    uint64_t head = word_head(window, slice) >> SLICE_SHIFT;
    struct window_sum sum = {0};
    for (uint32_t i = 0; i < rings; i++) {
        const prebreak_word *words = &window->words[i * ring + slice % window->buckets * WINDOW_COUNTS];
        uint64_t count[WINDOW_COUNTS];
        for (unsigned j = 0; j < WINDOW_COUNTS; j++) {
            uint64_t word = word_load(&words[j]);
            count[j] = word >> SLICE_SHIFT == head ? bits_get(word, 0, WINDOW_COUNT_BITS) : 0;
        }
        sum.ok += count[WINDOW_OK];
        sum.failed += count[WINDOW_FAILED];
        sum.refused += count[WINDOW_REFUSED];
    }
    return sum;
}
