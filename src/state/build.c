/*
 * Building a region: whole and with all its space before anybody can see it.
 *
 * It begins as a file without a name (O_TMPFILE), so that a process which dies here leaves nothing behind; where there
 * is no such thing, or no /proc to name it by, under a name that nobody else uses.
 */
#include "real/real.h"
#include "state/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* ---- small things ----------------------------------------------------------------------------------------------- */

/* Good enough for seeds and names of files, and takes no system call: the kernel's gift to this process, and now. */
static uint64_t random_word(void)
{
    static prebreak_word drawn;
    uint64_t mix[5] = {clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_REALTIME), (uint64_t)getpid(),
                       __atomic_add_fetch(&drawn, 1, __ATOMIC_RELAXED), 0};
    uint64_t gift[2] = {0, 0};
    const void *given = (const void *)getauxval(AT_RANDOM);

    if (given) {
        memcpy(gift, given, sizeof gift);
    }
    mix[4] = gift[1];
    return state_hash(gift[0], mix, sizeof mix);
}

static enum state_trouble trouble_of(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EOPNOTSUPP:
    case ENOSYS:
    case EINTR:
        return STATE_FULL_DISK;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return STATE_NO_MEMORY;
    default:
        return STATE_FORBIDDEN;
    }
}

/* ---- space ------------------------------------------------------------------------------------------------------ */

#define RESERVE_STEP  UINT64_C(0x40000) /* so small that it ends between two ticks of a program's interval timer */
#define RESERVE_TRIES 100

enum state_trouble build_reserve(int fd, uint64_t size)
{
    struct rlimit limit;

    /* Over the limit the kernel would send SIGXFSZ to the program. */
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < size) {
        return STATE_FULL_DISK;
    }
    for (uint64_t at = 0; at < size; at += RESERVE_STEP) {
        uint64_t step = size - at < RESERVE_STEP ? size - at : RESERVE_STEP;
        int tries = 0;

        while (real_fallocate(fd, 0, (off_t)at, (off_t)step) != 0) {
            if (errno != EINTR || ++tries == RESERVE_TRIES) {
                return trouble_of(errno);
            }
        }
    }
    return STATE_SOUND;
}

/* ---- contents --------------------------------------------------------------------------------------------------- */

static bool write_whole(int fd, const void *buffer, size_t size, off_t at)
{
    const char *next = buffer;

    while (size > 0) {
        ssize_t put = real_pwrite(fd, next, size, at);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return false;
        }
        next += put;
        at += put;
        size -= (size_t)put;
    }
    return true;
}

/* Takes the holds over that stand in another region and have not run out. */
static bool carry_holds(int fd, int old, struct prebreak_header *header)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    for (int i = 0; i < PREBREAK_HOLDS; i++) {
        struct prebreak_hold hold;
        uint64_t how;

        if (!check_hold(old, i, &hold)) {
            continue;
        }
        how = hold.state & PREBREAK_HOLD_BUSY;
        if ((how != PREBREAK_HOLD_OPEN && how != PREBREAK_HOLD_CLOSED) || (hold.until && hold.until <= now)) {
            continue;
        }
        hold.state = hold_word(header->seed, hold.name, strlen(hold.name),
                               how == PREBREAK_HOLD_OPEN ? PREBREAK_HELD_OPEN : PREBREAK_HELD_CLOSED);
        if (!write_whole(fd, &hold, sizeof hold,
                         (off_t)(offsetof(struct prebreak_region, hold) + (size_t)i * sizeof hold))) {
            return false;
        }
        header->holds |= UINT64_C(1) << i;
    }
    return true;
}

void build_header(struct prebreak_header *header)
{
    memset(header, 0, sizeof *header);
    header->magic = PREBREAK_REGION_MAGIC;
    header->version = PREBREAK_REGION_VERSION;
    header->size = sizeof(struct prebreak_region);
    header->slots = PREBREAK_SLOTS;
    header->seed = random_word();
    header->created = clock_ns(CLOCK_REALTIME);
    check_machine(&header->boot, &header->time_ns);
}

/* A reserved file is all zeros, which is what everything but the header begins with. */
static enum state_trouble fill(int fd, int old)
{
    struct prebreak_header header, before;

