/*
 * Providers as this process knows them: a name or an address in, the provider's breaker out. Follows the rules, the mode,
 * the off files and the region as they change (the once-a-second look), and forks.
 */
#ifndef TRACK_PROVIDER_H
#define TRACK_PROVIDER_H

#include "breaker/breaker.h"
#include "rules/rules.h"

struct state;

/* A provider, valid as long as the process lives; never freed, so that a call in flight may keep it. */
struct provider {
    struct breaker breaker;
    struct rules_settings settings;
    struct state *state;
    uint64_t identity; /* of its slot, when it was found */
    int slot;
    uint64_t told; /* the breaker's state word at the last refusal that was told as an event */
    /* As far as this process knows, 0: not at all. Atomic. */
    uint16_t greets;  /* its port where the server speaks first */
    uint16_t tickets; /* how long its TLS session tickets are */
    char name[PREBREAK_NAME];
};

/*
 * The provider of a target, or NULL: not to be touched (no rule, rule `-`, mode off, off file, table full, not ready, or
 * undecided without the address). Async-signal-safe, no system call but the once-a-second look.
 */
struct provider *provider_of(const struct rules_target *target);

/* provider_of() gave NULL only because the address is not known yet. */
bool provider_undecided(const struct rules_target *target);

/*
 * Is anything to be touched at all, just now? False: mode off, an off file, no region. Takes the once-a-second look.
 */
bool provider_any(void);

/* Does a rule name unix paths? */
bool provider_has_unix(void);

/* Tells a change of phase, if it is one, as an event: of a provider, or of whatever stands in a slot. */
void provider_tell(const struct provider *provider, const struct breaker_change *change);
void provider_tell_slot(struct state *state, int slot, const struct breaker_change *change);
/* Tells that a call was refused: once in a process and generation; the region keeps fewer of them than the log. */
void provider_tell_refused(struct provider *provider);
/* Tells that the provider says that the account is out of quota: at once, and for all processes once a minute. */
void provider_tell_quota(const struct provider *provider);

#endif
