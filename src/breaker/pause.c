#include "breaker/policy.h"

/*
 * A pause: the provider has said when to come again (429 or 503 with Retry-After). Obeyed only where it costs nothing,
 * as a provider that serves a third of the calls and sends the rest away "for five seconds" would lose all of them.
 */

/* A deadline further off than any pause may last is no deadline of ours. */
static bool deadline_sound(const struct turn *turn, uint64_t until)
{
    return until > turn->now && until - turn->now <= turn->set->pause_max + MS_PER_S * NS_PER_MS;
}

uint64_t pause_until(const struct turn *turn)
{
    uint64_t until = word_load(&turn->words->pause_until);
    return until != 0 && deadline_sound(turn, until) ? until : 0;
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

void pause_begin(struct turn *turn, uint64_t until)
{
    until = least(until, turn->now + turn->set->pause_max);
    uint64_t found = word_load(&turn->words->pause_until);
    while (!deadline_sound(turn, found) || found < until) {
        if (word_swap(&turn->words->pause_until, &found, until)) {
            break;
        }
    }
    word_add(&turn->words->pauses, 1);
    if (!turn_told_hold(turn)) {
        turn_tell(turn, PREBREAK_PAUSED);
    }
}

void pause_end(const struct turn *turn)
{
    word_store(&turn->words->pause_until, 0);
}
