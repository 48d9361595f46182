/*
 * When to come again, out of headers as providers document and send them.
 */
#include "suite.h"
#include "protocol/date.h"
#include "protocol/retry.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define SECOND       INT64_C(1000000000)
#define MS           INT64_C(1000000)
#define NOW          INT64_C(1735732800500) /* ms: 2025-01-01T12:00:00.5Z */

/* Lines as "name: value\r\n..." */
static int64_t told(const char *lines)
{
    struct retry retry = {0};

    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n"), name = strcspn(lines, ":");

        retry_take(&retry, retry_field(lines, name), lines + name + 1, length - name - 1);
        lines += length + (lines[length] == '\n');
    }
    return (int64_t)retry_after(&retry, RETRY_BY_ALL, NOW);
}

struct row {
    const char *lines;
    int64_t expected; /* ns */
};

static void check(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t found = told(rows[i].lines);

        ck_assert_msg(found == rows[i].expected, "%s: %" PRId64 " and not %" PRId64, rows[i].lines, found,
                      rows[i].expected);
    }
}

START_TEST(headers_as_providers_send_them_say_how_long)
{
    static const struct row rows[] = {
        /* OpenAI's guide to rate limits */
        {"x-ratelimit-reset-requests: 1s\nx-ratelimit-reset-tokens: 6m0s", 1 * SECOND},
        {"x-ratelimit-remaining-requests: 59\nx-ratelimit-remaining-tokens: 0\n"
         "x-ratelimit-reset-requests: 1s\nx-ratelimit-reset-tokens: 6m0s",
         360 * SECOND},
        {"x-ratelimit-remaining-requests: 0\nx-ratelimit-remaining-tokens: 149984\n"
         "x-ratelimit-reset-requests: 8.64s\nx-ratelimit-reset-tokens: 17ms",
         8640 * MS},
        {"retry-after: 2\nretry-after-ms: 1250", 1250 * MS},
        {"x-ratelimit-reset-tokens: 1h2m3.5s", 3723500 * MS},
        {"x-ratelimit-reset-requests: 120\xc2\xb5s", 1 * MS},
        {"x-ratelimit-reset-requests: 1m26.4s", 86400 * MS},
        /* Groq: two days of a daily limit */
        {"retry-after: 2\nx-ratelimit-reset-requests: 2m59.56s\nx-ratelimit-reset-tokens: 7.66s", 2 * SECOND},
        {"x-ratelimit-reset-requests: 2m59.56s\nx-ratelimit-reset-tokens: 7.66s", 7660 * MS},
        /* Azure OpenAI: seconds, and nonsense while it does not know */
        {"x-ratelimit-reset-tokens: 38", 38 * SECOND},
        {"x-ratelimit-remaining-tokens: -1\nx-ratelimit-reset-tokens: 0", 0},
        /* Anthropic */
        {"anthropic-ratelimit-requests-remaining: 49\nanthropic-ratelimit-requests-reset: 2025-01-01T12:00:01Z\n"
         "anthropic-ratelimit-input-tokens-remaining: 0\n"
         "anthropic-ratelimit-input-tokens-reset: 2025-01-01T12:00:41Z\n"
         "anthropic-ratelimit-output-tokens-remaining: 8000\n"
         "anthropic-ratelimit-output-tokens-reset: 2025-01-01T12:00:00Z\n"
         "anthropic-ratelimit-tokens-remaining: 0\nanthropic-ratelimit-tokens-reset: 2025-01-01T12:00:45Z",
         40500 * MS},
        {"retry-after: 7\nanthropic-ratelimit-tokens-reset: 2025-01-01T12:00:45Z", 7 * SECOND},
        {"anthropic-ratelimit-tokens-reset: 2025-01-01T14:00:01.25+02:00", 750 * MS},
        /* the drafts; GitLab; GitHub; OpenRouter */
        {"RateLimit-Limit: 100\nRateLimit-Remaining: 0\nRateLimit-Reset: 50", 50 * SECOND},
        {"RateLimit-Reset: 1735732830", 29500 * MS},
        {"X-RateLimit-Limit: 60\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1735732801", 500 * MS},
        {"X-RateLimit-Reset: 1735732860000", 59500 * MS},
        /* RFC 9110 */
        {"Retry-After: 120", 120 * SECOND},
        {"Retry-After: Wed, 01 Jan 2025 12:00:30 GMT", 29500 * MS},
        {"Retry-After: Wednesday, 01-Jan-25 12:00:30 GMT", 29500 * MS},
        {"Retry-After: 0.2", 200 * MS},
        {"retry-after:\t1.0 ", 1 * SECOND},
    };
    check(rows, COUNT(rows));
}
END_TEST

