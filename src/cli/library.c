/* See library.h. */
#include "cli/library.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libprebreak.so"

/*
 * Under the directory above ours, best first. `$LIB` stands for lib/x86_64-linux-gnu, lib64 or lib as the system has
 * it; where it does not lead to our library, the plain directories are tried.
 */
static const char *const places[] = {
    "$LIB",
#ifdef __x86_64__
    "lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
    "lib/aarch64-linux-gnu",
#elif defined(__i386__)
    "lib/i386-linux-gnu",
#endif
    "lib64",
    "lib",
};

/*
 * Would the dynamic linker find it? RTLD_NOLOAD looks the file up, `$LIB` replaced, and loads nothing: no handle and no
 * error means that the file is there and could be loaded.
 */
static bool resolves(const char *path)
{
    dlerror();
    void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle != NULL) {
        dlclose(handle);
        return true;
    }
    return dlerror() == NULL;
}

static bool fits(int length, size_t size)
{
    return length >= 0 && (size_t)length < size;
}

/* Cuts the last component off. False: there is none. */
static bool cut(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    return true;
}

const char *library_find(char *path, size_t size)
{
    char directory[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", directory, sizeof(directory) - 1);
    if (length < 0) {
        return "cannot tell where this command is: /proc/self/exe is not readable";
    }
    directory[length] = '\0';
    if (strpbrk(directory, ": ") != NULL) {
        return "cannot preload a library from a path with a space or a colon in it";
    }
    cut(directory);
    if (fits(snprintf(path, size, "%s/" LIBRARY, directory), size) && resolves(path)) {
        return NULL;
    }
    cut(directory);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (fits(snprintf(path, size, "%s/%s/" LIBRARY, directory, places[i]), size) && resolves(path)) {
            return NULL;
        }
    }
    return "cannot find " LIBRARY " beside this command nor under its prefix";
}
