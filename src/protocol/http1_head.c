#include "protocol/http1_inner.h"

#include <string.h>

#define CONTENT_LENGTH_MAX (UINT64_MAX >> 1)

/* ---- words ---------------------------------------------------------------------------------------------------- */

static uint8_t fold(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte | 0x20) : byte;
}

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

void http1_word_add(struct http1 *parser, uint8_t byte)
{
    if (parser->length < sizeof parser->word) {
        parser->word[parser->length] = (char)fold(byte);
    }
    if (parser->length <= sizeof parser->word) {
        parser->length++;
    }
}

/* Did the word not fit? */
static bool word_cut(const struct http1 *parser)
{
    return parser->length > sizeof parser->word;
}

static void word_trim(struct http1 *parser)
{
    if (word_cut(parser)) {
        return;
    }
    while (parser->length > 0 && is_blank((uint8_t)parser->word[parser->length - 1])) {
        parser->length--;
    }
}

bool http1_word_is(const struct http1 *parser, const char *text)
{
    size_t length = strlen(text);

    return parser->length == length && memcmp(parser->word, text, length) == 0;
}

/* ---- values: each gets its word trimmed; false: not understood ------------------------------------------------ */

static bool length_value(struct http1 *parser)
{
    bool again = (parser->seen & (1u << HTTP1_FIELD_LENGTH << 8)) != 0;
    uint64_t value = 0;

    if (parser->length == 0 || word_cut(parser)) {
        return false;
    }
    for (uint8_t i = 0; i < parser->length; i++) {
        if (!is_digit((uint8_t)parser->word[i]) || value > (CONTENT_LENGTH_MAX - 9) / 10) {
            return false;
        }
        value = value * 10 + (uint64_t)(parser->word[i] - '0');
    }
    if (again && value != parser->left) {
        return false;
    }
    parser->left = value;
    return true;
}

static bool encoding_member(struct http1 *parser)
{
    if (parser->length == 0 || http1_word_is(parser, "identity")) {
        return true;
    }
    for (uint8_t i = 0; i < parser->length && i < sizeof parser->word; i++) {
        if (!http1_is((uint8_t)parser->word[i], HTTP1_C_TOKEN)) {
            return false; /* parameters: no coding in use has any */
        }
    }
    if ((parser->flags & HTTP1_F_CHUNKED) != 0) {
        return false; /* chunked is the last coding, and once only */
    }
    parser->flags |= HTTP1_F_ENCODED;
    if (http1_word_is(parser, "chunked")) {
        parser->flags |= HTTP1_F_CHUNKED;
    }
    return true;
}

static bool connection_member(struct http1 *parser)
{
    if (http1_word_is(parser, "close")) {
        parser->flags |= HTTP1_F_CLOSE;
    } else if (http1_word_is(parser, "keep-alive")) {
        parser->flags |= HTTP1_F_KEEP;
    }
    return true;
}

static bool type_value(struct http1 *parser)
{
    static const char stream[] = "text/event-stream";
    const size_t length = sizeof stream - 1;

    if (parser->length >= length && memcmp(parser->word, stream, length) == 0) {
        parser->facts.event_stream =
            parser->length == length || parser->word[length] == ';' || is_blank((uint8_t)parser->word[length]);
    }
    return true;
}

static bool coding_value(struct http1 *parser)
{
    /* What comes twice stays encoded. */
    parser->facts.encoded = parser->facts.encoded || (parser->length > 0 && !http1_word_is(parser, "identity"));
    return true;
}

static bool retry_value(struct http1 *parser)
{
    retry_take(&parser->facts.retry, parser->retry, parser->word, word_cut(parser) ? 0 : parser->length);
    return true;
}

/* ---- fields --------------------------------------------------------------------------------------------------- */

enum { REQUESTS = 1, ANSWERS = 2 };

#define NAME(text) text, sizeof(text) - 1

