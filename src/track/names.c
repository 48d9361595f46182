/*
 * See names.h. Two tables, each entry under a sequence word that is odd while it is written: addresses with their names,
 * and names with their addresses.
 *
 * A writer that finds an entry being written gives up: its caller loses a name, nobody waits. The same would happen for
 * ever to an entry whose writer died in a fork; a child therefore starts with the memory of its parent but counts such
 * entries as free (see claim()).
 */
#include "track/names.h"
#include "real/real.h"
#include "rules/rules.h"
#include "track/process.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#define WAYS        4 /* entries in which an address may stand */
#define SETS        256
#define RESOLUTIONS 1024

struct entry {
    uint64_t sequence; /* odd: being written */
    uint64_t used;     /* ns: when it was written, for choosing what to give up */
    uint8_t address[16];
    uint32_t count;
    uint32_t writer; /* process_forks() of who writes */
    uint64_t hash[NAMES_PER_ADDRESS];
    char host[NAMES_PER_ADDRESS][NAMES_HOST]; /* the latest first */
};

struct resolution {
    uint64_t sequence;
    uint64_t hash; /* of the name */
    uint32_t count, writer;
    uint32_t address[NAMES_ADDRESSES];
};

struct tables {
    struct entry entry[SETS][WAYS];
    struct resolution resolution[RESOLUTIONS];
};

static struct tables *tables; /* atomic; mapped when the first name is resolved */

/* The calling thread's latest names, the latest first. */
static __thread uint64_t latest[4];

/* ---- hashes ------------------------------------------------------------------------------------------------------- */

/* FNV-1a: names are told apart by it, and a collision would show one name as two that are equal: nothing worse. */
static uint64_t hash_bytes(const void *bytes, size_t length)
{
    const unsigned char *byte = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    }
    hash ^= hash >> 29;
    return hash != 0 ? hash : 1;
}

uint32_t names_address_hash(const struct address *address)
{
    return (uint32_t)hash_bytes(address->bytes, sizeof address->bytes);
}

/* ---- addresses ---------------------------------------------------------------------------------------------------- */

bool address_read(const struct sockaddr *sockaddr, size_t length, struct address *address)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    sa_family_t family;
    if (length < sizeof family) {
        return false;
    }
    memcpy(&family, &sockaddr->sa_family, sizeof family);
    if (family == AF_INET && length >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in in;
        memcpy(&in, sockaddr, sizeof in);
        memcpy(address->bytes, mapped, sizeof mapped);
        memcpy(address->bytes + 12, &in.sin_addr, 4);
        address->port = ntohs(in.sin_port);
        return true;
    }
    if (family == AF_INET6 && length >= 24) { /* the scope may be missing */
        struct sockaddr_in6 in = {0};
        memcpy(&in, sockaddr, length < sizeof in ? length : sizeof in);
        memcpy(address->bytes, &in.sin6_addr, 16);
        address->port = ntohs(in.sin6_port);
        return true;
    }
    return false;
}

struct network {
    uint8_t prefix[16];
    uint8_t bits;
};

static const struct network not_public[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0}, 104},            /* this network */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10}, 104},           /* private */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 100, 64}, 106},      /* shared */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127}, 104},          /* loopback */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 169, 254}, 112},     /* link-local */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 172, 16}, 108},      /* private */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 0}, 120},    /* protocol assignments */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2}, 120},    /* documentation */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 168}, 112},     /* private */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 18}, 111},      /* benchmarks */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 198, 51, 100}, 120}, /* documentation */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 203, 0, 113}, 120},  /* documentation */
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 224}, 99},           /* multicast and reserved */
};

static bool within(const uint8_t *address, const struct network *network)
{
    unsigned whole = network->bits / 8, rest = network->bits % 8;
    if (memcmp(address, network->prefix, whole) != 0) {
        return false;
    }
    return rest == 0 || (address[whole] ^ network->prefix[whole]) >> (8 - rest) == 0;
}

