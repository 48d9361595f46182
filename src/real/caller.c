/*
 * Functions of a second library by the object that calls us.
 *
 * The dynamic loader knows which libcurl the caller would have got without us: the one that the caller's own dependencies
 * lead to. RTLD_NEXT does not: it finds nothing when the library came by a dlopen with RTLD_LOCAL (Python's modules), and
 * the wrong one when there are two.
 *
 * Asking the loader takes its lock and may allocate, which no hook on the path of a byte may do. It is done once for each
 * calling object and name, in functions that allocate and lock by their own nature (curl_easy_init and its like), and
 * remembered; what is remembered is found without a lock.
 */
#include "real/real.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

/* Lock-free and signal-safe, but only from glibc 2.35 on. */
#pragma weak _dl_find_object

/* ---- objects ------------------------------------------------------------------------------------------------------ */

static struct link_map *object_of(const void *address)
{
    union { /* the loader's functions want it without const, and do not write */
        const void *in;
        void *out;
    } at = {.in = address};

    if (_dl_find_object != NULL) {
        struct dl_find_object found;

        return _dl_find_object(at.out, &found) == 0 ? found.dlfo_link_map : NULL;
    }
    Dl_info info;
    struct link_map *map = NULL;

    return dladdr1(at.out, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 ? map : NULL;
}

/* A handle that keeps the object loaded, for as long as it is, or for good. NULL: it cannot be had. */
static void *object_open(const struct link_map *map, int flags)
{
    return map->l_name[0] != '\0' ? real_dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | flags) : NULL;
}

/* A function that we would return must not be one of our own hooks, and must not go away. */
static void *pinned(void *function)
{
    static const char here;
    struct link_map *map = function != NULL ? object_of(function) : NULL;

    if (map == NULL || map == object_of(&here)) {
        return NULL;
    }
    void *handle = object_open(map, RTLD_NODELETE);

    if (handle != NULL) {
        real_dlclose(handle);
    }
    return function;
}

static void *resolve(const struct link_map *map, const char *name)
{
    void *handle = map != NULL ? object_open(map, 0) : NULL;
    void *function = NULL;

    if (handle != NULL) {
        function = pinned(dlsym(handle, name));
        real_dlclose(handle);
    }
    /* The main program; and an object that names no library of its own, which the loader binds as if it were. */
    return function != NULL ? function : pinned(dlsym(RTLD_NEXT, name));
}

/* ---- what was found, remembered ----------------------------------------------------------------------------------- */

#define REMEMBERED 64

/*
 * What was found holds until an object is unloaded: another one may then lie in its place, even with the same link map and
 * dynamic section, as when a server loads its modules anew. An entry is changed by the one who took it, and read between
 * two looks at its stamp.
 */
static struct {
    uint64_t stamp; /* a new one for each time it is written; 0: never, or just now */
    uint32_t taken;
    uint32_t unloads; /* how many there had been */
    const struct link_map *map;
    const char *name;
    void *function;
} remembered[REMEMBERED];

static uint32_t unloads;
static uint64_t stamps;

#define LOAD(field)         __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define STORE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)

static bool recall(const struct link_map *map, const char *name, uint32_t now, void **function)
{
    for (size_t i = 0; i < REMEMBERED; i++) {
        uint64_t stamp = __atomic_load_n(&remembered[i].stamp, __ATOMIC_ACQUIRE);
        if (stamp == 0 || LOAD(remembered[i].map) != map || LOAD(remembered[i].unloads) != now) {
            continue;
        }
        const char *named = LOAD(remembered[i].name);
        void *found = LOAD(remembered[i].function);

        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (LOAD(remembered[i].stamp) == stamp && strcmp(named, name) == 0) {
            *function = found;
            return true;
        }
    }
    return false;
}

static void write_entry(size_t i, const struct link_map *map, const char *name, uint32_t now, void *function)
{
    STORE(remembered[i].stamp, 0);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    STORE(remembered[i].unloads, now);
    STORE(remembered[i].map, map);
    STORE(remembered[i].name, name);
    STORE(remembered[i].function, function);
    __atomic_store_n(&remembered[i].stamp, __atomic_add_fetch(&stamps, 1, __ATOMIC_RELAXED), __ATOMIC_RELEASE);
}

/* now: the unloads before it was looked for. Without room, or if there was one since, it is not kept. */
static void remember(const struct link_map *map, const char *name, uint32_t now, void *function)
{
    for (size_t i = 0; i < REMEMBERED && LOAD(unloads) == now; i++) {
        if (__atomic_exchange_n(&remembered[i].taken, 1, __ATOMIC_ACQUIRE) != 0) {
            continue;
        }
        bool free = LOAD(remembered[i].stamp) == 0 || LOAD(remembered[i].unloads) != now;

        if (free) {
            write_entry(i, map, name, now, function);
        }
        __atomic_store_n(&remembered[i].taken, 0, __ATOMIC_RELEASE);
        if (free) {
            return;
        }
    }
}

