#include "breaker/streak.h"
#include "breaker/inflight.h"

/* ---- the word: generation 12 | number 16 | length 12 | when it began 24 (64 ms) ---------------------------------- */

#define TAG_SHIFT    52
#define TAG_BITS     12
#define NUMBER_SHIFT 36
#define NUMBER_BITS  16
#define LENGTH_SHIFT 24
#define LENGTH_BITS  12
#define BEGAN_BITS   24

/* Evidence of a call that carries no streak's number is new once this has passed. */
#define NEWS_MS MS_PER_S

static bool word_current(const struct turn *turn, uint64_t word)
{
    return bits_get(word, TAG_SHIFT, TAG_BITS) == (turn->generation & bits_mask(TAG_BITS));
}

static uint32_t word_length(const struct turn *turn, uint64_t word)
{
    return word_current(turn, word) ? (uint32_t)bits_get(word, LENGTH_SHIFT, LENGTH_BITS) : 0;
}

static uint32_t word_number(uint64_t word)
{
    return (uint32_t)bits_get(word, NUMBER_SHIFT, NUMBER_BITS);
}

static uint64_t word_make(const struct turn *turn, uint32_t number, uint32_t length, uint64_t began_tick)
{
    return bits_put(turn->generation, TAG_SHIFT, TAG_BITS) | bits_put(number, NUMBER_SHIFT, NUMBER_BITS) |
           bits_put(length, LENGTH_SHIFT, LENGTH_BITS) | bits_put(began_tick, 0, BEGAN_BITS);
}

/* No streak has the number 0: that is what a call carries that saw none. */
static uint32_t number_after(uint32_t number)
{
    uint32_t next = (number + 1) & (uint32_t)bits_mask(NUMBER_BITS);
    return next ? next : 1;
}

/* ---- public ------------------------------------------------------------------------------------------------------ */

uint32_t streak_running(const struct turn *turn)
{
    uint64_t word = word_load(&turn->words->streak);
    return word_length(turn, word) > 0 ? word_number(word) : 0;
}

void streak_end(const struct turn *turn)
{
    uint64_t found = word_load(&turn->words->streak);
    while (word_length(turn, found) > 0) {
        /* The number stays, so that the next streak's is another. */
        if (word_swap(&turn->words->streak, &found, word_make(turn, word_number(found), 0, 0))) {
            return;
        }
    }
}

struct streak streak_fail(const struct turn *turn, const struct ended *call)
{
    uint64_t last_ok_ms = turn_last_ok_ms(turn); /* or `since` */
    bool quiet = turn->now_ms >= last_ok_ms + NEWS_MS;
    bool slow = quiet && turn->now_ms >= call->admitted / NS_PER_MS + NEWS_MS;
    if (call->soft && !quiet) {
        return (struct streak){0};
    }
    uint64_t now_tick = turn->now / INFLIGHT_TICK_NS;
    uint64_t found = word_load(&turn->words->streak);
    for (;;) {
        uint32_t length = word_length(turn, found);
        uint32_t number = word_number(found);
        uint64_t age = bits_get(now_tick - found, 0, BEGAN_BITS);
        if (length == 0) {
            number = number_after(number);
            age = 0;
        } else if (number != call->streak && !slow) {
            return (struct streak){0};
        }
        length = (uint32_t)least(length + 1, bits_mask(LENGTH_BITS));
        uint64_t began_tick = age <= now_tick ? now_tick - age : 0;
        if (word_swap(&turn->words->streak, &found, word_make(turn, number, length, began_tick))) {
            return (struct streak){.length = length, .began = began_tick * INFLIGHT_TICK_NS};
        }
    }
}
