#include "protocol/http1_inner.h"

#include <string.h>

/* ---- beginnings ----------------------------------------------------------------------------------------------- */

/* Not the texts: they are kilobytes a second of zeros that nobody reads. */
static void clear(struct http1 *parser)
{
    memset(&parser->facts, 0, offsetof(struct http1_facts, host));
    parser->facts.host[0] = '\0';
    retry_begin(&parser->facts.retry);
    parser->left = 0;
    parser->seen = 0;
    parser->length = 0;
    parser->field = HTTP1_FIELD_NONE;
}

void http1_request_begin(struct http1 *parser)
{
    clear(parser);
    parser->flags = 0;
    parser->state = HTTP1_S_START;
    parser->request = HTTP1_OTHER;
}

void http1_answer_begin(struct http1 *parser, enum http1_method method)
{
    http1_request_begin(parser);
    parser->flags = HTTP1_F_ANSWER;
    parser->request = (uint8_t)method;
}

bool http1_other_version(const struct http1 *parser)
{
    return (parser->flags & HTTP1_F_OTHER) != 0;
}

bool http1_idle(const struct http1 *parser)
{
    return parser->state == HTTP1_S_START && (parser->flags & HTTP1_F_INTERIM) == 0;
}

bool http1_closed(const struct http1 *parser)
{
    return http1_idle(parser) || parser->state == HTTP1_S_UNTIL_CLOSE || parser->state == HTTP1_S_FINISHED ||
           parser->state == HTTP1_S_OPAQUE;
}

/* ---- header lines --------------------------------------------------------------------------------------------- */

static enum http1_state doubtful(struct http1 *parser)
{
    parser->flags |= HTTP1_F_DOUBTFUL;
    return HTTP1_S_SKIPPED;
}

static enum http1_state name_feed(struct http1 *parser, uint8_t byte)
{
    if (http1_is(byte, HTTP1_C_TOKEN)) {
        http1_word_add(parser, byte);
        return HTTP1_S_NAME;
    }
    if (byte != ':' || parser->length == 0) {
        return doubtful(parser);
    }
    http1_field_begin(parser);
    return parser->field == HTTP1_FIELD_OTHER ? HTTP1_S_SKIPPED : HTTP1_S_VALUE;
}

static enum http1_state line_feed(struct http1 *parser, uint8_t byte)
{
    if (byte == ' ' || byte == '\t') {
        /* A folded line goes on with the one before: harmless unless that one matters. The first has none before it. */
        return parser->field == HTTP1_FIELD_OTHER ? HTTP1_S_SKIPPED : doubtful(parser);
    }
    parser->length = 0;
    return name_feed(parser, byte);
}

/* ---- chunks --------------------------------------------------------------------------------------------------- */

