#include "protocol/json.h"

#include <string.h>

enum state {
    BEFORE_VALUE, /* zero: before the text */
    FIRST_KEY,    /* behind { */
    BEFORE_KEY,   /* behind a comma in an object */
    IN_KEY,
    BEHIND_KEY,  /* a colon is due */
    FIRST_VALUE, /* behind [ */
    IN_STRING,
    IN_SCALAR, /* a number, true, false, null */
    BEHIND_VALUE,
    COMPLETE,
    DEAD
};

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* A value ended. */
static enum state behind(const struct json *json)
{
    return json->depth == 0 ? COMPLETE : BEHIND_VALUE;
}

static enum state open_container(struct json *json, bool object)
{
    if (json->depth == JSON_DEPTH) {
        return DEAD;
    }
    json->depth++;
    json->objects = json->objects << 1 | (object ? 1 : 0);
    return object ? FIRST_KEY : FIRST_VALUE;
}

static enum state close_container(struct json *json, bool object)
{
    if (json->depth == 0 || ((json->objects & 1) != 0) != object) {
        return DEAD;
    }
    json->depth--;
    json->objects >>= 1;
    return behind(json);
}

static enum state value_begin(struct json *json, uint8_t byte)
{
    switch (byte) {
    case '{':
        return open_container(json, true);
    case '[':
        return open_container(json, false);
    case '"':
        json->text_length = 0;
        json->escaped = false;
        return IN_STRING;
    default:
        return (byte >= '0' && byte <= '9') || byte == '-' || byte == 't' || byte == 'f' || byte == 'n' ? IN_SCALAR
                                                                                                        : DEAD;
    }
}

static enum state key_begin(struct json *json, uint8_t byte)
{
    json->key_length = 0;
    json->escaped = false;
    return byte == '"' ? IN_KEY : DEAD;
}

static enum state value_behind(struct json *json, uint8_t byte)
{
    switch (byte) {
    case ',':
        return (json->objects & 1) != 0 ? BEFORE_KEY : BEFORE_VALUE;
    case '}':
        return close_container(json, true);
    case ']':
        return close_container(json, false);
    default:
        return DEAD;
    }
}

static void keep(char *room, size_t size, uint8_t *length, const uint8_t *bytes, size_t count)
{
    size_t left = *length < size ? size - *length : 0;
    size_t kept = count < left ? count : left;

    if (kept > 0) {
        memcpy(room + *length, bytes, kept);
    }
    *length = (uint8_t)(count > left ? size + 1 : *length + count);
}

/*
 * Bytes of a string or key, up to its end if that is among them: *ended. Escapes are kept as they are written: no name of
 * ours has any.
 */
static size_t string_feed(struct json *json, const uint8_t *bytes, size_t length, bool *ended)
{
    bool escaped = json->escaped;
    size_t at = 0;

    while (at < length && (escaped || bytes[at] != '"')) {
        escaped = !escaped && bytes[at] == '\\';
        at++;
    }
    json->escaped = escaped;
    *ended = at < length;
    if (json->state == IN_KEY) {
        keep(json->key, sizeof json->key, &json->key_length, bytes, at);
    } else {
        keep(json->text, sizeof json->text, &json->text_length, bytes, at);
    }
    return at + (*ended ? 1 : 0);
}

static bool in_scalar(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || byte == '+' || byte == '-' || byte == '.' ||
           byte == 'E';
}

/* Outside of strings, not blank. */
static enum state token(struct json *json, uint8_t byte)
{
    switch ((enum state)json->state) {
    case BEFORE_VALUE:
        return value_begin(json, byte);
    case FIRST_VALUE:
        return byte == ']' ? close_container(json, false) : value_begin(json, byte);
    case FIRST_KEY:
        return byte == '}' ? close_container(json, true) : key_begin(json, byte);
    case BEFORE_KEY:
        return key_begin(json, byte);
    case BEHIND_KEY:
        return byte == ':' ? BEFORE_VALUE : DEAD;
    case BEHIND_VALUE:
        return value_behind(json, byte);
    default:
        return DEAD;
    }
}

/* A byte outside of strings. */
static void plain_feed(struct json *json, uint8_t byte)
{
    if (json->state == IN_SCALAR) {
        if (in_scalar(byte)) {
            return;
        }
        json->state = (uint8_t)behind(json);
    }
    if (!is_blank(byte)) {
        json->state = (uint8_t)token(json, byte);
    }
}

size_t json_feed(struct json *json, const uint8_t *bytes, size_t length, enum json_event *event)
{
    size_t at = 0;

    *event = JSON_NOTHING;
    while (at < length) {
        bool ended;

        if (json->state == DEAD) {
            return length;
        }
        if (json->state != IN_KEY && json->state != IN_STRING) {
            plain_feed(json, bytes[at++]);
            continue;
        }
        at += string_feed(json, bytes + at, length - at, &ended);
        if (ended) {
            *event = json->state == IN_KEY ? JSON_MEMBER : JSON_STRING;
            json->state = (uint8_t)(json->state == IN_KEY ? BEHIND_KEY : behind(json));
            break;
        }
    }
    return at;
}

bool json_key_is(const struct json *json, const char *key)
{
    size_t length = strlen(key);

    return json->key_length == length && memcmp(json->key, key, length) == 0;
}