START_TEST(the_explicit_headers_come_before_the_reset_of_a_limit)
{
    static const struct row rows[] = {
        {"x-ratelimit-reset: 9\nretry-after: 5\nretry-after-ms: 3000", 3 * SECOND},
        {"x-ratelimit-reset: 9\nretry-after: 5", 5 * SECOND},
        {"x-ratelimit-reset: 9\nretry-after: 0", 0},
        {"x-ratelimit-reset: 9\nretry-after-ms: 0\nretry-after: 5", 0},
        {"x-ratelimit-reset: 9\nretry-after: soon", 9 * SECOND},
        {"retry-after-ms: soon\nretry-after: 5", 5 * SECOND},
        {"x-ratelimit-remaining: 0\nx-ratelimit-reset: 9\nratelimit-reset: 2", 9 * SECOND},
        {"x-ratelimit-remaining: 0\nratelimit-reset: 2", 2 * SECOND},
        {"x-ratelimit-remaining: 1\nx-ratelimit-reset: 9", 9 * SECOND},
    };
    check(rows, COUNT(rows));
}
END_TEST

START_TEST(what_cannot_be_meant_is_not_believed)
{
    static const struct row rows[] = {
        {"retry-after: -5", 0},
        {"retry-after: 5s", 0},
        {"retry-after: 1.2.3", 0},
        {"retry-after: ", 0},
        {"retry-after:", 0},
        {"retry-after: 99999999999999999999999", 0},
        {"retry-after: 18446744073709551616", 0},
        {"retry-after: 4294967295", 0},
        {"retry-after: 2678401", 0},
        {"retry-after: 2678400", 86400 * SECOND},
        {"retry-after: 000000000000000000000000000000000000000000000000000005", 0},
        {"retry-after: 5\nretry-after: 5", 0},
        {"retry-after: 5\nretry-after: Wed, 01 Jan 2025 12:00:30 GMT", 0},
        {"retry-after: 5\nretry-after: 5\nx-ratelimit-reset: 3", 3 * SECOND},
        {"retry-after: Fri, 31 Dec 9999 23:59:59 GMT", 0},
        {"retry-after: Sun, 06 Nov 1994 08:49:37 GMT", 0},
        {"retry-after: Wed, 01 Jan 2025 12:00:30 CET", 0},
        {"retry-after-ms: soon", 0},
        {"retry-after-ms: 1\nretry-after-ms: 1", 0},
        {"retry-after-ms: 1500.5", 1501 * MS},
        {"x-ratelimit-reset: 1, 1419704", 0}, /* of two limits; which one is not said */
        {"x-ratelimit-reset: Tue Feb 16 2021 09:02:42 GMT+0100 (Central European Standard Time)", 0},
        {"x-ratelimit-reset: 99999999999999999999999h", 0},
        {"x-ratelimit-reset: 999999999999999h", 0},
        {"x-ratelimit-reset: 1h2", 0},
        {"x-ratelimit-reset: 1x", 0},
        {"x-ratelimit-reset: s", 0},
        {"x-ratelimit-reset: -1s", 0},
        {"x-ratelimit-reset: 1735732800", 0}, /* has passed */
        {"x-ratelimit-reset: 253402300799", 0},
        {"x-ratelimit-reset: 9223372036854775807", 0},
        {"x-ratelimit-remaining: 0\nx-ratelimit-remaining: 0\nx-ratelimit-reset: 9\nratelimit-reset: 2", 2 * SECOND},
        {"anthropic-ratelimit-tokens-reset: 9999-12-31T23:59:59Z", 0},
        {"anthropic-ratelimit-tokens-reset: 2025-13-01T12:00:45Z", 0},
        {"anthropic-ratelimit-tokens-reset: 2025-00-01T12:00:45Z", 0},
        {"anthropic-ratelimit-tokens-reset: 2025-02-29T12:00:45Z", 0},
        {"anthropic-ratelimit-tokens-reset: 1970-01-01T00:00:00+23:59", 0},
        {"anthropic-ratelimit-tokens-reset: 45", 0},
        {"x-anthropic-ratelimit-tokens-reset: 2025-01-01T12:00:45Z", 0},
        {"retry-after-: 5", 0},
        {": 5", 0},
    };
    check(rows, COUNT(rows));
}
END_TEST