/* `value` is called for each member of a list, else for the whole value; a host is read byte by byte instead. */
static const struct field {
    char name[24];
    uint8_t length; /* of the name */
    uint8_t sides;
    bool list;
    bool (*value)(struct http1 *parser);
} fields[] = {
    [HTTP1_FIELD_OTHER] = {NAME(""), 0, false, NULL},
    [HTTP1_FIELD_HOST] = {NAME("host"), REQUESTS, false, NULL},
    [HTTP1_FIELD_LENGTH] = {NAME("content-length"), REQUESTS | ANSWERS, false, length_value},
    [HTTP1_FIELD_ENCODING] = {NAME("transfer-encoding"), REQUESTS | ANSWERS, true, encoding_member},
    [HTTP1_FIELD_CONNECTION] = {NAME("connection"), REQUESTS | ANSWERS, true, connection_member},
    [HTTP1_FIELD_TYPE] = {NAME("content-type"), ANSWERS, false, type_value},
    [HTTP1_FIELD_CODING] = {NAME("content-encoding"), ANSWERS, false, coding_value},
    [HTTP1_FIELD_RETRY] = {NAME(""), 0, false, retry_value},
};

static bool seen(const struct http1 *parser, enum http1_field field)
{
    return (parser->seen & (1u << field)) != 0;
}

static bool seen_twice(const struct http1 *parser, enum http1_field field)
{
    return (parser->seen & (1u << field << 8)) != 0;
}

#define BLANKS UINT64_C(0x2020202020202020)

/* Up to eight bytes, folded: of tokens, only letters have a twin that differs in this bit and is in a name of ours. */
static uint64_t folded(const void *bytes, size_t length)
{
    uint64_t word = 0;

    memcpy(&word, bytes, length);
    return word | BLANKS;
}

/* Is this field's name these tokens? Eight at a time, the last eight once more rather than one by one. */
static bool is_name(const struct field *field, const uint8_t *name, size_t length)
{
    if (field->length != length) {
        return false;
    }
    if (length < 8) {
        return length == 4 && folded(name, 4) == folded(field->name, 4);
    }
    for (size_t at = 0; at + 8 < length; at += 8) {
        if (folded(name + at, 8) != folded(field->name + at, 8)) {
            return false;
        }
    }
    return folded(name + (length - 8), 8) == folded(field->name + (length - 8), 8);
}

static enum http1_field find_field(struct http1 *parser, const uint8_t *name, size_t length)
{
    uint8_t side = (parser->flags & HTTP1_F_ANSWER) != 0 ? ANSWERS : REQUESTS;

    for (unsigned i = HTTP1_FIELD_HOST; i < HTTP1_FIELD_RETRY; i++) {
        if ((fields[i].sides & side) != 0 && is_name(&fields[i], name, length)) {
            return (enum http1_field)i;
        }
    }
    /* Only where they are asked for: there are many of them, and nearly all answers are neither a 429 nor a 503. */
    if (retry_status(parser->facts.status)) {
        parser->retry = (uint8_t)retry_field((const char *)name, length);
        return parser->retry != 0 ? HTTP1_FIELD_RETRY : HTTP1_FIELD_OTHER;
    }
    return HTTP1_FIELD_OTHER;
}

static void field_begin(struct http1 *parser, const uint8_t *name, size_t length)
{
    parser->field = (uint8_t)find_field(parser, name, length);
    parser->length = 0;
    if (parser->field == HTTP1_FIELD_OTHER) {
        return;
    }
    parser->seen |= (uint16_t)(seen(parser, parser->field) ? 1u << parser->field << 8 : 1u << parser->field);
    if (parser->field == HTTP1_FIELD_HOST && !parser->facts.absolute) {
        http1_host_begin(parser);
    }
}

void http1_field_begin(struct http1 *parser)
{
    field_begin(parser, (const uint8_t *)parser->word, parser->length);
}

/* The value, or a member of it, is complete in word. */
static void value_end(struct http1 *parser)
{
    word_trim(parser);
    if (!fields[parser->field].value(parser)) {
        parser->flags |= HTTP1_F_DOUBTFUL;
    }
    parser->length = 0;
}

