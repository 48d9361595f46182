/*
 * What the tests of HTTP/2 share: frames and header blocks made by hand.
 */
#ifndef UNIT_HTTP2_RIG_H
#define UNIT_HTTP2_RIG_H

#include "protocol/http2.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4, PADDED = 8, WITH_PRIORITY = 32 };

struct wire {
    uint8_t bytes[1 << 17];
    size_t length;
};

static inline void put(struct wire *wire, const void *bytes, size_t length)
{
    ck_assert_uint_le(wire->length + length, sizeof wire->bytes);
    memcpy(wire->bytes + wire->length, bytes, length);
    wire->length += length;
}

static inline void put_number(struct wire *wire, uint32_t number, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--) {
        uint8_t byte = (uint8_t)(number >> 8 * i);

        put(wire, &byte, 1);
    }
}

static inline void put_frame(struct wire *wire, int type, int flags, uint32_t stream, const void *payload,
                             size_t length)
{
    put_number(wire, (uint32_t)length, 3);
    put_number(wire, (uint32_t)type, 1);
    put_number(wire, (uint32_t)flags, 1);
    put_number(wire, stream, 4);
    put(wire, payload, length);
}

/* A field that the table does not see. */
static inline void put_field(struct wire *block, const char *name, const char *value)
{
    put_number(block, 0, 1);
    put_number(block, (uint32_t)strlen(name), 1);
    put(block, name, strlen(name));
    put_number(block, (uint32_t)strlen(value), 1);
    put(block, value, strlen(value));
}

/* "name=value name=value": names may begin with a colon, values have no blanks. */
static inline void put_fields(struct wire *block, const char *fields)
{
    char text[1024];

    snprintf(text, sizeof text, "%s", fields);
    for (char *field = strtok(text, " "); field != NULL; field = strtok(NULL, " ")) {
        char *value = strchr(field, '=');

        *value++ = '\0';
        put_field(block, field, value);
    }
}

static inline void put_headers(struct wire *wire, uint32_t stream, int flags, const char *fields)
{
    static struct wire block;

    block.length = 0;
    put_fields(&block, fields);
    put_frame(wire, HEADERS, flags | END_HEADERS, stream, block.bytes, block.length);
}

static inline void put_code(struct wire *wire, int type, uint32_t stream, uint32_t code)
{
    uint8_t bytes[] = {(uint8_t)(code >> 24), (uint8_t)(code >> 16), (uint8_t)(code >> 8), (uint8_t)code};

    put_frame(wire, type, 0, stream, bytes, sizeof bytes);
}

static inline void put_goaway(struct wire *wire, uint32_t last, uint32_t code)
{
    struct wire payload = {.length = 0};

    put_number(&payload, last, 4);
    put_number(&payload, code, 4);
    put(&payload, "bye", 3);
    put_frame(wire, GOAWAY, 0, 0, payload.bytes, payload.length);
}

/* What each side has to say first. */
static inline void put_settings(struct wire *wire)
{
    put_frame(wire, SETTINGS, 0, 0, "", 0);
}

static inline void put_preface(struct wire *wire)
{
    put(wire, http2_preface, HTTP2_PREFACE);
    put_settings(wire);
}

#endif
