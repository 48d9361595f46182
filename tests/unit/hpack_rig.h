/*
 * What the tests of the HPACK decoder share: blocks as hexadecimal text, and fields by name.
 */
#ifndef UNIT_HPACK_RIG_H
#define UNIT_HPACK_RIG_H

#include "protocol/hpack_inner.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- names: each that is asked for is a field of its own ---------------------------------------------------------- */

static struct {
    char text[HPACK_VALUE + 1];
} names[256];
static unsigned names_known;

static inline uint8_t name_of(const char *name, size_t length)
{
    for (unsigned i = 1; i <= names_known; i++) {
        if (strlen(names[i].text) == length && memcmp(names[i].text, name, length) == 0) {
            return (uint8_t)i;
        }
    }
    ck_assert_uint_lt(names_known + 1, COUNT(names));
    memcpy(names[++names_known].text, name, length);
    names[names_known].text[length] = '\0';
    return (uint8_t)names_known;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------- */

static inline size_t from_hex(const char *hex, uint8_t *bytes)
{
    size_t length = 0;

    for (; hex[0] != '\0'; hex += 2) {
        char digits[3] = {hex[0], hex[1], '\0'};

        bytes[length++] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return length;
}

/* Bytes of a block, in pieces of this size; what it says is appended to text as "name: value" and a line's end. */
static inline enum hpack_event feed(struct hpack *hpack, const uint8_t *bytes, size_t length, size_t piece, char *text,
                                    size_t size)
{
    enum hpack_event event = HPACK_MORE;

    for (size_t at = 0; at < length;) {
        size_t next = length - at < piece ? length - at : piece, taken;

        event = hpack_feed(hpack, bytes + at, next, &taken);
        at += taken;
        if (event == HPACK_BAD) {
            return event;
        }
        ck_assert(event == HPACK_FIELD || taken == next);
        if (event == HPACK_FIELD) {
            size_t used = strlen(text);

            snprintf(text + used, size - used, "%s: %.*s\n", names[hpack->field].text, (int)hpack->length,
                     hpack->value);
        }
    }
    return HPACK_MORE;
}

/* A whole block of a few hexadecimal digits, on its own. */
static inline enum hpack_event feed_hex(struct hpack *hpack, const char *hex)
{
    uint8_t bytes[1024];
    char text[4096] = "";

    return feed(hpack, bytes, from_hex(hex, bytes), sizeof bytes, text, sizeof text);
}

#endif
