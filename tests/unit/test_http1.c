#include "suite.h"
#include "http1_trace.h"
#include "protocol/date.h"

/* ---- beside the bytes ----------------------------------------------------------------------------------------- */

START_TEST(facts_of_one_message_do_not_leak_into_the_next)
{
    static const char bytes[] =
        "HTTP/1.1 429 No\r\nRetry-After: 5\r\nretry-after-ms: 9\r\nContent-Type: text/event-stream\r\n"
        "Content-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

    check_vector(ANSWER, HTTP1_GET, bytes, sizeof bytes - 1,
                 " begin@13 head[429 keep stream retry=9ms]@106 end@106 begin@119 head[200 keep]@144 end@144");
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
        bool good = date_http(dates[i].text, strlen(dates[i].text), &seconds);

        ck_assert_msg(seconds == dates[i].seconds && good == (dates[i].seconds >= 0), "%s: %" PRId64, dates[i].text,
                      seconds);
        for (size_t cut = 0; good && cut < strlen(dates[i].text); cut++) {
            ck_assert_msg(!date_http(dates[i].text, cut, &seconds), "%.*s", (int)cut, dates[i].text);
        }
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
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
    return suite_run(suite);
}
