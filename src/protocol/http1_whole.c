/*
 * See http1_inner.h: many bytes at once. Each function here does what its bytes one by one would do, or nothing at all and
 * returns 0: what has not arrived whole, and whatever is odd, goes byte by byte.
 */
#include "protocol/http1_inner.h"

#include <string.h>

/*
 * Where a line ends that is all there, and has no CR but before its LF: *after is what follows it. NULL: it is not all
 * there, or odd.
 */
static const uint8_t *line_stop(const uint8_t *bytes, size_t length, const uint8_t **after)
{
    const uint8_t *end = memchr(bytes, '\n', length);

    if (end == NULL) {
        return NULL;
    }
    *after = end + 1;
    const uint8_t *cr = memchr(bytes, '\r', (size_t)(end - bytes));

    return cr == NULL ? end : cr + 1 == end ? cr : NULL;
}

/* The rest of a line that does not matter: up to its end, up to a CR, or all that there is. */
static size_t take_rest(struct http1 *parser, const uint8_t *bytes, size_t length, enum http1_event *event)
{
    const uint8_t *after;

    if (line_stop(bytes, length, &after) != NULL) {
        *event = http1_line_end(parser);
        return (size_t)(after - bytes);
    }
    const uint8_t *end = memchr(bytes, '\n', length);

    length = end != NULL ? (size_t)(end - bytes) : length;
    end = memchr(bytes, '\r', length);
    return end != NULL ? (size_t)(end - bytes) : length;
}

static size_t token(const uint8_t *bytes, size_t length)
{
    size_t at = 0;

    while (at < length && http1_is(bytes[at], HTTP1_C_TOKEN)) {
        at++;
    }
    return at;
}

static size_t target(const uint8_t *bytes, size_t length)
{
    size_t at = 0;

    while (at < length && http1_is(bytes[at], HTTP1_C_TARGET)) {
        at++;
    }
    return at;
}

/* A header line that is all there, or the empty one at the head's end. */
static size_t take_line(struct http1 *parser, const uint8_t *bytes, size_t length, enum http1_event *event)
{
    if (length >= 2 && bytes[0] == '\r' && bytes[1] == '\n') {
        *event = http1_line_end(parser);
        return 2;
    }
    size_t colon = token(bytes, length);

    if (colon == 0 || colon == length || bytes[colon] != ':') {
        return 0;
    }
    const uint8_t *value = bytes + colon + 1, *after;
    const uint8_t *stop = line_stop(value, length - colon - 1, &after);

    if (stop == NULL) {
        return 0;
    }
    http1_field_take(parser, bytes, colon, value, (size_t)(stop - value));
    return (size_t)(after - bytes);
}

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

/* "HTTP/1.1" at the start of `bytes`, of which there are enough? */
static bool is_version(const uint8_t *bytes)
{
    return memcmp(bytes, "HTTP/1.", 7) == 0 && is_digit(bytes[7]);
}

/* "GET /path HTTP/1.1" and the line's end. */
static size_t take_request(struct http1 *parser, const uint8_t *bytes, size_t length)
{
    size_t method = token(bytes, length);

    if (method == 0 || method > HTTP1_METHOD || length - method < 13 || memcmp(bytes + method, " /", 2) != 0) {
        return 0;
    }
    size_t at = method + 2 + target(bytes + method + 2, length - method - 2);

    if (length - at < 11 || bytes[at] != ' ' || !is_version(bytes + at + 1) || memcmp(bytes + at + 9, "\r\n", 2) != 0) {
        return 0;
    }
    enum http1_method known = http1_method_of(bytes, method);

    if (known == HTTP1_CONNECT) {
        return 0;
    }
    parser->facts.method = known;
    parser->flags |= bytes[at + 8] == '0' ? HTTP1_F_OLD : 0;
    parser->state = HTTP1_S_LINE;
    return at + 11;
}

/* "HTTP/1.1 200 ". */
static size_t take_status(struct http1 *parser, const uint8_t *bytes, size_t length, enum http1_event *event)
{
    if (length < 13 || !is_version(bytes) || bytes[8] != ' ' || !is_digit(bytes[9]) || bytes[9] == '0' ||
        !is_digit(bytes[10]) || !is_digit(bytes[11]) || bytes[12] != ' ') {
        return 0;
    }
    parser->facts.status = (uint16_t)((bytes[9] - '0') * 100 + (bytes[10] - '0') * 10 + (bytes[11] - '0'));
    parser->flags |= bytes[7] == '0' ? HTTP1_F_OLD : 0;
    parser->state = HTTP1_S_REASON;
    *event = http1_status_known(parser);
    return 13;
}

size_t http1_body(struct http1 *parser, size_t length)
{
    if (parser->state == HTTP1_S_UNTIL_CLOSE) {
        return length;
    }
    length = length < parser->left ? length : (size_t)parser->left;
    parser->left -= length;
    if (parser->left == 0) {
        parser->state = parser->state == HTTP1_S_BODY ? HTTP1_S_FINISHED : HTTP1_S_CHUNK_END;
    }
    return length;
}

size_t http1_stretch(struct http1 *parser, const uint8_t *bytes, size_t length, enum http1_event *event)
{
    if ((parser->flags & HTTP1_F_CR) != 0) {
        return 0;
    }
    switch ((enum http1_state)parser->state) {
    case HTTP1_S_METHOD:
        return parser->length == 0 ? take_request(parser, bytes, length) : 0;
    case HTTP1_S_TARGET_REST:
        return target(bytes, length);
    case HTTP1_S_VERSION:
        return parser->length == 0 && (parser->flags & HTTP1_F_ANSWER) != 0 ? take_status(parser, bytes, length, event)
                                                                            : 0;
    case HTTP1_S_LINE:
        return take_line(parser, bytes, length, event);
    case HTTP1_S_REASON:
    case HTTP1_S_SKIPPED:
    case HTTP1_S_CHUNK_REST:
    case HTTP1_S_TRAILER_REST:
        return take_rest(parser, bytes, length, event);
    case HTTP1_S_BODY:
    case HTTP1_S_CHUNK_DATA:
    case HTTP1_S_UNTIL_CLOSE:
        if ((parser->flags & HTTP1_F_WANTED) != 0) {
            *event = HTTP1_BODY;
            return 0;
        }
        return http1_body(parser, length);
    default:
        return 0;
    }
}
