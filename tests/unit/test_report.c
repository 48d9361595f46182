/* What people and programs are shown: every count to the digit, and no byte out of a region as it is. */
#include "suite.h"
#include "report/report.h"
#include "report/text.h"
#include <check.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct state state;

static uint64_t monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void given_a_region(void)
{
    state_open(&state, "private", STATE_CREATE);
    ck_assert_ptr_nonnull(state.region);
}

/* A breaker of this name under a policy's defaults. */
static struct prebreak_slot *given_a_breaker(const char *name, enum prebreak_policy policy)
{
    struct prebreak_settings settings;
    breaker_settings_default(policy, &settings);
    int slot = state_slot(&state, name, &settings, false, monotonic());
    ck_assert_int_ge(slot, 0);
    return &state.region->slot[slot];
}

/* What a report function writes; free() it. */
static char *rendered(int (*render)(struct state *, const char *, FILE *), const char *name, int *shown)
{
    static char *text; /* outlives the stream, which the compiler cannot know */
    static size_t size;
    FILE *out = open_memstream(&text, &size);
    *shown = render(&state, name, out);
    fclose(out);
    return text;
}

static json_t *parsed(const char *name, int *shown)
{
    char *text = rendered(report_status_json, name, shown);
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "%s in: %s", error.text, text);
    free(text);
    return root;
}

static json_t *provider(json_t *root, size_t index)
{
    json_t *one = json_array_get(json_object_get(root, "providers"), index);
    ck_assert_ptr_nonnull(one);
    return one;
}

static void check_text(json_t *object, const char *key, const char *expected)
{
    ck_assert_str_eq(json_string_value(json_object_get(object, key)), expected);
}

static void check_count(json_t *object, const char *key, json_int_t expected)
{
    ck_assert_msg(json_is_integer(json_object_get(object, key)), "%s is no number", key);
    ck_assert_int_eq(json_integer_value(json_object_get(object, key)), expected);
}

static void check_keys(json_t *object, const char *expected)
{
    char keys[512] = "";
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        strcat(strcat(keys, keys[0] != '\0' ? " " : ""), key);
    }
    ck_assert_str_eq(keys, expected);
}

static void check_harmless(const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        ck_assert_msg((*at >= 0x20 && *at < 0x7f) || *at == '\n', "byte %02x in: %s", (unsigned char)*at, text);
    }
}

