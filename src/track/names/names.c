/*
 * See names.h. Two tables, each entry under a sequence word that is odd while it is written: addresses with their names,
 * and names with their addresses. Everything in them is whole words, each written and read by one atomic operation.
 *
 * A writer that finds an entry being written gives up: its caller loses a name, nobody waits. The same would happen for
 * ever to an entry whose writer died in a fork; a child therefore counts those of its parent's as free (see claim()).
 */
#include "track/names/names.h"
#include "real/real.h"
#include "rules/rules.h"
#include "track/process.h"
#include <string.h>

#define WAYS        4 /* entries in which an address may stand */
#define SETS        256
#define RESOLUTIONS 1024
#define HOST_WORDS  ((NAMES_HOST + 7) / 8)

struct entry {
    uint64_t sequence;   /* see claim() */
    uint64_t used;       /* ns: when it was written, for choosing what to give up */
    uint64_t address[2]; /* its 16 bytes */
    uint64_t count;
    uint64_t hash[NAMES_PER_ADDRESS];
    uint64_t host[NAMES_PER_ADDRESS][HOST_WORDS]; /* the latest first */
};

struct resolution {
    uint64_t sequence;
    uint64_t hash; /* of the name */
    uint64_t count;
    uint64_t address[NAMES_ADDRESSES]; /* their hashes */
};

struct tables {
    struct entry entry[SETS][WAYS];
    struct resolution resolution[RESOLUTIONS];
};

static struct tables *tables; /* atomic; mapped when the first name is resolved */

/* The calling thread's latest names, the latest first. */
static __thread uint64_t latest[4];

/* ---- words ------------------------------------------------------------------------------------------------------- */

