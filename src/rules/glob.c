/* Globs on a program's name: * ? [abc] [a-z] [!a-z], and a backslash before any of them. */
#include "rules/rules.h"

#include <string.h>

static bool separates(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == ',' || c == ':';
}

/*
 * Does the element of a glob at `glob` (of what is left, `length`) take the character? *used is how long the element
 * is, 0: it is not sound.
 */
static bool element(const char *glob, size_t length, char c, size_t *used)
{
    *used = 1;
    if (glob[0] == '?') {
        return true;
    }
    if (glob[0] == '\\') {
        *used = length > 1 ? 2 : 0;
        return length > 1 && glob[1] == c;
    }
    if (glob[0] != '[') {
        return glob[0] == c;
    }
    size_t i = 1;
    bool inverse = length > 1 && (glob[1] == '!' || glob[1] == '^');
    i += inverse;
    bool found = false;
    for (size_t first = i; i < length && (glob[i] != ']' || i == first); i++) {
        if (i + 2 < length && glob[i + 1] == '-' && glob[i + 2] != ']') {
            found = found || (c >= glob[i] && c <= glob[i + 2]);
            i += 2;
        } else {
            found = found || glob[i] == c;
        }
    }
    *used = i < length ? i + 1 : 0;
    return found != inverse;
}

/* One glob on one name: on a mismatch the last star takes one character more. */
static bool glob_matches(const char *glob, size_t length, const char *name)
{
    size_t at = 0;
    size_t star = SIZE_MAX; /* behind the last star */
    const char *resume = NULL;
    while (*name != '\0') {
        size_t used = 0;
        if (at < length && glob[at] == '*') {
            star = ++at;
            resume = name;
        } else if (at < length && element(glob + at, length - at, *name, &used) && used > 0) {
            at += used;
            name++;
        } else if (star != SIZE_MAX) {
            at = star;
            name = ++resume;
        } else {
            return false;
        }
    }
    while (at < length && glob[at] == '*') {
        at++;
    }
    return at == length;
}

static bool glob_sound(const char *glob, size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t used;
        (void)element(glob + at, length - at, 'a', &used);
        if (used == 0) {
            return false;
        }
        at += used;
    }
    return true;
}

/* The next glob of a list, NULL: there is none. */
static const char *next_glob(const char *globs, size_t *length)
{
    while (separates(*globs)) {
        globs++;
    }
    for (*length = 0; globs[*length] != '\0' && !separates(globs[*length]); ++*length) {
    }
    return *length == 0 ? NULL : globs;
}

bool rules_globs_match(const char *globs, const char *program)
{
    size_t length;
    for (const char *glob = next_glob(globs, &length); glob != NULL; glob = next_glob(glob + length, &length)) {
        if (glob_matches(glob, length, program)) {
            return true;
        }
    }
    return false;
}

bool rules_globs_sound(const char *globs)
{
    size_t length;
    bool any = false;
    for (const char *glob = next_glob(globs, &length); glob != NULL; glob = next_glob(glob + length, &length)) {
        any = true;
        if (!glob_sound(glob, length)) {
            return false;
        }
    }
    return any;
}
