/* Values in rules, modes, hosts and globs: what is understood and what is not. */
#include "suite.h"
#include "rules_support.h"

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

/* ---- durations ------------------------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    uint64_t ns;
} durations[] = {
    {"250ms", 250 * MS}, {"10s", 10 * S},    {"5m", 300 * S},  {"1h", 3600 * S},         {"40us", 40000},
    {"7ns", 7},          {"0", 0},           {"0s", 0},        {"1.5s", 1500 * MS},      {"0.25ms", 250000},
    {".5m", 30 * S},     {"0.5h", 1800 * S}, {"1.25us", 1250}, {"1.0000000019s", S + 1}, {"24h", 86400 * S},
};

START_TEST(durations_are_understood_in_every_unit)
{
    uint64_t ns = 99;
    ck_assert_msg(rules_parse_duration(durations[_i].text, strlen(durations[_i].text), &ns), "%s", durations[_i].text);
    ck_assert_msg(ns == durations[_i].ns, "%s is %llu", durations[_i].text, (unsigned long long)ns);
}
END_TEST

static const char *const no_durations[] = {
    "",
    "10",
    "s",
    "ms",
    "-1s",
    "+1s",
    " 1s",
    "1s ",
    "1 s",
    "1S",
    "1sec",
    "1.s",
    ".s",
    "1..5s",
    "1e3s",
    "0x10s",
    "1m30s",
    "1d",
    "99999999999999999999s",
    "5124096h",
    "18446744074s",
};

START_TEST(what_is_no_duration_leaves_the_value_alone)
{
    uint64_t ns = 99;
    ck_assert_msg(!rules_parse_duration(no_durations[_i], strlen(no_durations[_i]), &ns), "%s", no_durations[_i]);
    ck_assert_uint_eq(ns, 99);
}
END_TEST

START_TEST(a_duration_ends_where_its_length_says)
{
    uint64_t ns;
    ck_assert(rules_parse_duration("10smth", 3, &ns));
    ck_assert_uint_eq(ns, 10 * S);
    ck_assert(!rules_parse_duration("10s\0", 4, &ns));
}
END_TEST

/* ---- modes ----------------------------------------------------------------------------------------------------- */

START_TEST(modes_are_three_words_and_nothing_near_them)
{
    enum prebreak_mode mode = PREBREAK_MODE_ENV;
    static const char *const bad[] = {"", "enforc", "Enforce", "enforce ", "env", "on", "observed"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(!rules_parse_mode(bad[i], strlen(bad[i]), &mode), "'%s'", bad[i]);
    }
    ck_assert_int_eq(mode, PREBREAK_MODE_ENV);
    ck_assert(rules_parse_mode("enforce", 7, &mode) && mode == PREBREAK_MODE_ENFORCE);
    ck_assert(rules_parse_mode("observe", 7, &mode) && mode == PREBREAK_MODE_OBSERVE);
    ck_assert(rules_parse_mode("off", 3, &mode) && mode == PREBREAK_MODE_OFF);
}
END_TEST

/* ---- hosts ----------------------------------------------------------------------------------------------------- */

START_TEST(hosts_are_folded_and_lose_their_final_dot)
{
    char buffer[256];
    ck_assert(rules_fold_host("API.OpenAI.com.", 15, buffer, sizeof buffer));
    ck_assert_str_eq(buffer, "api.openai.com");
    ck_assert(rules_fold_host("a_b-1", 5, buffer, sizeof buffer));
    ck_assert_str_eq(buffer, "a_b-1");
}
END_TEST

START_TEST(what_is_no_host_is_not_folded)
{
    char buffer[256];
    char name[300];
    memset(name, 'a', sizeof name);
    ck_assert(rules_fold_host(name, 253, buffer, sizeof buffer));
    ck_assert(!rules_fold_host(name, 254, buffer, sizeof buffer));
    ck_assert(!rules_fold_host(name, 10, buffer, 10));
    ck_assert(!rules_fold_host("", 0, buffer, sizeof buffer));
    ck_assert(!rules_fold_host(".", 1, buffer, sizeof buffer));
    ck_assert(!rules_fold_host("a b", 3, buffer, sizeof buffer));
    ck_assert(!rules_fold_host("a\0b", 3, buffer, sizeof buffer));
    ck_assert(!rules_fold_host("b\xc3\xbc.de", 6, buffer, sizeof buffer));
    ck_assert(!rules_fold_host("[::1]", 5, buffer, sizeof buffer));
}
END_TEST

/* ---- globs ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *globs, *program;
    bool matches;
} globs[] = {
    {"php-fpm", "php-fpm", true},
    {"php-fpm", "php-fpm8.2", false},
    {"php*", "php-fpm8.2", true},
    {"*fpm*", "php-fpm8.2", true},
    {"*8.2", "php-fpm8.2", true},
    {"*8.3", "php-fpm8.2", false},
    {"python3.?", "python3.9", true},
    {"python3.?", "python3.11", false},
    {"python3.[0-9][0-9]", "python3.11", true},
    {"[!p]*", "python3", false},
    {"[^p]*", "ruby", true},
    {"[]a]", "]", true},
    {"[a-]", "-", true},
    {"\\*", "*", true},
    {"\\*", "x", false},
    {"curl wget", "wget", true},
    {"curl,wget", "wget", true},
    {"curl:wget", "wget", true},
    {" curl , wget ", "curl", true},
    {"curl wget", "curlwget", false},
    {"*", "anything", true},
    {"*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
    {"", "x", false},
};

START_TEST(globs_match_whole_program_names)
{
    ck_assert_msg(rules_globs_match(globs[_i].globs, globs[_i].program) == globs[_i].matches, "'%s' on '%s'",
                  globs[_i].globs, globs[_i].program);
}
END_TEST

START_TEST(globs_are_sound_when_there_are_some_and_their_brackets_close)
{
    ck_assert(rules_globs_sound("php*"));
    ck_assert(rules_globs_sound("a,b [x-z]* \\["));
    static const char *const bad[] = {"", "  ", ",", "[", "a [b", "[]", "[!]", "a\\"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(!rules_globs_sound(bad[i]), "'%s'", bad[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rules: values");
    TCase *tests = tcase_create("values");
    tcase_add_loop_test(tests, durations_are_understood_in_every_unit, 0, sizeof durations / sizeof *durations);
    tcase_add_loop_test(tests, what_is_no_duration_leaves_the_value_alone, 0,
                        sizeof no_durations / sizeof *no_durations);
    tcase_add_test(tests, a_duration_ends_where_its_length_says);
    tcase_add_test(tests, modes_are_three_words_and_nothing_near_them);
    tcase_add_test(tests, hosts_are_folded_and_lose_their_final_dot);
    tcase_add_test(tests, what_is_no_host_is_not_folded);
    tcase_add_loop_test(tests, globs_match_whole_program_names, 0, sizeof globs / sizeof *globs);
    tcase_add_test(tests, globs_are_sound_when_there_are_some_and_their_brackets_close);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