START_TEST(a_time_on_a_clock_is_compared_with_the_providers_own_too)
{
    static const struct row rows[] = {
        /* ours is a minute behind */
        {"date: Wed, 01 Jan 2025 12:01:00 GMT\nretry-after: Wed, 01 Jan 2025 12:01:05 GMT", 5 * SECOND},
        /* the provider's is behind, or its answer came out of a cache */
        {"date: Wed, 01 Jan 2025 11:00:00 GMT\nretry-after: Wed, 01 Jan 2025 12:00:05 GMT", 4500 * MS},
        {"date: Wed, 01 Jan 2025 12:01:00 GMT\nx-ratelimit-reset: 1735732865", 5 * SECOND},
        {"date: Wed, 01 Jan 2025 12:01:00 GMT\nx-ratelimit-reset: 65", 65 * SECOND},
        {"date: then\nretry-after: Wed, 01 Jan 2025 12:00:05 GMT", 4500 * MS},
    };
    check(rows, COUNT(rows));
}
END_TEST

START_TEST(nothing_told_is_nothing)
{
    struct retry retry;

    memset(&retry, 0xff, sizeof retry);
    retry_begin(&retry);
    ck_assert_uint_eq(retry_after(&retry, RETRY_BY_ALL, NOW), 0);
    ck_assert_uint_eq(retry_after(&retry, RETRY_BY_ALL, -1), 0);
    retry_take_seconds(&retry, UINT64_MAX);
    ck_assert_uint_eq(retry_after(&retry, RETRY_BY_ALL, NOW), 0);
    retry_take_seconds(&retry, 0);
    ck_assert_uint_eq(retry_after(&retry, RETRY_BY_ALL, NOW), 0);
    retry_take_seconds(&retry, 7);
    ck_assert_uint_eq(retry_after(&retry, RETRY_BY_ALL, NOW), 7 * SECOND);
    retry_begin(&retry);
    retry_take(&retry, 0, "5", 1);
    retry_take(&retry, 99, "5", 1);
    ck_assert_uint_eq(retry_after(&retry, RETRY_BY_ALL, NOW), 0);
}
END_TEST

START_TEST(only_the_families_asked_for_count)
{
    static const struct {
        const char *name;
        unsigned family;
    } rows[] = {
        {"retry-after", RETRY_BY_RETRY_AFTER},
        {"retry-after-ms", RETRY_BY_RETRY_AFTER},
        {"x-ratelimit-reset", RETRY_BY_X_RATELIMIT},
        {"x-ratelimit-reset-requests", RETRY_BY_X_RATELIMIT},
        {"x-ratelimit-reset-tokens", RETRY_BY_X_RATELIMIT},
        {"ratelimit-reset", RETRY_BY_RATELIMIT},
        {"anthropic-ratelimit-requests-reset", RETRY_BY_ANTHROPIC},
        {"anthropic-ratelimit-tokens-reset", RETRY_BY_ANTHROPIC},
        {"anthropic-ratelimit-input-tokens-reset", RETRY_BY_ANTHROPIC},
        {"anthropic-ratelimit-output-tokens-reset", RETRY_BY_ANTHROPIC},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct retry retry = {0};
        const char *value = rows[i].family == RETRY_BY_ANTHROPIC ? "2025-01-01T12:00:05Z" : "4500";

        retry_take(&retry, retry_field(rows[i].name, strlen(rows[i].name)), value, strlen(value));
        for (unsigned families = 0; families <= RETRY_BY_ALL; families++) {
            ck_assert_msg((retry_after(&retry, families, NOW) != 0) == ((families & rows[i].family) != 0), "%s by %u",
                          rows[i].name, families);
        }
    }
}
END_TEST

