/*
 * See provider.h. Two tables: every provider that was ever met, by number, and a cache from targets to those numbers, one
 * word an entry, so that an entry is always whole.
 */
#include "track/provider.h"
#include "real/real.h"
#include "track/config.h"
#include "track/log.h"
#include "track/process.h"
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#define CHUNKS 256
#define CHUNK  32

static struct provider *chunks[CHUNKS]; /* atomic; of CHUNK providers */
static uint32_t made;
static uint32_t by_slot[PREBREAK_SLOTS]; /* number of the provider that was met last in a slot; 0 none */

/* ---- all providers ----------------------------------------------------------------------------------------------- */

static struct provider *at(uint32_t number)
{
    uint32_t index = number - 1;
    if (index >= CHUNKS * CHUNK) {
        return NULL;
    }
    struct provider *chunk = __atomic_load_n(&chunks[index / CHUNK], __ATOMIC_ACQUIRE);
    return chunk != NULL ? &chunk[index % CHUNK] : NULL;
}

static uint32_t new_number(void)
{
    if (__atomic_load_n(&made, __ATOMIC_RELAXED) >= CHUNKS * CHUNK) {
        return 0;
    }
    uint32_t index = __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
    if (index >= CHUNKS * CHUNK) {
        return 0;
    }
    struct provider **place = &chunks[index / CHUNK];
    struct provider *found = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (found == NULL) {
        struct provider *fresh = process_memory(CHUNK * sizeof *fresh);
        if (fresh == NULL) {
            return 0;
        }
        __atomic_compare_exchange_n(place, &found, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }
    return index + 1;
}

static bool is_same(const struct provider *provider, const struct state *state, const struct rules_match *match,
                    uint64_t identity)
{
    return provider != NULL && provider->state == state && provider->identity == identity &&
           strcmp(provider->name, match->name) == 0 &&
           /* Bytes that differ where no value does only make a second entry for the same slot. */
           memcmp(&provider->settings, match->settings, /* NOLINT(bugprone-suspicious-memory-comparison,cert-*) */
                  sizeof provider->settings) == 0;
}

/* The number of the provider that a match names, made if need be; 0: it cannot be had. */
static uint32_t number_of(struct state *state, const struct rules_match *match)
{
    int slot = state_slot(state, match->name, &match->settings->breaker, match->nameless, process_now());
    if (slot < 0 || slot >= PREBREAK_SLOTS) {
        return 0;
    }
    uint64_t identity = state_identity(state, slot);
    uint32_t number = __atomic_load_n(&by_slot[slot], __ATOMIC_ACQUIRE);
    if (is_same(at(number), state, match, identity)) {
        return number;
    }
    number = new_number();
    struct provider *provider = at(number);
    if (provider == NULL) {
        return 0;
    }
    provider->state = state;
    provider->slot = slot;
    provider->identity = identity;
    provider->settings = *match->settings;
    memcpy(provider->name, match->name, sizeof provider->name);
    if (!state_breaker(state, slot, &provider->settings.breaker, NULL, &provider->breaker)) {
        return 0;
    }
    __atomic_store_n(&by_slot[slot], number, __ATOMIC_RELEASE);
    return number;
}

/* ---- from targets to providers ----------------------------------------------------------------------------------- */

#define CACHE       2048
#define NUMBER_BITS 16 /* of a word; the rest is the target's hash */
#define NUMBER_MASK ((UINT64_C(1) << NUMBER_BITS) - 1)

_Static_assert(CHUNKS *CHUNK < 1 << NUMBER_BITS, "a provider's number fits into a cache word");

static uint64_t cache[CACHE];

/* What the answer depends on, but for the host: a change of rules or region makes all entries miss. */
struct circumstances {
    uint64_t host, region, generation, port;
    uint8_t address[16];
    char unix_path[112];
};

static uint64_t hash_target(const struct rules_target *target, const struct state *state, uint32_t generation)
{
    struct circumstances all;
    size_t length = offsetof(struct circumstances, unix_path);
    memset(&all, 0, sizeof all);
    all.host = target->host != NULL ? process_hash(target->host, strlen(target->host)) : 0;
    all.region = (uintptr_t)state;
    all.generation = generation;
    all.port = (uint64_t)target->port << 1 | (target->address != NULL);
    if (target->address != NULL) {
        memcpy(all.address, target->address, sizeof all.address);
    }
    if (target->unix_path != NULL) {
        length += strnlen(target->unix_path, sizeof all.unix_path);
        memcpy(all.unix_path, target->unix_path, length - offsetof(struct circumstances, unix_path));
    }
    return process_hash(&all, length);
}

/*
 * The calling thread's latest target: most calls go where the one before went, and a comparison costs less than a hash that
 * nobody can foresee. `busy` keeps out a signal handler that comes while it changes.
 */
#define LATEST_HOST 64

static __thread struct {
    bool busy, addressed;
    uint16_t port;
    uint32_t generation; /* of the rules; 0: there is none */
    uint32_t number;
    const struct state *state;
    uint8_t address[16];
    char host[LATEST_HOST];
} latest;

static bool is_latest(const struct rules_target *target, const struct state *state, uint32_t generation)
{
    return latest.generation == generation && latest.state == state && latest.port == target->port &&
           target->host != NULL && target->unix_path == NULL && latest.addressed == (target->address != NULL) &&
           !latest.busy && (!latest.addressed || memcmp(latest.address, target->address, sizeof latest.address) == 0) &&
           strcmp(latest.host, target->host) == 0;
}

static void note_latest(const struct rules_target *target, const struct state *state, uint32_t generation,
                        uint32_t number)
{
    size_t length = target->host != NULL && target->unix_path == NULL ? strlen(target->host) : LATEST_HOST;
    if (length >= LATEST_HOST || latest.busy) {
        return;
    }
    latest.busy = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    latest.generation = generation;
    latest.state = state;
    latest.port = target->port;
    latest.number = number;
    latest.addressed = target->address != NULL;
    if (target->address != NULL) {
        memcpy(latest.address, target->address, sizeof latest.address);
    }
    memcpy(latest.host, target->host, length + 1);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    latest.busy = false;
}

/* Rules are asked outside of the common path: their answer is large. */
static __attribute__((noinline)) uint32_t look_up(struct state *state, const struct rules *rules,
                                                  const struct rules_target *target)
{
    struct rules_match match;
    if (!rules_match(rules, target, &match) || match.never || (match.undecided && target->address == NULL)) {
        return 0;
    }
    return number_of(state, &match);
}

static struct state *ready(void)
{
    process_tick();
    struct state *state = process_state();
    return state != NULL && process_mode(state) != PREBREAK_MODE_OFF ? state : NULL;
}

/* A slot of a host named after itself may have gone to another host: then ask again. NULL, "not to be touched", stays. */
static bool is_current(const struct provider *provider, const struct state *state)
{
    return provider == NULL || state_identity(state, provider->slot) == provider->identity;
}

struct provider *provider_of(const struct rules_target *target)
{
    struct state *state = ready();
    uint32_t generation = 0;
    const struct rules *rules = state != NULL ? config_rules(&generation) : NULL;
    if (rules == NULL) {
        return NULL;
    }
    if (is_latest(target, state, generation)) {
        struct provider *provider = at(latest.number);
        if (is_current(provider, state)) {
            return provider;
        }
    }
    uint64_t hash = hash_target(target, state, generation);
    uint64_t *entry = &cache[hash % CACHE];
    uint64_t word = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
    bool hit = word != 0 && (word & ~NUMBER_MASK) == (hash & ~NUMBER_MASK) && is_current(at(word & NUMBER_MASK), state);
    uint32_t number = hit ? (uint32_t)(word & NUMBER_MASK) : look_up(state, rules, target);
    if (!hit) {
        __atomic_store_n(entry, (hash & ~NUMBER_MASK) | number, __ATOMIC_RELEASE);
    }
    note_latest(target, state, generation, number);
    return at(number);
}

bool provider_undecided(const struct rules_target *target)
{
    uint32_t generation;
    const struct rules *rules = target->address == NULL && ready() != NULL ? config_rules(&generation) : NULL;
    struct rules_match match;
    return rules != NULL && (rules_match(rules, target, &match), match.undecided);
}

bool provider_any(void)
{
    uint32_t generation;
    return ready() != NULL && config_rules(&generation) != NULL;
}

bool provider_has_unix(void)
{
    uint32_t generation;
    const struct rules *rules = config_rules(&generation);
    return rules != NULL && rules_has_unix(rules);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Writing a line of log must not be where a thread is cancelled: half of a hook's work would be left undone. */
static void put(struct state *state, struct event *event)
{
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    log_event(state, event);
    pthread_setcancelstate(cancel, NULL);
}

/* kept: in the region's ring too, and not only in the log. */
static void tell(struct state *state, bool kept, enum event_what what, const char *name, enum prebreak_policy policy,
                 const struct breaker_change *change)
{
    struct event event;
    event_begin(&event, state, what, name);
    if (change != NULL) {
        event.change = *change;
    }
    event.policy = policy;
    event.mode = process_mode(state);
    put(kept ? state : NULL, &event);
}

void provider_tell(const struct provider *provider, const struct breaker_change *change)
{
    if (change->from != change->to) {
        tell(provider->state, true, EVENT_PHASE, provider->name, provider->settings.breaker.policy, change);
    }
}

void provider_tell_slot(struct state *state, int slot, const struct breaker_change *change)
{
    struct prebreak_settings settings;
    struct breaker breaker;
    char name[PREBREAK_NAME];
    if (change->from != change->to && state_name(state, slot, name) &&
        state_breaker(state, slot, NULL, &settings, &breaker)) {
        tell(state, true, EVENT_PHASE, name, settings.policy, change);
    }
}

#define REFUSED_EVERY_NS (10 * SECOND_NS)
#define QUOTA_EVERY_NS   (60 * SECOND_NS)

/* Is it time to tell something again, that was last told at *word? Moves that, so that one of all processes tells. */
static bool due_again(prebreak_word *word, uint64_t since, uint64_t now, uint64_t every)
{
    uint64_t last = __atomic_load_n(word, __ATOMIC_RELAXED);
    bool due = last < since || last > now || now - last >= every;
    return due && __atomic_compare_exchange_n(word, &last, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/*
 * Is this refusal to be kept in the ring? Of each provider the first since its breaker changed, then one in ten seconds:
 * a thousand one-shot processes that are refused, each once, must not push the changes of phase out of it.
 */
static bool refused_kept(const struct provider *provider, uint64_t since, uint64_t now)
{
    return due_again(&provider->state->region->slot[provider->slot].refused_told, since, now, REFUSED_EVERY_NS);
}

void provider_tell_quota(const struct provider *provider)
{
    prebreak_word *word = &provider->state->region->slot[provider->slot].quota_told;
    if (due_again(word, 1, process_now(), QUOTA_EVERY_NS)) {
        tell(provider->state, true, EVENT_QUOTA, provider->name, provider->settings.breaker.policy, NULL);
    }
}

void provider_tell_refused(struct provider *provider)
{
    uint64_t now = __atomic_load_n(&provider->breaker.words->state, __ATOMIC_RELAXED);
    uint64_t last = __atomic_load_n(&provider->told, __ATOMIC_RELAXED);
    if (__builtin_expect(last == now, 1) ||
        !__atomic_compare_exchange_n(&provider->told, &last, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        return;
    }
    uint64_t clock = process_now();
    struct breaker_view view;
    breaker_view(&provider->breaker, clock, state_held(provider->state, provider->name, clock), &view);
    struct breaker_change change = {
        .from = view.phase,
        .to = view.phase,
        .ok = (uint32_t)view.ok,
        .failed = (uint32_t)view.failed,
        .refused = (uint32_t)view.refused,
        .drop = (uint32_t)(view.drop * 65535),
    };
    bool kept = refused_kept(provider, view.since, clock);
    tell(provider->state, kept, EVENT_REFUSED, provider->name, provider->settings.breaker.policy, &change);
}
