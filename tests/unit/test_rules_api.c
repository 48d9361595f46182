/* Presets: each says what it says, and everything that a person says himself outranks it. */
#include "suite.h"
#include "rules_support.h"

#define S UINT64_C(1000000000)

static const struct rules_settings *settings_of(const char *settings, const char *defaults)
{
    static char rule[512];
    snprintf(rule, sizeof rule, "n h %s", settings);
    const struct rules_settings *found = first_settings(parse_all(rule, NULL, defaults));
    ck_assert_msg(complaints.count == 0, "'%s': %s", rule, complaints.text[0]);
    return found;
}

static const char *preset_of(const struct rules_settings *settings)
{
    static char text[512];
    ck_assert_uint_lt(rules_print_api(settings, text, sizeof text), sizeof text);
    return text;
}

#define COMMON "fail=408,425,429,5xx,!501,!505 neutral=409,499 429=auto "

static const struct {
    const char *name;
    const char *says;
} presets[] = {
    {"generic", ""},
    {"openai", COMMON "pause_by=retry-after,x-ratelimit hang=2m stall=2m"},
    {"anthropic", COMMON "pause_by=retry-after,anthropic-ratelimit hang=2m stall=2m"},
    {"azure-openai", COMMON "pause_by=retry-after hang=2m stall=2m"},
    {"gemini", COMMON "pause_by=retry-after hang=2m stall=2m"},
    {"bedrock", "fail=408,424,425,429,5xx,!501,!505 neutral=409,499 429=auto pause_by=retry-after hang=2m"},
};

START_TEST(a_preset_says_what_its_table_says)
{
    char setting[64];
    snprintf(setting, sizeof setting, "api=%s", presets[_i].name);
    const struct rules_settings *found = settings_of(setting, NULL);
    ck_assert_str_eq(rules_api_name(found->api), presets[_i].name);
    ck_assert_str_eq(preset_of(found), presets[_i].says);
}
END_TEST

START_TEST(every_preset_fits_every_policy)
{
    for (unsigned policy = 0; policy < PREBREAK_POLICIES; policy++) {
        static const char *const names[] = {"sre", "aegis", "gozero", "gobreaker", "consecutive"};
        char setting[96];
        snprintf(setting, sizeof setting, "api=%s policy=%s", presets[_i].name, names[policy]);
        ck_assert_str_eq(preset_of(settings_of(setting, NULL)), presets[_i].says);
    }
}
END_TEST

START_TEST(no_preset_makes_a_request_s_own_fault_the_provider_s)
{
    static const unsigned own[] = {400, 401, 402, 403, 404, 413, 422, 501};
    static const unsigned theirs[] = {408, 429, 500, 502, 503, 504, 529};
    char setting[64];
    snprintf(setting, sizeof setting, "api=%s", presets[_i].name);
    const struct rules_settings *found = settings_of(setting, NULL);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        ck_assert_msg(!rules_status_in(&found->fail, own[i]), "%s: %u", setting, own[i]);
    }
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++) {
        ck_assert_msg(rules_status_in(&found->fail, theirs[i]), "%s: %u", setting, theirs[i]);
        ck_assert_msg(!rules_status_in(&found->neutral, theirs[i]), "%s: %u", setting, theirs[i]);
    }
}
END_TEST

START_TEST(generic_and_no_preset_are_the_same)
{
    struct rules_settings with = *settings_of("api=generic", NULL);
    struct rules_settings without = *settings_of("", NULL);
    ck_assert_mem_eq(&with, &without, sizeof with);
    ck_assert_uint_eq(without.breaker.hang, 30 * S);
    ck_assert_uint_eq(without.pause_by, RULES_PAUSE_ALL);
}
END_TEST

/* ---- who wins ---- */

static const struct {
    const char *rule, *defaults;
    uint64_t hang;
    unsigned failing, fine; /* statuses */
} contests[] = {
    {"api=openai hang=9s", NULL, 9 * S, 429, 424},     {"hang=9s api=openai", NULL, 9 * S, 429, 424},
    {"api=openai", "hang=9s", 9 * S, 429, 424},        {"", "hang=9s api=bedrock", 9 * S, 424, 400},
    {"", "api=bedrock hang=9s", 9 * S, 424, 400},      {"hang=7s", "hang=9s api=bedrock", 7 * S, 424, 400},
    {"api=openai", "api=bedrock", 120 * S, 429, 424},  {"api=generic", "api=bedrock", 30 * S, 429, 424},
    {"api=bedrock fail=400", NULL, 120 * S, 400, 424}, {"fail=400 api=bedrock", NULL, 120 * S, 400, 424},
    {"api=bedrock", "fail=400", 120 * S, 400, 424},    {"api=bedrock neutral=424", NULL, 120 * S, 429, 424},
    {"api=bedrock fail=409", NULL, 120 * S, 409, 424},
};