    build_header(&header);
    if (old >= 0 && real_pread(old, &before, sizeof before, 0) == (ssize_t)sizeof before) {
        header.mode = before.mode < PREBREAK_MODES ? before.mode : PREBREAK_MODE_ENV;
        if (!carry_holds(fd, old, &header)) {
            return trouble_of(errno);
        }
    }
    return write_whole(fd, &header, sizeof header, 0) ? STATE_SOUND : trouble_of(errno);
}

/* Space, contents, and a mode that does not depend on the program's umask. */
static enum state_trouble finish(int fd, int old)
{
    enum state_trouble trouble = build_reserve(fd, sizeof(struct prebreak_region));

    if (trouble == STATE_SOUND) {
        trouble = fill(fd, old);
    }
    if (trouble == STATE_SOUND && real_fchmod(fd, S_IRUSR | S_IWUSR) != 0) {
        trouble = trouble_of(errno);
    }
    return trouble;
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

#define BUILD_PATH (STATE_PATH + 32)

/* A name beside the path that nobody else uses. False: too long. */
static bool spare_name(const char *path, char *name)
{
    size_t at = text_append(name, BUILD_PATH, 0, path);

    at = text_append(name, BUILD_PATH, at, ".");
    at = text_append_number(name, BUILD_PATH, at, random_word(), 16);
    return text_append(name, BUILD_PATH, at, ".new") < BUILD_PATH;
}

/* Opens a file without a name where the path is to be; -1 with errno. */
static int open_nameless(const char *path)
{
    char directory[STATE_PATH];
    const char *slash = strrchr(path, '/');
    size_t length = slash ? (size_t)(slash - path) : 0;

    if (!slash) {
        return real_open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    }
    if (length >= sizeof directory) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(directory, path, length);
    directory[length] = '\0';
    return real_open(length ? directory : "/", O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
}

/* The first name of a file that has none. */
static bool name_nameless(int fd, const char *path)
{
    char link[40];
    size_t at = text_append(link, sizeof link, 0, "/proc/self/fd/");

    text_append_number(link, sizeof link, at, (uint64_t)fd, 10);
    return real_linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

/* Moves a finished file from its spare name to the path. False with errno; the spare name is gone in any case. */
static bool place(const char *spare, const char *path, bool over)
{
    bool done = over ? real_rename(spare, path) == 0 : real_link(spare, path) == 0;
    int error = errno;

    if (!over || !done) {
        real_unlink(spare);
    }
    errno = error;
    return done;
}

/* ---- the two ways ----------------------------------------------------------------------------------------------- */

/* STATE_ABSENT: this way does not exist here. */
static enum state_trouble build_nameless(const char *path, const char *spare, bool over, int old)
{
    int fd = open_nameless(path);
    enum state_trouble trouble;

    if (fd < 0) {
        return errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL || errno == ENOENT ? STATE_ABSENT
                                                                                            : trouble_of(errno);
    }
    trouble = finish(fd, old);
    if (trouble == STATE_SOUND && !name_nameless(fd, over ? spare : path)) {
        trouble = errno == EEXIST && !over ? STATE_SOUND : STATE_ABSENT;
    } else if (trouble == STATE_SOUND && over && !place(spare, path, over)) {
        trouble = trouble_of(errno);
    }
    real_close(fd);
    return trouble;
}

static enum state_trouble build_named(const char *path, const char *spare, bool over, int old)
{
    int fd = real_open(spare, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
    enum state_trouble trouble;

    if (fd < 0) {
        return trouble_of(errno);
    }
    trouble = finish(fd, old);
    if (trouble != STATE_SOUND) {
        real_unlink(spare);
    } else if (!place(spare, path, over) && (errno != EEXIST || over)) {
        trouble = trouble_of(errno);
    }
    real_close(fd);
    return trouble;
}

enum state_trouble build_region(const char *path, bool over, int old)
{
    char spare[BUILD_PATH];
    enum state_trouble trouble;

    if (!spare_name(path, spare)) {
        return STATE_FORBIDDEN;
    }
    trouble = build_nameless(path, spare, over, old);
    return trouble == STATE_ABSENT ? build_named(path, spare, over, old) : trouble;
}
