#include "protocol/tls_inner.h"

#include <string.h>

/* ---- the walk through a hello (RFC 8446 section 4.1) ---------------------------------------------------------- */

#define CLIENT_HELLO 1
#define SERVER_HELLO 2
/* Version, random, and the lengths of what may be empty. */
#define HELLO_MIN   38
#define SESSION_MAX 32

enum state {
    TYPE,
    LENGTH,
    VERSION,
    RANDOM,
    SESSION_LENGTH,
    SESSION,
    CIPHERS_LENGTH,
    CIPHERS,
    COMPRESSIONS_LENGTH,
    COMPRESSIONS,
    CHOICE, /* of a server: one cipher, one compression */
    EXTENSIONS_LENGTH,
    EXTENSION_TYPE,
    EXTENSION_LENGTH,
    EXTENSION, /* one that does not matter */
    NAMES_LENGTH,
    NAME_TYPE,
    NAME_LENGTH,
    NAME,
    OTHER_NAME, /* of a kind that is not a host's */
    PROTOCOLS_LENGTH,
    PROTOCOL_LENGTH,
    PROTOCOL,
    CHOSEN_VERSION,
    DONE,
    BAD
};

/* Extensions that matter, and where their bytes begin. */
static const struct {
    uint16_t type;
    bool client, server;
    uint8_t state;
} extensions[] = {
    {0, true, false, NAMES_LENGTH},     /* server_name */
    {16, true, true, PROTOCOLS_LENGTH}, /* application_layer_protocol_negotiation */
    {43, false, true, CHOSEN_VERSION},  /* supported_versions */
};

void tls_walk_begin(struct tls_walk *walk)
{
    memset(walk, 0, sizeof *walk);
}

bool tls_walk_done(const struct tls_walk *walk)
{
    return walk->state == DONE;
}

bool tls_walk_bad(const struct tls_walk *walk)
{
    return walk->state == BAD;
}

/* Takes an integer's byte into walk->number; true: it has all `width` of them. */
static bool number_feed(struct tls_walk *walk, uint8_t byte, uint8_t width)
{
    walk->number = (walk->have == 0 ? 0 : walk->number << 8) | byte;
    walk->have++;
    if (walk->have < width) {
        return false;
    }
    walk->have = 0;
    return true;
}

/* Where an extension, or the end of them, leads. */
static enum state next_extension(const struct tls_walk *walk)
{
    return walk->left == 0 ? DONE : EXTENSION_TYPE;
}

/* `length` bytes that do not matter, then `then`. */
static enum state skip(struct tls_walk *walk, uint32_t length, enum state while_skipping, enum state then)
{
    if (length > walk->left) {
        return BAD;
    }
    walk->section = (uint16_t)length;
    return length > 0 ? while_skipping : then;
}

/* One of them. */
static enum state skipped(struct tls_walk *walk, enum state while_skipping, enum state then)
{
    walk->section--;
    return walk->section > 0 ? while_skipping : then;
}

static enum state extension_begin(struct tls_walk *walk, bool client)
{
    uint32_t length = walk->number;

    if (length > walk->left) {
        return BAD;
    }
    walk->section = (uint16_t)length;
    for (size_t i = 0; i < sizeof extensions / sizeof extensions[0]; i++) {
        if (extensions[i].type != walk->extension || !(client ? extensions[i].client : extensions[i].server)) {
            continue;
        }
        if ((walk->seen & (1u << i)) != 0) {
            return BAD; /* no extension comes twice */
        }
        walk->seen |= (uint8_t)(1u << i);
        return length > 0 ? (enum state)extensions[i].state : BAD;
    }
    return length > 0 ? EXTENSION : next_extension(walk);
}

/* The next member of a list, or the extension's end. */
static enum state next_member(const struct tls_walk *walk, enum state member)
{
    return walk->section > 0 ? member : next_extension(walk);
}

/* A list's length: it fills its extension. */
static enum state list_begin(struct tls_walk *walk, uint8_t byte, enum state here, enum state member)
{
    walk->section--;
    if (!number_feed(walk, byte, 2)) {
        return walk->section > 0 ? here : BAD;
    }
    return walk->number == walk->section && walk->number > 0 ? member : BAD;
}

static enum state names_feed(struct tls_walk *walk, struct tls_hello *hello, uint8_t byte)
{
    enum state state = (enum state)walk->state;