void http1_field_feed(struct http1 *parser, uint8_t byte)
{
    if (parser->field == HTTP1_FIELD_HOST) {
        if (!parser->facts.absolute) {
            http1_host_feed(parser, byte);
        }
    } else if (fields[parser->field].list && byte == ',') {
        value_end(parser);
    } else if (parser->length > 0 || !is_blank(byte)) {
        http1_word_add(parser, byte);
    }
}

void http1_field_end(struct http1 *parser)
{
    if (parser->field == HTTP1_FIELD_HOST) {
        if (!parser->facts.absolute) {
            http1_host_end(parser);
        }
    } else if (parser->field != HTTP1_FIELD_OTHER) {
        value_end(parser);
    }
}

/* All of a value in word, folded, without the blanks before it. */
static void word_take(struct http1 *parser, const uint8_t *value, size_t length)
{
    while (length > 0 && is_blank(*value)) {
        value++;
        length--;
    }
    size_t kept = length < sizeof parser->word ? length : sizeof parser->word;

    for (size_t i = 0; i < kept; i++) {
        parser->word[i] = (char)fold(value[i]);
    }
    parser->length = (uint8_t)(length > kept ? kept + 1 : kept);
}

/* A Host: line's value: blanks and a name at once, what follows that byte by byte. */
static void host_take(struct http1 *parser, const uint8_t *value, size_t length)
{
    size_t at = 0;

    if (parser->facts.absolute) {
        return;
    }
    while (at < length && is_blank(value[at])) {
        at++;
    }
    while (at < length && http1_is(value[at], HTTP1_C_HOST) && parser->length < HTTP1_HOST - 1) {
        parser->facts.host[parser->length++] = (char)fold(value[at++]);
    }
    while (at < length) {
        http1_host_feed(parser, value[at++]);
    }
}

void http1_field_take(struct http1 *parser, const uint8_t *name, size_t name_length, const uint8_t *value,
                      size_t length)
{
    field_begin(parser, name, name_length);
    if (parser->field == HTTP1_FIELD_OTHER) {
        return;
    }
    if (parser->field == HTTP1_FIELD_HOST) {
        host_take(parser, value, length);
    } else if (fields[parser->field].list) {
        for (size_t i = 0; i < length; i++) {
            http1_field_feed(parser, value[i]);
        }
    } else {
        word_take(parser, value, length);
    }
    http1_field_end(parser);
}

/* ---- hosts ---------------------------------------------------------------------------------------------------- */

void http1_host_begin(struct http1 *parser)
{
    parser->length = 0;
    parser->facts.port = 0;
    parser->facts.host[0] = '\0';
    parser->flags &= (uint16_t) ~(HTTP1_F_PORT | HTTP1_F_HOST_END | HTTP1_F_HOST_BAD);
}

static void port_feed(struct http1 *parser, uint8_t byte)
{
    uint32_t port = parser->facts.port * 10u + (uint32_t)(byte - '0');

    if (!is_digit(byte) || port > UINT16_MAX) {
        parser->flags |= HTTP1_F_HOST_BAD;
        return;
    }
    parser->facts.port = (uint16_t)port;
}

void http1_host_feed(struct http1 *parser, uint8_t byte)
{
    bool name = http1_is(byte, HTTP1_C_HOST);
    bool port = (parser->flags & HTTP1_F_PORT) != 0;

    if (is_blank(byte)) {
        parser->flags |= parser->length > 0 ? HTTP1_F_HOST_END : 0;
    } else if ((parser->flags & HTTP1_F_HOST_END) == 0 && port) {
        port_feed(parser, byte);
    } else if ((parser->flags & HTTP1_F_HOST_END) == 0 && byte == ':') {
        parser->flags |= HTTP1_F_PORT;
    } else if ((parser->flags & HTTP1_F_HOST_END) == 0 && name && parser->length < HTTP1_HOST - 1) {
        parser->facts.host[parser->length++] = (char)fold(byte);
    } else {
        parser->flags |= HTTP1_F_HOST_BAD;
    }
}