START_TEST(what_is_said_in_so_many_words_outranks_a_preset_wherever_it_stands)
{
    const struct rules_settings *found = settings_of(contests[_i].rule, contests[_i].defaults);
    ck_assert_uint_eq(found->breaker.hang, contests[_i].hang);
    ck_assert(rules_status_in(&found->fail, contests[_i].failing));
    ck_assert(!rules_status_in(&found->neutral, contests[_i].failing));
    ck_assert(!rules_status_in(&found->fail, contests[_i].fine));
}
END_TEST

START_TEST(what_was_overruled_is_not_shown_as_the_presets)
{
    ck_assert_str_eq(preset_of(settings_of("api=openai hang=9s 429=pause", "stall=9s")),
                     "fail=408,425,429,5xx,!501,!505 neutral=409,499 pause_by=retry-after,x-ratelimit");
}
END_TEST

START_TEST(the_breaker_is_known_by_the_settings_that_result)
{
    struct rules_settings generic = *settings_of("hang=2m stall=2m", NULL);
    struct rules_settings preset = *settings_of("api=openai", NULL);
    ck_assert_mem_eq(&generic.breaker, &preset.breaker, sizeof preset.breaker);
    preset = *settings_of("api=openai hang=30s stall=60s", NULL);
    generic = *settings_of("", NULL);
    ck_assert_mem_eq(&generic.breaker, &preset.breaker, sizeof preset.breaker);
}
END_TEST

/* ---- words ---- */

START_TEST(an_unknown_preset_is_told_those_there_are)
{
    const struct rules_settings *found = first_settings(parse_all("n h api=opena hang=9s", NULL, "api=bedrock"));
    ck_assert_uint_eq(complaints.count, 1);
    ck_assert_str_eq(complaints.text[0],
                     "PREBREAK_PROVIDERS 1:9 found 'api=opena', expected one of generic, openai, anthropic, "
                     "azure-openai, gemini, bedrock");
    ck_assert_uint_eq(found->breaker.hang, 9 * S);
    ck_assert_int_eq(found->api, RULES_API_BEDROCK);
}
END_TEST

START_TEST(a_host_may_be_called_api)
{
    struct rules *rules = parse_clean("backend api api:8080 api=openai; * *");
    ck_assert_str_eq(match_host(rules, "api", 443).name, "backend");
    ck_assert_int_eq(match_host(rules, "api", 443).settings->api, RULES_API_OPENAI);
}
END_TEST

static const struct {
    const char *value;
    uint32_t bits;
} sets[] = {
    {"all", RULES_PAUSE_ALL},
    {"none", 0},
    {"retry-after", RULES_PAUSE_RETRY_AFTER},
    {"anthropic-ratelimit,retry-after", RULES_PAUSE_RETRY_AFTER | RULES_PAUSE_ANTHROPIC},
    {"x-ratelimit,ratelimit", RULES_PAUSE_X_RATELIMIT | RULES_PAUSE_RATELIMIT},
    {"retry-after,retry-after", RULES_PAUSE_RETRY_AFTER},
};

START_TEST(headers_to_believe_are_listed_by_family)
{
    char setting[96];
    snprintf(setting, sizeof setting, "pause_by=%s", sets[_i].value);
    ck_assert_uint_eq(settings_of(setting, NULL)->pause_by, sets[_i].bits);
}
END_TEST

START_TEST(an_unknown_family_is_told_those_there_are)
{
    static const char *const bad[] = {"", ",", "retry-after,", "retry", "all,retry-after", "none,all", "Retry-After"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char rule[96];
        snprintf(rule, sizeof rule, "n h pause_by=%s", bad[i]);
        ck_assert_uint_eq(first_settings(parse(rule))->pause_by, RULES_PAUSE_ALL);
        ck_assert_msg(complaints.count == 1, "%s", rule);
        ck_assert_ptr_nonnull(strstr(complaints.text[0],
                                     "expected all, none, or some of retry-after,x-ratelimit,"
                                     "ratelimit,anthropic-ratelimit"));
    }
}
END_TEST

int main(void)
{
    const int count = (int)(sizeof presets / sizeof *presets);
    Suite *suite = suite_create("rules: presets");
    TCase *tests = tcase_create("presets");
    tcase_add_loop_test(tests, a_preset_says_what_its_table_says, 0, count);
    tcase_add_loop_test(tests, every_preset_fits_every_policy, 0, count);
    tcase_add_loop_test(tests, no_preset_makes_a_request_s_own_fault_the_provider_s, 0, count);
    tcase_add_test(tests, generic_and_no_preset_are_the_same);
    tcase_add_loop_test(tests, what_is_said_in_so_many_words_outranks_a_preset_wherever_it_stands, 0,
                        (int)(sizeof contests / sizeof *contests));
    tcase_add_test(tests, what_was_overruled_is_not_shown_as_the_presets);
    tcase_add_test(tests, the_breaker_is_known_by_the_settings_that_result);
    tcase_add_test(tests, an_unknown_preset_is_told_those_there_are);
    tcase_add_test(tests, a_host_may_be_called_api);
    tcase_add_loop_test(tests, headers_to_believe_are_listed_by_family, 0, (int)(sizeof sets / sizeof *sets));
    tcase_add_test(tests, an_unknown_family_is_told_those_there_are);
    suite_add_tcase(suite, tests);

    return suite_run(suite);
}
