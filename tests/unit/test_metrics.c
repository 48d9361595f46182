/* What Prometheus is told: each count once for each name, and nothing that its format could trip over. */
#include "suite.h"
#include "report/metrics.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct snapshot_provider provider[4];
static struct snapshot snapshot;

static void setup(void)
{
    memset(provider, 0, sizeof(provider));
    snapshot = (struct snapshot){.provider = provider, .processes = 3};
}

static struct snapshot_provider *given(const char *name)
{
    struct snapshot_provider *one = &provider[snapshot.providers++];
    snprintf(one->name, sizeof(one->name), "%s", name);
    return one;
}

/* What is printed of the snapshot, taken in so many times; free() it. */
static char *printed(int times)
{
    static char *text; /* outlives the stream, which the compiler cannot know */
    static size_t size;
    struct metrics metrics = {0};
    for (int i = 0; i < times; i++) {
        ck_assert(metrics_add(&metrics, &snapshot));
    }
    FILE *out = open_memstream(&text, &size);
    metrics_print(&metrics, out);
    fclose(out);
    metrics_free(&metrics);
    return text;
}

/* Is this a line of it, once? */
static void check_line(const char *text, const char *line)
{
    char whole[4096];
    snprintf(whole, sizeof(whole), "\n%s\n", line);
    const char *found = strstr(text, whole);
    ck_assert_msg(found != NULL, "no line %s in:\n%s", line, text);
    ck_assert_msg(strstr(found + 1, whole) == NULL, "twice: %s", line);
}

START_TEST(every_count_has_its_line)
{
    struct snapshot_provider *one = given("openai");
    one->view.outcome[PREBREAK_OK] = 11;
    one->view.outcome[PREBREAK_FAILED] = 12;
    one->view.outcome[PREBREAK_NEUTRAL] = 13;
    one->view.total_refused = 14;
    one->view.would_refuse = 15;
    one->view.failures[PREBREAK_KIND_TLS] = 16;
    one->view.phase = PREBREAK_THROTTLING;
    one->view.drop = 0.25;
    one->view.inflight = 17;
    one->view.pauses = 18;
    one->first_bytes.slow = 19;
    one->transitions[PREBREAK_CLOSED][PREBREAK_OPEN] = 20;

    char *text = printed(1);

    static const char *const lines[] = {
        "prebreak_calls_total{provider=\"openai\",outcome=\"ok\"} 11",
        "prebreak_calls_total{provider=\"openai\",outcome=\"failed\"} 12",
        "prebreak_calls_total{provider=\"openai\",outcome=\"neutral\"} 13",
        "prebreak_calls_total{provider=\"openai\",outcome=\"refused\"} 14",
        "prebreak_refused_total{provider=\"openai\",mode=\"enforce\"} 14",
        "prebreak_refused_total{provider=\"openai\",mode=\"observe\"} 15",
        "prebreak_failures_total{provider=\"openai\",kind=\"tls\"} 16",
        "prebreak_failures_total{provider=\"openai\",kind=\"connect\"} 0",
        "prebreak_phase{provider=\"openai\",phase=\"throttling\"} 1",
        "prebreak_phase{provider=\"openai\",phase=\"closed\"} 0",
        "prebreak_phase{provider=\"openai\",phase=\"held-open\"} 0",
        "prebreak_drop_ratio{provider=\"openai\"} 0.25",
        "prebreak_inflight{provider=\"openai\"} 17",
        "prebreak_pauses_total{provider=\"openai\"} 18",
        "prebreak_slow_total{provider=\"openai\"} 19",
        "prebreak_transitions_total{provider=\"openai\",from=\"closed\",to=\"open\"} 20",
        "prebreak_processes 3",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        check_line(text, lines[i]);
    }
    ck_assert_ptr_nonnull(strstr(text, "\nprebreak_build_info{version=\""));
    free(text);
}
END_TEST

START_TEST(a_histogram_is_cumulative_in_seconds)
{
    struct snapshot_provider *one = given("openai");
    one->first_bytes.count[0] = 1;
    one->first_bytes.count[5] = 2;
    one->first_bytes.count[PREBREAK_HISTOGRAM - 1] = 4;
    one->first_bytes.sum = 1234567890;

    char *text = printed(1);

    check_line(text, "# TYPE prebreak_first_byte_seconds histogram");
    check_line(text, "prebreak_first_byte_seconds_bucket{provider=\"openai\",le=\"0.001\"} 1");
    check_line(text, "prebreak_first_byte_seconds_bucket{provider=\"openai\",le=\"0.016\"} 1");
    check_line(text, "prebreak_first_byte_seconds_bucket{provider=\"openai\",le=\"0.032\"} 3");
    check_line(text, "prebreak_first_byte_seconds_bucket{provider=\"openai\",le=\"1.024\"} 3");
    check_line(text, "prebreak_first_byte_seconds_bucket{provider=\"openai\",le=\"262.144\"} 3");
    check_line(text, "prebreak_first_byte_seconds_bucket{provider=\"openai\",le=\"+Inf\"} 7");
    check_line(text, "prebreak_first_byte_seconds_sum{provider=\"openai\"} 1234.567890");
    check_line(text, "prebreak_first_byte_seconds_count{provider=\"openai\"} 7");
    free(text);
}
END_TEST

