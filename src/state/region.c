/*
 * From PREBREAK_STATE to a mapped region: the file at the path if it can be shared, one built there if there is none,
 * and else a private one.
 */
#include "real/real.h"
#include "state/internal.h"
#include "state/words.h"
#include <errno.h>
#include <string.h>
#include <time.h>

#define RETRY_NS   (60 * NS_PER_S)
#define OPEN_TRIES 5 /* times that what stands at the path may change while it is being opened */

/* ---- paths ------------------------------------------------------------------------------------------------------ */

/* False: too long. */
static bool choose_path(const char *asked, uid_t uid, char path[STATE_PATH])
{
    size_t at;

    if (asked && *asked) {
        return text_append(path, STATE_PATH, 0, asked) < STATE_PATH;
    }
    at = text_append(path, STATE_PATH, 0, "/dev/shm/prebreak-");
    return text_append_number(path, STATE_PATH, at, uid, 10) < STATE_PATH;
}

/* Where a region of our version goes when one of another has the path. */
static bool versioned_path(const char *path, char versioned[STATE_PATH])
{
    size_t at = text_append(versioned, STATE_PATH, 0, path);

    at = text_append(versioned, STATE_PATH, at, ".v");
    return text_append_number(versioned, STATE_PATH, at, PREBREAK_REGION_VERSION, 10) < STATE_PATH;
}

/* The directory of a path; *status is all zero if it cannot be seen. */
static void look_at_place(const char *path, struct stat *status)
{
    char place[STATE_PATH];
    size_t length = 0;

    for (size_t at = 0; path[at]; at++) {
        place[at] = path[at];
        length = path[at] == '/' ? at + 1 : length; /* with its slash: the root has nothing else */
    }
    place[length] = '\0';
    if (length == 0 || real_stat(place, status) != 0) {
        memset(status, 0, sizeof *status);
    }
}

/* ---- sharing ---------------------------------------------------------------------------------------------------- */

/* What was found at a path. */
struct found {
    struct stat status;
    struct prebreak_header header;
    int fd;       /* -1: not opened */
    bool earlier; /* of an earlier boot */
};

static enum state_trouble find(const char *path, uid_t uid, struct found *found)
{
    enum state_trouble trouble = check_open(path, uid, &found->status, &found->fd);

    found->earlier = false;
    if (trouble == STATE_SOUND) {
        trouble = check_region(found->fd, &found->status, &found->header, &found->earlier);
    }
    return trouble;
}

static void leave(struct found *found)
{
    if (found->fd >= 0) {
        real_close(found->fd);
    }
    found->fd = -1;
}

/* Maps what was found sound. Its space is there unless somebody copied the file with holes: a SIGBUS to come. */
static enum state_trouble attach(struct state *state, const struct found *found, enum state_open how)
{
    bool fresh;

    if ((uint64_t)found->status.st_blocks * 512 < sizeof(struct prebreak_region)) {
        enum state_trouble trouble = build_reserve(found->fd, sizeof(struct prebreak_region));
        if (trouble != STATE_SOUND) {
            return trouble;
        }
    }
    look_begin();
    state->region = map_file(found->fd, &found->status, &fresh);
    /* Under our pid there is only what another process left that had the number, unless we were here before. */
    if (fresh && how == STATE_CREATE) {
        look_disown(state);
    }
    return state->region ? STATE_SOUND : STATE_NO_MEMORY;
}

/* Maps the region at a path, if need be after building it. `old`: whose mode and holds a new one takes over, -1
 * nobody's. */
static enum state_trouble share(struct state *state, const char *path, enum state_open how, int old,
                                struct found *found)
{
    enum state_trouble trouble;

    for (int tries = 0; tries < OPEN_TRIES; tries++) {
        trouble = find(path, state->uid, found);
        if (trouble == STATE_SOUND) {
            return attach(state, found, how);
        }
        if (how != STATE_CREATE || (trouble != STATE_ABSENT && !found->earlier)) {
            return trouble;
        }
        leave(found);
        trouble = build_region(path, trouble != STATE_ABSENT, old);
        if (trouble != STATE_SOUND) {
            return trouble;
        }
    }
    return STATE_FORBIDDEN;
}

/* Ours stands beside one of another version. Out of line: a stack frame of its own. */
static __attribute__((noinline)) enum state_trouble share_versioned(struct state *state, enum state_open how, int old)
{
    char path[STATE_PATH];
    struct found found = {.fd = -1};
    enum state_trouble trouble;

    if (!versioned_path(state->path, path)) {
        return STATE_OTHER_VERSION;
    }
    trouble = share(state, path, how, old, &found);
    leave(&found);
    return trouble == STATE_ABSENT ? STATE_OTHER_VERSION : trouble;
}

static enum state_trouble share_any(struct state *state, enum state_open how)
{
    struct found found = {.fd = -1};
    enum state_trouble trouble = share(state, state->path, how, -1, &found);

    struct stat place;

    state->device = found.status.st_dev;
    state->inode = found.status.st_ino;
    look_at_place(state->path, &place);
    state->place_device = place.st_dev;
    state->place_inode = place.st_ino;
    state->owner = found.status.st_uid;
    state->mode = found.status.st_mode;
    if (trouble == STATE_OTHER_VERSION) {
        trouble = share_versioned(state, how, found.fd);
        state->versioned = trouble == STATE_SOUND;
    }
    leave(&found);
    return trouble;
}

/* ---- the interface ---------------------------------------------------------------------------------------------- */

