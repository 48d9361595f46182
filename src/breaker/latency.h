/*
 * What a key's first answer bytes usually take: the median of its good answers, learnt from period to period, for those
 * who ask whether one was slow by a multiple of it.
 *
 * A period lasts as long as the key's `window`, or until it has seen enough answers. The median moves down at once but
 * up only little by little: a provider that turns slow shall not raise the measure that it is held against, and one that
 * stays slow is usual in the end.
 */
#ifndef BREAKER_LATENCY_H
#define BREAKER_LATENCY_H

#include "breaker/words.h"

/* What is usual, ns; 0: not known (yet, or any more). */
uint64_t latency_usual(const struct prebreak_breaker *words);

/*
 * A good answer whose first byte took `latency` ns: was that beyond `times` thousandths of what was usual before it?
 * Never where nothing is usual yet, nor below 20 ms, which is five ticks of the clock that it may have been taken by.
 * It is learnt from either way. `window` in ns, `now` CLOCK_MONOTONIC ns.
 */
bool latency_slow(struct prebreak_breaker *words, uint64_t window, uint64_t now, uint64_t latency, uint32_t times);

/* Nothing is usual any more. */
void latency_forget(struct prebreak_breaker *words);

#endif