void http1_host_end(struct http1 *parser)
{
    if (parser->length > 0 && parser->facts.host[parser->length - 1] == '.') {
        parser->length--;
    }
    if ((parser->flags & HTTP1_F_HOST_BAD) != 0 || parser->length == 0) {
        parser->length = 0;
        parser->facts.port = 0;
    }
    parser->facts.host[parser->length] = '\0';
    parser->length = 0;
}

/* ---- framing -------------------------------------------------------------------------------------------------- */

/* What came twice is not believed. */
static void drop_repeated(struct http1 *parser)
{
    struct http1_facts *facts = &parser->facts;

    if (seen_twice(parser, HTTP1_FIELD_HOST) && !facts->absolute) {
        facts->host[0] = '\0';
        facts->port = 0;
    }
    if (seen_twice(parser, HTTP1_FIELD_TYPE)) {
        facts->event_stream = false;
    }
}

/* Of a message that may have a body: which one, RFC 9112 section 6.3. */
static enum http1_framing body_framing(struct http1 *parser)
{
    bool answer = (parser->flags & HTTP1_F_ANSWER) != 0;

    if ((parser->flags & HTTP1_F_ENCODED) != 0) {
        if ((parser->flags & HTTP1_F_CHUNKED) != 0) {
            parser->left = 0;
            return HTTP1_FRAMING_CHUNKED;
        }
        return answer ? HTTP1_FRAMING_CLOSE : HTTP1_FRAMING_OPAQUE;
    }
    if (seen(parser, HTTP1_FIELD_LENGTH)) {
        return parser->left > 0 ? HTTP1_FRAMING_LENGTH : HTTP1_FRAMING_NONE;
    }
    return answer ? HTTP1_FRAMING_CLOSE : HTTP1_FRAMING_NONE;
}

static enum http1_framing answer_framing(struct http1 *parser)
{
    unsigned status = parser->facts.status;

    if (status < 200) {
        return status == 101 ? HTTP1_FRAMING_OPAQUE : HTTP1_FRAMING_INTERIM;
    }
    if (parser->request == HTTP1_CONNECT && status < 300) {
        return HTTP1_FRAMING_OPAQUE;
    }
    if (parser->request == HTTP1_HEAD || status == 204 || status == 304) {
        return HTTP1_FRAMING_NONE;
    }
    return body_framing(parser);
}

enum http1_framing http1_head_end(struct http1 *parser)
{
    struct http1_facts *facts = &parser->facts;
    bool answer = (parser->flags & HTTP1_F_ANSWER) != 0;
    enum http1_framing framing = answer ? answer_framing(parser) : body_framing(parser);

    /* Two ways of framing in one head, or chunks in a version that had none: smugglers' tools. */
    if ((parser->flags & HTTP1_F_ENCODED) != 0 &&
        (seen(parser, HTTP1_FIELD_LENGTH) || (parser->flags & HTTP1_F_OLD) != 0)) {
        parser->flags |= HTTP1_F_DOUBTFUL;
    }
    if (!answer && facts->method == HTTP1_CONNECT && framing != HTTP1_FRAMING_NONE) {
        parser->flags |= HTTP1_F_DOUBTFUL;
    }
    drop_repeated(parser);
    if ((parser->flags & HTTP1_F_DOUBTFUL) != 0) {
        framing = HTTP1_FRAMING_OPAQUE;
    }
    if (framing == HTTP1_FRAMING_OPAQUE) {
        facts->host[0] = '\0';
        facts->port = 0;
    }
    facts->until_close = framing == HTTP1_FRAMING_CLOSE;
    facts->keep_alive = framing != HTTP1_FRAMING_CLOSE && framing != HTTP1_FRAMING_OPAQUE &&
                        (parser->flags & HTTP1_F_CLOSE) == 0 &&
                        ((parser->flags & HTTP1_F_OLD) == 0 || (parser->flags & HTTP1_F_KEEP) != 0);
    return framing;
}
