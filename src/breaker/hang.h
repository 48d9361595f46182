/*
 * The silence after which a call is overdue: as configured, or as learnt. A provider that answered after we had counted
 * its calls as overdue is slow, not dead.
 */
#ifndef BREAKER_HANG_H
#define BREAKER_HANG_H

#include "breaker/words.h"

/* ns: the greater of both, at most ten times the configured one; 0: off. */
uint64_t hang_now(const struct prebreak_breaker *words, const struct prebreak_settings *settings);
/* At least that from now on. */
void hang_learn(struct prebreak_breaker *words, uint64_t ns);
void hang_forget(struct prebreak_breaker *words);

#endif
