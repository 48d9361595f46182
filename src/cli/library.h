/*
 * Where the library is that belongs to this command: beside it in a build tree, or under the same prefix when
 * installed.
 */
#ifndef CLI_LIBRARY_H
#define CLI_LIBRARY_H

#include <stddef.h>

/*
 * Writes what is to stand in LD_PRELOAD. It may hold `$LIB`, which the dynamic linker replaces for each program: so a
 * 32-bit child finds the 32-bit library, where there is one. NULL on success, else what is wrong, one line.
 */
const char *library_find(char *path, size_t size);

#endif
