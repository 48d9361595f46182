/*
 * What the files of src/state/ know of each other: finding out whether a file is a region that can be used (check.c),
 * making one (build.c), mapping it (map.c), and what the system says about this machine and its processes (process.c).
 */
#ifndef STATE_INTERNAL_H
#define STATE_INTERNAL_H

#include "real/real.h"
#include "state/state.h"
#include <sys/stat.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

/* ---- text.c ------------------------------------------------------------------------------------------------------ */

/* A text with its final NUL appended to a buffer of `size` at `at`; the new end, or `size` if it does not fit. */
size_t text_append(char *buffer, size_t size, size_t at, const char *text);
size_t text_append_number(char *buffer, size_t size, size_t at, uint64_t number, unsigned base);

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

/* 0 where the clock cannot be read. */
static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    return real_clock_gettime(clock, &now) == 0 ? (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec : 0;
}

/* ---- check.c: nothing here changes anything --------------------------------------------------------------------- */

/* The hash of this machine's boot id and the inode of our time namespace; 0 where /proc does not tell. */
void check_machine(uint64_t *boot, uint64_t *time_ns);

/*
 * Opens what stands at the path if it is a plain file of this user's that nobody else can touch. *status is of what
 * stands there, with st_ino 0 if it could not be seen.
 */
enum state_trouble check_open(const char *path, uid_t uid, struct stat *status, int *fd);

/*
 * Is it a region that this process can map? STATE_OTHER_BOOT with *earlier: one of an earlier boot of this machine.
 * *header is what was read of it: magic is right unless STATE_SHORT or STATE_GARBAGE.
 */
enum state_trouble check_region(int fd, const struct stat *status, struct prebreak_header *header, bool *earlier);

/* One hold of an unmapped region, name checked. */
bool check_hold(int fd, int index, struct prebreak_hold *hold);

/* ---- build.c ---------------------------------------------------------------------------------------------------- */

/*
 * Builds a region and puts it at the path: over what is there, or only if nothing is. Mode and holds come from the
 * region open at `old`, -1: none. STATE_SOUND also when somebody else's now stands there: look what it is.
 */
enum state_trouble build_region(const char *path, bool over, int old);

/* The header of a fresh region. */
void build_header(struct prebreak_header *header);

/* Makes sure that the first `size` bytes of a file are there to be written; the file grows to that. */
enum state_trouble build_reserve(int fd, uint64_t size);

/* ---- map.c ------------------------------------------------------------------------------------------------------ */

/* The region in a checked file, mapped, or as it was mapped before (not *fresh). NULL: no memory. */
struct prebreak_region *map_file(int fd, const struct stat *status, bool *fresh);
/* This process's private region, one for good. NULL: no memory. */
struct prebreak_region *map_private(void);
/* Its file was cut short: memory of our own takes its place, where it is mapped. */
void map_cover(struct prebreak_region *region);
/* One state less uses it: unmapped with the last one. */
void map_drop(struct prebreak_region *region);

/* ---- process.c -------------------------------------------------------------------------------------------------- */

uint32_t process_namespace(void);
/* Is the process alive, and did it start at `started` (CLOCK_BOOTTIME ns) or before? True also where that cannot be
 * told. */
bool process_alive(uint32_t pid, uint64_t started);

/* ---- hold.c, look.c --------------------------------------------------------------------------------------------- */

/* The state word of a hold on a name. */
uint64_t hold_word(uint64_t seed, const char *name, size_t length, enum prebreak_phase phase);
/* Frees holds that have run out. */
void hold_sweep(struct prebreak_region *region, uint64_t now);
/* This process takes up a region; or was forked just now. */
void look_begin(void);
void look_forked(void);
/* Frees the calls that stand in the region under this process's pid since before that. */
void look_disown(struct state *state);

#endif
