/*
 * A pause: the provider has said when to come again (429 or 503 with Retry-After). Obeyed only where it costs nothing,
 * as a provider that serves a third of the calls and sends the rest away "for five seconds" would lose all of them.
 */
#ifndef BREAKER_PAUSE_H
#define BREAKER_PAUSE_H

#include "breaker/turn.h"

/* A deadline that has passed, or is further off than any pause may last, is none: 0. */
uint64_t pause_checked(const struct turn *turn, uint64_t until);

/* Until when calls are refused, ns; 0: there is no pause. */
static inline uint64_t pause_until(const struct turn *turn)
{
    uint64_t until = word_peek(&turn->words->pause_until);
    return until == 0 ? 0 : pause_checked(turn, until);
}

/* Does the end of this call, that says when to come again, call for a pause? */
bool pause_wanted(const struct turn *turn, const struct breaker_end *end);

/* Begins one, or makes it longer: deadlines only move later. */
void pause_begin(const struct turn *turn, uint64_t until);
void pause_end(const struct turn *turn);

#endif