START_TEST(every_field_is_found_by_its_name_in_any_case)
{
    unsigned count = 0;

    for (unsigned i = 1; retry_field_name(i) != NULL; i++, count++) {
        char name[64] = "";
        size_t length = strlen(retry_field_name(i));

        memcpy(name, retry_field_name(i), length);
        ck_assert_uint_eq(retry_field(name, length), i);
        name[0] = (char)(name[0] - 'a' + 'A');
        ck_assert_uint_eq(retry_field(name, length), i);
        ck_assert_uint_eq(retry_field(name, length - 1), 0);
        ck_assert_uint_eq(retry_field(name, length + 1), 0);
        ck_assert_msg(length <= 48, "the HTTP/1 parser has room for so much of a name");
    }
    ck_assert_uint_eq(count, 19);
    ck_assert_ptr_null(retry_field_name(0));
    ck_assert_uint_eq(retry_field("", 0), 0);
}
END_TEST

START_TEST(times_of_rfc_3339_are_read_to_the_millisecond)
{
    static const struct {
        const char *text;
        int64_t seconds; /* -1: none */
        uint32_t ms;
    } rows[] = {
        {"1970-01-01t00:00:00z", 0, 0},
        {"1985-04-12T23:20:50.52Z", 482196050, 520}, /* the RFC's own examples */
        {"1996-12-19T16:39:57-08:00", 851042397, 0},
        {"1990-12-31T23:59:60Z", 662688000, 0},
        {"1937-01-01T12:00:27.87+00:20", -1, 0},
        {"2025-01-01 12:00:00Z", 1735732800, 0},
        {"2025-01-01T12:00:00.0000001Z", 1735732800, 1},
        {"2025-01-01T12:00:00.9999Z", 1735732800, 1000},
        {"2025-01-01T12:00:00.Z", -1, 0},
        {"2025-01-01T12:00:00", -1, 0},
        {"2025-01-01T12:00:00Z ", -1, 0},
        {"2025-01-01T24:00:00Z", -1, 0},
        {"2025-01-01T12:00:00+24:00", -1, 0},
        {"2025-01-01", -1, 0},
        {"", -1, 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t seconds = -1;
        uint32_t ms = 0;
        bool good = date_rfc3339(rows[i].text, strlen(rows[i].text), &seconds, &ms);

        ck_assert_msg(good == (rows[i].seconds >= 0), "%s", rows[i].text);
        ck_assert_msg(!good || (seconds == rows[i].seconds && ms == rows[i].ms), "%s: %" PRId64 " %" PRIu32,
                      rows[i].text, seconds, ms);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        headers_as_providers_send_them_say_how_long,
        the_explicit_headers_come_before_the_reset_of_a_limit,
        what_cannot_be_meant_is_not_believed,
        a_time_on_a_clock_is_compared_with_the_providers_own_too,
        nothing_told_is_nothing,
        only_the_families_asked_for_count,
        every_field_is_found_by_its_name_in_any_case,
        times_of_rfc_3339_are_read_to_the_millisecond,
    };
    Suite *suite = suite_create("retry");
    TCase *tcase = tcase_create("retry");

    for (size_t i = 0; i < COUNT(tests); i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
