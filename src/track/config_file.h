/*
 * A file of rules, read whole into a mapping of its own. Nothing here blocks, allocates from the heap or keeps a
 * descriptor; errno may change.
 */
#ifndef TRACK_CONFIG_FILE_H
#define TRACK_CONFIG_FILE_H

#include <stddef.h>
#include <stdint.h>

struct config_file {
    char *bytes;
    size_t length;
};

/* Which file stands at a path and in which state, as one number; also of one that is not there. One stat. */
uint64_t config_file_state(const char *path);

/*
 * Reads it. NULL: done, to be dropped after use. Else what is wrong: it cannot be opened, is no regular file, is too long
 * or holds no whole line; or config_file_unsteady: it changed meanwhile, try again later.
 */
const char *config_file_read(const char *path, struct config_file *file);
extern const char config_file_unsteady[];

void config_file_drop(struct config_file *file);

#endif
