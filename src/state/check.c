/*
 * Is what stands at a path a region that this process can share? Looks and changes nothing.
 */
#include "real/real.h"
#include "state/internal.h"
#include "state/words.h"
#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

static const char *const trouble_texts[STATE_TROUBLES] = {
    [STATE_SOUND] = "sound",
    [STATE_PRIVATE] = "private, as asked for",
    [STATE_ABSENT] = "there is none yet",
    [STATE_FORBIDDEN] = "cannot be opened or created",
    [STATE_NOT_OURS] = "somebody else owns it",
    [STATE_EXPOSED] = "others may read or write it",
    [STATE_NOT_A_FILE] = "not a regular file",
    [STATE_SHORT] = "truncated",
    [STATE_GARBAGE] = "not a region",
    [STATE_OTHER_VERSION] = "of another version",
    [STATE_OTHER_BOOT] = "of another machine or time namespace",
    [STATE_FULL_DISK] = "no space for it on its file system, or over the file size limit",
    [STATE_NO_MEMORY] = "no memory or no file descriptor for it",
};

const char *state_trouble_text(enum state_trouble trouble)
{
    return (unsigned)trouble < STATE_TROUBLES ? trouble_texts[trouble] : "unknown";
}

/* Two numbers that should have been one. */
static void say_both(char *buffer, size_t size, size_t at, const char *what, const uint64_t number[2], unsigned base)
{
    static const char *const before[2] = {": ", ", expected "};
    for (int i = 0; i < 2; i++) {
        at = text_append(buffer, size, at, before[i]);
        at = text_append(buffer, size, at, what);
        at = text_append_number(buffer, size, at, number[i], base);
    }
}

char *state_trouble_say(const struct state *state, char *buffer, size_t size)
{
    size_t at = text_append(buffer, size, 0, state_trouble_text(state->trouble));

    if (at == size) {
        buffer[0] = '\0';
    } else if (state->trouble == STATE_NOT_OURS) {
        say_both(buffer, size, at, "uid ", (const uint64_t[]){state->owner, state->uid}, 10);
    } else if (state->trouble == STATE_EXPOSED) {
        say_both(buffer, size, at, "mode 0", (const uint64_t[]){state->mode & 07777, 0600}, 8);
    }
    return buffer;
}

/* ---- this machine ----------------------------------------------------------------------------------------------- */

void check_machine(uint64_t *boot, uint64_t *time_ns)
{
    char id[64];
    struct stat status;
    ssize_t length = -1;
    int fd = real_open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        length = real_read(fd, id, sizeof id);
        real_close(fd);
    }
    *boot = length > 0 ? state_hash(0, id, (size_t)length) : 0;
    *time_ns = real_stat("/proc/self/ns/time", &status) == 0 ? status.st_ino : 0;
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

static enum state_trouble check_status(const struct stat *status, uid_t uid)
{
    if (!S_ISREG(status->st_mode)) {
        return STATE_NOT_A_FILE;
    }
    if (status->st_uid != uid) {
        return STATE_NOT_OURS;
    }
    return status->st_mode & (S_IRWXG | S_IRWXO) ? STATE_EXPOSED : STATE_SOUND;
}

/* What a failed open or stat of the path means. */
static enum state_trouble check_errno(int error)
{
    switch (error) {
    case ENOENT:
        return STATE_ABSENT;
    case ELOOP:
    case ENXIO:
    case EISDIR:
        return STATE_NOT_A_FILE;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return STATE_NO_MEMORY;
    default:
        return STATE_FORBIDDEN;
    }
}

enum state_trouble check_open(const char *path, uid_t uid, struct stat *status, int *fd)
{
    enum state_trouble trouble;

    *fd = -1;
    if (real_lstat(path, status) != 0) {
        status->st_dev = 0;
        status->st_ino = 0;
        return check_errno(errno);
    }
    /* Only what looks right is opened: opening some devices does something. */
    trouble = check_status(status, uid);
    if (trouble != STATE_SOUND) {
        return trouble;
    }
    *fd = real_open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0) {
        return check_errno(errno);
    }
    trouble = real_fstat(*fd, status) == 0 ? check_status(status, uid) : STATE_FORBIDDEN;
    if (trouble != STATE_SOUND) {
        real_close(*fd);
        *fd = -1;
    }
    return trouble;
}

/* ---- what is in it ---------------------------------------------------------------------------------------------- */

static bool read_whole(int fd, void *buffer, size_t size, off_t at)
{
    char *next = buffer;

    while (size > 0) {
        ssize_t got = real_pread(fd, next, size, at);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        next += got;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

/*
 * A region of another boot is left from an earlier one only if it was made before this one began. Else it belongs to
 * another machine that is up now and shares the file system: two that replaced each other's would never end.
 */
static bool made_before_boot(const struct prebreak_header *header)
{
    uint64_t up = clock_ns(CLOCK_BOOTTIME), now = clock_ns(CLOCK_REALTIME);

    return now > up && header->created < now - up;
}

enum state_trouble check_region(int fd, const struct stat *status, struct prebreak_header *header, bool *earlier)
{
    uint64_t boot, time_ns;

    *earlier = false;
    header->magic = 0;
    if (status->st_size < (off_t)offsetof(struct prebreak_region, process) ||
        !read_whole(fd, header, sizeof *header, 0)) {
        return STATE_SHORT;
    }
    if (header->magic != PREBREAK_REGION_MAGIC || header->seed == 0) {
        return STATE_GARBAGE;
    }
    check_machine(&boot, &time_ns);
    if (boot && header->boot && boot != header->boot) {
        *earlier = made_before_boot(header);
        return STATE_OTHER_BOOT;
    }
    if (header->version != PREBREAK_REGION_VERSION) {
        return STATE_OTHER_VERSION;
    }
    if (header->size != sizeof(struct prebreak_region) || header->slots != PREBREAK_SLOTS) {
        return STATE_GARBAGE;
    }
    if (status->st_size != (off_t)sizeof(struct prebreak_region)) {
        return status->st_size < (off_t)sizeof(struct prebreak_region) ? STATE_SHORT : STATE_GARBAGE;
    }
    if (time_ns && header->time_ns && time_ns != header->time_ns) {
        return STATE_OTHER_BOOT;
    }
    return STATE_SOUND;
}

bool check_hold(int fd, int index, struct prebreak_hold *hold)
{
    off_t at = (off_t)(offsetof(struct prebreak_region, hold) + (size_t)index * sizeof *hold);

    return read_whole(fd, hold, sizeof *hold, at) && state_name_sound(hold->name);
}
