#include "protocol/http2_inner.h"

#include <string.h>

const uint8_t http2_preface[HTTP2_PREFACE] = {'P', 'R', 'I',  ' ',  '*',  ' ',  'H', 'T', 'T',  'P',  '/',  '2',
                                              '.', '0', '\r', '\n', '\r', '\n', 'S', 'M', '\r', '\n', '\r', '\n'};

enum state {
    S_FRAME,   /* the fixed part of a frame is read into word: its head */
    S_PADDED,  /* how much padding there is */
    S_FIXED,   /* what stands at the beginning of its payload */
    S_PAYLOAD, /* the rest of that */
    S_PADDING,
    S_END, /* of a frame: nothing of it is left */
    S_OPAQUE
};

enum type {
    DATA,
    HEADERS,
    PRIORITY,
    RST_STREAM,
    SETTINGS,
    PUSH_PROMISE,
    PING,
    GOAWAY,
    WINDOW_UPDATE,
    CONTINUATION,
    TYPES
};

enum flag { END_STREAM = 1, ACK = 1, END_HEADERS = 4, PADDED = 8, HAS_PRIORITY = 32 };

enum setting { HEADER_TABLE_SIZE = 1, MAX_FRAME_SIZE = 5 };

#define FRAME_DEFAULT 16384
#define SETTING       6 /* bytes of one */
#define WEIGHT        5 /* bytes of a priority before a header block */

/* What a frame looks like, RFC 9113 section 6. */
static const struct form {
    enum { NO_STREAM, STREAM, EITHER } stream;
    bool padded;   /* may be */
    uint8_t fixed; /* bytes at the beginning of its payload that are read; of settings, again and again */
    uint8_t exact; /* all that its payload may be; 0: more or less */
} forms[TYPES] = {
    [DATA] = {STREAM, true, 0, 0},
    [HEADERS] = {STREAM, true, 0, 0},
    [PRIORITY] = {STREAM, false, 0, 5},
    [RST_STREAM] = {STREAM, false, 4, 4},
    [SETTINGS] = {NO_STREAM, false, SETTING, 0},
    [PUSH_PROMISE] = {STREAM, true, 4, 0},
    [PING] = {NO_STREAM, false, 0, 8},
    [GOAWAY] = {NO_STREAM, false, 8, 0},
    [WINDOW_UPDATE] = {EITHER, false, 0, 4},
    [CONTINUATION] = {STREAM, false, 0, 0},
};

