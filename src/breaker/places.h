/*
 * Places of the half-open state (gobreaker, consecutive): a few calls may find out whether the provider is back. A
 * place whose result never comes lapses, so that a lost call cannot wedge the breaker.
 */
#ifndef BREAKER_PLACES_H
#define BREAKER_PLACES_H

#include "breaker/policy.h"

/* Takes one of `places`; those of calls without a result lapse `lapse_ms` after the last one was taken. */
bool places_take(const struct turn *turn, uint32_t places, uint64_t lapse_ms);
/* A call that says nothing gives its place back. */
void places_give(const struct turn *turn);
bool places_full(const struct turn *turn, uint32_t places, uint64_t lapse_ms);

/* A count within this generation (failures or successes in a row): one more, as it then stands. */
uint32_t counts_add(const struct turn *turn);
uint32_t counts_now(const struct turn *turn);
void counts_clear(const struct turn *turn);

#endif