    walk->section--;
    if (state == NAME_TYPE) {
        walk->match = byte == 0; /* host_name, the only kind there ever was */
        return walk->section > 0 ? NAME_LENGTH : BAD;
    }
    if (state == NAME_LENGTH) {
        if (!number_feed(walk, byte, 2)) {
            return walk->section > 0 ? NAME_LENGTH : BAD;
        }
        walk->item = (uint16_t)walk->number;
        if (walk->item > walk->section || walk->item == 0) {
            return BAD;
        }
        hello->names += walk->match && hello->names < UINT8_MAX ? 1 : 0;
        return walk->match ? NAME : OTHER_NAME;
    }
    walk->item--;
    if (state == NAME) {
        uint8_t folded = byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte | 0x20) : byte;
        bool good = (folded >= 'a' && folded <= 'z') || (byte >= '0' && byte <= '9') || byte == '.' || byte == '_' ||
                    byte == '-';

        if (!good || hello->name_length >= TLS_NAME - 1) {
            hello->name_bad = true;
        } else {
            hello->name[hello->name_length++] = (char)folded;
        }
    }
    return walk->item > 0 ? state : next_member(walk, NAME_TYPE);
}

static enum state protocols_feed(struct tls_walk *walk, uint8_t byte)
{
    static const char h2[] = "h2";

    walk->section--;
    if (walk->state == PROTOCOL_LENGTH) {
        walk->item = byte;
        walk->match = byte == sizeof h2 - 1;
        return byte > 0 && byte <= walk->section ? PROTOCOL : BAD;
    }
    walk->match = walk->match && byte == (uint8_t)h2[sizeof h2 - 1 - walk->item];
    walk->item--;
    if (walk->item > 0) {
        return PROTOCOL;
    }
    walk->h2 = walk->h2 || walk->match;
    walk->other = walk->other || !walk->match;
    return next_member(walk, PROTOCOL_LENGTH);
}

static enum state version_feed(struct tls_walk *walk, uint8_t byte)
{
    walk->section--;
    if (!number_feed(walk, byte, 2)) {
        return walk->section > 0 ? CHOSEN_VERSION : BAD;
    }
    walk->tls13 = walk->number >= 0x0304;
    return walk->section == 0 ? next_extension(walk) : BAD;
}

/* From the first byte to the extensions. */
static enum state front_feed(struct tls_walk *walk, struct tls_hello *hello, uint8_t byte)
{
    switch ((enum state)walk->state) {
    case TYPE:
        return byte == (hello != NULL ? CLIENT_HELLO : SERVER_HELLO) ? LENGTH : BAD;
    case LENGTH:
        if (!number_feed(walk, byte, 3)) {
            return LENGTH;
        }
        walk->left = walk->number;
        return walk->number >= HELLO_MIN && walk->number <= UINT16_MAX ? VERSION : BAD;
    case VERSION:
        if (!number_feed(walk, byte, 2)) {
            return VERSION;
        }
        walk->section = TLS_RANDOM;
        return walk->number >> 8 == 3 ? RANDOM : BAD;
    case RANDOM:
        if (hello != NULL) {
            hello->random[TLS_RANDOM - walk->section] = byte;
        }
        return skipped(walk, RANDOM, SESSION_LENGTH);
    case SESSION_LENGTH:
        return byte > SESSION_MAX ? BAD : skip(walk, byte, SESSION, hello != NULL ? CIPHERS_LENGTH : CHOICE);
    case SESSION:
        return skipped(walk, SESSION, hello != NULL ? CIPHERS_LENGTH : CHOICE);
    case CIPHERS_LENGTH:
        if (!number_feed(walk, byte, 2)) {
            return CIPHERS_LENGTH;
        }
        return walk->number == 0 || walk->number % 2 != 0 ? BAD : skip(walk, walk->number, CIPHERS, BAD);
    case CIPHERS:
        return skipped(walk, CIPHERS, COMPRESSIONS_LENGTH);
    case COMPRESSIONS_LENGTH:
        return skip(walk, byte, COMPRESSIONS, BAD);
    case COMPRESSIONS:
        return skipped(walk, COMPRESSIONS, walk->left > 0 ? EXTENSIONS_LENGTH : DONE);
    case CHOICE:
        if (!number_feed(walk, byte, 3)) {
            return CHOICE;
        }
        return walk->left > 0 ? EXTENSIONS_LENGTH : DONE;
    default:
        return BAD;
    }
}