START_TEST(breakers_of_one_name_are_added_up_and_show_the_worst)
{
    struct snapshot_provider *first = given("openai");
    struct snapshot_provider *between = given("payments");
    struct snapshot_provider *second = given("openai");
    first->view.outcome[PREBREAK_OK] = 1;
    first->view.phase = PREBREAK_OPEN;
    first->view.drop = 1;
    first->first_bytes.count[3] = 5;
    first->first_bytes.sum = 1000000;
    second->view.outcome[PREBREAK_OK] = 10;
    second->view.failures[PREBREAK_KIND_RESET] = 3;
    second->view.phase = PREBREAK_THROTTLING;
    second->view.drop = 0.5;
    second->first_bytes.count[3] = 6;
    second->first_bytes.sum = 500000;
    second->transitions[PREBREAK_CLOSED][PREBREAK_THROTTLING] = 2;
    between->view.outcome[PREBREAK_OK] = 100;

    char *text = printed(1);

    check_line(text, "prebreak_calls_total{provider=\"openai\",outcome=\"ok\"} 11");
    check_line(text, "prebreak_calls_total{provider=\"payments\",outcome=\"ok\"} 100");
    check_line(text, "prebreak_failures_total{provider=\"openai\",kind=\"reset\"} 3");
    check_line(text, "prebreak_phase{provider=\"openai\",phase=\"open\"} 1");
    check_line(text, "prebreak_phase{provider=\"openai\",phase=\"throttling\"} 0");
    check_line(text, "prebreak_drop_ratio{provider=\"openai\"} 1");
    check_line(text, "prebreak_first_byte_seconds_bucket{provider=\"openai\",le=\"0.008\"} 11");
    check_line(text, "prebreak_first_byte_seconds_sum{provider=\"openai\"} 1.500000");
    check_line(text, "prebreak_transitions_total{provider=\"openai\",from=\"closed\",to=\"throttling\"} 2");
    free(text);
}
END_TEST

START_TEST(regions_are_added_up_too)
{
    given("openai")->view.outcome[PREBREAK_OK] = 7;

    char *text = printed(3);

    check_line(text, "prebreak_calls_total{provider=\"openai\",outcome=\"ok\"} 21");
    check_line(text, "prebreak_processes 9");
    free(text);
}
END_TEST

START_TEST(a_sum_beyond_what_fits_is_the_greatest_that_does)
{
    given("openai")->view.outcome[PREBREAK_OK] = UINT64_MAX - 5;

    char *text = printed(2);

    check_line(text, "prebreak_calls_total{provider=\"openai\",outcome=\"ok\"} 18446744073709551615");
    free(text);
}
END_TEST

START_TEST(no_name_can_end_its_label)
{
    given("a\"} 1\nb\\c\xff")->view.inflight = 5;

    char *text = printed(1);

    check_line(text, "prebreak_inflight{provider=\"a\\\"} 1\\\\x0ab\\\\x5cc\\\\xff\"} 5");
    free(text);
}
END_TEST

START_TEST(the_longest_name_fits_however_it_is_written)
{
    struct snapshot_provider *one = given("");
    memset(one->name, '\\', sizeof(one->name) - 1);

    char *text = printed(1);

    const char *label = strstr(text, "prebreak_inflight{provider=\"");
    ck_assert_ptr_nonnull(label);
    label += strlen("prebreak_inflight{provider=\"");
    ck_assert_uint_eq(strcspn(label, "\""), (PREBREAK_NAME - 1) * strlen("\\\\x5c"));
    free(text);
}
END_TEST

START_TEST(without_a_provider_the_rest_is_still_told)
{
    char *text = printed(1);

    ck_assert_ptr_null(strstr(text, "provider="));
    check_line(text, "# TYPE prebreak_calls_total counter");
    check_line(text, "prebreak_processes 3");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metrics");
    TCase *tests = tcase_create("metrics");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, every_count_has_its_line);
    tcase_add_test(tests, a_histogram_is_cumulative_in_seconds);
    tcase_add_test(tests, breakers_of_one_name_are_added_up_and_show_the_worst);
    tcase_add_test(tests, regions_are_added_up_too);
    tcase_add_test(tests, a_sum_beyond_what_fits_is_the_greatest_that_does);
    tcase_add_test(tests, no_name_can_end_its_label);
    tcase_add_test(tests, the_longest_name_fits_however_it_is_written);
    tcase_add_test(tests, without_a_provider_the_rest_is_still_told);
    suite_add_tcase(suite, tests);

    return suite_run(suite);
}
