/*
 * What the tests of the TLS parser share: captured sessions, and hellos made by hand.
 */
#ifndef UNIT_TLS_RIG_H
#define UNIT_TLS_RIG_H

#include "protocol/tls.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- sessions that real programs had with `openssl s_server`, and what must be seen of them ------------------- */

/*
 * tests/fuzz/seeds/tls/NAME, captured on loopback: pieces of one byte direction (0: the client's), two bytes length,
 * and as many bytes. Long answers were shortened to 300 bytes.
 */
struct session {
    uint8_t bytes[16384];
    size_t length;
};

static __attribute__((unused)) void session_load(struct session *session, const char *name)
{
    char path[200];

    snprintf(path, sizeof path, "tests/fuzz/seeds/tls/%s", name);
    FILE *file = fopen(path, "rb");

    ck_assert_msg(file != NULL, "%s: run from the top of the source tree", path);
    session->length = fread(session->bytes, 1, sizeof session->bytes, file);
    fclose(file);
    ck_assert_uint_gt(session->length, 3);
}

/* The next piece; NULL: none is left. */
static __attribute__((unused)) const uint8_t *session_piece(const struct session *session, size_t *at,
                                                            bool *from_client, size_t *length)
{
    if (*at + 3 > session->length) {
        return NULL;
    }
    const uint8_t *piece = session->bytes + *at;

    *from_client = piece[0] == 0;
    *length = (size_t)(piece[1] << 8 | piece[2]);
    ck_assert_uint_le(*at + 3 + *length, session->length);
    *at += 3 + *length;
    return piece + 3;
}

static __attribute__((unused)) void tell(char *text, size_t size, bool from_client, unsigned sights)
{
    static const struct {
        unsigned sight;
        const char *letter;
    } letters[] = {{TLS_SECURED, "s"}, {TLS_REQUEST, "R"},   {TLS_ANSWER, "A"},   {TLS_MAYBE, "m"},
                   {TLS_TICKETS, "t"}, {TLS_ALERT, "alert"}, {TLS_REJECTED, "x"}, {TLS_STRANGE, "?"}};

    strncat(text, from_client ? " c:" : " s:", size - strlen(text) - 1);
    for (size_t i = 0; i < COUNT(letters); i++) {
        if ((sights & letters[i].sight) != 0) {
            strncat(text, letters[i].letter, size - strlen(text) - 1);
        }
    }
}

enum how { WHOLE, IN_TWO, BYTEWISE };

/* Feeds one piece in memory of its own, in one, in two at `split`, or byte by byte. */
static __attribute__((unused)) unsigned feed(struct tls_records *records, bool from_client, const uint8_t *piece,
                                             size_t length, enum how how, size_t split)
{
    size_t step = how == WHOLE ? length : how == IN_TWO ? split % (length + 1) : 1;
    unsigned sights = 0;

    for (size_t at = 0; at < length;) {
        size_t many = step == 0 || length - at < step ? length - at : step;
        uint8_t *copy = malloc(many);

        memcpy(copy, piece + at, many);
        sights |= tls_records_feed(records, from_client, copy, many);
        free(copy);
        at += many;
        step = how == IN_TWO ? length : step;
    }
    return sights;
}

static __attribute__((unused)) void run(const struct session *session, enum how how, size_t split, char *text,
                                        size_t size, struct tls_hello *hello, struct tls_records *records)
{
    const uint8_t *piece;
    bool from_client;
    size_t at = 0, length;

    memset(hello, 0xa5, sizeof *hello);
    memset(records, 0xa5, sizeof *records);
    tls_hello_begin(hello);
    tls_records_begin(records);
    text[0] = '\0';
    while ((piece = session_piece(session, &at, &from_client, &length)) != NULL) {
        for (size_t i = 0; from_client && i < length; i += how == BYTEWISE ? 1 : length) {
            tls_hello_feed(hello, piece + i, how == BYTEWISE ? 1 : length);
        }
        tell(text, size, from_client, feed(records, from_client, piece, length, how, split));
    }
}

/* ---- hellos made by hand -------------------------------------------------------------------------------------- */

struct bytes {
    uint8_t at[70000];
    size_t length;
};

static __attribute__((unused)) void put(struct bytes *bytes, const void *from, size_t length)
{
    ck_assert_uint_le(bytes->length + length, sizeof bytes->at);
    memcpy(bytes->at + bytes->length, from, length);
    bytes->length += length;
}

static __attribute__((unused)) void put_number(struct bytes *bytes, size_t number, int width)
{
    while (width-- > 0) {
        put(bytes, &(uint8_t){(uint8_t)(number >> (8 * width))}, 1);
    }
}

static __attribute__((unused)) void put_extension(struct bytes *bytes, uint16_t type, const void *body, size_t length)
{
    put_number(bytes, type, 2);
    put_number(bytes, length, 2);
    put(bytes, body, length);
}

static __attribute__((unused)) void put_name(struct bytes *bytes, const char *name)
{
    size_t length = strlen(name);

    put_number(bytes, 0, 2);
    put_number(bytes, length + 5, 2);
    put_number(bytes, length + 3, 2);
    put_number(bytes, 0, 1);
    put_number(bytes, length, 2);
    put(bytes, name, length);
}

/* A handshake message around a hello with these extensions (NULL: not even their length). */
static __attribute__((unused)) void make_message(struct bytes *message, uint8_t type, const struct bytes *extensions)
{
    size_t front = type == 1 ? 2 + 32 + 1 + 2 + 2 + 1 + 1 : 2 + 32 + 1 + 3;

    message->length = 0;
    put_number(message, type, 1);
    put_number(message, front + (extensions != NULL ? 2 + extensions->length : 0), 3);
    put_number(message, 0x0303, 2);
    put(message, "0123456789abcdef0123456789abcdef", 32);
    put_number(message, 0, 1);
    if (type == 1) {
        put(message, "\0\2\x13\1\1\0", 6);
    } else {
        put(message, "\x13\1\0", 3);
    }
    if (extensions != NULL) {
        put_number(message, extensions->length, 2);
        put(message, extensions->at, extensions->length);
    }
}

/* It in records of at most `most` bytes. */
static __attribute__((unused)) void make_records(struct bytes *records, const struct bytes *message, size_t most)
{
    records->length = 0;
    for (size_t at = 0; at < message->length;) {
        size_t length = message->length - at < most ? message->length - at : most;

        put(records, "\x16\3\1", 3);
        put_number(records, length, 2);
        put(records, message->at + at, length);
        at += length;
    }
}

#endif
