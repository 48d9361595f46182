#include "breaker/streak.h"
#include "breaker/inflight.h"

/* Evidence of a call that carries no streak's number is new once this has passed. */
#define NEWS_MS MS_PER_S

static uint32_t word_number(uint64_t word)
{
    return (uint32_t)bits_get(word, STREAK_NUMBER_SHIFT, STREAK_NUMBER_BITS);
}

static uint64_t word_make(const struct turn *turn, uint32_t number, uint32_t length, uint64_t began_tick)
{
    return bits_put(turn->generation, STREAK_TAG_SHIFT, STREAK_TAG_BITS) |
           bits_put(number, STREAK_NUMBER_SHIFT, STREAK_NUMBER_BITS) |
           bits_put(length, STREAK_LENGTH_SHIFT, STREAK_LENGTH_BITS) | bits_put(began_tick, 0, STREAK_BEGAN_BITS);
}

/* No streak has the number 0: that is what a call carries that saw none. */
static uint32_t number_after(uint32_t number)
{
    uint32_t next = (number + 1) & (uint32_t)bits_mask(STREAK_NUMBER_BITS);
    return next ? next : 1;
}

/* ---- public ------------------------------------------------------------------------------------------------------ */

void streak_clear(const struct turn *turn)
{
    uint64_t found = word_load(&turn->words->streak);
    while (streak_length(turn, found) > 0) {
        /* The number stays, so that the next streak's is another. */
        if (word_swap(&turn->words->streak, &found, word_make(turn, word_number(found), 0, 0))) {
            return;
        }
    }
}

struct streak streak_fail(const struct turn *turn, const struct breaker_call *call, bool soft)
{
    uint64_t last_ok_ms = turn_last_ok_ms(turn); /* or `since` */
    bool quiet = turn->now_ms >= last_ok_ms + NEWS_MS;
    bool slow = quiet && turn->now_ms >= call->admitted / NS_PER_MS + NEWS_MS;
    if (soft && !quiet) {
        return (struct streak){0};
    }
    uint64_t now_tick = turn->now / INFLIGHT_TICK_NS;
    uint64_t found = word_load(&turn->words->streak);
    for (;;) {
        uint32_t length = streak_length(turn, found);
        uint32_t number = word_number(found);
        uint64_t age = bits_get(now_tick - found, 0, STREAK_BEGAN_BITS);
        if (length == 0) {
            number = number_after(number);
            age = 0;
        } else if (number != call->streak && !slow) {
            return (struct streak){0};
        }
        length = (uint32_t)least(length + 1, bits_mask(STREAK_LENGTH_BITS));
        uint64_t began_tick = age <= now_tick ? now_tick - age : 0;
        if (word_swap(&turn->words->streak, &found, word_make(turn, number, length, began_tick))) {
            return (struct streak){.length = length, .began = began_tick * INFLIGHT_TICK_NS};
        }
    }
}
