#include "protocol/ldcache.h"

#include <string.h>

static const char magic[] = "glibc-ld.so.cache1.1";

struct header {
    char magic[sizeof magic - 1];
    uint32_t count, strings_length;
    uint32_t unused[5];
};

struct entry {
    int32_t flags;
    uint32_t name, path; /* from the start of the file */
    uint32_t unused[3];
};

static const char *text(const char *bytes, size_t length, uint32_t at)
{
    return at < length && memchr(bytes + at, '\0', length - at) != NULL ? bytes + at : NULL;
}

const char *ldcache_next(const void *bytes, size_t length, const char *name, uint32_t *at)
{
    struct header header;
    if (length < sizeof header) {
        return NULL;
    }
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.magic, magic, sizeof header.magic) != 0) {
        return NULL;
    }
    size_t room = (length - sizeof header) / sizeof(struct entry);
    while (*at < header.count && *at < room) {
        struct entry entry;
        memcpy(&entry, (const char *)bytes + sizeof header + *at * sizeof entry, sizeof entry);
        ++*at;
        const char *found = text(bytes, length, entry.name);
        if (found != NULL && strcmp(found, name) == 0) {
            return text(bytes, length, entry.path);
        }
    }
    return NULL;
}