static uint64_t get(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static void put(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static void copy_host(uint64_t *to, const uint64_t *from)
{
    for (unsigned i = 0; i < HOST_WORDS; i++) {
        put(&to[i], get(&from[i]));
    }
}

static void put_host(uint64_t *to, const char *host)
{
    uint64_t words[HOST_WORDS] = {0};
    memcpy(words, host, strlen(host));
    copy_host(to, words);
}

static void get_host(char host[NAMES_HOST], const uint64_t *from)
{
    uint64_t words[HOST_WORDS];
    copy_host(words, from);
    memcpy(host, words, NAMES_HOST);
    host[NAMES_HOST - 1] = '\0';
}

static size_t count_of(const uint64_t *count, size_t most)
{
    uint64_t found = get(count);
    return found < most ? (size_t)found : most;
}

static uint64_t hash_host(const char *host)
{
    return process_hash(host, strlen(host));
}

uint32_t names_address_hash(const struct address *address)
{
    return (uint32_t)process_hash(address->bytes, sizeof address->bytes);
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static struct tables *get_tables(bool make)
{
    struct tables *found = __atomic_load_n(&tables, __ATOMIC_ACQUIRE);
    if (found != NULL || !make || process_confined()) {
        return found;
    }
    void *fresh =
        real_mmap(NULL, sizeof *tables, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fresh == MAP_FAILED) {
        return NULL;
    }
    if (__atomic_compare_exchange_n(&tables, &found, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return fresh;
    }
    real_munmap(fresh, sizeof *tables);
    return found;
}

void names_prepare(void)
{
    (void)get_tables(true);
}

/*
 * Turns given to a writer that is at it: it needs a few hundred instructions, and without the name a call would belong
 * to nobody. No more than that, since it may be what a signal handler interrupted.
 */
#define TURNS 200

/* A sequence: process_forks() of its writer in the high half; the low one counts, and is odd while it is written. */
static uint64_t counted(uint64_t sequence, uint64_t writer, uint32_t steps)
{
    return writer << 32 | (uint32_t)(sequence + steps);
}

/* Makes a sequence odd. False: somebody of this process is at it; one of our parent's never comes back. */
static bool claim(uint64_t *sequence)
{
    uint64_t writer = process_forks();
    uint64_t now = __atomic_load_n(sequence, __ATOMIC_ACQUIRE);
    for (unsigned turn = 0; now % 2 != 0 && now >> 32 == writer; turn++) {
        if (turn == TURNS) {
            return false;
        }
        now = __atomic_load_n(sequence, __ATOMIC_ACQUIRE);
    }
    uint64_t odd = counted(now, writer, now % 2 != 0 ? 2 : 1);
    if (!__atomic_compare_exchange_n(sequence, &now, odd, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        return false;
    }
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return true;
}

static void publish(uint64_t *sequence)
{
    uint64_t now = __atomic_load_n(sequence, __ATOMIC_RELAXED);
    __atomic_store_n(sequence, counted(now, now >> 32, 1), __ATOMIC_RELEASE);
}

/* A read that began at `sequence` is good if that was even and still stands. */
static bool unchanged(const uint64_t *sequence, uint64_t began)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return began % 2 == 0 && __atomic_load_n(sequence, __ATOMIC_RELAXED) == began;
}

static struct entry *set_of(struct tables *in, const struct address *address)
{
    return in->entry[process_hash(address->bytes, sizeof address->bytes) % SETS];
}

static bool is_of(const struct entry *entry, const struct address *address)
{
    uint64_t words[2];
    memcpy(words, address->bytes, sizeof words);
    return get(&entry->address[0]) == words[0] && get(&entry->address[1]) == words[1];
}

static struct entry *find(const struct address *address)
{
    struct tables *in = get_tables(false);
    if (in == NULL) {
        return NULL;
    }
    struct entry *set = set_of(in, address);
    for (unsigned i = 0; i < WAYS; i++) {
        if (get(&set[i].count) != 0 && is_of(&set[i], address)) {
            return &set[i];
        }
    }
    return NULL;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Moves a name to the front of an entry that is claimed, in the place of itself or of the last one. */
static void to_front(struct entry *entry, const char *host, uint64_t hash)
{
    uint64_t count = get(&entry->count);
    uint64_t at = 0;
    while (at < count && get(&entry->hash[at]) != hash) {
        at++;
    }
    if (at == count) {
        if (count < NAMES_PER_ADDRESS) {
            put(&entry->count, count + 1);
        } else {
            at--;
        }
    }
    for (; at > 0; at--) {
        put(&entry->hash[at], get(&entry->hash[at - 1]));
        copy_host(entry->host[at], entry->host[at - 1]);
    }
    put(&entry->hash[0], hash);
    put_host(entry->host[0], host);
}

/* Is the name the entry's latest already? Then it is not written again: threads that read it would miss it meanwhile. */
static bool is_latest(const struct entry *entry, const struct address *address, const char *host, uint64_t hash)
{
    char known[NAMES_HOST];
    uint64_t began = __atomic_load_n(&entry->sequence, __ATOMIC_ACQUIRE);
    if (get(&entry->count) == 0 || get(&entry->hash[0]) != hash || !is_of(entry, address)) {
        return false;
    }
    get_host(known, entry->host[0]);
    return strcmp(known, host) == 0 && unchanged(&entry->sequence, began);
}

static void note_address(struct tables *in, const struct address *address, const char *host, uint64_t hash)
{
    struct entry *set = set_of(in, address);
    struct entry *entry = find(address);
    if (entry != NULL && is_latest(entry, address, host, hash)) {
        put(&entry->used, process_now());
        return;
    }
    if (entry == NULL) {
        entry = &set[0];
        for (unsigned i = 1; i < WAYS; i++) {
            if (get(&set[i].used) < get(&entry->used)) {
                entry = &set[i];
            }
        }
    }
    if (!claim(&entry->sequence)) {
        return;
    }
    if (!is_of(entry, address)) {
        uint64_t words[2];
        memcpy(words, address->bytes, sizeof words);
        put(&entry->address[0], words[0]);
        put(&entry->address[1], words[1]);
        put(&entry->count, 0);
    }
    put(&entry->used, process_now());
    to_front(entry, host, hash);
    publish(&entry->sequence);
}

/* The addresses' hashes, each once; how many. */
static size_t hash_all(const struct address *addresses, size_t count, uint32_t hashes[NAMES_ADDRESSES])
{
    size_t noted = 0;
    for (size_t i = 0; i < count && noted < NAMES_ADDRESSES; i++) {
        uint32_t address = names_address_hash(&addresses[i]);
        bool known = false;
        for (size_t j = 0; j < noted; j++) {
            known = known || hashes[j] == address;
        }
        if (!known) {
            hashes[noted++] = address;
        }
    }
    return noted;
}

/* The hashes of the addresses that a name was resolved to last; how many, 0: not known. */
static size_t read_name(const struct resolution *resolution, uint64_t hash, uint32_t hashes[NAMES_ADDRESSES])
{
    for (unsigned turn = 0; turn < TURNS; turn++) {
        uint64_t began = __atomic_load_n(&resolution->sequence, __ATOMIC_ACQUIRE);
        size_t count = count_of(&resolution->count, NAMES_ADDRESSES);
        for (size_t i = 0; i < count; i++) {
            hashes[i] = (uint32_t)get(&resolution->address[i]);
        }
        bool same = get(&resolution->hash) == hash;
        if (unchanged(&resolution->sequence, began)) {
            return same ? count : 0;
        }
    }
    return 0;
}

static void note_name(struct tables *in, uint64_t hash, const struct address *addresses, size_t count)
{
    struct resolution *resolution = &in->resolution[hash % RESOLUTIONS];
    uint32_t fresh[NAMES_ADDRESSES], known[NAMES_ADDRESSES];
    size_t noted = hash_all(addresses, count, fresh);
    if ((read_name(resolution, hash, known) == noted && memcmp(fresh, known, noted * sizeof *fresh) == 0) ||
        !claim(&resolution->sequence)) {
        return;
    }
    for (size_t i = 0; i < noted; i++) {
        put(&resolution->address[i], fresh[i]);
    }
    put(&resolution->hash, hash);
    put(&resolution->count, noted);
    publish(&resolution->sequence);
}

static void note_latest(uint64_t hash)
{
    unsigned at = 0;
    while (at < sizeof latest / sizeof latest[0] - 1 && latest[at] != hash) {
        at++;
    }
    memmove(latest + 1, latest, at * sizeof latest[0]);
    latest[0] = hash;
}

void names_resolved(const char *name, const struct address *addresses, size_t count)
{
    char host[NAMES_HOST];
    if (count == 0 || address_in_figures(name) ||
        !rules_fold_host(name, strnlen(name, NAMES_HOST + 1), host, sizeof host)) {
        return;
    }
    struct tables *in = get_tables(true);
    if (in == NULL) {
        return;
    }
    uint64_t hash = hash_host(host);
    for (size_t i = 0; i < count; i++) {
        note_address(in, &addresses[i], host, hash);
    }
    note_name(in, hash, addresses, count);
    note_latest(hash);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The position of the calling thread's latest name in an entry; 0 if it has none there. */
static size_t latest_in(const struct entry *entry, size_t count)
{
    for (size_t i = 0; i < sizeof latest / sizeof latest[0] && latest[i] != 0; i++) {
        for (size_t j = 0; j < count; j++) {
            if (get(&entry->hash[j]) == latest[i]) {
                return j;
            }
        }
    }
    return 0;
}

size_t names_of(const struct address *address, size_t index, char host[NAMES_HOST])
{
    for (unsigned turn = 0; turn < TURNS; turn++) {
        const struct entry *entry = find(address);
        if (entry == NULL) {
            return 0;
        }
        uint64_t began = __atomic_load_n(&entry->sequence, __ATOMIC_ACQUIRE);
        size_t count = count_of(&entry->count, NAMES_PER_ADDRESS);
        if (index < count) {
            size_t first = latest_in(entry, count);
            size_t from = index == 0 ? first : (index <= first ? index - 1 : index);
            get_host(host, entry->host[from]);
        }
        bool same = is_of(entry, address);
        if (unchanged(&entry->sequence, began)) {
            return same ? count : 0;
        }
    }
    return 0;
}

static bool has(const struct entry *entry, const char *host, uint64_t hash)
{
    size_t count = count_of(&entry->count, NAMES_PER_ADDRESS);
    for (size_t i = 0; i < count; i++) {
        char known[NAMES_HOST];
        if (get(&entry->hash[i]) == hash) {
            get_host(known, entry->host[i]);
            if (strcmp(known, host) == 0) {
                return true;
            }
        }
    }
    return false;
}

bool names_has(const struct address *address, const char *host)
{
    uint64_t hash = hash_host(host);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        const struct entry *entry = find(address);
        if (entry == NULL) {
            return false;
        }
        uint64_t began = __atomic_load_n(&entry->sequence, __ATOMIC_ACQUIRE);
        bool found = has(entry, host, hash) && is_of(entry, address);
        if (unchanged(&entry->sequence, began)) {
            return found;
        }
    }
    return false;
}

size_t names_addresses(const char *host, uint32_t hashes[NAMES_ADDRESSES])
{
    struct tables *in = get_tables(false);
    uint64_t hash = hash_host(host);
    return in != NULL ? read_name(&in->resolution[hash % RESOLUTIONS], hash, hashes) : 0;
}