bool address_public(const struct address *address)
{
    static const struct network ipv4 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96};
    static const struct network global = {{0x20}, 3}; /* 2000::/3 is all that is handed out */
    static const struct network documentation = {{0x20, 0x01, 0x0d, 0xb8}, 32};
    if (!within(address->bytes, &ipv4)) {
        return within(address->bytes, &global) && !within(address->bytes, &documentation);
    }
    for (size_t i = 0; i < sizeof not_public / sizeof not_public[0]; i++) {
        if (within(address->bytes, &not_public[i])) {
            return false;
        }
    }
    return true;
}

bool address_in_figures(const char *host)
{
    struct in_addr in4;
    struct in6_addr in6;
    return inet_aton(host, &in4) != 0 || inet_pton(AF_INET6, host, &in6) == 1;
}

/* ---- entries ------------------------------------------------------------------------------------------------------ */

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

/* Makes a sequence odd. False: somebody of this process is at it; one of our parent's never comes back. */
static bool claim(uint64_t *sequence, uint32_t *writer)
{
    uint64_t now = __atomic_load_n(sequence, __ATOMIC_ACQUIRE);
    if (now % 2 != 0 && __atomic_load_n(writer, __ATOMIC_RELAXED) == process_forks()) {
        return false;
    }
    uint64_t odd = now % 2 != 0 ? now + 2 : now + 1;
    if (!__atomic_compare_exchange_n(sequence, &now, odd, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        return false;
    }
    __atomic_store_n(writer, process_forks(), __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return true;
}

static void publish(uint64_t *sequence)
{
    __atomic_store_n(sequence, __atomic_load_n(sequence, __ATOMIC_RELAXED) + 1, __ATOMIC_RELEASE);
}

/* A read that began at `sequence` is good if that was even and still stands. */
static bool unchanged(const uint64_t *sequence, uint64_t began)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return began % 2 == 0 && __atomic_load_n(sequence, __ATOMIC_RELAXED) == began;
}

static struct entry *set_of(struct tables *in, const struct address *address)
{
    return in->entry[hash_bytes(address->bytes, sizeof address->bytes) % SETS];
}

static struct entry *find(const struct address *address)
{
    struct tables *in = get_tables(false);
    if (in == NULL) {
        return NULL;
    }
    struct entry *set = set_of(in, address);
    for (unsigned i = 0; i < WAYS; i++) {
        if (set[i].count != 0 && memcmp(set[i].address, address->bytes, sizeof set[i].address) == 0) {
            return &set[i];
        }
    }
    return NULL;
}

/* ---- writing ------------------------------------------------------------------------------------------------------ */

/* Moves a name to the front of an entry that is claimed, in the place of itself or of the last one. */
static void to_front(struct entry *entry, const char *host, uint64_t hash)
{
    unsigned at = 0;
    while (at < entry->count && entry->hash[at] != hash) {
        at++;
    }
    if (at == entry->count) {
        if (entry->count < NAMES_PER_ADDRESS) {
            entry->count++;
        } else {
            at--;
        }
    }
    memmove(entry->hash + 1, entry->hash, at * sizeof entry->hash[0]);
    memmove(entry->host + 1, entry->host, at * sizeof entry->host[0]);
    entry->hash[0] = hash;
    memcpy(entry->host[0], host, strlen(host) + 1);
}

static void note_address(struct tables *in, const struct address *address, const char *host, uint64_t hash)
{
    struct entry *set = set_of(in, address);
    struct entry *entry = find(address);
    if (entry == NULL) {
        entry = &set[0];
        for (unsigned i = 1; i < WAYS; i++) {
            if (set[i].used < entry->used) {
                entry = &set[i];
            }
        }
    }
    if (!claim(&entry->sequence, &entry->writer)) {
        return;
    }
    if (memcmp(entry->address, address->bytes, sizeof entry->address) != 0) {
        memcpy(entry->address, address->bytes, sizeof entry->address);
        entry->count = 0;
    }
    entry->used = process_now();
    to_front(entry, host, hash);
    publish(&entry->sequence);
}

static void note_name(struct tables *in, uint64_t hash, const struct address *addresses, size_t count)
{
    struct resolution *resolution = &in->resolution[hash % RESOLUTIONS];
    if (!claim(&resolution->sequence, &resolution->writer)) {
        return;
    }
    resolution->hash = hash;
    resolution->count = 0;
    for (size_t i = 0; i < count && resolution->count < NAMES_ADDRESSES; i++) {
        uint32_t address = names_address_hash(&addresses[i]);
        bool known = false;
        for (unsigned j = 0; j < resolution->count; j++) {
            known = known || resolution->address[j] == address;
        }
        if (!known) {
            resolution->address[resolution->count++] = address;
        }
    }
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
    uint64_t hash = hash_bytes(host, strlen(host));
    for (size_t i = 0; i < count; i++) {
        note_address(in, &addresses[i], host, hash);
    }
    note_name(in, hash, addresses, count);
    note_latest(hash);
}

/* ---- reading ------------------------------------------------------------------------------------------------------ */

/* The position of the calling thread's latest name in an entry; 0 if it has none there. */
static size_t latest_in(const struct entry *entry, size_t count)
{
    for (size_t i = 0; i < sizeof latest / sizeof latest[0] && latest[i] != 0; i++) {
        for (size_t j = 0; j < count; j++) {
            if (entry->hash[j] == latest[i]) {
                return j;
            }
        }
    }
    return 0;
}

size_t names_of(const struct address *address, size_t index, char host[NAMES_HOST])
{
    const struct entry *entry = find(address);
    if (entry == NULL) {
        return 0;
    }
    uint64_t began = __atomic_load_n(&entry->sequence, __ATOMIC_ACQUIRE);
    size_t count = entry->count < NAMES_PER_ADDRESS ? entry->count : NAMES_PER_ADDRESS;
    if (index < count) {
        size_t first = latest_in(entry, count);
        size_t from = index == 0 ? first : (index <= first ? index - 1 : index);
        memcpy(host, entry->host[from], NAMES_HOST);
        host[NAMES_HOST - 1] = '\0';
    }
    bool same = memcmp(entry->address, address->bytes, sizeof entry->address) == 0;
    return same && unchanged(&entry->sequence, began) ? count : 0;
}

bool names_has(const struct address *address, const char *host)
{
    const struct entry *entry = find(address);
    if (entry == NULL) {
        return false;
    }
    uint64_t hash = hash_bytes(host, strlen(host));
    uint64_t began = __atomic_load_n(&entry->sequence, __ATOMIC_ACQUIRE);
    bool has = false;
    for (size_t i = 0; i < entry->count && i < NAMES_PER_ADDRESS; i++) {
        has = has || (entry->hash[i] == hash && strncmp(entry->host[i], host, NAMES_HOST) == 0);
    }
    has = has && memcmp(entry->address, address->bytes, sizeof entry->address) == 0;
    return has && unchanged(&entry->sequence, began);
}

size_t names_addresses(const char *host, uint32_t hashes[NAMES_ADDRESSES])
{
    struct tables *in = get_tables(false);
    if (in == NULL) {
        return 0;
    }
    uint64_t hash = hash_bytes(host, strlen(host));
    const struct resolution *resolution = &in->resolution[hash % RESOLUTIONS];
    uint64_t began = __atomic_load_n(&resolution->sequence, __ATOMIC_ACQUIRE);
    size_t count = resolution->count < NAMES_ADDRESSES ? resolution->count : NAMES_ADDRESSES;
    memcpy(hashes, resolution->address, sizeof resolution->address);
    bool same = resolution->hash == hash;
    return same && unchanged(&resolution->sequence, began) ? count : 0;
}
