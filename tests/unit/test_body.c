/*
 * What bodies say: event streams in the shapes of their providers, quota told from rate limits; and that it is the same
 * however the bytes come.
 */
#include "suite.h"
#include "protocol/body.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* ---- what a body tells, as text ----------------------------------------------------------------------------------- */

enum how { STREAM, LIMITED };

static void tell(char *told, unsigned news)
{
    static const char *const words[] = {"life ", "done ", "error ", "quota "};

    for (unsigned i = 0; i < COUNT(words); i++) {
        if ((news & 1u << i) != 0 && strstr(told, words[i]) == NULL) {
            strcat(told, words[i]);
        }
    }
}

/* In pieces of so many bytes, the first one apart. */
static const char *told(enum how how, const char *bytes, size_t length, size_t first, size_t piece)
{
    static char text[64];
    struct body body;

    memset(&body, 0xff, sizeof body);
    body_begin(&body, how == STREAM ? 200 : 429, how == STREAM, false);
    ck_assert(body_wants(&body));
    text[0] = '\0';
    for (size_t at = 0, next = first; at < length && body_wants(&body); at += next, next = piece) {
        next = next < length - at ? next : length - at;
        tell(text, body_feed(&body, (const uint8_t *)bytes + at, next));
    }
    tell(text, body_end(&body));
    ck_assert(!body_wants(&body));
    return text;
}

static void check(enum how how, const char *bytes, size_t length, const char *expected)
{
    for (size_t first = 1; first <= length; first++) {
        const char *found = told(how, bytes, length, first, length);

        ck_assert_msg(strcmp(found, expected) == 0, "cut at %zu: \"%s\" and not \"%s\":\n%s", first, found, expected,
                      bytes);
    }
    for (size_t piece = 1; piece < 7; piece++) {
        const char *found = told(how, bytes, length, piece, piece);

        ck_assert_msg(strcmp(found, expected) == 0, "by %zu: \"%s\" and not \"%s\":\n%s", piece, found, expected,
                      bytes);
    }
}

/* The same with each of the three ends of lines. */
static void check_lines(const char *bytes, const char *expected)
{
    static const char *const ends[] = {"\n", "\r", "\r\n"};

    for (size_t i = 0; i < COUNT(ends); i++) {
        char text[4096] = "";
        size_t length = 0;

        for (const char *at = bytes; *at != '\0'; at++) {
            length += (size_t)snprintf(text + length, sizeof text - length, *at == '\n' ? "%s" : "%.1s",
                                       *at == '\n' ? ends[i] : at);
        }
        check(STREAM, text, length, expected);
    }
}

struct row {
    const char *bytes, *expected;
};

/* ---- streams ------------------------------------------------------------------------------------------------------ */

#define OPENAI_CHUNK                                                                                                   \
    "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,"                     \
    "\"delta\":{\"content\":\"Hel\\\"lo\"},\"finish_reason\":null}]}\n\n"
#define ANTHROPIC_DELTA                                                                                                \
    "event: content_block_delta\n"                                                                                     \
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n"
#define ANTHROPIC_PING "event: ping\ndata: {\"type\": \"ping\"}\n\n"

