/*
 * See attempt.h. A series is changed under a try-lock of its own, held for a few instructions; who does not get it goes
 * without the series. A call is ended only when nothing is held any more: that may write a line of log.
 */
#include "track/flow/attempt.h"
#include "real/real.h"
#include "track/process.h"
#include <string.h>

#define SERIES 128
#define REACH  16 /* places, from where its key says, in which a series may stand */

struct series {
    uint32_t busy; /* 1: being changed */
    uint32_t generation;
    uint32_t forks;   /* of the process that it belongs to */
    uint32_t pending; /* connects under way */
    uint64_t thread;
    uint64_t name;     /* key of name and port */
    uint64_t key;      /* of thread, name and port; 0: free */
    uint64_t at;       /* of the last failure or refusal, ns */
    uint64_t sequence; /* grows with every series: the younger of two is the one meant */
    struct call call;
    const struct provider *provider;
    uint32_t tried[NAMES_ADDRESSES];
    uint8_t tries;
    bool refused;
    bool won;              /* a connection has taken the call over */
    bool more;             /* further addresses are known that were not tried */
    uint8_t outcome, kind; /* of the last failure */
};

static struct series series[SERIES];
static uint64_t sequence;
static uint64_t lost_at; /* when a series last was left with all failed that it had tried, ns */

/* ---- one at a time ----------------------------------------------------------------------------------------------- */