void real_unloaded(void)
{
    __atomic_add_fetch(&unloads, 1, __ATOMIC_RELEASE);
}

uint32_t real_unloads(void)
{
    return __atomic_load_n(&unloads, __ATOMIC_ACQUIRE);
}

void *real_by_caller(const char *name, const void *caller)
{
    uint32_t now = __atomic_load_n(&unloads, __ATOMIC_ACQUIRE);
    const struct link_map *map = object_of(caller);
    void *function = NULL;

    if (map == NULL) {
        return resolve(NULL, name);
    }
    if (!recall(map, name, now, &function)) {
        function = resolve(map, name);
        remember(map, name, now, function);
    }
    return function;
}

void *real_beside(const char *name, const void *function)
{
    const struct link_map *map = object_of(function);
    void *handle = map != NULL ? object_open(map, 0) : NULL;

    if (handle == NULL) {
        return NULL;
    }
    void *found = dlsym(handle, name);

    real_dlclose(handle);
    return found != NULL && object_of(found) == map ? found : NULL;
}

void *real_in_file(const char *file, const char *name)
{
    void *handle = real_dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
    void *function = NULL;

    if (handle != NULL) {
        function = pinned(dlsym(handle, name));
        real_dlclose(handle);
    }
    return function;
}

/* ---- where an object lies ----------------------------------------------------------------------------------------- */

/* Asked for each loaded object until one holds the address; widens the range that is asked about to the object's. */
static int find_range(struct dl_phdr_info *info, size_t size, void *context)
{
    struct real_range *range = context, object = {UINTPTR_MAX, 0};
    bool holds = false;

    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, to = from + info->dlpi_phdr[i].p_memsz;

        if (info->dlpi_phdr[i].p_type == PT_LOAD) {
            holds = holds || (range->from >= from && range->from < to);
            object.from = from < object.from ? from : object.from;
            object.to = to > object.to ? to : object.to;
        }
    }
    if (holds) {
        *range = object;
    }
    return holds ? 1 : 0;
}

struct real_range real_range_of(const void *address)
{
    struct real_range range = {(uintptr_t)address, (uintptr_t)address};

    (void)dl_iterate_phdr(find_range, &range);
    return range;
}

/* ---- what is loaded ----------------------------------------------------------------------------------------------- */

bool real_defines(const void *address, const char *name)
{
    const void *found = dlsym(RTLD_DEFAULT, name);

    return found != NULL && object_of(found) == object_of(address);
}

static int is_named(struct dl_phdr_info *info, size_t size, void *name)
{
    const char *slash = strrchr(info->dlpi_name, '/');

    (void)size;
    return strcmp(slash != NULL ? slash + 1 : info->dlpi_name, name) == 0;
}

bool real_is_loaded(const char *name)
{
    union { /* the loader's function wants it without const */
        const char *in;
        void *out;
    } text = {.in = name};

    return dl_iterate_phdr(is_named, text.out) != 0;
}

/* The library's own, by the linker; so is _DYNAMIC. */
extern __attribute__((visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;

uint16_t real_machine(void)
{
    return __ehdr_start.e_machine;
}

extern __attribute__((visibility("hidden"))) const char _end;

bool real_is_own(const void *address)
{
    return (uintptr_t)address >= (uintptr_t)&__ehdr_start && (uintptr_t)address < (uintptr_t)&_end;
}

/* Most loaders have put addresses into the dynamic section, some leave what the file says. */
static const void *own_table(int64_t tag)
{
    uintptr_t base = (uintptr_t)&__ehdr_start;

    for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == tag) {
            return (const void *)(entry->d_un.d_ptr < base ? base + entry->d_un.d_ptr : entry->d_un.d_ptr);
        }
    }
    return NULL;
}

const char *real_export(size_t index)
{
    /* buckets, first symbol, words of bloom, shift; bloom; buckets; chains */
    const uint32_t *hash = own_table(DT_GNU_HASH);
    const ElfW(Sym) *symbols = own_table(DT_SYMTAB);
    const char *strings = own_table(DT_STRTAB);

    if (hash == NULL || symbols == NULL || strings == NULL) {
        return NULL;
    }
    const uint32_t *buckets = hash + 4 + hash[2] * (sizeof(ElfW(Addr)) / sizeof *hash);
    const uint32_t *chains = buckets + hash[0];
    uint32_t last = 0;

    for (uint32_t i = 0; i < hash[0]; i++) {
        last = buckets[i] > last ? buckets[i] : last;
    }
    while (last >= hash[1] && (chains[last - hash[1]] & 1) == 0) {
        last++;
    }
    return index <= UINT32_MAX && hash[1] + index <= last ? strings + symbols[hash[1] + index].st_name : NULL;
}
