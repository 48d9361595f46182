#include "track/plugin.h"

#include "protocol/elf.h"
#include "protocol/ldcache.h"
#include "real/real.h"
#include "track/process.h"
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- lists of texts, none of them twice -------------------------------------------------------------------------- */

struct texts {
    size_t used;
    char bytes[16u << 10];
};

/* The first one is at 0. NULL: there is none there. */
static const char *text_at(const struct texts *texts, size_t *at)
{
    const char *text = *at < texts->used ? texts->bytes + *at : NULL;
    *at += text != NULL ? strlen(text) + 1 : 0;
    return text;
}

/* Adds `first` and `last` as one text. False: there is no room. */
static bool add(struct texts *texts, const char *first, size_t first_length, const char *last, size_t last_length)
{
    size_t length = first_length + last_length;
    if (length >= sizeof texts->bytes - texts->used) {
        return false;
    }
    char *text = texts->bytes + texts->used;
    memcpy(text, first, first_length);
    memcpy(text + first_length, last, last_length);
    text[length] = '\0';
    size_t at = 0;
    for (const char *other = text_at(texts, &at); other != NULL; other = text_at(texts, &at)) {
        if (strcmp(other, text) == 0) {
            return true;
        }
    }
    texts->used += length + 1;
    return true;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

struct file {
    const void *bytes; /* NULL: cannot be read */
    size_t length;
};

static struct file open_file(const char *path)
{
    struct file file = {NULL, 0};
    struct stat st;
    int fd = real_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd == -1) {
        return file;
    }
    if (real_fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && (uintmax_t)st.st_size <= SIZE_MAX) {
        void *bytes = real_mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            file = (struct file){bytes, (size_t)st.st_size};
        }
    }
    real_close(fd);
    return file;
}

static void close_file(struct file file)
{
    if (file.bytes != NULL) {
        real_munmap((void *)(uintptr_t)file.bytes, file.length);
    }
}

/* ---- one object -------------------------------------------------------------------------------------------------- */

/* What has been found out about an object and what will be loaded with it. */
struct search {
    struct texts needed; /* names of objects that will be loaded for it */
    struct texts places; /* directories that these are looked for in */
    struct file cache;
    char path[PATH_MAX];
};

enum verdict { ABSENT, HARMLESS, DOUBTFUL };

/*
 * Libraries whose callers find them by real_by_caller(). With versions on their names they are kept apart by the loader,
 * whichever else is there.
 */
static const char *const hooked_libraries[] = {"curl_", "SSL_", "gnutls_"};

static bool is_of_library(const char *name)
{
    for (size_t i = 0; i < sizeof hooked_libraries / sizeof *hooked_libraries; i++) {
        if (strncmp(name, hooked_libraries[i], strlen(hooked_libraries[i])) == 0) {
            return true;
        }
    }
    return false;
}

static bool defines_hooks(const struct elf *elf, bool is_library)
{
    const char *name;
    for (size_t i = 0; (name = real_export(i)) != NULL; i++) {
        enum elf_definition defined = elf_defines(elf, name);
        bool expected = is_library && defined == ELF_VERSIONED && is_of_library(name);
        if (defined != ELF_UNDEFINED && !expected) {
            return true;
        }
    }
    return false;
}

static bool add_needed(struct search *search, const struct elf *elf)
{
    uint64_t at = 0;
    for (const char *name = elf_next(elf, DT_NEEDED, &at); name != NULL; name = elf_next(elf, DT_NEEDED, &at)) {
        if (strchr(name, '/') != NULL || (!real_is_loaded(name) && !add(&search->needed, "", 0, name, strlen(name)))) {
            return false;
        }
    }
    return true;
}

/* A list of directories, of an object in this one (its length). False: something else than $ORIGIN has to be filled in. */
static bool add_places(struct search *search, const char *list, const char *origin, size_t origin_length)
{
    static const char *const names[] = {"$ORIGIN", "${ORIGIN}"};
    for (;;) {
        size_t length = strcspn(list, ":;");
        const char *rest = list;
        size_t skipped = 0;
        for (size_t i = 0; i < 2 && skipped == 0; i++) {
            skipped = strncmp(list, names[i], strlen(names[i])) == 0 ? strlen(names[i]) : 0;
        }
        rest += skipped;
        bool known = memchr(rest, '$', length - skipped) == NULL;
        if (!known || !add(&search->places, origin, skipped > 0 ? origin_length : 0, rest, length - skipped)) {
            return false;
        }
        if (list[length] == '\0') {
            return true;
        }
        list += length + 1;
    }
}

