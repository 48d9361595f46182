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
    return map->l_name[0] != '\0' ? dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | flags) : NULL;
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
        dlclose(handle);
    }
    return function;
}

static void *resolve(const struct link_map *map, const char *name)
{
    void *handle = map != NULL ? object_open(map, 0) : NULL;
    void *function = NULL;

    if (handle != NULL) {
        function = pinned(dlsym(handle, name));
        dlclose(handle);
    }
    /* The main program; and an object that names no library of its own, which the loader binds as if it were. */
    return function != NULL ? function : pinned(dlsym(RTLD_NEXT, name));
}

/* ---- what was found, remembered ----------------------------------------------------------------------------------- */

#define REMEMBERED 64

/*
 * An object may be unloaded and another one be loaded in its place, even with the same link map: where its dynamic section
 * lies and what was asked for are compared too. An entry is written once, by the one who took it.
 */
static struct {
    const struct link_map *map; /* written last */
    const void *section;
    const char *name;
    void *function;
    uint32_t taken;
} remembered[REMEMBERED];

static bool recall(const struct link_map *map, const char *name, void **function)
{
    for (size_t i = 0; i < REMEMBERED; i++) {
        const struct link_map *entry = __atomic_load_n(&remembered[i].map, __ATOMIC_ACQUIRE);

        if (entry == map && remembered[i].section == map->l_ld && strcmp(remembered[i].name, name) == 0) {
            *function = remembered[i].function;
            return true;
        }
    }
    return false;
}

static void remember(const struct link_map *map, const char *name, void *function)
{
    for (size_t i = 0; i < REMEMBERED; i++) {
        if (__atomic_exchange_n(&remembered[i].taken, 1, __ATOMIC_RELAXED) == 0) {
            remembered[i].section = map->l_ld;
            remembered[i].name = name;
            remembered[i].function = function;
            __atomic_store_n(&remembered[i].map, map, __ATOMIC_RELEASE);
            return;
        }
    }
}

void *real_by_caller(const char *name, const void *caller)
{
    const struct link_map *map = object_of(caller);
    void *function = NULL;

    if (map == NULL) {
        return resolve(NULL, name);
    }
    if (!recall(map, name, &function)) {
        function = resolve(map, name);
        remember(map, name, function);
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

    dlclose(handle);
    return found != NULL && object_of(found) == map ? found : NULL;
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
