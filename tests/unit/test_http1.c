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
        if (facts->retry_after != 0) {
            tell(trace, " retry=%" PRIu32, facts->retry_after);
        }
        if (facts->retry_date != 0) {
            tell(trace, " date=%" PRId64, facts->retry_date);
        }
        if (facts->retry_after_ms != 0) {
            tell(trace, " ms=%" PRIu64, facts->retry_after_ms);
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

static void check_requests(const struct vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check_vector(REQUEST, HTTP1_GET, vectors[i].bytes, strlen(vectors[i].bytes), vectors[i].expected);
    }
}

static void check_answers(enum http1_method method, const struct vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check_vector(ANSWER, method, vectors[i].bytes, strlen(vectors[i].bytes), vectors[i].expected);
    }
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- requests ------------------------------------------------------------------------------------------------- */

START_TEST(request_tells_method_host_and_end)
{
    static const struct vector vectors[] = {
        {"GET /v1 HTTP/1.1\r\nHost: api.openai.com\r\nAccept: */*\r\n\r\n",
         " begin@0 head[GET api.openai.com:0 keep]@55 end@55"},
        {"HEAD / HTTP/1.1\r\nhost:API.Example.COM.:8443 \t\r\n\r\n",
         " begin@0 head[HEAD api.example.com:8443 keep]@49 end@49"},
        {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", " begin@0 head[OTHER a:0 keep]@31 end@31"},
        {"get / HTTP/1.1\r\nHost: a\r\n\r\n", " begin@0 head[OTHER a:0 keep]@27 end@27"},
        {"GET / HTTP/1.1\nHost: a\n\n", " begin@0 head[GET a:0 keep]@24 end@24"},
        {"GET /\xc3\xa9 HTTP/1.1\r\n\r\n", " begin@0 head[GET :0 keep]@20 end@20"},
        {"GET / HTTP/1.1\r\nHost: a\r\nX: b", " begin@0 cut"},
        {"GET / HTTP/1.1\r\nX: one\r\n two\r\nHost: a\r\n\r\n", " begin@0 head[GET a:0 keep]@41 end@41"},
    };
    check_requests(vectors, COUNT(vectors));
}
END_TEST

START_TEST(blank_lines_before_a_request_are_passed_over)
{
    static const struct vector vectors[] = {
        {"\r\n\r\nGET / HTTP/1.0\r\n\r\n", " begin@4 head[GET :0]@22 end@22"},
        {"\n\rGET / HTTP/1.0\r\n\r\n\r\n", " begin@2 head[GET :0]@20 end@20"},
    };
    check_requests(vectors, COUNT(vectors));
}
END_TEST

START_TEST(absolute_uri_and_connect_line_win_over_host)
{
    static const struct vector vectors[] = {
        {"GET http://API.example.com/x HTTP/1.1\r\nHost: proxy\r\n\r\n",
         " begin@0 head[GET abs api.example.com:80 keep]@54 end@54"},
        {"GET https://u:p@s@a.b.:8443?q HTTP/1.1\r\nHost: b\r\nHost: c\r\n\r\n",
         " begin@0 head[GET abs a.b:8443 keep]@60 end@60"},
        {"GET https://a#f HTTP/1.1\r\n\r\n", " begin@0 head[GET abs a:443 keep]@28 end@28"},
        {"GET ftp://a HTTP/1.1\r\n\r\n", " begin@0 head[GET abs a:21 keep]@24 end@24"},
        {"GET x-y://a/ HTTP/1.1\r\n\r\n", " begin@0 head[GET abs a:0 keep]@25 end@25"},
        {"GET http://[::1]:80/ HTTP/1.1\r\nHost: b\r\n\r\n", " begin@0 head[GET abs :0 keep]@42 end@42"},
        {"GET http:///x HTTP/1.1\r\nHost: b\r\n\r\n", " begin@0 head[GET abs :0 keep]@35 end@35"},
        {"GET http:/x HTTP/1.1\r\nHost: b\r\n\r\n", " begin@0 head[GET b:0 keep]@33 end@33"},
        {"GET urn:x HTTP/1.1\r\nHost: b\r\n\r\n", " begin@0 head[GET b:0 keep]@31 end@31"},
        {"CONNECT api.stripe.com:443 HTTP/1.1\r\nHost: evil:1\r\n\r\n",
         " begin@0 head[CONNECT abs api.stripe.com:443 keep]@53 end@53"},
        {"CONNECT a:443/x HTTP/1.1\r\n\r\n", " begin@0 head[CONNECT abs :0 keep]@28 end@28"},
    };
    check_requests(vectors, COUNT(vectors));
}
END_TEST

START_TEST(host_that_is_no_name_or_comes_twice_is_none)
{
    static const struct vector vectors[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", " begin@0 head[GET :0 keep]@36 end@36"},
        {"GET / HTTP/1.1\r\nHost: a:1\r\nHost: a:1\r\n\r\n", " begin@0 head[GET :0 keep]@40 end@40"},
        {"GET / HTTP/1.1\r\nHost: a\r\nhost:\r\nHOST: c\r\n\r\n", " begin@0 head[GET :0 keep]@43 end@43"},
        {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", " begin@0 head[GET :0 keep]@29 end@29"},
        {"GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", " begin@0 head[GET :0 keep]@29 end@29"},
        {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", " begin@0 head[GET :0 keep]@29 end@29"},
        {"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", " begin@0 head[GET :0 keep]@34 end@34"},
        {"GET / HTTP/1.1\r\nHost: a:x\r\n\r\n", " begin@0 head[GET :0 keep]@29 end@29"},
        {"GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", " begin@0 head[GET :0 keep]@33 end@33"},
        {"GET / HTTP/1.1\r\nHost: a:65535\r\n\r\n", " begin@0 head[GET a:65535 keep]@33 end@33"},
        {"GET / HTTP/1.1\r\nHost: a:\r\n\r\n", " begin@0 head[GET a:0 keep]@28 end@28"},
        {"GET / HTTP/1.1\r\nHost: :80\r\n\r\n", " begin@0 head[GET :0 keep]@29 end@29"},
        {"GET / HTTP/1.1\r\nHost: .\r\n\r\n", " begin@0 head[GET :0 keep]@27 end@27"},
        {"GET / HTTP/1.1\r\nHost: \xc3\xa9.fr\r\n\r\n", " begin@0 head[GET :0 keep]@31 end@31"},
        {"GET / HTTP/1.1\r\nHost: xn--9ca.fr\r\n\r\n", " begin@0 head[GET xn--9ca.fr:0 keep]@36 end@36"},
    };
    check_requests(vectors, COUNT(vectors));
}
END_TEST

START_TEST(host_of_253_bytes_is_a_name_and_of_254_none)
{
    char request[600], name[300];
    struct trace trace;

    memset(name, 'a', sizeof name);
    snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: %.253s\r\n\r\n", name);
    run(REQUEST, HTTP1_GET, request, strlen(request), SIZE_MAX, &trace);
    ck_assert_ptr_nonnull(strstr(trace.text, "aaaa"));

    snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: %.254s\r\n\r\n", name);
    run(REQUEST, HTTP1_GET, request, strlen(request), SIZE_MAX, &trace);
    ck_assert_ptr_null(strstr(trace.text, "aaaa"));
    ck_assert_ptr_nonnull(strstr(trace.text, "end@"));
}
END_TEST

START_TEST(request_bodies_are_passed_over_to_the_next_request)
{
    static const struct vector vectors[] = {
        {"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nGET /GET / HTTP/1.1\r\n\r\n",
         " begin@0 head[OTHER :0 keep]@38 end@43 begin@43 head[GET :0 keep]@61 end@61"},
        {"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
         " begin@0 head[OTHER :0 keep]@38 end@38 begin@38 head[GET :0 keep]@56 end@56"},
        {"POST / HTTP/1.1\r\nContent-Length: 5\r\ncontent-length:5\r\n\r\n12345\r\n",
         " begin@0 head[OTHER :0 keep]@56 end@61"},
        {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
         " begin@0 head[OTHER :0 keep]@47 end@60 begin@60 head[GET :0 keep]@78 end@78"},
        {"GET /1 HTTP/1.1\r\n\r\nHEAD /2 HTTP/1.1\r\n\r\nGET /3",
         " begin@0 head[GET :0 keep]@19 end@19 begin@19 head[HEAD :0 keep]@39 end@39 begin@39 cut"},
        {"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n1234", " begin@0 head[OTHER :0 keep]@38 cut"},
    };
    check_requests(vectors, COUNT(vectors));
}
END_TEST

START_TEST(version_and_connection_tell_whether_it_is_kept)
{
    static const struct vector vectors[] = {
        {"GET / HTTP/1.0\r\n\r\n", " begin@0 head[GET :0]@18 end@18"},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", " begin@0 head[GET :0 keep]@42 end@42"},
        {"GET / HTTP/1.1\r\nConnection: x , CLOSE,\r\n\r\n", " begin@0 head[GET :0]@42 end@42"},
        {"GET / HTTP/1.1\r\nConnection: closed\r\n\r\n", " begin@0 head[GET :0 keep]@38 end@38"},
        {"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", " begin@0 head[GET :0 keep]@59 end@59"},
        {"GET / HTTP/1.1\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", " begin@0 head[GET :0]@61 end@61"},
    };
    check_requests(vectors, COUNT(vectors));
}
END_TEST

START_TEST(what_is_no_request_is_opaque)
{
    static const struct vector vectors[] = {
        {"\x16\x03\x01\x02", " begin@0 opaque"},
        {"*1\r\n$4\r\nPING\r\n", " begin@0 opaque"},
        {"PING\r\n", " begin@0 opaque"},
        {"get key\r\n", " begin@0 opaque"},
        {"EHLO here.example\r\n", " begin@0 opaque"},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", " begin@0 opaque"},
        {"GET /\r\n", " begin@0 opaque"},
        {"GET  / HTTP/1.1\r\n", " begin@0 opaque"},
        {"GET / HTTP/1.1 \r\n", " begin@0 opaque"},
        {"GET / HTTP/1.10\r\n", " begin@0 opaque"},
        {"GET / http/1.1\r\n", " begin@0 opaque"},
        {"GET / HTTP/1.1\rX", " begin@0 opaque"},
        {"GET /a\x01 HTTP/1.1\r\n", " begin@0 opaque"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXY / HTTP/1.1\r\n", " begin@0 opaque"},
        {" GET / HTTP/1.1\r\n", " begin@0 opaque"},
    };
    check_requests(vectors, COUNT(vectors));
    check_vector(REQUEST, HTTP1_GET, "\0\0\0\10\4\322\26/", 8, " begin@0 opaque");
}
END_TEST

START_TEST(request_of_doubtful_framing_tells_its_method_no_host_and_ends_opaque)
{
    static const char *const lines[] = {
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 5",
        "Content-Length: +5",
        "Content-Length: -1",
        "Content-Length:",
        "Content-Length: 5 5",
        "Content-Length: 0x5",
        "Content-Length: 9223372036854775808",
        "Content-Length: 18446744073709551617",
        "Content-Length: 0000000000000000000000000000000000000000000000005",
        "Content-Length: 5\r\n 6",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 0",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: chunked;x=1",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\n\t",
        "Content-Length : 5",
        "no colon",
        ": no name",
        "a b: c",
        "X: a\rb",
        "\x01: c",
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        char request[300], expected[100];
        int length = snprintf(request, sizeof request, "POST / HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n", lines[i]);

        snprintf(expected, sizeof expected, " begin@0 head[OTHER :0]@%d opaque", length);
        check_vector(REQUEST, HTTP1_GET, request, (size_t)length, expected);
    }
    static const struct vector vectors[] = {
        {"GET / HTTP/1.1\r\n folded\r\nHost: a\r\n\r\n", " begin@0 head[GET :0]@36 opaque"},
        {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", " begin@0 head[OTHER :0]@47 opaque"},
        {"CONNECT a:1 HTTP/1.1\r\nContent-Length: 5\r\n\r\n12345", " begin@0 head[CONNECT abs :0]@43 opaque"},
    };
    check_requests(vectors, COUNT(vectors));
}
END_TEST

/* ---- answers -------------------------------------------------------------------------------------------------- */

START_TEST(answer_tells_status_and_end)
{
    static const struct vector vectors[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", " begin@13 head[200 keep]@38 end@40"},
        {"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", " begin@13 head[503 keep]@55 end@55"},
        {"HTTP/1.1 529\r\nContent-Length: 0\r\n\r\n", " begin@14 head[529 keep]@35 end@35"},
        {"HTTP/1.1 999 \nContent-Length:0\n\n", " begin@13 head[999 keep]@32 end@32"},
        {"\r\nHTTP/1.1 204 No\r\nContent-Length: 7\r\n\r\n", " begin@15 head[204 keep]@40 end@40"},
        {"HTTP/1.1 304 No\r\nContent-Length: 7\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
         " begin@13 head[304 keep]@38 end@38 begin@51 head[204 keep]@57 end@57"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\ntransfer-encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
         " begin@13 head[200 keep]@72 end@87"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 1\r\n\r\nx",
         " begin@13 head[200 keep]@67 end@68"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", " begin@13 head[200 keep]@38 cut"},
        {"HTTP/1.1 2", " cut"},
        {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", " begin@13 head[200]@38 end@38"},
        {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n",
         " begin@13 head[200 keep]@62 end@62"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", " begin@13 head[200]@57 end@57"},
    };
    check_answers(HTTP1_GET, vectors, COUNT(vectors));
}
END_TEST

START_TEST(body_without_a_length_lasts_until_close)
{
    static const struct vector vectors[] = {
        {"HTTP/1.1 200 OK\r\n\r\nbody\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", " begin@13 head[200 until-close]@19"},
        {"HTTP/1.0 502 Bad\r\nConnection: keep-alive\r\n\r\nbody", " begin@13 head[502 until-close]@44"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nbody", " begin@13 head[200 until-close]@44"},
    };
    check_answers(HTTP1_GET, vectors, COUNT(vectors));
}
END_TEST

START_TEST(answer_to_head_has_no_body_and_to_connect_is_a_tunnel)
{
    static const struct vector head[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", " begin@13 head[200 keep]@38 end@38"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", " begin@13 head[200 keep]@47 end@47"},
        {"HTTP/1.1 200 OK\r\n\r\n", " begin@13 head[200 keep]@19 end@19"},
        /* what comes after it answers a GET, unless the caller says otherwise */
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
         " begin@13 head[200 keep]@38 end@38 begin@51 head[200 keep]@76 end@77"},
    };
    static const struct vector connect[] = {
        {"HTTP/1.1 200 Connection established\r\n\r\n\x16\x03", " begin@13 head[200]@39 opaque"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", " begin@13 head[200]@38 opaque"},
        {"HTTP/1.1 407 Auth\r\nContent-Length: 1\r\n\r\nx", " begin@13 head[407 keep]@40 end@41"},
    };
    check_answers(HTTP1_HEAD, head, COUNT(head));
    check_answers(HTTP1_CONNECT, connect, COUNT(connect));
}
END_TEST

START_TEST(interim_answers_are_passed_over)
{
    static const struct vector vectors[] = {
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n",
         " begin@38 head[503 keep]@63 end@63"},
        {"HTTP/1.1 103 Early\r\nRetry-After: 5\r\nLink: x\r\n\r\nHTTP/1.1 102\r\n\r\n\r\nHTTP/1.1 204\r\n\r\n",
         " begin@79 head[204 keep]@81 end@81"},
        {"HTTP/1.1 100 Continue\r\n\r\n", " cut"},
        {"HTTP/1.1 100 Continue\r\nbroken\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", " opaque"},
        {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x05",
         " begin@13 head[101]@77 opaque"},
    };
    check_answers(HTTP1_GET, vectors, COUNT(vectors));
    check_answers(HTTP1_HEAD, vectors, 3);
}
END_TEST

START_TEST(chunks_are_counted_to_the_last_trailer)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    static const struct vector vectors[] = {
        {"0\r\n\r\n", " end@52"},
        {"A;ext=\"1\"\r\n0123456789\r\n00\r\n\r\n", " end@76"},
        {"5 \t;x\r\nhello\r\n0 \r\n\r\n", " end@67"},
        {"1\nx\n0\n\n", " end@54"},
        {"3\r\n\r\n\r\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\n", " end@82"},
        {"0\r\nTrailer: x\r\n", " cut"},
        {"000000000000000000000000000001\r\nx\r\n0\r\n\r\n", " end@87"},
        {"7fffffffffffffff\r\nx", " cut"},
        {"8000000000000000\r\nx", " opaque"},
        {"\r\n", " opaque"},
        {";x\r\n", " opaque"},
        {"g\r\n", " opaque"},
        {"-1\r\n", " opaque"},
        {"1 2\r\n", " opaque"},
        {"1\rx", " opaque"},
        {"1;a\rx", " opaque"},
        {"1\r\nxy", " opaque"},
        {"0\r\na: b\rx", " opaque"},
    };
    for (size_t i = 0; i < COUNT(vectors); i++) {
        char bytes[300], expected[100];

        snprintf(bytes, sizeof bytes, "%s%s", head, vectors[i].bytes);
        snprintf(expected, sizeof expected, " begin@13 head[200 keep]@47%s", vectors[i].expected);
        check_vector(ANSWER, HTTP1_GET, bytes, strlen(bytes), expected);
    }
}
END_TEST

START_TEST(what_is_no_answer_is_opaque)
{
    static const struct vector vectors[] = {
        {"ICY 200 OK\r\n", " opaque"},
        {"HTTP/2 200\r\n", " opaque"},
        {"HTTP/1.1 20\r\n", " opaque"},
        {"HTTP/1.1 2000 OK\r\n", " opaque"},
        {"HTTP/1.1 20x\r\n", " opaque"},
        {"HTTP/1.1 099 X\r\n", " opaque"},
        {"HTTP/1.1  200 OK\r\n", " opaque"},
        {"HTTP/1.1\r\n", " opaque"},
        {"<html>", " opaque"},
        {"220 smtp.example ESMTP\r\n", " opaque"},
        {"HTTP/1.1 200\rX", " begin@14 opaque"},
    };
    /* a CR behind the status tells that it is complete only with its LF: until then nothing is told */
    check_answers(HTTP1_GET, vectors, COUNT(vectors) - 1);
    check_vector(ANSWER, HTTP1_GET, "HTTP/1.1 200\rX", 14, " opaque");
    check_vector(ANSWER, HTTP1_GET, "\25\3\3\0\2\2\50", 7, " opaque");
}
END_TEST

START_TEST(answer_of_doubtful_framing_tells_its_status_and_ends_opaque)
{
    static const char *const lines[] = {
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: x",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked, gzip",
        "no colon",
        "X: a\rb",
        "Content-Length: 5\r\n 6",
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        char answer[300], expected[100];
        int length = snprintf(answer, sizeof answer, "HTTP/1.1 503 X\r\nRetry-After: 7\r\n%s\r\n\r\n", lines[i]);

        snprintf(expected, sizeof expected, " begin@13 head[503 retry=7]@%d opaque", length);
        check_vector(ANSWER, HTTP1_GET, answer, (size_t)length, expected);
        check_vector(ANSWER, HTTP1_HEAD, answer, (size_t)length, expected);
    }
}
END_TEST

START_TEST(event_streams_are_told_by_their_type)
{
    static const struct {
        const char *line;
        bool stream;
    } types[] = {
        {"Content-Type: text/event-stream", true},
        {"content-type:Text/Event-Stream;charset=utf-8", true},
        {"Content-Type: text/event-stream ; charset=utf-8; and more than the parser has room for", true},
        {"Content-Type: text/event-streams", false},
        {"Content-Type: text/event-strea", false},
        {"Content-Type: text/plain, text/event-stream", false},
        {"Content-Type: text/event-stream\r\nContent-Type: text/plain", false},
        {"X-Content-Type: text/event-stream", false},
    };
    for (size_t i = 0; i < COUNT(types); i++) {
        char answer[300], expected[100];
        int length = snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\n%s\r\n\r\n", types[i].line);

        snprintf(expected, sizeof expected, " begin@13 head[200 until-close%s]@%d", types[i].stream ? " stream" : "",
                 length);
        check_vector(ANSWER, HTTP1_GET, answer, (size_t)length, expected);
    }
}
END_TEST

START_TEST(retry_headers_are_read_in_every_form)
{
    static const struct vector lines[] = {
        {"Retry-After: 120", " retry=120"},
        {"Retry-After: 0", ""},
        {"retry-after:\t1.0 ", " retry=1"},
        {"Retry-After: 0.2", " retry=1"},
        {"Retry-After: 4294967295", " retry=4294967295"},
        {"Retry-After: 99999999999999999999999", " retry=4294967295"},
        {"Retry-After: -5", ""},
        {"Retry-After: 5s", ""},
        {"Retry-After: 1.2.3", ""},
        {"Retry-After:", ""},
        {"Retry-After: 5\r\nRetry-After: 9", ""},
        {"Retry-After: 5\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT", ""},
        {"Retry-After: 000000000000000000000000000000000000000000000000000005", ""},
        {"Retry-After: Sun, 06 Nov 1994 08:49:37 GMT", " date=784111777"},
        {"Retry-After: Sunday, 06-Nov-94 08:49:37 GMT", " date=784111777"},
        {"Retry-After: Sun Nov  6 08:49:37 1994", " date=784111777"},
        {"Retry-After: Tue, 29 Feb 2028 23:59:60 GMT", " date=1835481600"},
        {"Retry-After: Sun, 06 Nov 1994 08:49:37 CET", ""},
        {"retry-after-ms: 1500", " ms=1500"},
        {"Retry-After-Ms: 1500.5\r\nRetry-After: 2", " retry=2 ms=1501"},
        {"retry-after-ms: 1\r\nretry-after-ms: 1", ""},
        {"retry-after-ms: soon", ""},
        {"Retry-After-: 5", ""},
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        char answer[300], expected[100];
        int length =
            snprintf(answer, sizeof answer, "HTTP/1.1 429 No\r\n%s\r\nContent-Length: 0\r\n\r\n", lines[i].bytes);

        snprintf(expected, sizeof expected, " begin@13 head[429 keep%s]@%d end@%d", lines[i].expected, length, length);
        check_vector(ANSWER, HTTP1_GET, answer, (size_t)length, expected);
    }
}
END_TEST

/* ---- beside the bytes ----------------------------------------------------------------------------------------- */

START_TEST(facts_of_one_message_do_not_leak_into_the_next)
{
    static const char bytes[] =
        "HTTP/1.1 429 No\r\nRetry-After: 5\r\nretry-after-ms: 9\r\nContent-Type: text/event-stream\r\n"
        "Content-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

    check_vector(ANSWER, HTTP1_GET, bytes, sizeof bytes - 1,
                 " begin@13 head[429 keep stream retry=5 ms=9]@106 end@106 begin@119 head[200 keep]@144 end@144");
    check_vector(REQUEST, HTTP1_GET, "GET http://a/ HTTP/1.0\r\n\r\nPOST / HTTP/1.1\r\n\r\n", 45,
                 " begin@0 head[GET abs a:80]@26 end@26 begin@26 head[OTHER :0 keep]@45 end@45");
}
END_TEST

START_TEST(feeding_nothing_tells_what_is_left_and_no_more)
{
    struct http1 parser;
    size_t taken = 9;

    http1_answer_begin(&parser, HTTP1_GET);
    ck_assert_int_eq(http1_feed(&parser, NULL, 0, &taken), HTTP1_MORE);
    ck_assert_uint_eq(taken, 0);
    ck_assert(http1_idle(&parser));
}
END_TEST

START_TEST(idle_is_only_between_messages)
{
    static const char bytes[] = "\r\nGET / HTTP/1.1\r\n\r\n";
    struct http1 parser;
    struct trace trace = {.length = 0};

    http1_request_begin(&parser);
    ck_assert(http1_idle(&parser));
    feed(&parser, false, bytes, 2, &trace);
    ck_assert(http1_idle(&parser));
    feed(&parser, false, bytes + 2, 1, &trace);
    ck_assert(!http1_idle(&parser));
    feed(&parser, false, bytes + 3, sizeof bytes - 4, &trace);
    ck_assert(http1_idle(&parser));

    http1_answer_begin(&parser, HTTP1_GET);
    feed(&parser, true, "HTTP/1.1 100 Continue\r\n\r\n", 25, &trace);
    ck_assert(!http1_idle(&parser));
    feed(&parser, true, "junk", 4, &trace);
    ck_assert(!http1_idle(&parser));
}
END_TEST

START_TEST(copy_of_a_parser_looks_ahead_without_moving_it)
{
    static const char bytes[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    struct http1 parser, copy;
    struct trace first = {.length = 0}, second = {.length = 0};

    http1_request_begin(&parser);
    copy = parser;
    feed(&copy, false, bytes, sizeof bytes - 1, &first);
    feed(&parser, false, bytes, sizeof bytes - 1, &second);
    ck_assert_str_eq(first.text, second.text);
}
END_TEST

START_TEST(pipeline_gives_methods_back_in_order)
{
    struct http1_pipeline pipeline = {.count = 0};

    http1_pipeline_push(&pipeline, HTTP1_HEAD);
    http1_pipeline_push(&pipeline, HTTP1_CONNECT);
    http1_pipeline_push(&pipeline, HTTP1_GET);
    ck_assert_int_eq(http1_pipeline_pop(&pipeline), HTTP1_HEAD);
    http1_pipeline_push(&pipeline, HTTP1_OTHER);
    ck_assert_int_eq(http1_pipeline_pop(&pipeline), HTTP1_CONNECT);
    ck_assert_int_eq(http1_pipeline_pop(&pipeline), HTTP1_GET);
    ck_assert_int_eq(http1_pipeline_pop(&pipeline), HTTP1_OTHER);
    ck_assert_int_eq(http1_pipeline_pop(&pipeline), HTTP1_GET);
    ck_assert_uint_eq(pipeline.count, 0);
    ck_assert(!pipeline.lost);
}
END_TEST

START_TEST(pipeline_that_overflows_keeps_the_oldest_and_says_so)
{
    struct http1_pipeline pipeline = {.count = 0};

    for (int i = 0; i < HTTP1_PIPELINE; i++) {
        http1_pipeline_push(&pipeline, HTTP1_HEAD);
    }
    ck_assert(!pipeline.lost);
    http1_pipeline_push(&pipeline, HTTP1_GET);
    ck_assert(pipeline.lost);
    for (int i = 0; i < HTTP1_PIPELINE; i++) {
        ck_assert_int_eq(http1_pipeline_pop(&pipeline), HTTP1_HEAD);
    }
    ck_assert_uint_eq(pipeline.count, 0);
}
END_TEST

/* ---- dates ---------------------------------------------------------------------------------------------------- */

START_TEST(dates_are_read_in_three_forms_and_no_other)
{
    static const struct {
        const char *text;
        int64_t seconds; /* -1: none */
    } dates[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", 784111777},
        {"sun, 06 nov 1994 08:49:37 gmt", 784111777},
        {"Sunday, 06-Nov-94 08:49:37 GMT", 784111777},
        {"Wednesday, 01-Jan-70 00:00:00 GMT", 0},
        {"Monday, 30-Nov-26 23:50:39 GMT", 1796082639},
        {"Sun Nov  6 08:49:37 1994", 784111777},
        {"Sun Nov 16 08:49:37 1994", 784975777},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Fri, 31 Dec 9999 23:59:59 GMT", 253402300799},
        {"Tue, 29 Feb 2000 00:00:00 GMT", 951782400},
        {"Wed, 31 Dec 1969 23:59:59 GMT", -1},
        {"Mon, 29 Feb 2100 00:00:00 GMT", -1},
        {"Mon, 31 Apr 2026 00:00:00 GMT", -1},
        {"Mon, 00 Apr 2026 00:00:00 GMT", -1},
        {"Mon, 01 Apr 2026 24:00:00 GMT", -1},
        {"Mon, 01 Apr 2026 23:60:00 GMT", -1},
        {"Mon, 01 Apr 2026 23:00:61 GMT", -1},
        {"Mon, 01 Abc 2026 23:00:00 GMT", -1},
        {"Xon, 01 Apr 2026 23:00:00 GMT", -1},
        {"Mon, 1 Apr 2026 23:00:00 GMT", -1},
        {"Mon, 01 Apr 2026 23:00:00", -1},
        {"Mon, 01 Apr 2026 23:00:00 GMT ", -1},
        {"Mon, 01 Apr 2026 23:00:00 UTC", -1},
        {"Mon, 01-Apr-26 23:00:00 GMT", -1},
        {"2026-04-01T23:00:00Z", -1},
        {"", -1},
    };
    for (size_t i = 0; i < COUNT(dates); i++) {
        int64_t seconds = -1;
        bool good = http1_date(dates[i].text, strlen(dates[i].text), &seconds);

        ck_assert_msg(seconds == dates[i].seconds && good == (dates[i].seconds >= 0), "%s: %" PRId64, dates[i].text,
                      seconds);
        for (size_t cut = 0; good && cut < strlen(dates[i].text); cut++) {
            ck_assert_msg(!http1_date(dates[i].text, cut, &seconds), "%.*s", (int)cut, dates[i].text);
        }
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        request_tells_method_host_and_end,
        blank_lines_before_a_request_are_passed_over,
        absolute_uri_and_connect_line_win_over_host,
        host_that_is_no_name_or_comes_twice_is_none,
        host_of_253_bytes_is_a_name_and_of_254_none,
        request_bodies_are_passed_over_to_the_next_request,
        version_and_connection_tell_whether_it_is_kept,
        what_is_no_request_is_opaque,
        request_of_doubtful_framing_tells_its_method_no_host_and_ends_opaque,
        answer_tells_status_and_end,
        body_without_a_length_lasts_until_close,
        answer_to_head_has_no_body_and_to_connect_is_a_tunnel,
        interim_answers_are_passed_over,
        chunks_are_counted_to_the_last_trailer,
        what_is_no_answer_is_opaque,
        answer_of_doubtful_framing_tells_its_status_and_ends_opaque,
        event_streams_are_told_by_their_type,
        retry_headers_are_read_in_every_form,
        facts_of_one_message_do_not_leak_into_the_next,
        feeding_nothing_tells_what_is_left_and_no_more,
        idle_is_only_between_messages,
        copy_of_a_parser_looks_ahead_without_moving_it,
        pipeline_gives_methods_back_in_order,
        pipeline_that_overflows_keeps_the_oldest_and_says_so,
        dates_are_read_in_three_forms_and_no_other,
    };
    Suite *suite = suite_create("http1");
    TCase *tcase = tcase_create("http1");

    for (size_t i = 0; i < COUNT(tests); i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
