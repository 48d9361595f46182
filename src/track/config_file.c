#include "track/config_file.h"

#include "real/real.h"
#include "rules/rules.h"
#include "state/state.h"
#include <errno.h>
#include <string.h>

const char config_file_unsteady[] = "it is being written";

/* ---- which state a file is in ------------------------------------------------------------------------------------ */

static uint64_t state_of(const struct stat *st)
{
    const uint64_t parts[] = {(uint64_t)st->st_dev,          (uint64_t)st->st_ino,
                              (uint64_t)st->st_size,         (uint64_t)st->st_mtim.tv_sec,
                              (uint64_t)st->st_mtim.tv_nsec, (uint64_t)st->st_ctim.tv_sec,
                              (uint64_t)st->st_ctim.tv_nsec, (uint64_t)st->st_mode};
    return state_hash(0, parts, sizeof parts);
}

uint64_t config_file_state(const char *path)
{
    struct stat st;
    if (real_stat(path, &st) == 0) {
        return state_of(&st);
    }
    const uint64_t error = (uint64_t)errno;
    return state_hash(1, &error, sizeof error);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const struct {
    int error;
    const char *text;
} errors[] = {
    {ENOENT, "no such file"},
    {EACCES, "permission denied"},
    {ENOTDIR, "no such file: something on the way is no directory"},
    {ELOOP, "too many symbolic links"},
    {ENXIO, "not a regular file"},
};

static const char *error_text(int error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].error == error) {
            return errors[i].text;
        }
    }
    return "cannot be read";
}

/* Is there a line, newline included, with anything on it? Half of the first one is as good as nothing. */
static bool has_line(const char *bytes, size_t length)
{
    bool something = false;
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '\n' && something) {
            return true;
        }
        something = something || (bytes[i] != ' ' && !(bytes[i] >= '\t' && bytes[i] <= '\r'));
    }
    return false;
}

/* All `size` bytes of fd, from its start. NULL, or what is wrong. */
static const char *read_all(int fd, char *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t count = real_pread(fd, bytes + at, size - at, (off_t)at);
        if (count == 0) {
            return config_file_unsteady; /* it has shrunk */
        }
        if (count < 0 && errno != EINTR) {
            return error_text(errno);
        }
        at += count > 0 ? (size_t)count : 0;
    }
    return NULL;
}

static const char *read_open(int fd, struct config_file *file)
{
    struct stat before;
    struct stat after;
    if (real_fstat(fd, &before) != 0) {
        return error_text(errno);
    }
    if (!S_ISREG(before.st_mode)) {
        return "not a regular file";
    }
    if (before.st_size <= 0) {
        return "it is empty";
    }
    if (before.st_size > (off_t)RULES_TEXT_MAX) {
        return "more than 128 KiB";
    }
    size_t size = (size_t)before.st_size;
    char *bytes = real_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) {
        return "no memory for it";
    }
    *file = (struct config_file){bytes, size};
    const char *trouble = read_all(fd, bytes, size);
    if (trouble == NULL && (real_fstat(fd, &after) != 0 || state_of(&before) != state_of(&after))) {
        trouble = config_file_unsteady;
    } else if (trouble == NULL && !has_line(bytes, size)) {
        trouble = "it holds no whole line";
    }
    if (trouble != NULL) {
        config_file_drop(file);
    }
    return trouble;
}

const char *config_file_read(const char *path, struct config_file *file)
{
    int fd = real_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return error_text(errno);
    }
    const char *trouble = read_open(fd, file);
    real_close(fd);
    return trouble;
}

void config_file_drop(struct config_file *file)
{
    real_munmap(file->bytes, file->length);
    file->bytes = NULL;
    file->length = 0;
}