static bool add_runpaths(struct search *search, const struct elf *elf, const char *path)
{
    static const int64_t tags[] = {DT_RPATH, DT_RUNPATH};
    size_t origin = (size_t)(strrchr(path, '/') - path);
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        uint64_t at = 0;
        const char *list = elf_next(elf, tags[i], &at);
        if (list != NULL && !add_places(search, list, path, origin)) {
            return false;
        }
    }
    return true;
}

static enum verdict examine(struct search *search, const char *path, bool is_library)
{
    int saved = errno;
    errno = 0;
    struct file file = open_file(path);
    if (file.bytes == NULL) {
        bool absent = errno == ENOENT || errno == ENOTDIR;
        errno = saved;
        return absent ? ABSENT : DOUBTFUL;
    }
    struct elf elf;
    enum elf_state state = elf_open(&elf, file.bytes, file.length, real_machine());
    bool harmless = state == ELF_READ && !defines_hooks(&elf, is_library) && add_needed(search, &elf) &&
                    add_runpaths(search, &elf, path);
    close_file(file);
    return state == ELF_FOREIGN ? ABSENT : harmless ? HARMLESS : DOUBTFUL;
}

/* ---- and what will be loaded for it ------------------------------------------------------------------------------ */

/*
 * Wherever an object of this name lies, it must be harmless: then it need not be known which of them the loader takes.
 * What has been found in one of the places may still be shadowed by none.
 */
static bool is_needed_harmless(struct search *search, const char *name)
{
    bool found = false;
    size_t at = 0;
    for (const char *place = text_at(&search->places, &at); place != NULL; place = text_at(&search->places, &at)) {
        size_t length = strlen(place), rest = strlen(name) + 1;
        if (length + 1 + rest > sizeof search->path) {
            return false;
        }
        memcpy(search->path, place, length);
        search->path[length] = '/';
        memcpy(search->path + length + 1, name, rest);
        enum verdict verdict = examine(search, search->path, true);
        if (verdict == DOUBTFUL) {
            return false;
        }
        found = found || verdict == HARMLESS;
    }
    uint32_t entry = 0;
    const void *cache = search->cache.bytes;
    size_t length = search->cache.length;
    for (const char *path = ldcache_next(cache, length, name, &entry); path != NULL;
         path = ldcache_next(cache, length, name, &entry)) {
        enum verdict verdict = path[0] == '/' ? examine(search, path, true) : DOUBTFUL;
        if (verdict == DOUBTFUL) {
            return false;
        }
        found = found || verdict == HARMLESS;
    }
    return found;
}

static bool are_needed_harmless(struct search *search)
{
    size_t at = 0;
    const char *everywhere = getenv("LD_LIBRARY_PATH");
    if (everywhere != NULL && everywhere[0] != '\0' && !add_places(search, everywhere, "", 0)) {
        return false;
    }
    for (const char *name = text_at(&search->needed, &at); name != NULL; name = text_at(&search->needed, &at)) {
        if (search->cache.bytes == NULL) {
            search->cache = open_file("/etc/ld.so.cache");
        }
        if (!is_needed_harmless(search, name)) {
            return false;
        }
    }
    return true;
}

/* ---- the question ------------------------------------------------------------------------------------------------ */

static bool is_harmless(const char *path)
{
    struct search *search = real_mmap(NULL, sizeof *search, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (search == MAP_FAILED) {
        return false;
    }
    bool harmless = examine(search, path, false) == HARMLESS && are_needed_harmless(search);
    close_file(search->cache);
    real_munmap(search, sizeof *search);
    return harmless;
}

/* A name that PHP has in every version, as a program and as a module of a server. */
#define PHP_NAME "php_module_startup"

int plugin_flags(const char *path, int flags, const void *caller)
{
    if ((flags & RTLD_DEEPBIND) == 0 || !process_acts || process_confined() || path == NULL) {
        return flags;
    }
    int saved = errno;
    bool clear = strchr(path, '/') != NULL && real_defines(caller, PHP_NAME) && is_harmless(path);
    errno = saved;
    return clear ? flags & ~RTLD_DEEPBIND : flags;
}
