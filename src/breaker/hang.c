#include "breaker/hang.h"

/* The word holds milliseconds and their complement, so that one of random bits is not taken for something learnt. */

#define HANG_MOST 10 /* times the configured one */

static uint64_t learnt_ms(uint64_t word)
{
    uint32_t ms = (uint32_t)word;
    return (uint32_t)(word >> 32) == ~ms ? ms : 0;
}

uint64_t hang_now(const struct prebreak_breaker *words, const struct prebreak_settings *settings)
{
    uint64_t learnt = least(learnt_ms(word_load(&words->hang)) * NS_PER_MS, HANG_MOST * settings->hang);
    return most(settings->hang, learnt);
}

void hang_learn(struct prebreak_breaker *words, uint64_t ns)
{
    uint32_t ms = (uint32_t)least((ns + NS_PER_MS - 1) / NS_PER_MS, UINT32_MAX);
    uint64_t found = word_load(&words->hang);
    while (learnt_ms(found) < ms) {
        if (word_swap(&words->hang, &found, (uint64_t)~ms << 32 | ms)) {
            return;
        }
    }
}

void hang_forget(struct prebreak_breaker *words)
{
    word_store(&words->hang, 0);
}
