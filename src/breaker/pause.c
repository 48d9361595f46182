#include "breaker/pause.h"

uint64_t pause_checked(const struct turn *turn, uint64_t until)
{
    uint64_t longest = turn->set->pause_max + MS_PER_S * NS_PER_MS;
    return until > turn->now && until - turn->now <= longest ? until : 0;
}

bool pause_wanted(const struct turn *turn, const struct breaker_end *end)
{
    if (end->outcome != PREBREAK_FAILED || end->retry_at <= turn->now || turn->set->pause_max == 0) {
        return false;
    }
    if (end->retry == BREAKER_RETRY_AUTO) {
        return turn->now_ms - turn_last_ok_ms(turn) >= MS_PER_S && turn_successes_missing(turn, turn_sum(turn).ok);
    }
    return end->retry == BREAKER_RETRY_OBEY;
}

void pause_begin(const struct turn *turn, uint64_t until)
{
    until = least(until, turn->now + turn->set->pause_max);
    uint64_t found = word_load(&turn->words->pause_until);
    for (;;) {
        uint64_t running = pause_checked(turn, found);
        if (running >= until) {
            return;
        }
        if (word_swap(&turn->words->pause_until, &found, until)) {
            word_add(&turn->words->pauses, running == 0 ? 1 : 0); /* forty that are sent away at once are one pause */
            return;
        }
    }
}

void pause_end(const struct turn *turn)
{
    word_store(&turn->words->pause_until, 0);
}
