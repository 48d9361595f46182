#include "breaker/window.h"

/* ---- one word ---------------------------------------------------------------------------------------------------- */

static bool same_generation(const struct window *window, uint64_t word)
{
    return bits_get(word, WINDOW_TAG_SHIFT, WINDOW_TAG_BITS) == (window->generation & bits_mask(WINDOW_TAG_BITS));
}

/* How many slices the word is ahead of the current one, modulo the width of a slice number. */
static uint32_t word_ahead(const struct window *window, uint64_t word)
{
    return (uint32_t)bits_get((word >> WINDOW_SLICE_SHIFT) - window->slice, 0, WINDOW_SLICE_BITS);
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

void window_add_to(const struct window *window, prebreak_word *word, uint64_t found)
{
    uint64_t head = window_head(window, window->slice);
    do {
        uint64_t value = head | 1;
        if (found >> WINDOW_SLICE_SHIFT == head >> WINDOW_SLICE_SHIFT) {
            if (bits_get(found, 0, WINDOW_COUNT_BITS) == bits_mask(WINDOW_COUNT_BITS)) {
                return;
            }
            value = found + 1;
        } else if (same_generation(window, found)) {
            if (word_ahead(window, found) <= window->buckets) {
                return;
            }
        } else if (state_generation(word_load(window->state)) != window->generation) {
            /* Looked at after the word: a newer count that has come since fails the swap below. */
            return;
        }
        if (word_swap(word, &found, value)) {
            return;
        }
    } while (true);
}

struct window_sum window_sum(const struct window *window, uint32_t slices)
{
    uint32_t ring = window_ring(window->buckets);
    uint32_t rings = window_rings(ring);
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
    uint32_t ring = window_ring(window->buckets);
    uint32_t rings = window_rings(ring);
    uint32_t slice = (uint32_t)bits_get((uint64_t)window->slice - back, 0, WINDOW_SLICE_BITS);
    uint64_t head = window_head(window, slice) >> WINDOW_SLICE_SHIFT;
    struct window_sum sum = {0};
    for (uint32_t i = 0; i < rings; i++) {
        const prebreak_word *words = &window->words[i * ring + slice % window->buckets * WINDOW_COUNTS];
        uint64_t count[WINDOW_COUNTS];
        for (unsigned j = 0; j < WINDOW_COUNTS; j++) {
            uint64_t word = word_load(&words[j]);
            count[j] = word >> WINDOW_SLICE_SHIFT == head ? bits_get(word, 0, WINDOW_COUNT_BITS) : 0;
        }
        sum.ok += count[WINDOW_OK];
        sum.failed += count[WINDOW_FAILED];
        sum.refused += count[WINDOW_REFUSED];
    }
    return sum;
}
