/*
 * Whom a connection is for, by all that is known: its address, the names that this process resolved to it, and a name
 * that its first bytes gave.
 */
#ifndef TRACK_NAMES_TARGET_H
#define TRACK_NAMES_TARGET_H

#include "track/exchange/exchange.h"
#include "track/names/names.h"
#include "track/provider.h"

struct target {
    struct address address;
    struct provider *provider; /* NULL: not to be touched, as far as the names tell */
    bool undecided;            /* the names belong to several providers */
    char host[NAMES_HOST];     /* the name that it goes by; "" none */
};

/* By address and resolved names. */
void target_of(const struct address *address, struct target *target);

/*
 * By a name that the bytes gave, if it may be believed; false: it may not, go by what was known. *provider may be NULL.
 */
bool target_named(const struct address *address, const struct exchange_name *name, struct provider **provider);

#endif
