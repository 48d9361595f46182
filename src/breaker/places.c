#include "breaker/places.h"

/* ---- probes: generation 14 | when the last place was taken 40 (ms) | places taken 10 ----------------------------- */

#define TAG_SHIFT  50
#define TAG_BITS   14
#define TIME_SHIFT 10
#define TIME_BITS  40
#define TAKEN_BITS 10

struct places {
    uint64_t last_ms;
    uint32_t taken;
};

static struct places places_read(const struct turn *turn, uint64_t word, uint64_t lapse_ms)
{
    struct places places = {.last_ms = bits_get(word, TIME_SHIFT, TIME_BITS),
                            .taken = (uint32_t)bits_get(word, 0, TAKEN_BITS)};
    if (bits_get(word, TAG_SHIFT, TAG_BITS) != (turn->generation & bits_mask(TAG_BITS))) {
        return (struct places){0};
    }
    uint64_t age = turn->now_ms - places.last_ms;
    if (places.last_ms > turn->now_ms + MS_PER_S || (places.last_ms <= turn->now_ms && age >= lapse_ms)) {
        /* Those that brought a success stay taken. */
        places.taken = (uint32_t)least(places.taken, counts_now(turn));
    }
    return places;
}

static uint64_t places_make(const struct turn *turn, uint64_t last_ms, uint32_t taken)
{
    return bits_put(turn->generation, TAG_SHIFT, TAG_BITS) | bits_put(last_ms, TIME_SHIFT, TIME_BITS) |
           bits_put(taken, 0, TAKEN_BITS);
}

bool places_full(const struct turn *turn, uint32_t places, uint64_t lapse_ms)
{
    return places_read(turn, word_load(&turn->words->probes), lapse_ms).taken >= places;
}

bool places_take(const struct turn *turn, uint32_t places, uint64_t lapse_ms)
{
    uint64_t found = word_load(&turn->words->probes);
    for (;;) {
        struct places now = places_read(turn, found, lapse_ms);
        if (now.taken >= places) {
            return false;
        }
        if (word_swap(&turn->words->probes, &found, places_make(turn, turn->now_ms, now.taken + 1))) {
            return true;
        }
    }
}

void places_give(const struct turn *turn)
{
    uint64_t found = word_load(&turn->words->probes);
    for (;;) {
        struct places now = places_read(turn, found, UINT64_MAX);
        if (now.taken <= counts_now(turn) ||
            word_swap(&turn->words->probes, &found, places_make(turn, now.last_ms, now.taken - 1))) {
            return;
        }
    }
}

/* ---- counts: generation 21 | count ------------------------------------------------------------------------------- */

#define COUNTS_MOST UINT32_MAX

uint32_t counts_now(const struct turn *turn)
{
    return (uint32_t)least(tagged_value(word_load(&turn->words->counts), turn->generation, 0), COUNTS_MOST);
}

uint32_t counts_add(const struct turn *turn)
{
    uint64_t found = word_load(&turn->words->counts);
    for (;;) {
        uint64_t count = least(tagged_value(found, turn->generation, 0) + 1, COUNTS_MOST);
        if (word_swap(&turn->words->counts, &found, tagged_make(turn->generation, count))) {
            return (uint32_t)count;
        }
    }
}

void counts_clear(const struct turn *turn)
{
    uint64_t found = word_load(&turn->words->counts);
    while (tagged_value(found, turn->generation, 0) != 0) {
        if (word_swap(&turn->words->counts, &found, tagged_make(turn->generation, 0))) {
            return;
        }
    }
}