static enum state extensions_feed(struct tls_walk *walk, struct tls_hello *hello, uint8_t byte)
{
    switch ((enum state)walk->state) {
    case EXTENSIONS_LENGTH:
        if (!number_feed(walk, byte, 2)) {
            return EXTENSIONS_LENGTH;
        }
        return walk->number == walk->left ? next_extension(walk) : BAD;
    case EXTENSION_TYPE:
        if (!number_feed(walk, byte, 2)) {
            return EXTENSION_TYPE;
        }
        walk->extension = (uint16_t)walk->number;
        return EXTENSION_LENGTH;
    case EXTENSION_LENGTH:
        return number_feed(walk, byte, 2) ? extension_begin(walk, hello != NULL) : EXTENSION_LENGTH;
    case EXTENSION:
        walk->section--;
        return walk->section > 0 ? EXTENSION : next_extension(walk);
    case NAMES_LENGTH:
        return list_begin(walk, byte, NAMES_LENGTH, NAME_TYPE);
    case NAME_TYPE:
    case NAME_LENGTH:
    case NAME:
    case OTHER_NAME:
        return names_feed(walk, hello, byte);
    case PROTOCOLS_LENGTH:
        return list_begin(walk, byte, PROTOCOLS_LENGTH, PROTOCOL_LENGTH);
    case PROTOCOL_LENGTH:
    case PROTOCOL:
        return protocols_feed(walk, byte);
    case CHOSEN_VERSION:
        return version_feed(walk, byte);
    default:
        return BAD;
    }
}

bool tls_walk_feed(struct tls_walk *walk, struct tls_hello *hello, uint8_t byte)
{
    if (walk->state > LENGTH) {
        walk->left--;
    }
    walk->state =
        (uint8_t)(walk->state < EXTENSIONS_LENGTH ? front_feed(walk, hello, byte) : extensions_feed(walk, hello, byte));
    if (walk->left == 0 && walk->state > LENGTH && walk->state != DONE) {
        walk->state = BAD; /* the message ended before its parts did */
    }
    return walk->state == DONE || walk->state == BAD;
}

/* ---- a ClientHello in its records ----------------------------------------------------------------------------- */

void tls_hello_begin(struct tls_hello *hello)
{
    memset(hello, 0, sizeof *hello);
    tls_walk_begin(&hello->walk);
}

static void hello_end(struct tls_hello *hello)
{
    if (hello->name_length > 0 && hello->name[hello->name_length - 1] == '.') {
        hello->name_length--;
    }
    hello->opaque = tls_walk_bad(&hello->walk);
    hello->done = !hello->opaque;
    hello->h2_offered = hello->walk.h2;
    hello->alpn_other = hello->walk.other;
    if (hello->opaque || hello->name_bad || hello->names != 1) {
        hello->name_length = 0;
    }
    memset(hello->name + hello->name_length, 0, sizeof hello->name - hello->name_length);
}

/* One byte of a record's header. False: it is none of a handshake. */
static bool header_feed(struct tls_hello *hello, uint8_t byte)
{
    hello->header[hello->header_have++] = byte;
    if (hello->header_have == 1) {
        return byte == TLS_HANDSHAKE;
    }
    if (hello->header_have == 2) {
        return byte == 3;
    }
    if (hello->header_have < sizeof hello->header) {
        return true;
    }
    hello->record_left = (uint16_t)(hello->header[3] << 8 | hello->header[4]);
    hello->header_have = 0;
    return hello->record_left > 0 && hello->record_left <= TLS_PLAIN_MAX;
}

bool tls_hello_feed(struct tls_hello *hello, const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i < length && !hello->done && !hello->opaque; i++) {
        if (hello->record_left == 0) {
            if (!header_feed(hello, bytes[i])) {
                hello->opaque = true;
            }
        } else {
            hello->record_left--;
            if (tls_walk_feed(&hello->walk, hello, bytes[i])) {
                hello_end(hello);
            }
        }
    }
    if (hello->opaque) {
        hello->name[0] = '\0';
    }
    return hello->done || hello->opaque;
}