/* Where a word stands in its line. */
static long column_of(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    ck_assert_msg(at != NULL, "no %s in: %s", word, text);
    const char *line = at;
    while (line > text && line[-1] != '\n') {
        line--;
    }
    return at - line;
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

/* Totals that no two fields share, spread over the shards. */
static void given_counts(struct prebreak_breaker *words)
{
    for (int shard = 0; shard < PREBREAK_SHARDS; shard++) {
        struct prebreak_totals *totals = &words->totals[shard];
        uint64_t weight = shard == 0 ? 1000000 : 1;
        totals->outcome[PREBREAK_OK] = 11 * weight;
        totals->outcome[PREBREAK_FAILED] = 12 * weight;
        totals->outcome[PREBREAK_NEUTRAL] = 13 * weight;
        totals->refused = 14 * weight;
        totals->would_refuse = 15 * weight;
        totals->would_refuse_ok = 16 * weight;
        totals->would_refuse_failed = 17 * weight;
        for (uint64_t kind = 0; kind < PREBREAK_KINDS; kind++) {
            totals->failures[kind] = (20 + kind) * weight;
        }
    }
    words->pauses = 5;
    words->transitions[PREBREAK_CLOSED][PREBREAK_OPEN] = 3;
    words->transitions[PREBREAK_OPEN][PREBREAK_RECOVERING] = 2;
}

START_TEST(json_says_every_total_to_the_digit)
{
    int shown;
    struct prebreak_slot *slot = given_a_breaker("openai", PREBREAK_SRE);
    given_counts(&slot->breaker);

    json_t *root = parsed(NULL, &shown);

    json_t *total = json_object_get(provider(root, 0), "total");
    json_t *failures = json_object_get(provider(root, 0), "failures");
    ck_assert_int_eq(shown, 1);
    check_keys(total, "calls ok failed neutral refused would_refuse would_refuse_ok would_refuse_failed");
    check_count(total, "ok", 11000033);
    check_count(total, "failed", 12000036);
    check_count(total, "neutral", 13000039);
    check_count(total, "refused", 14000042);
    check_count(total, "would_refuse", 15000045);
    check_count(total, "would_refuse_ok", 16000048);
    check_count(total, "would_refuse_failed", 17000051);
    check_count(total, "calls", 11000033 + 12000036 + 13000039 + 14000042);
    check_keys(failures, "connect reset timeout hang slow tls dns status stream quota");
    check_count(failures, "connect", 20000060);
    check_count(failures, "quota", 29000087);
    check_count(provider(root, 0), "transitions", 5);
    check_count(provider(root, 0), "pauses", 5);
    json_decref(root);
}
END_TEST

START_TEST(json_has_the_keys_of_the_contract_in_their_order)
{
    int shown;
    given_a_breaker("openai", PREBREAK_CONSECUTIVE);

    json_t *root = parsed(NULL, &shown);

    check_keys(root, "version state mode providers holds");
    check_keys(provider(root, 0),
               "name policy mode phase since drop_ratio window total failures inflight transitions "
               "pauses settings first_byte_ms");
    check_keys(json_object_get(provider(root, 0), "first_byte_ms"), "le counts sum p50 p95 usual slow");
    check_keys(json_object_get(provider(root, 0), "window"), "ok failed refused");
    check_text(provider(root, 0), "name", "openai");
    check_text(provider(root, 0), "policy", "consecutive");
    check_text(provider(root, 0), "phase", "closed");
    check_text(root, "mode", "env");
    ck_assert(json_real_value(json_object_get(provider(root, 0), "drop_ratio")) == 0.0);
    json_decref(root);
}
END_TEST

START_TEST(calls_in_flight_are_calls)
{
    int shown;
    struct breaker breaker;
    struct prebreak_settings settings;
    struct breaker_call calls[3];
    struct breaker_change change;
    const struct breaker_order order = {.hold = PREBREAK_CLOSED, .enforce = 65535};
    struct breaker_caller who = {.now = monotonic(), .pid = state.pid, .pid_ns = state.pid_ns};
    struct prebreak_slot *slot = given_a_breaker("openai", PREBREAK_SRE);
    state_breaker(&state, (int)(slot - state.region->slot), NULL, &settings, &breaker);

    for (int i = 0; i < 3; i++) {
        ck_assert(breaker_admit(&breaker, &who, &order, &calls[i], &change));
    }
    breaker_finish(&breaker, &who, &calls[0], &(struct breaker_end){.outcome = PREBREAK_OK, .answered = true}, &change);
    breaker_finish(&breaker, &who, &calls[1], &(struct breaker_end){.outcome = PREBREAK_FAILED}, &change);
    json_t *root = parsed(NULL, &shown);

    json_t *total = json_object_get(provider(root, 0), "total");
    json_t *window = json_object_get(provider(root, 0), "window");
    check_count(provider(root, 0), "inflight", 1);
    check_count(total, "calls", 3);
    check_count(total, "ok", 1);
    check_count(total, "failed", 1);
    check_count(window, "ok", 1);
    check_count(window, "failed", 1);
    check_count(window, "refused", 0);
    check_count(json_object_get(provider(root, 0), "failures"), "connect", 1);
    json_decref(root);
}
END_TEST

START_TEST(a_count_beyond_what_json_can_say_is_the_greatest_it_can)
{
    int shown;
    struct prebreak_slot *slot = given_a_breaker("openai", PREBREAK_SRE);
    slot->breaker.totals[0].would_refuse = UINT64_MAX - 5;

    json_t *root = parsed(NULL, &shown);

    check_count(json_object_get(provider(root, 0), "total"), "would_refuse", INT64_MAX);
    json_decref(root);
}
END_TEST

static void check_near(double found, double expected)
{
    ck_assert_msg(fabs(found - expected) < 1e-9, "found %g, expected %g", found, expected);
}

START_TEST(first_bytes_are_shown_by_their_bounds)
{
    int shown;
    struct prebreak_slot *slot = given_a_breaker("openai", PREBREAK_SRE);
    slot->breaker.histogram[5] = 90; /* within 16..32 ms */
    slot->breaker.histogram[PREBREAK_HISTOGRAM - 1] = 10;
    slot->breaker.first_byte_us = 12345678;
    slot->breaker.usual = (uint64_t)~UINT32_C(20500) << 32 | 20500;
    slot->breaker.totals[0].slow = 3;
    slot->breaker.totals[2].slow = 4;

    json_t *root = parsed(NULL, &shown);
    char *text = rendered(report_status_text, NULL, &shown);

    json_t *first = json_object_get(provider(root, 0), "first_byte_ms");
    json_t *bounds = json_object_get(first, "le");
    json_t *counts = json_object_get(first, "counts");
    ck_assert_uint_eq(json_array_size(bounds), PREBREAK_HISTOGRAM);
    ck_assert_uint_eq(json_array_size(counts), PREBREAK_HISTOGRAM);
    ck_assert_int_eq(json_integer_value(json_array_get(bounds, 5)), 32);
    ck_assert_int_eq(json_integer_value(json_array_get(counts, 5)), 90);
    ck_assert(json_is_null(json_array_get(bounds, PREBREAK_HISTOGRAM - 1)));
    check_count(first, "sum", 12345);
    check_count(first, "slow", 7);
    check_near(json_real_value(json_object_get(first, "usual")), 20.5);
    ck_assert_ptr_nonnull(strstr(text, "\n  7 answers came later than `slow` and were counted ok\n"));
    check_near(json_real_value(json_object_get(first, "p50")), 24.8889);
    ck_assert(json_real_value(json_object_get(first, "p95")) == 262144);
    ck_assert_int_eq(column_of(text, "25ms") + (long)strlen("25ms"), column_of(text, "P50") + (long)strlen("P50"));
    json_decref(root);
    free(text);
}
END_TEST

START_TEST(a_provider_that_has_not_answered_has_no_quantiles)
{
    int shown;
    given_a_breaker("openai", PREBREAK_SRE);

    json_t *root = parsed(NULL, &shown);
    char *text = rendered(report_status_text, NULL, &shown);

    json_t *first = json_object_get(provider(root, 0), "first_byte_ms");
    ck_assert(json_is_null(json_object_get(first, "p50")));
    ck_assert(json_is_null(json_object_get(first, "p95")));
    ck_assert(json_is_null(json_object_get(first, "usual")));
    ck_assert_ptr_null(strstr(text, "P50"));
    json_decref(root);
    free(text);
}
END_TEST

/* A share of some counts, and the time it takes. */
static const struct {
    unsigned bucket[3];
    uint64_t count[3];
    double q, ms;
} quantiles[] = {
    {{0}, {1}, 1, 1},                                           /* all within a millisecond */
    {{0}, {4}, 0.5, 0.5},                                       /* spread evenly */
    {{0, 1}, {1, 1}, 0.5, 1},                                   /* at a border: the end of the lower one */
    {{3, 9}, {95, 5}, 0.95, 8},                                 /* just so */
    {{3, 9}, {94, 6}, 0.95, 256 + 256 / 6.0},                   /* the first of the next */
    {{0, PREBREAK_HISTOGRAM - 1}, {1, 9}, 0.5, 262144},         /* beyond the last bound */
    {{2, 4, 6}, {UINT64_MAX, UINT64_MAX, UINT64_MAX}, 0.5, 12}, /* a region of garbage */
};

START_TEST(a_quantile_lies_within_its_bucket)
{
    struct breaker_first_bytes seen = {.sum = 0};
    for (int i = 0; i < 3 && quantiles[_i].count[i] != 0; i++) {
        seen.count[quantiles[_i].bucket[i]] = quantiles[_i].count[i];
    }
    check_near(report_first_byte(&seen, quantiles[_i].q), quantiles[_i].ms);
}
END_TEST

START_TEST(two_breakers_of_one_name_are_both_listed_with_their_settings)
{
    int shown;
    given_a_breaker("openai", PREBREAK_SRE);
    given_a_breaker("openai", PREBREAK_AEGIS);

    json_t *root = parsed("openai", &shown);
    char *text = rendered(report_status_text, "openai", &shown);

    const char *first = json_string_value(json_object_get(provider(root, 0), "settings"));
    const char *second = json_string_value(json_object_get(provider(root, 1), "settings"));
    ck_assert_int_eq(shown, 2);
    ck_assert_str_ne(first, second);
    ck_assert_ptr_nonnull(strstr(text, "policy=sre"));
    ck_assert_ptr_nonnull(strstr(text, "policy=aegis"));
    ck_assert_ptr_null(strstr(text, "fail="));
    json_decref(root);
    free(text);
}
END_TEST

START_TEST(the_operators_mode_is_every_providers)
{
    int shown;
    given_a_breaker("openai", PREBREAK_SRE);
    state_set_mode(&state, PREBREAK_MODE_OBSERVE);

    json_t *root = parsed(NULL, &shown);

    check_text(root, "mode", "observe");
    check_text(provider(root, 0), "mode", "observe");
    json_decref(root);
}
END_TEST

START_TEST(without_the_operators_word_the_last_event_tells_a_providers_mode)
{
    int shown;
    struct event event;
    given_a_breaker("openai", PREBREAK_SRE);
    given_a_breaker("payments", PREBREAK_SRE);
    event_begin(&event, &state, EVENT_PHASE, "payments");
    event.mode = PREBREAK_MODE_OBSERVE;
    event_put(&state, &event);

    json_t *root = parsed(NULL, &shown);

    check_text(root, "mode", "env");
    check_text(provider(root, 0), "mode", "env");
    check_text(provider(root, 1), "mode", "observe");
    json_decref(root);
}
END_TEST

START_TEST(a_hold_that_no_call_has_met_is_shown)
{
    int shown;
    ck_assert(state_hold(&state, "payments", PREBREAK_HELD_OPEN, monotonic() + UINT64_C(600000000000)));

    json_t *root = parsed("payments", &shown);
    char *text = rendered(report_status_text, "payments", &shown);

    json_t *hold = json_array_get(json_object_get(root, "holds"), 0);
    ck_assert_int_eq(shown, 1);
    check_text(hold, "name", "payments");
    check_text(hold, "phase", "held-open");
    ck_assert(json_is_string(json_object_get(hold, "until")));
    ck_assert_ptr_nonnull(strstr(text, "payments: held-open, no call yet, held for another 9m59s"));
    json_decref(root);
    free(text);
}
END_TEST

START_TEST(a_held_breaker_shows_its_hold)
{
    int shown;
    given_a_breaker("payments", PREBREAK_SRE);
    ck_assert(state_hold(&state, "payments", PREBREAK_HELD_CLOSED, 0));

    json_t *root = parsed(NULL, &shown);
    char *text = rendered(report_status_text, NULL, &shown);

    ck_assert_int_eq(shown, 1);
    check_text(provider(root, 0), "phase", "held-closed");
    ck_assert(json_is_null(json_object_get(json_array_get(json_object_get(root, "holds"), 0), "until")));
    ck_assert_ptr_nonnull(strstr(text, "held until released"));
    json_decref(root);
    free(text);
}
END_TEST

START_TEST(a_name_that_nobody_has_shows_nothing)
{
    int shown;
    given_a_breaker("openai", PREBREAK_SRE);

    json_t *root = parsed("opena", &shown);
    ck_assert_int_eq(shown, 0);
    free(rendered(report_status_text, "opena", &shown));

    ck_assert_int_eq(shown, 0);
    ck_assert_uint_eq(json_array_size(json_object_get(root, "providers")), 0);
    json_decref(root);
}
END_TEST

// ---- text -----------------------------------------------------------------------------------------------------------

START_TEST(the_worst_phase_comes_first)
{
    int shown;
    given_a_breaker("a-closed", PREBREAK_SRE);
    given_a_breaker("b-throttled", PREBREAK_SRE);
    given_a_breaker("z-open", PREBREAK_SRE);
    state_hold(&state, "z-open", PREBREAK_HELD_OPEN, 0);
    state_hold(&state, "b-throttled", PREBREAK_HELD_CLOSED, 0);

    char *text = rendered(report_status_text, NULL, &shown);

    ck_assert_int_eq(shown, 3);
    ck_assert(strstr(text, "z-open") < strstr(text, "b-throttled"));
    ck_assert(strstr(text, "b-throttled") < strstr(text, "a-closed"));
    free(text);
}
END_TEST

START_TEST(columns_stand_under_their_titles)
{
    int shown;
    struct prebreak_slot *slot = given_a_breaker("a-rather-long-name.example.com:8443", PREBREAK_SRE);
    given_a_breaker("short", PREBREAK_SRE);
    slot->breaker.totals[0].refused = 123456789;
    slot->breaker.totals[0].outcome[PREBREAK_OK] = 98765;

    char *text = rendered(report_status_text, NULL, &shown);

    long phase = column_of(text, "PHASE");
    ck_assert_int_eq(column_of(strstr(text, "a-rather"), "closed"), phase);
    ck_assert_int_eq(column_of(strstr(text, "short"), "closed"), phase);
    ck_assert_int_eq(column_of(text, "NEUTRAL   REFUSED") + (long)strlen("NEUTRAL   REFUSED"),
                     column_of(text, "123456789") + (long)strlen("123456789"));
    free(text);
}
END_TEST

START_TEST(no_line_ends_in_blanks)
{
    int shown;
    struct prebreak_slot *slot = given_a_breaker("openai", PREBREAK_SRE);
    given_a_breaker("payments", PREBREAK_SRE);
    slot->breaker.totals[0].would_refuse = 1;

    char *text = rendered(report_status_text, NULL, &shown);

    ck_assert_ptr_null(strstr(text, " \n"));
    free(text);
}
END_TEST

START_TEST(a_column_without_content_is_left_out)
{
    int shown;
    struct prebreak_slot *slot = given_a_breaker("openai", PREBREAK_SRE);

    char *without = rendered(report_status_text, NULL, &shown);
    slot->breaker.totals[0].would_refuse = 1;
    char *with = rendered(report_status_text, NULL, &shown);

    ck_assert_ptr_null(strstr(without, "WOULD"));
    ck_assert_ptr_nonnull(strstr(with, "WOULD"));
    free(without);
    free(with);
}
END_TEST

START_TEST(an_empty_region_says_so)
{
    int shown;

    char *text = rendered(report_status_text, NULL, &shown);

    ck_assert_int_eq(shown, 0);
    ck_assert_ptr_nonnull(strstr(text, "no provider has been called yet"));
    free(text);
}
END_TEST

START_TEST(only_a_terminal_that_can_is_coloured)
{
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert_int_ge(terminal, 0);
    FILE *out = fdopen(terminal, "w");
    FILE *file = tmpfile();

    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    ck_assert(report_coloured(out));
    ck_assert(!report_coloured(file));
    setenv("NO_COLOR", "", 1);
    ck_assert(report_coloured(out));
    setenv("NO_COLOR", "1", 1);
    ck_assert(!report_coloured(out));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    ck_assert(!report_coloured(out));

    fclose(out);
    fclose(file);
}
END_TEST

// ---- bytes out of a region ------------------------------------------------------------------------------------------

START_TEST(no_byte_of_a_hostile_name_is_shown_as_it_is)
{
    static const char hostile[] = "\033]0;owned\007\033[2J\xff\xfe\n\r\t\\\x7f";
    int shown;
    struct prebreak_slot *slot = given_a_breaker("openai", PREBREAK_SRE);
    ck_assert(state_hold(&state, "payments", PREBREAK_HELD_OPEN, 0));
    memcpy(slot->name, hostile, sizeof(hostile));
    for (int i = 0; i < PREBREAK_HOLDS; i++) {
        memcpy(state.region->hold[i].name, hostile, sizeof(hostile));
    }
    memcpy(state.path, hostile, sizeof(hostile));

    char *text = rendered(report_status_text, NULL, &shown);
    char *json = rendered(report_status_json, NULL, &shown);
    char *about = NULL;
    size_t size;
    FILE *out = open_memstream(&about, &size);
    report_state(&state, out);
    fclose(out);

    check_harmless(text);
    check_harmless(json);
    check_harmless(about);
    ck_assert_ptr_nonnull(strstr(text, "\\x1b]0;owned\\x07"));
    free(text);
    free(json);
    free(about);
}
END_TEST

START_TEST(a_region_of_garbage_is_shown_without_harm)
{
    int shown;
    unsigned char *bytes = (unsigned char *)state.region;
    uint32_t random = 12345;
    for (size_t i = sizeof(state.region->header); i < sizeof(*state.region); i++) {
        random = random * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(random >> 24);
    }

    char *text = rendered(report_status_text, NULL, &shown);
    json_t *root = parsed(NULL, &shown);
    char *about = NULL;
    size_t size;
    FILE *out = open_memstream(&about, &size);
    report_state(&state, out);
    fclose(out);

    check_harmless(text);
    check_harmless(about);
    json_decref(root);
    free(text);
    free(about);
}
END_TEST

// ---- small pieces ---------------------------------------------------------------------------------------------------

static const struct {
    uint64_t ns;
    const char *text;
} spans[] = {
    {0, "0ms"},
    {999999, "0ms"},
    {250000000, "250ms"},
    {1000000000, "1s"},
    {59999999999, "59s"},
    {60000000000, "1m00s"},
    {250000000000, "4m10s"},
    {3600000000000, "1h00m"},
    {11100000000000, "3h05m"},
    {86400000000000, "1d00h"},
    {UINT64_C(187200000000000), "2d04h"},
    {UINT64_MAX, "213503d23h"},
};

START_TEST(a_span_has_its_two_largest_units)
{
    char text[TEXT_TIME];
    ck_assert_str_eq(text_span(spans[_i].ns, text, sizeof(text)), spans[_i].text);
}
END_TEST

START_TEST(a_time_is_rfc_3339)
{
    char text[TEXT_TIME];
    ck_assert_str_eq(text_time(0, text, sizeof(text)), "1970-01-01T00:00:00.000Z");
    ck_assert_str_eq(text_time(UINT64_C(1709210096789999999), text, sizeof(text)), "2024-02-29T12:34:56.789Z");
    ck_assert_str_eq(text_time(UINT64_MAX, text, sizeof(text)), "2554-07-21T23:34:33.709Z");
}
END_TEST

START_TEST(an_escape_is_whole_or_not_there)
{
    char text[8];
    ck_assert_str_eq(text_printable("abc\033", text, sizeof(text)), "abc\\x1b");
    ck_assert_str_eq(text_printable("abcd\033", text, sizeof(text)), "abcd");
    ck_assert_str_eq(text_printable("abcdefghij", text, sizeof(text)), "abcdefg");
    ck_assert_str_eq(text_printable("a\\b", text, sizeof(text)), "a\\x5cb");
}
END_TEST

START_TEST(every_trouble_has_a_remedy)
{
    ck_assert_ptr_null(report_remedy(STATE_SOUND));
    for (int trouble = STATE_SOUND + 1; trouble < STATE_TROUBLES; trouble++) {
        ck_assert_msg(report_remedy((enum state_trouble)trouble) != NULL, "none for trouble %d", trouble);
    }
}
END_TEST

// ---- the suite ------------------------------------------------------------------------------------------------------

int main(void)
{
    Suite *suite = suite_create("report");
    TCase *region = tcase_create("region");
    tcase_add_checked_fixture(region, given_a_region, NULL);
    tcase_add_test(region, json_says_every_total_to_the_digit);
    tcase_add_test(region, json_has_the_keys_of_the_contract_in_their_order);
    tcase_add_test(region, calls_in_flight_are_calls);
    tcase_add_test(region, a_count_beyond_what_json_can_say_is_the_greatest_it_can);
    tcase_add_test(region, first_bytes_are_shown_by_their_bounds);
    tcase_add_test(region, a_provider_that_has_not_answered_has_no_quantiles);
    tcase_add_test(region, two_breakers_of_one_name_are_both_listed_with_their_settings);
    tcase_add_test(region, the_operators_mode_is_every_providers);
    tcase_add_test(region, without_the_operators_word_the_last_event_tells_a_providers_mode);
    tcase_add_test(region, a_hold_that_no_call_has_met_is_shown);
    tcase_add_test(region, a_held_breaker_shows_its_hold);
    tcase_add_test(region, a_name_that_nobody_has_shows_nothing);
    tcase_add_test(region, the_worst_phase_comes_first);
    tcase_add_test(region, columns_stand_under_their_titles);
    tcase_add_test(region, no_line_ends_in_blanks);
    tcase_add_test(region, a_column_without_content_is_left_out);
    tcase_add_test(region, an_empty_region_says_so);
    tcase_add_test(region, only_a_terminal_that_can_is_coloured);
    tcase_add_test(region, no_byte_of_a_hostile_name_is_shown_as_it_is);
    tcase_add_test(region, a_region_of_garbage_is_shown_without_harm);
    suite_add_tcase(suite, region);

    TCase *pieces = tcase_create("pieces");
    tcase_add_loop_test(pieces, a_span_has_its_two_largest_units, 0, (int)(sizeof(spans) / sizeof(spans[0])));
    tcase_add_loop_test(pieces, a_quantile_lies_within_its_bucket, 0, (int)(sizeof(quantiles) / sizeof(quantiles[0])));
    tcase_add_test(pieces, a_time_is_rfc_3339);
    tcase_add_test(pieces, an_escape_is_whole_or_not_there);
    tcase_add_test(pieces, every_trouble_has_a_remedy);
    suite_add_tcase(suite, pieces);

    return suite_run(suite);
}