static uint32_t number(const uint8_t *bytes, int count)
{
    uint32_t value = 0;

    for (int i = 0; i < count; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

static uint32_t stream_number(const uint8_t *bytes)
{
    return number(bytes, 4) & 0x7fffffff;
}

static bool has(const struct http2 *parser, enum flag flag)
{
    return (parser->flags & flag) != 0;
}

/* ---- beginnings --------------------------------------------------------------------------------------------------- */

static void await(struct http2 *parser, enum state state, size_t bytes)
{
    parser->state = (uint8_t)state;
    parser->have = 0;
    parser->want = (uint8_t)bytes;
}

void http2_begin(struct http2 *parser, bool server)
{
    memset(parser, 0, offsetof(struct http2, hpack));
    hpack_begin(&parser->hpack, http2_field);
    parser->server = server;
    parser->limit = FRAME_DEFAULT;
    await(parser, S_FRAME, HTTP2_HEAD);
}

bool http2_greets(const uint8_t *bytes, size_t length)
{
    return length >= HTTP2_HEAD && bytes[0] == 0 && number(bytes, 3) % SETTING == 0 && bytes[3] == SETTINGS &&
           bytes[4] == 0 && number(bytes + 5, 4) == 0;
}

void http2_allow(struct http2 *parser, uint32_t table_size, uint32_t frame_size)
{
    parser->limit = frame_size > parser->limit ? frame_size : parser->limit;
    hpack_allow(&parser->hpack, table_size);
}

/* ---- frames ------------------------------------------------------------------------------------------------------- */

/* Is this what may come next, and in a form that it may have? */
static bool sound(const struct http2 *parser)
{
    if (parser->left > parser->limit || (!parser->begun && (parser->type != SETTINGS || has(parser, ACK)))) {
        return false;
    }
    /* Between the frames of a header block nothing else may come. */
    if (parser->block != 0 ? parser->type != CONTINUATION || parser->stream != parser->block
                           : parser->type == CONTINUATION) {
        return false;
    }
    if (parser->type >= TYPES) {
        return true;
    }
    const struct form *form = &forms[parser->type];

    if (form->stream != EITHER && (form->stream == STREAM) != (parser->stream != 0)) {
        return false;
    }
    if (form->exact != 0 ? parser->left != form->exact : parser->left < form->fixed && parser->type != SETTINGS) {
        return false;
    }
    switch (parser->type) {
    case SETTINGS:
        return parser->left % SETTING == 0 && (!has(parser, ACK) || parser->left == 0);
    case PUSH_PROMISE:
        return parser->server;
    default:
        return true;
    }
}

/* What is not read is passed over. */
static void payload(struct http2 *parser)
{
    await(parser, parser->left > 0 ? S_PAYLOAD : parser->padding > 0 ? S_PADDING : S_END, 0);
}

/* The padding is known; the fixed part comes next. False: there is no room for that. */
static bool prefix(struct http2 *parser)
{
    uint8_t fixed = parser->type < TYPES ? forms[parser->type].fixed : 0;

    if (parser->type == HEADERS && has(parser, HAS_PRIORITY)) {
        fixed = WEIGHT;
    }
    if (parser->left < fixed) {
        fixed = 0;
        if (parser->type != SETTINGS) {
            return false;
        }
    }
    if (fixed > 0) {
        await(parser, S_FIXED, fixed);
    } else {
        payload(parser);
    }
    return true;
}

static bool frame_begins(struct http2 *parser)
{
    parser->left = number(parser->word, 3);
    parser->type = parser->word[3];
    parser->flags = parser->word[4];
    parser->stream = stream_number(parser->word + 5);
    parser->padding = 0;
    if (!sound(parser)) {
        return false;
    }
    parser->begun = true;
    if (parser->type == HEADERS || parser->type == PUSH_PROMISE) {
        parser->block = parser->stream;
        parser->block_ends = parser->type == HEADERS && has(parser, END_STREAM);
        parser->block_promised = parser->type == PUSH_PROMISE;
        http2_facts_begin(&parser->facts);
    } else if (parser->type == SETTINGS) {
        parser->table_size = parser->frame_size = 0;
    }
    if (parser->type < TYPES && forms[parser->type].padded && has(parser, PADDED)) {
        await(parser, S_PADDED, 1);
        return parser->left > 0;
    }
    return prefix(parser);
}

/* The fixed part is in word. */
static bool fixed_ends(struct http2 *parser)
{
    parser->left -= parser->want;
    switch (parser->type) {
    case RST_STREAM:
        parser->code = number(parser->word, 4);
        break;
    case GOAWAY:
        parser->stream = stream_number(parser->word);
        parser->code = number(parser->word + 4, 4);
        break;
    case SETTINGS:
        if (number(parser->word, 2) == HEADER_TABLE_SIZE) {
            parser->table_size = number(parser->word + 2, 4);
        } else if (number(parser->word, 2) == MAX_FRAME_SIZE) {
            parser->frame_size = number(parser->word + 2, 4);
        }
        return prefix(parser);
    default:
        break;
    }
    payload(parser);
    return true;
}

static bool padding_known(struct http2 *parser)
{
    parser->left -= 1;
    parser->padding = parser->word[0];
    if (parser->padding > parser->left) {
        return false;
    }
    parser->left -= parser->padding;
    return prefix(parser);
}

/* word is complete. False: malformed. */
static bool word_ends(struct http2 *parser)
{
    switch ((enum state)parser->state) {
    case S_FRAME:
        return frame_begins(parser);
    case S_PADDED:
        return padding_known(parser);
    default:
        return fixed_ends(parser);
    }
}

static enum http2_event opaque(struct http2 *parser)
{
    parser->state = S_OPAQUE;
    return HTTP2_OPAQUE;
}

static enum http2_event block_ends(struct http2 *parser)
{
    if (!has(parser, END_HEADERS)) {
        return HTTP2_MORE;
    }
    parser->block = 0;
    parser->ends = parser->block_ends;
    http2_facts_end(&parser->facts);
    if (!hpack_block_end(&parser->hpack)) {
        return opaque(parser);
    }
    return parser->block_promised ? HTTP2_MORE : HTTP2_HEADERS;
}

/* All of a frame was read. */
static enum http2_event frame_ends(struct http2 *parser)
{
    await(parser, S_FRAME, HTTP2_HEAD);
    switch (parser->type) {
    case DATA:
        return has(parser, END_STREAM) ? HTTP2_END : HTTP2_MORE;
    case HEADERS:
    case PUSH_PROMISE:
    case CONTINUATION:
        return block_ends(parser);
    case RST_STREAM:
        return HTTP2_RESET;
    case GOAWAY:
        return HTTP2_GOAWAY;
    case SETTINGS:
        return has(parser, ACK) ? HTTP2_MORE : HTTP2_SETTINGS;
    default:
        return HTTP2_MORE;
    }
}

/* ---- bytes -------------------------------------------------------------------------------------------------------- */

static bool is_block(const struct http2 *parser)
{
    return parser->type == HEADERS || parser->type == PUSH_PROMISE || parser->type == CONTINUATION;
}

/* Bytes of a header block. False: malformed, or too much. */
static bool block_feed(struct http2 *parser, const uint8_t *bytes, size_t length)
{
    enum hpack_event event;

    do {
        size_t taken;

        event = hpack_feed(&parser->hpack, bytes, length, &taken);
        bytes += taken;
        length -= taken;
        if (event == HPACK_FIELD) {
            http2_facts_take(&parser->facts, parser->hpack.field, parser->hpack.value, parser->hpack.length);
        }
    } while (event == HPACK_FIELD);
    return event != HPACK_BAD;
}

/* Part of a payload, at least a byte. */
static enum http2_event payload_feed(struct http2 *parser, const uint8_t *bytes, size_t length)
{
    parser->left -= (uint32_t)length;
    if (parser->left == 0) {
        payload(parser);
    }
    if (parser->type == DATA) {
        parser->data = bytes;
        parser->length = length;
        return HTTP2_DATA;
    }
    return is_block(parser) && !block_feed(parser, bytes, length) ? opaque(parser) : HTTP2_MORE;
}

/* Takes some of the bytes, at least one. */
static enum http2_event step(struct http2 *parser, const uint8_t *bytes, size_t length, size_t *taken)
{
    switch ((enum state)parser->state) {
    case S_PAYLOAD:
        *taken = length < parser->left ? length : parser->left;
        return payload_feed(parser, bytes, *taken);
    case S_PADDING:
        *taken = length < parser->padding ? length : parser->padding;
        parser->padding -= (uint8_t)*taken;
        if (parser->padding == 0) {
            parser->state = S_END;
        }
        return HTTP2_MORE;
    default:
        *taken = length < (size_t)(parser->want - parser->have) ? length : (size_t)(parser->want - parser->have);
        memcpy(parser->word + parser->have, bytes, *taken);
        parser->have += (uint8_t)*taken;
        return parser->have == parser->want && !word_ends(parser) ? opaque(parser) : HTTP2_MORE;
    }
}

enum http2_event http2_feed(struct http2 *parser, const uint8_t *bytes, size_t length, size_t *taken)
{
    enum http2_event event = parser->state == S_OPAQUE ? HTTP2_OPAQUE : HTTP2_MORE;

    *taken = 0;
    while (event == HTTP2_MORE) {
        size_t part = 0;

        if (parser->state == S_END) {
            event = frame_ends(parser);
        } else if (*taken < length) {
            event = step(parser, bytes + *taken, length - *taken, &part);
            *taken += part;
        } else {
            break;
        }
    }
    return event;
}

size_t http2_passing(const struct http2 *parser)
{
    return parser->state == S_PAYLOAD && !is_block(parser) ? parser->left : 0;
}
