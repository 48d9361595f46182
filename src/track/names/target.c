/*
 * See target.h.
 */
#include "track/names/target.h"
#include <string.h>

static struct provider *by_name(const char *host, const struct address *address)
{
    return provider_of(
        &(struct rules_target){.host = host, .address = address->bytes, .port = address->port, .unix_path = NULL});
}

void target_of(const struct address *address, struct target *target)
{
    target->address = *address;
    target->undecided = false;
    size_t count = names_of(address, 0, target->host);
    if (count == 0) {
        target->host[0] = '\0';
        target->provider = by_name(NULL, address);
        return;
    }
    target->provider = by_name(target->host, address);
    for (size_t i = 1; i < count; i++) {
        char host[NAMES_HOST];
        if (names_of(address, i, host) > i && by_name(host, address) != target->provider) {
            target->undecided = true;
            return;
        }
    }
}

/*
 * A Host: header may be a visitor's, passed on by a proxy. It is the caller's own word if this process resolved that name
 * to this address, or if the address is public and has no name here.
 */
static bool host_believed(const char *host, const struct address *address)
{
    char none[NAMES_HOST];
    if (names_of(address, SIZE_MAX, none) != 0) { /* how many: there is no such name to be copied */
        return names_has(address, host);
    }
    return address_public(address);
}

bool target_named(const struct address *address, const struct exchange_name *name, struct provider **provider)
{
    if (address_in_figures(name->host)) {
        if (name->where != EXCHANGE_SAYS_URI) {
            return false;
        }
    } else if (name->where == EXCHANGE_SAYS_HOST && !host_believed(name->host, address)) {
        return false;
    }
    if (name->where == EXCHANGE_SAYS_URI) { /* the address is the forward proxy's */
        *provider = provider_of(&(struct rules_target){.host = name->host, .port = name->port});
    } else {
        *provider = by_name(name->host, address);
    }
    return true;
}
