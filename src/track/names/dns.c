#include "track/names/dns.h"

#include "rules/rules.h"
#include "track/call.h"
#include "track/curl/curl.h"
#include "track/names/names.h"
#include "track/process.h"

#include <errno.h>
#include <netdb.h>
#include <stddef.h>
#include <string.h>

#define LATELY (10 * SECOND_NS)

/* ---- what was resolved lately ------------------------------------------------------------------------------------ */

/*
 * The latest name and the latest other one, so that a name is never its own witness: 24 bits of its hash and 40 of the
 * time in ms. 0: none. Two threads at once may lose one of them, which only blames less.
 */
static uint64_t latest[2];

static uint64_t hash_of(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    }
    return (hash ^ hash >> 32) & 0xffffff;
}

static uint64_t witness(const char *name, uint64_t now)
{
    return hash_of(name) << 40 | ((now / 1000000) & ((UINT64_C(1) << 40) - 1));
}

/* A witness for `name`: another name, resolved lately. */
static bool testifies(uint64_t word, const char *name, uint64_t now)
{
    uint64_t then = (word & ((UINT64_C(1) << 40) - 1)) * 1000000;

    return word != 0 && word >> 40 != hash_of(name) && then + LATELY >= now;
}

static bool proves_nothing(const char *name)
{
    return strchr(name, '.') == NULL || address_in_figures(name);
}

void dns_resolved(const char *name)
{
    char folded[NAMES_HOST];

    if (!process_acts || name == NULL || !rules_fold_host(name, strlen(name), folded, sizeof folded) ||
        proves_nothing(folded)) {
        return;
    }
    uint64_t word = witness(folded, process_now());
    uint64_t before = __atomic_exchange_n(&latest[0], word, __ATOMIC_RELAXED);

    if (before >> 40 != word >> 40) {
        __atomic_store_n(&latest[1], before, __ATOMIC_RELAXED);
    }
}

bool dns_blames(const char *name, int error, uint64_t now)
{
    if (error == EAI_FAIL) {
        return true;
    }
    return error == EAI_AGAIN && (testifies(__atomic_load_n(&latest[0], __ATOMIC_RELAXED), name, now) ||
                                  testifies(__atomic_load_n(&latest[1], __ATOMIC_RELAXED), name, now));
}

/* ---- what was not ------------------------------------------------------------------------------------------------ */

/* Of a service as getaddrinfo takes it; 0: cannot be told. */
static uint16_t port_of(const char *service)
{
    uint32_t port = 0;

    if (service == NULL || strcmp(service, "http") == 0) {
        return service == NULL ? 0 : 80;
    }
    if (strcmp(service, "https") == 0) {
        return 443;
    }
    for (; *service >= '0' && *service <= '9' && port <= UINT16_MAX; service++) {
        port = port * 10 + (uint32_t)(*service - '0');
    }
    return *service == '\0' && port <= UINT16_MAX ? (uint16_t)port : 0;
}

void dns_failed(const char *name, const char *service, int flags, int error)
{
    char folded[NAMES_HOST];

    if (!process_acts || name == NULL || (flags & AI_NUMERICHOST) != 0 ||
        !rules_fold_host(name, strlen(name), folded, sizeof folded) || address_in_figures(folded)) {
        return;
    }
    int saved = errno;
    bool blames = dns_blames(folded, error, process_now());

    if (!curl_told_dns(folded, blames) && blames) {
        struct provider *provider = provider_of(&(struct rules_target){.host = folded, .port = port_of(service)});
        struct call call = {.provider = NULL};

        if (provider != NULL && call_admit(&call, provider)) {
            call_failed(&call, PREBREAK_KIND_DNS);
        }
    }
    errno = saved;
}
