/*
 * The shared region of one user: found, checked, built and mapped here, and everything in it but the breakers' words.
 *
 * A region is built whole under a temporary name and linked into place, so that nobody ever sees half of one. Whatever
 * is not ours, not sound or of another version is never changed; then the state is private to this process and its
 * forks, and works the same. No function here allocates, uses stdio, takes a lock or prints.
 *
 * All functions leave errno as it was. Those marked "hook path" make no system call; the others make a few. All may be
 * called from any thread and from a signal handler.
 */
#ifndef STATE_STATE_H
#define STATE_STATE_H

#include "breaker/breaker.h"
#include <prebreak/region.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STATE_PATH 256

/* Why a region could not be shared: for `prebreak state` and one event. */
enum state_trouble {
    STATE_SOUND,
    STATE_PRIVATE,    /* asked for */
    STATE_ABSENT,     /* there is none (only where it was not to be created) */
    STATE_FORBIDDEN,  /* cannot be opened or created */
    STATE_NOT_OURS,   /* somebody else owns it */
    STATE_EXPOSED,    /* others may read or write it */
    STATE_NOT_A_FILE, /* symlink, directory, device */
    STATE_SHORT,      /* truncated */
    STATE_GARBAGE,    /* no magic, or fields that make no sense */
    STATE_OTHER_VERSION,
    STATE_OTHER_BOOT, /* of another machine or time namespace; one of an earlier boot of this machine is replaced */
    STATE_FULL_DISK,  /* no space, or over RLIMIT_FSIZE, or a file system that cannot reserve any */
    STATE_NO_MEMORY,  /* neither memory nor a file descriptor to be had: tried again after a minute */
    STATE_TROUBLES
};
const char *state_trouble_text(enum state_trouble trouble);

struct state;
/* The same with what was found there and what was expected, where that says more. Returns buffer. */
char *state_trouble_say(const struct state *state, char *buffer, size_t size);

struct state {
    struct prebreak_region *region; /* NULL: nothing could be had, pass everything */
    bool shared;
    bool versioned; /* what is mapped stands at PATH.v1, beside a region of another version */
    enum state_trouble trouble;
    uid_t uid;             /* effective, when it was opened */
    dev_t device;          /* of what was seen at the path then, */
    ino_t inode;           /* sound or not; 0: nothing */
    uid_t owner;           /* of that, */
    mode_t mode;           /* and its permissions */
    dev_t place_device;    /* of the directory that it was seen in */
    ino_t place_inode;     /* 0: it could not be seen */
    uint64_t opened;       /* CLOCK_MONOTONIC, ns */
    uint32_t pid, pid_ns;  /* of this process, for struct breaker_caller */
    char path[STATE_PATH]; /* as asked for, or the default of this uid */
};

enum state_open {
    STATE_CREATE, /* map it, or build it, or be private: the library's way. Always leaves a usable state if memory is to
                     be had */
    STATE_EXISTING /* map it read-write or say why not: the command's way */
};

/*
 * path: PREBREAK_STATE's value, NULL or empty for /dev/shm/prebreak-UID of the effective uid, "private" for none.
 * Returns STATE_SOUND if shared; else the trouble, and with STATE_CREATE a private region. A region of another version
 * at the path is left alone, and PATH.v1 (our version) is used beside it.
 *
 * A process may open as often as it likes: what it has mapped once (a file, or its private region) it maps never again,
 * so that one which changes its uid to and fro does not fill its address space. When it first maps a region, the
 * calls that stand there under its pid (another process had the number before) are freed as neutral.
 */
enum state_trouble state_open(struct state *state, const char *path, enum state_open how);
/*
 * Is another file to be mapped instead: replaced at its path, removed from it or cut short, the effective uid changed, or
 * memory or a descriptor missing a minute ago? Then state_open() into another struct state. Where not even its directory is
 * any more (a changed root), nothing is to be done. Two stats at most.
 *
 * Touching a page that was cut off would be a SIGBUS: what was mapped of it is taken over by memory of our own first. That
 * saves whoever was idle meanwhile; nothing can save who was not, and so the library never truncates.
 */
