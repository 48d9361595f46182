/*
 * What the tests of the HTTP/1 parser share: what a parser tells about bytes, as text, and that it tells the same however
 * the bytes come.
 */
#ifndef UNIT_HTTP1_TRACE_H
#define UNIT_HTTP1_TRACE_H

#include "protocol/http1.h"

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- traces: what a parser tells about bytes, as text --------------------------------------------------------- */

struct trace {
    char text[4096];
    size_t length;
    size_t offset; /* bytes taken so far */
};

__attribute__((format(printf, 2, 3))) static void tell(struct trace *trace, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    trace->length += (size_t)vsnprintf(trace->text + trace->length, sizeof trace->text - trace->length, format, list);
    va_end(list);
    ck_assert_uint_lt(trace->length, sizeof trace->text);
}

static void tell_head(struct trace *trace, const struct http1_facts *facts, bool answer)
{
    static const char *const methods[] = {"OTHER", "GET", "HEAD", "CONNECT"};

    if (answer) {
        tell(trace, " head[%u%s%s%s", facts->status, facts->keep_alive ? " keep" : "",
             facts->until_close ? " until-close" : "", facts->event_stream ? " stream" : "");
        if (facts->encoded) {
            tell(trace, " encoded");
        }
        if (retry_after(&facts->retry, RETRY_BY_ALL, 0) != 0) {
            tell(trace, " retry=%" PRIu64 "ms", retry_after(&facts->retry, RETRY_BY_ALL, 0) / 1000000);
        }
    } else {
        tell(trace, " head[%s %s%s:%u%s", methods[facts->method], facts->absolute ? "abs " : "", facts->host,
             facts->port, facts->keep_alive ? " keep" : "");
    }
    tell(trace, "]@%zu", trace->offset);
}

/* Feeds one piece as the header says, telling every event with the offset behind it. False: opaque. */
static bool feed(struct http1 *parser, bool answer, const char *bytes, size_t length, struct trace *trace)
{
    enum http1_event event;

    do {
        size_t taken = SIZE_MAX;

        event = http1_feed(parser, (const uint8_t *)bytes, length, &taken);
        ck_assert_uint_le(taken, length);
        bytes += taken;
        length -= taken;
        trace->offset += taken;
        switch (event) {
        case HTTP1_MORE:
            ck_assert_uint_eq(length, 0);
            break;
        case HTTP1_BEGIN:
            tell(trace, " begin@%zu", trace->offset);
            break;
        case HTTP1_HEAD_DONE:
            tell_head(trace, &parser->facts, answer);
            break;
        case HTTP1_END:
            tell(trace, " end@%zu", trace->offset);
            break;
        case HTTP1_BODY:
            ck_abort_msg("nobody asked for it");
            break;
        case HTTP1_OPAQUE:
            tell(trace, " opaque");
            break;
        }
    } while (event != HTTP1_MORE && event != HTTP1_OPAQUE);
    return event != HTTP1_OPAQUE;
}

enum side { REQUEST, ANSWER };

static void begin(struct http1 *parser, enum side side, enum http1_method method)
{
    memset(parser, 0xa5, sizeof *parser); /* nothing may be taken from what was there */
    if (side == REQUEST) {
        http1_request_begin(parser);
    } else {
        http1_answer_begin(parser, method);
    }
}

static void close_trace(struct http1 *parser, struct trace *trace)
{
    tell(trace, "%s", http1_closed(parser) ? "" : " cut");
}

/* Feeds `bytes` in two pieces, split at `split`; SIZE_MAX: byte by byte. */
static void run(enum side side, enum http1_method method, const char *bytes, size_t length, size_t split,
                struct trace *trace)
{
    struct http1 parser;
    size_t step = split == SIZE_MAX ? 1 : split;

    memset(trace, 0, sizeof *trace);
    begin(&parser, side, method);
    for (size_t at = 0; at < length;) {
        size_t piece = length - at < step ? length - at : step;
        /* in memory of its own, so that a sanitizer sees a read beyond it */
        char *copy = malloc(piece > 0 ? piece : 1);

        memcpy(copy, bytes + at, piece);
        bool more = feed(&parser, side == ANSWER, copy, piece, trace);
        free(copy);
        if (!more) {
            break;
        }
        at += piece;
        step = split == SIZE_MAX ? 1 : length;
    }
    close_trace(&parser, trace);
}

static void check_vector(enum side side, enum http1_method method, const char *bytes, size_t length,
                         const char *expected)
{
    struct trace trace;

    run(side, method, bytes, length, length, &trace);
    ck_assert_msg(strcmp(trace.text, expected) == 0, "%.*s\nwhole: got  %s\n       want %s", (int)length, bytes,
                  trace.text, expected);
    run(side, method, bytes, length, SIZE_MAX, &trace);
    ck_assert_msg(strcmp(trace.text, expected) == 0, "%.*s\nbytewise: got  %s\n          want %s", (int)length, bytes,
                  trace.text, expected);
    for (size_t split = 1; split < length; split++) {
        run(side, method, bytes, length, split, &trace);
        ck_assert_msg(strcmp(trace.text, expected) == 0, "%.*s\nsplit at %zu: got  %s\n              want %s",
                      (int)length, bytes, split, trace.text, expected);
    }
}

struct vector {
    const char *bytes, *expected;
};

static __attribute__((unused)) void check_requests(const struct vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check_vector(REQUEST, HTTP1_GET, vectors[i].bytes, strlen(vectors[i].bytes), vectors[i].expected);
    }
}

static __attribute__((unused)) void check_answers(enum http1_method method, const struct vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check_vector(ANSWER, method, vectors[i].bytes, strlen(vectors[i].bytes), vectors[i].expected);
    }
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