enum state_trouble state_open(struct state *state, const char *path, enum state_open how)
{
    int saved = errno;

    memset(state, 0, sizeof *state);
    state->uid = geteuid();
    state->pid = (uint32_t)getpid();
    state->pid_ns = process_namespace();
    state->opened = clock_ns(CLOCK_MONOTONIC);
    if (path && strcmp(path, "private") == 0) {
        state->trouble = STATE_PRIVATE;
    } else if (!choose_path(path, state->uid, state->path)) {
        state->path[0] = '\0';
        state->trouble = STATE_FORBIDDEN;
    } else {
        state->trouble = share_any(state, how);
    }
    state->shared = state->trouble == STATE_SOUND;
    if (!state->shared && how == STATE_CREATE) {
        state->region = map_private();
    }
    errno = saved;
    return state->trouble;
}

/* Nothing is at the path. Was it removed, or is the path another's by now? Out of line: a stack frame of its own. */
static __attribute__((noinline)) bool removed(const struct state *state)
{
    struct stat place;

    look_at_place(state->path, &place);
    return state->inode != 0 && place.st_ino != 0 && place.st_ino == state->place_inode &&
           place.st_dev == state->place_device;
}

static bool another_at_the_path(const struct state *state)
{
    struct stat status;

    if (real_lstat(state->path, &status) != 0) {
        return errno == ENOENT && removed(state);
    }
    if (status.st_ino != state->inode || status.st_dev != state->device) {
        return true;
    }
    if (state->shared && !state->versioned && (uint64_t)status.st_size < sizeof(struct prebreak_region)) {
        map_cover(state->region);
        return true;
    }
    return false;
}

bool state_stale(const struct state *state)
{
    int saved = errno;
    bool stale;

    if (!state->region || state->trouble == STATE_NO_MEMORY) {
        return clock_ns(CLOCK_MONOTONIC) - state->opened >= RETRY_NS || geteuid() != state->uid;
    }
    if (state->trouble == STATE_PRIVATE) {
        return false;
    }
    if (geteuid() != state->uid) {
        return true;
    }
    if (!state->path[0]) {
        return false;
    }
    stale = another_at_the_path(state);
    errno = saved;
    return stale;
}

void state_close(struct state *state)
{
    int saved = errno;

    if (state->region) {
        map_drop(state->region);
    }
    state->region = NULL;
    state->shared = false;
    errno = saved;
}

void state_forked(struct state *state)
{
    int saved = errno;

    state->pid = (uint32_t)getpid();
    state->pid_ns = process_namespace();
    look_forked();
    if (state->region) {
        look_disown(state);
    }
    errno = saved;
}

/* ---- replacing -------------------------------------------------------------------------------------------------- */

/* Tells the processes that have it mapped. The word stands at one place in every version. */
static void retire(int fd)
{
    const uint64_t yes = 1;

    if (real_pwrite(fd, &yes, sizeof yes, (off_t)offsetof(struct prebreak_region, header.retired)) < 0) {
        return; /* they will find another inode at the path, a second later */
    }
}

/* What stands in the way of replacing what was found, STATE_SOUND: nothing. */
static enum state_trouble replaceable(const struct found *found, enum state_trouble trouble, uid_t uid)
{
    if (trouble == STATE_ABSENT) {
        return STATE_SOUND;
    }
    if (found->status.st_ino == 0) {
        return trouble; /* not even seen */
    }
    if (found->status.st_uid != uid) {
        return STATE_NOT_OURS;
    }
    return S_ISREG(found->status.st_mode) || S_ISLNK(found->status.st_mode) ? STATE_SOUND : STATE_NOT_A_FILE;
}

/* Puts a fresh region over what was found; mode and holds come from `used`, NULL: from nobody. */
static enum state_trouble replace(const char *path, const struct found *found, const struct found *used)
{
    enum state_trouble trouble = build_region(path, true, used ? used->fd : -1);

    if (trouble == STATE_SOUND && used) {
        retire(used->fd);
    }
    if (trouble == STATE_SOUND && used != found && found->fd >= 0) {
        retire(found->fd);
    }
    return trouble;
}

/* The same where a region of our version is in use beside the one that was found. Out of line: a frame of its own. */
static __attribute__((noinline)) enum state_trouble replace_both(const char *path, uid_t uid, const struct found *found)
{
    char versioned[STATE_PATH];
    struct found beside = {.fd = -1};
    bool used = versioned_path(path, versioned) && find(versioned, uid, &beside) == STATE_SOUND;
    enum state_trouble trouble = replace(path, found, used ? &beside : found);

    if (trouble == STATE_SOUND && used) {
        real_unlink(versioned);
    }
    leave(&beside);
    return trouble;
}

enum state_trouble state_recreate(const char *asked)
{
    char path[STATE_PATH];
    struct found found = {.fd = -1};
    uid_t uid = geteuid();
    enum state_trouble seen, trouble;
    int saved = errno;

    if (asked && strcmp(asked, "private") == 0) {
        return STATE_PRIVATE;
    }
    if (!choose_path(asked, uid, path)) {
        return STATE_FORBIDDEN;
    }
    seen = find(path, uid, &found);
    trouble = replaceable(&found, seen, uid);
    if (trouble == STATE_SOUND && seen == STATE_OTHER_VERSION) {
        trouble = replace_both(path, uid, &found);
    } else if (trouble == STATE_SOUND) {
        trouble = replace(path, &found, seen == STATE_SOUND ? &found : NULL);
    }
    leave(&found);
    errno = saved;
    return trouble;
}