bool state_stale(const struct state *state);
/* Unmaps, unless another state is open on the same file: for the command, the library never does. */
void state_close(struct state *state);
/*
 * Builds a fresh region, carries mode and holds over from the one in use if that is of this boot, renames it over the
 * path and marks the old one retired; one of our version that stood beside it goes. Acts as the effective user; refuses
 * what belongs to another one, and what is no file or symlink.
 */
enum state_trouble state_recreate(const char *path);
/* After fork: this process's pid; a private region stays shared with the parent. */
void state_forked(struct state *state);

/*
 * The slot of a provider with these settings: found, or claimed. -1: the table is full (counted), or the name or
 * settings are not sound: pass through. `nameless`: a host named after itself, limited to PREBREAK_SLOTS_NAMELESS,
 * whose idle slots may be taken over. `now` is CLOCK_MONOTONIC ns. Hook path, but for once per provider: it may look at
 * every slot.
 */
int state_slot(struct state *state, const char *name, const struct prebreak_settings *settings, bool nameless,
               uint64_t now);
/*
 * Whose slot it is: a word that changes only when a nameless slot that was idle for an hour is given to another host.
 * Who keeps a slot's number keeps this beside it, and asks state_slot() again when it has changed. One load. Hook path.
 */
uint64_t state_identity(const struct state *state, int slot);
/* The breaker in a slot, with the settings given (the caller's own), or with settings NULL those of the slot once
 * copied into *copy and found sound. False: free, unfinished or unsound. */
bool state_breaker(struct state *state, int slot, const struct prebreak_settings *settings,
                   struct prebreak_settings *copy, struct breaker *breaker);
/* The name in a slot, checked and NUL-terminated, into name[PREBREAK_NAME]. False as above. */
bool state_name(struct state *state, int slot, char *name);

/* Holds, by provider name. `phase` is PREBREAK_HELD_OPEN or PREBREAK_HELD_CLOSED; `until` CLOCK_MONOTONIC ns, 0: for
 * good. False: no room, or no name. */
bool state_hold(struct state *state, const char *name, enum prebreak_phase phase, uint64_t until);
bool state_release(struct state *state, const char *name); /* false: was not held */
/* PREBREAK_CLOSED: no hold. One load when none is set at all. Hook path. */
enum prebreak_phase state_held(struct state *state, const char *name, uint64_t now);
/* The hold at an index 0..PREBREAK_HOLDS-1, for listings. False: there is none, or it has run out. */
bool state_hold_at(struct state *state, int index, uint64_t now, char *name, enum prebreak_phase *phase,
                   uint64_t *until);

/* The operator's mode for all processes; PREBREAK_MODE_ENV: each as its environment says. Hook path. */
enum prebreak_mode state_mode(const struct state *state);
void state_set_mode(struct state *state, enum prebreak_mode mode);

/* This process is here: for `prebreak_processes`. No more than a few tries: a full table leaves it out. */
void state_enrol(struct state *state);
/* Number of those that live, in this pid namespace. Looks at every one: for the command. */
uint32_t state_processes(struct state *state);

/*
 * The look at overdue calls of the whole region (breaker/inflight.h), at most once a second by one caller: `told` is
 * called with each change of phase that comes of it. Frees holds that have run out. Asks the system about at most 16
 * processes.
 */
typedef void state_told(void *context, int slot, const struct breaker_change *change);
void state_look(struct state *state, const struct breaker_caller *who, state_told *told, void *context);

/* Is this a provider's name: 1..PREBREAK_NAME-1 of [A-Za-z0-9._@:/[-], or a closing bracket? Its length, 0: no. */
size_t state_name_sound(const char *name);

/* Hash used for identities and names (SipHash-2-4): 64 bits, never 0. Hook path. */
uint64_t state_hash(uint64_t seed, const void *bytes, size_t length);

#endif