static bool seize(struct series *one)
{
    for (unsigned spin = 0; spin < 64; spin++) {
        uint32_t idle = 0;
        if (__atomic_compare_exchange_n(&one->busy, &idle, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            return true;
        }
    }
    return false;
}

static void release(struct series *one)
{
    __atomic_store_n(&one->busy, 0, __ATOMIC_RELEASE);
}

/* Seized, if it is still the one that was meant. */
static struct series *seize_attempt(const struct attempt *attempt)
{
    if (attempt->number == 0 || attempt->number > SERIES) {
        return NULL;
    }
    struct series *one = &series[attempt->number - 1];
    if (!seize(one)) {
        return NULL;
    }
    if (one->generation != attempt->generation || one->key == 0 || one->forks != process_forks()) {
        release(one);
        return NULL;
    }
    return one;
}

/* What is left of a series when it is over: ended by conclude(), after its release. */
struct rest {
    struct call call;
    uint8_t outcome, kind;
};

static struct rest vacate(struct series *one)
{
    struct rest rest = {one->call, one->outcome, one->kind};
    one->call.provider = NULL;
    __atomic_store_n(&one->key, 0, __ATOMIC_RELAXED);
    return rest;
}

/* It ends as its last address did; where the call was taken over there is none to end. */
static void conclude(struct rest *rest)
{
    switch (rest->outcome) {
    case PREBREAK_OK:
        call_ok(&rest->call);
        break;
    case PREBREAK_FAILED:
        call_failed(&rest->call, rest->kind);
        break;
    default:
        call_neutral(&rest->call);
        break;
    }
}

/* ---- beginning --------------------------------------------------------------------------------------------------- */

static uint64_t name_key(const char *host, uint16_t port)
{
    uint64_t key = port;
    for (const char *byte = host; *byte != '\0'; byte++) {
        key = (key ^ (unsigned char)*byte) * UINT64_C(0x100000001b3);
    }
    return key;
}

static uint64_t thread_key(uint64_t name)
{
    uint64_t key = (name ^ (process_thread() * UINT64_C(0x9e3779b97f4a7c15))) * UINT64_C(0x100000001b3);
    key ^= key >> 31;
    return key != 0 ? key : 1;
}

static bool tried(const struct series *one, uint32_t address)
{
    for (unsigned i = 0; i < one->tries; i++) {
        if (one->tried[i] == address) {
            return true;
        }
    }
    return false;
}

static bool open_to_more(const struct series *one, uint64_t now)
{
    if (one->won) {
        return false;
    }
    return one->pending > 0 || (one->at <= now && now - one->at < ATTEMPT_LINGER_NS);
}

static void note_try(struct series *one, uint32_t address, const uint32_t *known, size_t count)
{
    if (one->tries < NAMES_ADDRESSES) {
        one->tried[one->tries++] = address;
    }
    one->more = false;
    for (size_t i = 0; i < count; i++) {
        one->more = one->more || !tried(one, known[i]);
    }
}

/* Over, or a child's memory of its parent's: its place may be had. */
static bool stale(const struct series *one, uint64_t now)
{
    return one->key == 0 || one->forks != process_forks() ||
           (one->pending == 0 && !(one->at <= now && now - one->at < ATTEMPT_LINGER_NS));
}

/*
 * The youngest series of this key that this address could carry on, seized. Older ones of the thread that failed or were
 * refused, and whose addresses are now being tried again, are over: a new call has begun.
 */
static struct series *find(uint64_t key, uint32_t address, const struct provider *provider, uint64_t now)
{
    struct series *best = NULL;
    for (unsigned i = 0; i < REACH; i++) {
        struct series *one = &series[(key + i) % SERIES];
        if (__atomic_load_n(&one->key, __ATOMIC_RELAXED) != key || !seize(one)) {
            continue;
        }
        bool fits = one->key == key && one->forks == process_forks() && one->provider == provider;
        if (fits && open_to_more(one, now) && !tried(one, address) &&
            (best == NULL || one->sequence > best->sequence)) {
            if (best != NULL) {
                release(best);
            }
            best = one;
            continue;
        }
        struct rest rest = {.call.provider = NULL};
        if (fits && one->pending == 0) {
            rest = vacate(one);
        }
        release(one);
        conclude(&rest);
    }
    return best;
}

/* A place for a new one, seized and emptied; what was left there goes to *rest. */
static struct series *claim(uint64_t key, uint64_t now, struct rest *rest)
{
    for (unsigned i = 0; i < REACH; i++) {
        struct series *one = &series[(key + i) % SERIES];
        if (!stale(one, now) || !seize(one)) {
            continue;
        }
        if (stale(one, now)) {
            if (one->key != 0 && one->forks == process_forks()) {
                *rest = vacate(one);
            }
            uint32_t generation = one->generation + 1;
            memset(&one->generation, 0, sizeof *one - offsetof(struct series, generation));
            one->generation = generation;
            return one;
        }
        release(one);
    }
    return NULL;
}

enum attempt_verdict attempt_begin(const char *host, const struct address *address, const struct provider *provider,
                                   uint64_t now, struct attempt *attempt)
{
    uint32_t known[NAMES_ADDRESSES];
    size_t count = names_addresses(host, known);
    attempt->number = 0;
    if (count < 2) {
        /* None, for a name that is known: another thread resolves it at this moment. */
        return count == 1 ? ATTEMPT_ALONE : ATTEMPT_CROWDED;
    }
    uint64_t name = name_key(host, address->port), key = thread_key(name);
    uint32_t hash = names_address_hash(address);
    enum attempt_verdict verdict;
    struct rest rest = {.call.provider = NULL};
    struct series *one = find(key, hash, provider, now);
    if (one != NULL) {
        verdict = one->refused ? ATTEMPT_REFUSED : ATTEMPT_PASS;
        one->pending += verdict == ATTEMPT_PASS;
    } else {
        one = claim(key, now, &rest);
        if (one == NULL) {
            return ATTEMPT_CROWDED;
        }
        one->forks = process_forks();
        one->provider = provider;
        one->thread = process_thread();
        one->name = name;
        one->sequence = __atomic_add_fetch(&sequence, 1, __ATOMIC_RELAXED);
        one->pending = 1;
        one->outcome = PREBREAK_NEUTRAL;
        __atomic_store_n(&one->key, key, __ATOMIC_RELAXED);
        verdict = ATTEMPT_FIRST;
    }
    note_try(one, hash, known, count);
    *attempt = (struct attempt){(uint32_t)(one - series) + 1, one->generation};
    release(one);
    conclude(&rest);
    return verdict;
}

void attempt_decided(const struct attempt *attempt, bool admitted, struct call *call, uint64_t now)
{
    struct series *one = seize_attempt(attempt);
    if (one == NULL) {
        return;
    }
    if (admitted) {
        one->call = *call;
        call->provider = NULL;
    } else {
        one->refused = true;
        one->pending = 0;
        one->at = now;
    }
    release(one);
}

/* ---- carried on otherwise ---------------------------------------------------------------------------------------- */

/* All that it tried failed a moment ago, and other addresses may answer yet. */
static bool lost(const struct series *one, const struct provider *provider, uint64_t now)
{
    return one->key != 0 && one->provider == provider && one->forks == process_forks() && one->pending == 0 &&
           !one->refused && open_to_more(one, now);
}

static bool lost_lately(uint64_t now)
{
    uint64_t at = __atomic_load_n(&lost_at, __ATOMIC_RELAXED);
    return at != 0 && at + ATTEMPT_LINGER_NS > now;
}

/* Takes the call of a series that is lost: of this thread's, or of this name whichever thread tried it (0: of no name). */
REAL_RARE static bool take_lost(const struct provider *provider, uint64_t name, uint64_t now, struct call *call)
{
    for (unsigned i = 0; i < SERIES; i++) {
        struct series *one = &series[i];
        if (!lost(one, provider, now) || !seize(one)) {
            continue;
        }
        bool meant = name != 0 ? one->name == name : one->thread == process_thread();
        bool found = meant && lost(one, provider, now) && one->call.provider != NULL;
        if (found) {
            *call = vacate(one).call;
        }
        release(one);
        if (found) {
            return true;
        }
    }
    return false;
}

bool attempt_resumed(const struct provider *provider, uint64_t now, struct call *call)
{
    return lost_lately(now) && take_lost(provider, 0, now, call);
}

/* Another address of the name answered: what other threads lost on its dead ones says nothing. */
static void forgive(const struct provider *provider, uint64_t name, uint64_t now)
{
    struct call call;
    while (lost_lately(now) && take_lost(provider, name, now, &call)) {
        call_neutral(&call);
    }
}

/* ---- ending ------------------------------------------------------------------------------------------------------ */

void attempt_won(struct attempt *attempt, struct call *call)
{
    struct series *one = seize_attempt(attempt);
    attempt->number = 0;
    if (one == NULL) {
        return;
    }
    if (!one->won) {
        *call = one->call;
        one->call.provider = NULL;
        one->won = true;
    }
    const struct provider *provider = one->provider;
    uint64_t name = one->name;
    if (--one->pending == 0) {
        (void)vacate(one);
    }
    release(one);
    forgive(provider, name, process_now());
}

void attempt_lost(struct attempt *attempt, enum prebreak_outcome outcome, enum prebreak_kind kind, uint64_t now)
{
    struct series *one = seize_attempt(attempt);
    attempt->number = 0;
    if (one == NULL) {
        return;
    }
    one->pending--;
    one->at = now;
    /* Neutral says nothing: the address before it told more. */
    if (outcome != PREBREAK_NEUTRAL) {
        one->outcome = outcome;
        one->kind = kind;
    }
    struct rest rest = {.call.provider = NULL};
    if (one->pending == 0 && (one->won || !one->more || one->outcome == PREBREAK_OK)) {
        rest = vacate(one);
    } else if (one->pending == 0) {
        __atomic_store_n(&lost_at, now, __ATOMIC_RELAXED);
    }
    release(one);
    conclude(&rest);
}

REAL_RARE void attempt_sweep(uint64_t now)
{
    if (__atomic_load_n(&sequence, __ATOMIC_RELAXED) == 0) {
        return;
    }
    for (unsigned i = 0; i < SERIES; i++) {
        struct series *one = &series[i];
        if (one->key == 0 || one->forks != process_forks() || one->pending > 0) {
            continue;
        }
        if ((now == UINT64_MAX || one->at + ATTEMPT_LINGER_NS <= now) && seize(one)) {
            struct rest rest = {.call.provider = NULL};
            if (one->key != 0 && one->pending == 0) {
                rest = vacate(one);
            }
            release(one);
            conclude(&rest);
        }
    }
}
