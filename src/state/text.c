/*
 * Text without stdio: what paths are put together with.
 */
#include "state/internal.h"
#include <string.h>

size_t text_append(char *buffer, size_t size, size_t at, const char *text)
{
    size_t length = strlen(text);

    if (at >= size || length >= size - at) {
        return size;
    }
    memcpy(buffer + at, text, length + 1);
    return at + length;
}

size_t text_append_number(char *buffer, size_t size, size_t at, uint64_t number, unsigned base)
{
    char digits[65];
    char *next = digits + sizeof digits;

    *--next = '\0';
    do {
        *--next = "0123456789abcdef"[number % base];
        number /= base;
    } while (number > 0);
    return text_append(buffer, size, at, next);
}
