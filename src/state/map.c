/*
 * What this process has mapped. The library never unmaps, since a call in flight may be anywhere; so that nothing piles
 * up, what was mapped once is found again.
 */
#include "real/real.h"
#include "state/internal.h"
#include "state/words.h"

#define MAPS 16 /* files; a process that lives through more replacements maps the later ones without noting it */

static struct map {
    prebreak_word taken;
    dev_t device;
    ino_t inode; /* stays that file's own as long as it is mapped */
    struct prebreak_region *region;
    prebreak_word users; /* states that were opened on it */
} maps[MAPS];

static struct prebreak_region *private_region;

static void note(const struct stat *status, struct prebreak_region *region)
{
    for (int i = 0; i < MAPS; i++) {
        if (word_change(&maps[i].taken, 0, 1)) {
            maps[i].device = status->st_dev;
            maps[i].inode = status->st_ino;
            word_store(&maps[i].users, 1);
            __atomic_store_n(&maps[i].region, region, __ATOMIC_RELEASE);
            return;
        }
    }
}

static struct prebreak_region *map(int fd, int flags)
{
    void *region = real_mmap(NULL, sizeof(struct prebreak_region), PROT_READ | PROT_WRITE, flags, fd, 0);

    return region == MAP_FAILED ? NULL : region;
}

struct prebreak_region *map_file(int fd, const struct stat *status, bool *fresh)
{
    struct prebreak_region *region;

    *fresh = false;
    for (int i = 0; i < MAPS; i++) {
        region = __atomic_load_n(&maps[i].region, __ATOMIC_ACQUIRE);
        if (region && maps[i].device == status->st_dev && maps[i].inode == status->st_ino) {
            word_add(&maps[i].users, 1);
            return region;
        }
    }
    region = map(fd, MAP_SHARED);
    if (region) {
        *fresh = true;
        note(status, region);
    }
    return region;
}

struct prebreak_region *map_private(void)
{
    struct prebreak_region *none = NULL, *region = __atomic_load_n(&private_region, __ATOMIC_ACQUIRE);

    if (region) {
        return region;
    }
    region = map(-1, MAP_SHARED | MAP_ANONYMOUS); /* shared: with the children to come */
    if (!region) {
        return NULL;
    }
    build_header(&region->header);
    if (!__atomic_compare_exchange_n(&private_region, &none, region, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        real_munmap(region, sizeof *region);
        return none;
    }
    return region;
}

void map_cover(struct prebreak_region *region)
{
    for (int i = 0; i < MAPS; i++) {
        if (__atomic_load_n(&maps[i].region, __ATOMIC_ACQUIRE) == region) {
            maps[i].inode = 0; /* the file may grow again, and is mapped anew then */
        }
    }
    real_mmap(region, sizeof *region, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

void map_drop(struct prebreak_region *region)
{
    if (region == __atomic_load_n(&private_region, __ATOMIC_ACQUIRE)) {
        return; /* one for good */
    }
    for (int i = 0; i < MAPS; i++) {
        if (__atomic_load_n(&maps[i].region, __ATOMIC_ACQUIRE) != region) {
            continue;
        }
        if (__atomic_sub_fetch(&maps[i].users, 1, __ATOMIC_ACQ_REL) > 0) {
            return;
        }
        __atomic_store_n(&maps[i].region, NULL, __ATOMIC_RELEASE);
        word_store(&maps[i].taken, 0);
    }
    real_munmap(region, sizeof *region);
}
