/*
 * See ties.h.
 */
#include "track/tls/ties.h"
#include "track/flow/fdtable.h"
#include "track/flow/flow.h"
#include "track/process.h"
#include <string.h>

#define HELLOS  4096
#define OBJECTS 4096
/* How many places an entry may be in. None is ever skipped in a search, so giving one back leaves no trace. */
#define WINDOW 8

/* Pages come as they are used. In a forked child there are no ties: the connections are the parent's. */
struct tls_ties {
    uint64_t hellos[HELLOS]; /* marks, with some bits of the random where a mark has none */
    struct {
        uintptr_t key; /* 0: free */
        uint64_t tie;
    } objects[OBJECTS];
};

static struct tls_ties *ties(void)
{
    return __atomic_load_n(&fdtable.ties, __ATOMIC_ACQUIRE);
}

static struct tls_ties *ties_made(void)
{
    return fd_memory((void **)&fdtable.ties, sizeof(struct tls_ties));
}

void tls_ties_prepare(void)
{
    (void)ties_made();
}

/* ---- ClientHellos ------------------------------------------------------------------------------------------------ */

#define TAG_SHIFT 24
#define TAG_MASK  (UINT64_C(0xff) << TAG_SHIFT)

/* Nobody but the peer's server sees it before we do, but who knows what a program is made to send. */
static uint64_t hash_of(const uint8_t random[TLS_RANDOM])
{
    return process_hash(random, TLS_RANDOM);
}

static uint64_t tag_of(uint64_t hash)
{
    return hash >> 56 << TAG_SHIFT;
}

bool tls_hello_any(void)
{
    return ties() != NULL;
}

void tls_hello_note(const uint8_t random[TLS_RANDOM], uint64_t mark)
{
    struct tls_ties *now = ties_made();
    if (now == NULL) {
        return;
    }
    uint64_t hash = hash_of(random);
    uint64_t *place = &now->hellos[hash % HELLOS];
    for (unsigned i = 0; i < WINDOW; i++) {
        uint64_t *other = &now->hellos[(hash + i) % HELLOS];
        if (flow_of(__atomic_load_n(other, __ATOMIC_RELAXED) & ~TAG_MASK) == NULL) {
            place = other;
            break;
        }
    }
    __atomic_store_n(place, (mark & ~TAG_MASK) | tag_of(hash), __ATOMIC_RELEASE);
}

uint64_t tls_hello_next(const uint8_t random[TLS_RANDOM], unsigned *at)
{
    const struct tls_ties *now = ties();
    uint64_t hash = hash_of(random);
    while (now != NULL && *at < WINDOW) {
        uint64_t hello = __atomic_load_n(&now->hellos[(hash + *at) % HELLOS], __ATOMIC_ACQUIRE);
        (*at)++;
        if (hello != 0 && (hello & TAG_MASK) == tag_of(hash) && flow_of(hello & ~TAG_MASK) != NULL) {
            return hello & ~TAG_MASK;
        }
    }
    return 0;
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

/* They are malloc's: their low bits say little. */
static size_t first_place(uintptr_t key)
{
    return (size_t)((uint64_t)key * UINT64_C(0x9e3779b97f4a7c15) >> 40) % OBJECTS;
}

static size_t place_of(const struct tls_ties *now, uintptr_t key)
{
    size_t first = first_place(key);
    for (size_t i = 0; i < WINDOW; i++) {
        size_t place = (first + i) % OBJECTS;
        if (__atomic_load_n(&now->objects[place].key, __ATOMIC_ACQUIRE) == key) {
            return place;
        }
    }
    return OBJECTS;
}

uint64_t tls_tie(const void *object)
{
    const struct tls_ties *now = ties();
    if (now == NULL || object == NULL) {
        return 0;
    }
    size_t place = place_of(now, (uintptr_t)object);
    return place < OBJECTS ? __atomic_load_n(&now->objects[place].tie, __ATOMIC_RELAXED) : 0;
}

bool tls_tie_set(const void *object, uint64_t tie)
{
    struct tls_ties *now = ties_made();
    uintptr_t key = (uintptr_t)object;
    if (now == NULL || object == NULL) {
        return false;
    }
    size_t place = place_of(now, key);
    for (size_t i = 0; i < WINDOW && place == OBJECTS; i++) {
        size_t other = (first_place(key) + i) % OBJECTS;
        uintptr_t none = 0;
        if (__atomic_compare_exchange_n(&now->objects[other].key, &none, key, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            place = other;
        }
    }
    if (place < OBJECTS) {
        __atomic_store_n(&now->objects[place].tie, tie, __ATOMIC_RELAXED);
    }
    return place < OBJECTS;
}

void tls_tie_forget(const void *object)
{
    struct tls_ties *now = ties();
    size_t place = now != NULL && object != NULL ? place_of(now, (uintptr_t)object) : OBJECTS;
    if (place < OBJECTS) {
        __atomic_store_n(&now->objects[place].tie, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&now->objects[place].key, 0, __ATOMIC_RELEASE);
    }
}
