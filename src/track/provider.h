/*
 * Providers as this process knows them: a name or an address in, the provider's breaker out. Follows the rules, the mode,
 * the off files and the region as they change (the once-a-second look), and forks.
 */
#ifndef TRACK_PROVIDER_H
#define TRACK_PROVIDER_H

#include "breaker/breaker.h"
#include "rules/rules.h"

/* A provider, valid as long as the process lives; never freed, so that a call in flight may keep it. */
struct provider {
    struct breaker breaker;
    struct rules_settings settings;
    int slot;
    uint32_t told_generation; /* of the last refusal told as an event */
    char name[PREBREAK_NAME];
};

/*
 * The provider of a target, or NULL: not to be touched (no rule, rule `-`, mode off, off file, table full, not ready).
 * Async-signal-safe, no system call but the once-a-second look.
 */
struct provider *provider_of(const struct rules_target *target);

#endif