static int hex(uint8_t byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static enum http1_state chunk_size_feed(struct http1 *parser, uint8_t byte)
{
    int digit = hex(byte);

    if (digit >= 0) {
        if (parser->left >> 59 != 0) {
            return HTTP1_S_OPAQUE;
        }
        parser->left = parser->left << 4 | (uint64_t)digit;
        return HTTP1_S_CHUNK_SIZE;
    }
    if (byte == ';' && parser->state != HTTP1_S_CHUNK) {
        return HTTP1_S_CHUNK_REST;
    }
    return (byte == ' ' || byte == '\t') && parser->state != HTTP1_S_CHUNK ? HTTP1_S_CHUNK_BLANK : HTTP1_S_OPAQUE;
}

static enum http1_state chunk_blank_feed(uint8_t byte)
{
    if (byte == ';') {
        return HTTP1_S_CHUNK_REST;
    }
    return byte == ' ' || byte == '\t' ? HTTP1_S_CHUNK_BLANK : HTTP1_S_OPAQUE;
}

/* ---- one byte, one line's end --------------------------------------------------------------------------------- */

static enum http1_state byte_feed(struct http1 *parser, uint8_t byte)
{
    switch ((enum http1_state)parser->state) {
    case HTTP1_S_LINE:
        return line_feed(parser, byte);
    case HTTP1_S_NAME:
        return name_feed(parser, byte);
    case HTTP1_S_VALUE:
        http1_field_feed(parser, byte);
        return HTTP1_S_VALUE;
    case HTTP1_S_CHUNK:
    case HTTP1_S_CHUNK_SIZE:
        return chunk_size_feed(parser, byte);
    case HTTP1_S_CHUNK_BLANK:
        return chunk_blank_feed(byte);
    case HTTP1_S_CHUNK_END:
        return HTTP1_S_OPAQUE;
    case HTTP1_S_TRAILER:
        return HTTP1_S_TRAILER_REST;
    case HTTP1_S_REASON:
    case HTTP1_S_SKIPPED:
    case HTTP1_S_CHUNK_REST:
    case HTTP1_S_TRAILER_REST:
        return (enum http1_state)parser->state;
    default:
        return http1_start_feed(parser, byte);
    }
}

/* The head is complete. Returns what to tell. */
static enum http1_event head_feed(struct http1 *parser)
{
    static const uint8_t next[] = {
        [HTTP1_FRAMING_NONE] = HTTP1_S_FINISHED, [HTTP1_FRAMING_LENGTH] = HTTP1_S_BODY,
        [HTTP1_FRAMING_CHUNKED] = HTTP1_S_CHUNK, [HTTP1_FRAMING_CLOSE] = HTTP1_S_UNTIL_CLOSE,
        [HTTP1_FRAMING_INTERIM] = HTTP1_S_START, [HTTP1_FRAMING_OPAQUE] = HTTP1_S_OPAQUE,
    };
    enum http1_framing framing = http1_head_end(parser);

    parser->state = next[framing];
    if (framing == HTTP1_FRAMING_INTERIM) {
        parser->flags = HTTP1_F_ANSWER | HTTP1_F_INTERIM;
        return HTTP1_MORE;
    }
    /* An interim answer that cannot be trusted has no status to tell. */
    return (parser->flags & HTTP1_F_ANSWER) != 0 && parser->facts.status < 200 && parser->facts.status != 101
               ? HTTP1_MORE
               : HTTP1_HEAD_DONE;
}

/* The status is known. Returns what to tell. */
enum http1_event http1_status_known(const struct http1 *parser)
{
    return parser->facts.status >= 200 || parser->facts.status == 101 ? HTTP1_BEGIN : HTTP1_MORE;
}

enum http1_event http1_line_end(struct http1 *parser)
{
    enum http1_state state = (enum http1_state)parser->state;
    bool answer = (parser->flags & HTTP1_F_ANSWER) != 0;

    parser->state = HTTP1_S_OPAQUE;
    switch (state) {
    case HTTP1_S_VERSION_END:
        parser->state = answer ? HTTP1_S_OPAQUE : HTTP1_S_LINE;
        break;
    case HTTP1_S_STATUS: /* no reason, not even a blank */
        if (parser->length == 3 && parser->facts.status >= 100) {
            parser->state = HTTP1_S_LINE;
            parser->length = 0;
            return http1_status_known(parser);
        }
        break;
    case HTTP1_S_REASON:
        parser->state = HTTP1_S_LINE;
        break;
    case HTTP1_S_LINE:
        return head_feed(parser);
    case HTTP1_S_NAME:
        (void)doubtful(parser);
        parser->state = HTTP1_S_LINE;
        break;
    case HTTP1_S_VALUE:
        http1_field_end(parser);
        parser->state = HTTP1_S_LINE;
        break;
    case HTTP1_S_SKIPPED:
        parser->state = HTTP1_S_LINE;
        break;
    case HTTP1_S_CHUNK_SIZE:
    case HTTP1_S_CHUNK_BLANK:
    case HTTP1_S_CHUNK_REST:
        parser->state = parser->left > 0 ? HTTP1_S_CHUNK_DATA : HTTP1_S_TRAILER;
        break;
    case HTTP1_S_CHUNK_END:
        parser->state = HTTP1_S_CHUNK;
        break;
    case HTTP1_S_TRAILER:
        parser->state = HTTP1_S_FINISHED;
        break;
    case HTTP1_S_TRAILER_REST:
        parser->state = HTTP1_S_TRAILER;
        break;
    default: /* in the middle of a start line or a chunk's size */
        break;
    }
    return HTTP1_MORE;
}

/* Takes one byte of a line, ends of lines included. */
static enum http1_event line_byte(struct http1 *parser, uint8_t byte)
{
    if (byte == '\n') {
        parser->flags &= (uint16_t)~HTTP1_F_CR;
        return http1_line_end(parser);
    }
    if ((parser->flags & HTTP1_F_CR) != 0) {
        /* A CR that ends no line is an attack or a fault; where a head is being read, its status may still be told. */
        if (parser->state < HTTP1_S_LINE || parser->state > HTTP1_S_SKIPPED) {
            parser->state = HTTP1_S_OPAQUE;
            return HTTP1_MORE;
        }
        parser->flags |= HTTP1_F_DOUBTFUL;
        parser->flags &= (uint16_t)~HTTP1_F_CR;
    }
    if (byte == '\r') {
        parser->flags |= HTTP1_F_CR;
        return HTTP1_MORE;
    }
    bool status = parser->state == HTTP1_S_STATUS;

    parser->state = (uint8_t)byte_feed(parser, byte);
    if (status && parser->state == HTTP1_S_REASON) {
        parser->length = 0;
        return http1_status_known(parser);
    }
    return HTTP1_MORE;
}

/* ---- whole messages ---------------------------------------------------------------------------------------------- */

void http1_want_body(struct http1 *parser, bool wanted)
{
    parser->flags = (uint16_t)((parser->flags & ~HTTP1_F_WANTED) | (wanted ? HTTP1_F_WANTED : 0));
}

size_t http1_take_body(struct http1 *parser, size_t length)
{
    return http1_body(parser, length);
}

bool http1_pass(struct http1 *parser, size_t length)
{
    if ((parser->flags & HTTP1_F_WANTED) != 0) {
        return false;
    }
    switch ((enum http1_state)parser->state) {
    case HTTP1_S_BODY:
    case HTTP1_S_CHUNK_DATA:
        if (length >= parser->left) {
            return false;
        }
        parser->left -= length;
        return true;
    case HTTP1_S_UNTIL_CLOSE:
        return true;
    default:
        return false;
    }
}

/* Between messages, at a byte. Returns what to tell; *skip: it is a blank line's. */
static enum http1_event start(struct http1 *parser, uint8_t byte, bool *skip)
{
    *skip = byte == '\r' || byte == '\n';
    if (*skip) {
        return HTTP1_MORE;
    }
    clear(parser);
    if ((parser->flags & HTTP1_F_ANSWER) != 0) {
        parser->flags &= HTTP1_F_ANSWER | HTTP1_F_INTERIM;
        parser->state = HTTP1_S_VERSION;
        return HTTP1_MORE;
    }
    parser->flags = 0;
    parser->state = HTTP1_S_METHOD;
    return HTTP1_BEGIN;
}

enum http1_event http1_feed(struct http1 *parser, const uint8_t *bytes, size_t length, size_t *taken)
{
    enum http1_event event = HTTP1_MORE;
    size_t at = 0;

    while (event == HTTP1_MORE) {
        if (parser->state == HTTP1_S_OPAQUE) {
            event = HTTP1_OPAQUE;
        } else if (parser->state == HTTP1_S_FINISHED) {
            parser->state = HTTP1_S_START;
            parser->flags &= HTTP1_F_LASTING;
            parser->request = HTTP1_GET;
            event = HTTP1_END;
        } else if (at == length) {
            break;
        } else if (parser->state == HTTP1_S_START) {
            bool skip = false;

            event = start(parser, bytes[at], &skip);
            at += skip ? 1 : 0;
        } else {
            size_t many = http1_stretch(parser, bytes + at, length - at, &event);

            if (many == 0 && event == HTTP1_MORE) {
                event = line_byte(parser, bytes[at++]);
            }
            at += many;
        }
    }
    *taken = at;
    return event;
}

/* ---- pipelining ----------------------------------------------------------------------------------------------- */

void http1_pipeline_push(struct http1_pipeline *pipeline, enum http1_method method)
{
    if (pipeline->count == HTTP1_PIPELINE) {
        pipeline->lost = true;
        return;
    }
    pipeline->methods |= (uint64_t)method << (2 * pipeline->count);
    pipeline->count++;
}

enum http1_method http1_pipeline_pop(struct http1_pipeline *pipeline)
{
    enum http1_method method = (enum http1_method)(pipeline->methods & 3);

    if (pipeline->count == 0) {
        return HTTP1_GET;
    }
    pipeline->methods >>= 2;
    pipeline->count--;
    return method;
}
