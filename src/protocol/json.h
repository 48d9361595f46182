/*
 * JSON seen in passing: bytes in, and what is at hand out: a member's key, or a string. Nothing is kept but the last key and
 * string, cut where they are longer than their room. What is no JSON is dead from there on.
 *
 * Pure and async-signal-safe; zeroed, a scanner stands before a text.
 */
#ifndef PROTOCOL_JSON_H
#define PROTOCOL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_KEY   8  /* bytes of a key that are kept */
#define JSON_TEXT  64 /* of a string */
#define JSON_DEPTH 64 /* deeper is dead */

enum json_event {
    JSON_NOTHING,
    JSON_MEMBER, /* a key is complete; depth is that of its object: 1 is the outermost */
    JSON_STRING  /* a string that is a value is complete; depth is that of what it is in */
};

struct json {
    uint64_t objects; /* of the containers that are open, a bit each, the innermost lowest: it is an object */
    uint8_t depth;
    uint8_t state;
    uint8_t key_length;  /* bytes that it has, JSON_KEY + 1 when it did not fit */
    uint8_t text_length; /* the same of the string */
    bool escaped;
    char key[JSON_KEY];
    char text[JSON_TEXT];
};

/* Takes bytes up to and including the next event, which is *event, or all of them (JSON_NOTHING). How many it took. */
size_t json_feed(struct json *json, const uint8_t *bytes, size_t length, enum json_event *event);

bool json_key_is(const struct json *json, const char *key);

#endif