START_TEST(streams_as_providers_send_them_live_end_and_fail)
{
    static const struct row rows[] = {
        {OPENAI_CHUNK, "life "},
        {OPENAI_CHUNK OPENAI_CHUNK "data: [DONE]\n\n", "life done "},
        {OPENAI_CHUNK "data: {\"error\":{\"message\":\"The server had an error\",\"type\":\"server_error\"}}\n\n",
         "life error "},
        {"data: {\"error\":{\"message\":\"The server had an error\"}}\n\n", "error "},
        {"data: {\"error\": \"overloaded\"}\n\n", "error "},
        {"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{}}}\n\n" ANTHROPIC_DELTA
         "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
         "life done "},
        {ANTHROPIC_DELTA "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
                         "\"message\":\"Overloaded\"}}\n\n",
         "life error "},
        {ANTHROPIC_PING, ""},
        {": OPENROUTER PROCESSING\n\n", ""},
        {": keep-alive\n\n" ANTHROPIC_PING ":\n\n", ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        check_lines(rows[i].bytes, rows[i].expected);
    }
}
END_TEST

START_TEST(fields_are_read_as_the_standard_has_them)
{
    static const struct row rows[] = {
        {"data:[DONE]\n\n", "done "},
        {"data:  [DONE]\n\n", "life "},
        {"data: [DONE]x\n\n", "life "},
        {"data: [DONE\n\n", "life "},
        {"data: [DONE]\ndata\n\n", "life "},
        {"data\n\n", ""},
        {"data:\n\n", ""},
        {"data: \n\n", ""},
        {"data:\ndata:\n\n", "life "},
        {"datas: x\n\n", ""},
        {"dat: x\n\n", ""},
        {" data: x\n\n", ""},
        {"Data: x\n\n", ""},
        {"id: 1\nretry: 500\n\n", ""},
        {"id: 1\ndata: x\nretry: 500\n\n", "life "},
        {"event:error\n\n", "error "},
        {"event:  error\ndata: x\n\n", "life "},
        {"event: errors\ndata: x\n\n", "life "},
        {"event: error\nevent: other\ndata: x\n\n", "life "},
        {"event: other\nevent: error\ndata: x\n\n", "error "},
        {"event: a name that is much longer than there is room for\ndata: x\n\n", "life "},
        {"event: ping\n\ndata: x\n\n", "life "},
        {"event: message_stop\n\n", "done "},
        {"\n\n\n\n", ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        check_lines(rows[i].bytes, rows[i].expected);
    }
}
END_TEST

START_TEST(a_byte_order_mark_is_no_part_of_the_first_line)
{
    static const struct row rows[] = {
        {"\xef\xbb\xbf"
         "event: error\n\n",
         "error "},
        {"\xef\xbb\xbf"
         "data: x\n\n",
         "life "},
        {"\xef\xbb"
         "data: x\n\ndata: x\n\n",
         "life "},
        {"data: x\n\n\xef\xbb\xbf"
         "event: error\ndata: x\n\n",
         "life "},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        check(STREAM, rows[i].bytes, strlen(rows[i].bytes), rows[i].expected);
    }
}
END_TEST

START_TEST(an_error_is_a_member_of_the_outermost_object_that_says_something)
{
    static const struct row rows[] = {
        {"{\"error\":{\"a\":1}}", "error "},
        {"{ \"id\" : 1 , \"error\" : { \"a\" : 1 } }", "error "},
        {"{\"a\":{\"b\":[1,{\"c\":\"}\"}]},\"error\":{\"message\":\"x\"}}", "error "},
        {"{\"error\":\"x\"", "error "},
        {"{\"error\":{\"message\":\"not even comple", "error "},
        {"{\"error\":{\"a\":1},\"error\":null}", "error "},
        {"{\"error\":null}", "life "},
        {"{\"error\":null,\"other\":{\"a\":1}}", "life "},
        {"{\"error\":null,\"other\":\"x\"}", "life "},
        {"{\"error\":false}", "life "},
        {"{\"error\":0}", "life "},
        {"{\"error\":\"\"}", "life "},
        {"{\"error\":{}}", "life "},
        {"{\"error\":[]}", "life "},
        {"{\"error\":[{\"a\":1}]}", "life "},
        {"{\"errors\":{\"a\":1}}", "life "},
        {"{\"erro\":{\"a\":1}}", "life "},
        {"{\"a\\\"error\":{\"a\":1}}", "life "},
        {"{\"delta\":{\"error\":{\"a\":1}}}", "life "},
        {"{\"delta\":{\"error\":\"x\"}}", "life "},
        {"[{\"error\":{\"a\":1}}]", "life "},
        {"{\"text\":\"{\\\"error\\\":{\\\"a\\\":1}}\"}", "life "},
        {"{\"text\":\"\\\\\",\"error\":{\"a\":1}}", "error "},
        {"{\"text\":\"\\\\\\\"\",\"error\":\"\"}", "life "},
        {"\"error\"", "life "},
        {"error", "life "},
        {"{\"error\"}", "life "},
        {"{error:{\"a\":1}}", "life "},
        {"{\"a\":}{\"error\":{\"a\":1}}", "life "},
        {"{\"a\":1}{\"error\":{\"a\":1}}", "life "},
        {"{\"a\":1}}", "life "},
        {"{\"a\":[1}", "life "},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char text[256];

        snprintf(text, sizeof text, "data: %s\n\n", rows[i].bytes);
        check_lines(text, rows[i].expected);
    }
}
END_TEST

START_TEST(data_over_several_lines_is_one_text)
{
    check_lines("data: {\ndata:   \"error\"\ndata: : {\ndata: \"message\": \"x\"}\ndata: }\n\n", "error ");
    check_lines("data: {\"a\":\"\ndata: \\\"error\\\"\",\ndata: \"b\":{}}\n\n", "life ");
    check_lines("data: {\"error\"\n\ndata: :{\"a\":1}}\n\n", "life ");
}
END_TEST

START_TEST(long_strings_are_passed_over_to_what_follows_them)
{
    char text[4000], filler[1500];

    memset(filler, 'x', sizeof filler);
    memcpy(filler + 700, "\\\"},{\\\\", 7);
    filler[sizeof filler - 1] = '\0';
    int length = snprintf(text, sizeof text, "data: {\"b64\":\"%s\",\"error\":{\"a\":1}}\n\n", filler);

    check(STREAM, text, (size_t)length, "error ");
    length = snprintf(text, sizeof text, "data: %s\n\n: %s\n\ndata: [DONE]\n\n", filler, filler);
    check(STREAM, text, (size_t)length, "life done ");
}
END_TEST

START_TEST(what_no_blank_line_came_after_counts_when_the_stream_ended_in_peace)
{
    static const struct row rows[] = {
        {"data: [DONE]\n", "done "},
        {"data: [DONE]", "done "},
        {"event: error\ndata: {}", "error "},
        {"event: error", "error "},
        {"event: message_stop\ndata: {}\n", "done "},
        {"data: x", ""},
        {"data: {\"error\":{\"a\":", "error "},
        {"event", ""},
        {"\xef\xbb", ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        check(STREAM, rows[i].bytes, strlen(rows[i].bytes), rows[i].expected);
    }
}
END_TEST

START_TEST(nesting_that_is_deeper_than_anybody_reads_is_passed_over)
{
    char text[400] = "data: {\"a\":";
    size_t length = strlen(text);

    memset(text + length, '[', 100);
    memset(text + length + 100, ']', 100);
    strcpy(text + length + 200, ",\"error\":{\"a\":1}}\n\ndata: {\"error\":\"x\"}\n\n");
    check(STREAM, text, strlen(text), "life error ");
}
END_TEST

/* ---- quota -------------------------------------------------------------------------------------------------------- */

START_TEST(quota_is_told_from_rate_limits)
{
    static const struct row rows[] = {
        {"{\n    \"error\": {\n        \"message\": \"You exceeded your current quota, please check your plan and "
         "billing details.\",\n        \"type\": \"insufficient_quota\",\n        \"param\": null,\n        \"code\": "
         "\"insufficient_quota\"\n    }\n}\n",
         "quota "},
        {"{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"x\"}}", "quota "},
        {"{\"error\":{\"message\":\"Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM)\","
         "\"type\":\"tokens\",\"param\":null,\"code\":\"rate_limit_exceeded\"}}",
         ""},
        {"{\"error\":{\"message\":\"You exceeded your current quota\",\"type\":\"exceeded_current_quota_error\"}}",
         "quota "},
        {"{\"type\":\"error\",\"error\":{\"type\":\"billing_error\",\"message\":\"x\"}}", "quota "},
        {"{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"You have reached your specified "
         "API "
         "usage limits. You will regain access on 2025-07-01 at 00:00 UTC.\"}}",
         "quota "},
        {"{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"This request would exceed your "
         "organization's rate limit\"}}",
         ""},
        /* Gemini says the same of a limit by the minute */
        {"{\"error\":{\"code\":429,\"message\":\"You exceeded your current quota, please check your plan and billing "
         "details.\",\"status\":\"RESOURCE_EXHAUSTED\"}}",
         ""},
        {"{\"error\":{\"message\":\"insufficient_quota\"}}", ""},
        {"{\"error\":{\"message\":\"\\\"type\\\":\\\"insufficient_quota\\\"\"}}", ""},
        {"{\"error\":{\"type\":\"insufficient_quotas\"}}", ""},
        {"{\"error\":{\"type\":[\"insufficient_quota\"]}}", ""},
        {"{\"a\":{\"b\":{\"type\":\"insufficient_quota\"}}}", ""},
        {"\"type\":\"insufficient_quota\"", ""},
        {"<html>insufficient_quota</html>", ""},
        {"[\"type\",\"insufficient_quota\"]", ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        check(LIMITED, rows[i].bytes, strlen(rows[i].bytes), rows[i].expected);
    }
}
END_TEST

START_TEST(quota_is_looked_for_in_the_first_kilobyte)
{
    static const char begin[] = "{\"error\":{\"a\":\"", end[] = "\",\"type\":\"insufficient_quota\"}}";
    char text[2048];
    size_t fits = QUOTA_MOST - (sizeof begin - 1) - (sizeof end - 3);

    for (size_t more = 0; more < 2; more++) {
        memset(text, 'x', sizeof text);
        memcpy(text, begin, sizeof begin - 1);
        memcpy(text + sizeof begin - 1 + fits + more, end, sizeof end);
        check(LIMITED, text, strlen(text), more == 0 ? "quota " : "");
    }
}
END_TEST

/* ---- which bodies ------------------------------------------------------------------------------------------------- */

START_TEST(only_what_may_say_more_than_its_status_is_read)
{
    static const struct {
        unsigned status;
        bool event_stream, encoded, wants, stream;
    } rows[] = {
        {200, false, false, false, false}, {200, true, false, true, true},   {201, true, false, true, true},
        {200, true, true, false, true},    {503, true, false, false, false}, {429, true, false, true, false},
        {429, false, false, true, false},  {429, false, true, false, false}, {403, false, false, false, false},
        {304, true, false, false, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct body body = {0};

        body_begin(&body, rows[i].status, rows[i].event_stream, rows[i].encoded);
        ck_assert_msg(body_wants(&body) == rows[i].wants && body.stream == rows[i].stream, "row %zu", i);
    }
    struct body none = {0};

    ck_assert(!body_wants(&none));
    ck_assert_uint_eq(body_feed(&none, (const uint8_t *)"event: error\n\n", 14), BODY_NOTHING);
    ck_assert_uint_eq(body_end(&none), BODY_NOTHING);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        streams_as_providers_send_them_live_end_and_fail,
        fields_are_read_as_the_standard_has_them,
        a_byte_order_mark_is_no_part_of_the_first_line,
        an_error_is_a_member_of_the_outermost_object_that_says_something,
        data_over_several_lines_is_one_text,
        long_strings_are_passed_over_to_what_follows_them,
        what_no_blank_line_came_after_counts_when_the_stream_ended_in_peace,
        nesting_that_is_deeper_than_anybody_reads_is_passed_over,
        quota_is_told_from_rate_limits,
        quota_is_looked_for_in_the_first_kilobyte,
        only_what_may_say_more_than_its_status_is_read,
    };
    Suite *suite = suite_create("body");
    TCase *tcase = tcase_create("body");

    for (size_t i = 0; i < COUNT(tests); i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
