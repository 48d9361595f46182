#include "suite.h"
#include "http1_trace.h"

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

        snprintf(expected, sizeof expected, " begin@13 head[503 retry=7000ms]@%d opaque", length);
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

START_TEST(encoded_bodies_are_told)
{
    static const struct vector lines[] = {
        {"Content-Encoding: gzip", " encoded"},
        {"content-encoding:  BR ", " encoded"},
        {"Content-Encoding: identity", ""},
        {"Content-Encoding:", ""},
        {"Content-Encoding: gzip\r\nContent-Encoding: identity", " encoded"},
        {"Content-Encoding: identity\r\nContent-Encoding: gzip", " encoded"},
        {"Content-Encoding: identity, gzip", " encoded"},
        {"Accept-Encoding: gzip", ""},
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        char answer[300], expected[100];
        int length =
            snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\n%s\r\nContent-Length: 0\r\n\r\n", lines[i].bytes);

        snprintf(expected, sizeof expected, " begin@13 head[200 keep%s]@%d end@%d", lines[i].expected, length, length);
        check_vector(ANSWER, HTTP1_GET, answer, (size_t)length, expected);
    }
}
END_TEST

/* What they mean is tested in test_retry.c. */
START_TEST(when_to_come_again_is_read_of_those_that_may_say_so)
{
    static const struct vector lines[] = {
        {"429 No\r\nRetry-After: 120", " retry=120000ms"},
        {"503 No\r\nRetry-After: 120", " retry=120000ms"},
        {"429 No\r\nretry-after-ms: 1500\r\nRetry-After: 2", " retry=1500ms"},
        {"429 No\r\nX-RateLimit-Reset-Tokens: 6m0s\r\nx-ratelimit-reset-requests:\t17ms ", " retry=17ms"},
        {"429 No\r\nanthropic-ratelimit-output-tokens-remaining: 0\r\nratelimit-reset: 5", " retry=5000ms"},
        {"429 No\r\nRetry-After: 5\r\nRetry-After: 9", ""},
        {"429 No\r\nRetry-After: 000000000000000000000000000000000000000000000000000005", ""},
        {"429 No\r\nRetry-After-: 5", ""},
        {"200 OK\r\nRetry-After: 120", ""},
        {"500 No\r\nRetry-After: 120", ""},
    };
    for (size_t i = 0; i < COUNT(lines); i++) {
        char answer[300], expected[100];
        int length = snprintf(answer, sizeof answer, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", lines[i].bytes);

        snprintf(expected, sizeof expected, " begin@13 head[%.3s keep%s]@%d end@%d", lines[i].bytes, lines[i].expected,
                 length, length);
        check_vector(ANSWER, HTTP1_GET, answer, (size_t)length, expected);
    }
}
END_TEST

/* ---- bodies ------------------------------------------------------------------------------------------------------- */

/* What is handed out of the body of an answer that comes in pieces of this size, up to `most` bytes of it. */
static void body_of(const char *answer, size_t piece, size_t most, char *body, char *end)
{
    struct http1 parser;
    size_t at = 0, length = strlen(answer), got = 0;

    memset(&parser, 0xff, sizeof parser);
    http1_answer_begin(&parser, HTTP1_GET);
    strcpy(end, "");
    while (at < length) {
        size_t next = piece < length - at ? piece : length - at, taken;
        enum http1_event event;

        do {
            event = http1_feed(&parser, (const uint8_t *)answer + at, next, &taken);
            at += taken;
            next -= taken;
            if (event == HTTP1_HEAD_DONE) {
                http1_want_body(&parser, true);
            } else if (event == HTTP1_BODY) {
                ck_assert_msg(!http1_pass(&parser, 1), "it is to be seen");
                taken = http1_take_body(&parser, next);
                ck_assert_msg(taken > 0 && taken <= next, "%zu of %zu", taken, next);
                memcpy(body + got, answer + at, taken);
                got += taken;
                at += taken;
                next -= taken;
                http1_want_body(&parser, got < most);
            } else if (event == HTTP1_END) {
                strcpy(end, "end");
            } else if (event == HTTP1_OPAQUE) {
                strcpy(end, "opaque");
                at += next;
            }
        } while (event != HTTP1_MORE && event != HTTP1_OPAQUE);
    }
    body[got] = '\0';
}

START_TEST(a_body_that_is_wanted_is_handed_out_without_its_framing)
{
    static const struct {
        const char *answer, *body, *end;
    } rows[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", "end"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", "end"},
        {"HTTP/1.1 200 OK\r\n\r\nhello\r\n", "hello\r\n", ""},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n6 \r\n world\r\n0\r\nX: y\r\n\r\n",
         "hello world", "end"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nx", "hello", "opaque"},
        {"HTTP/1.1 100 Go on\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", "end"},
        {"HTTP/1.1 204 OK\r\n\r\n", "", "end"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (size_t piece = 1; piece <= strlen(rows[i].answer); piece++) {
            char body[200], end[8];

            body_of(rows[i].answer, piece, SIZE_MAX, body, end);
            ck_assert_str_eq(body, rows[i].body);
            ck_assert_str_eq(end, rows[i].end);
        }
    }
}
END_TEST

START_TEST(a_body_that_is_not_wanted_any_more_ends_all_the_same)
{
    static const char answer[] =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";

    for (size_t piece = 1; piece <= strlen(answer); piece++) {
        char body[200], end[8];

        body_of(answer, piece, 3, body, end);
        ck_assert_int_eq(strncmp(body, "hel", 3), 0);
        ck_assert_uint_lt(strlen(body), strlen("hello w"));
        ck_assert_str_eq(end, "end");
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        answer_tells_status_and_end,
        body_without_a_length_lasts_until_close,
        answer_to_head_has_no_body_and_to_connect_is_a_tunnel,
        interim_answers_are_passed_over,
        chunks_are_counted_to_the_last_trailer,
        what_is_no_answer_is_opaque,
        answer_of_doubtful_framing_tells_its_status_and_ends_opaque,
        event_streams_are_told_by_their_type,
        encoded_bodies_are_told,
        when_to_come_again_is_read_of_those_that_may_say_so,
        a_body_that_is_wanted_is_handed_out_without_its_framing,
        a_body_that_is_not_wanted_any_more_ends_all_the_same,
    };
    Suite *suite = suite_create("http1 answers");
    TCase *tcase = tcase_create("http1 answers");

    for (size_t i = 0; i < COUNT(tests); i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
