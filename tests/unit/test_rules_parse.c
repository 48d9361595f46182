/* Rules from text: settings, complaints, what restrains, half-written files, any bytes. */
#include "suite.h"
#include "breaker/breaker.h"
#include "rules_support.h"

#include <errno.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

/* ---- settings -------------------------------------------------------------------------------------------------- */

static const struct rules_settings *settings_of(const char *settings)
{
    static char rule[512];
    snprintf(rule, sizeof rule, "n h %s", settings);
    return first_settings(parse_clean(rule));
}

START_TEST(defaults_are_the_breakers_for_each_policy)
{
    for (unsigned policy = 0; policy < PREBREAK_POLICIES; policy++) {
        char setting[64];
        struct prebreak_settings expected;
        breaker_settings_default((enum prebreak_policy)policy, &expected);
        snprintf(setting, sizeof setting, "policy=%s", breaker_policy_name((enum prebreak_policy)policy));
        const struct rules_settings *found = settings_of(setting);
        ck_assert_uint_eq(found->breaker.policy, policy);
        ck_assert_mem_eq(&found->breaker, &expected, sizeof expected);
    }
}
END_TEST

START_TEST(what_no_breaker_needs_has_defaults_too)
{
    const struct rules_settings *found = settings_of("");
    ck_assert_uint_eq(found->breaker.policy, PREBREAK_SRE);
    ck_assert_uint_eq(found->slow, 0);
    ck_assert_uint_eq(found->breaker.stall, 60 * S);
    ck_assert_int_eq(found->status_429, RULES_429_AUTO);
    ck_assert_int_eq(found->refuse_errno, ECONNREFUSED);
    ck_assert_uint_eq(found->enforce, 65535);
    ck_assert(!found->per_host);
    static const unsigned failed[] = {500, 502, 503, 504, 529, 599, 700, 408, 425, 429};
    static const unsigned fine[] = {0, 99, 200, 301, 400, 401, 403, 404, 409, 499, 501, 505};
    for (size_t i = 0; i < sizeof failed / sizeof *failed; i++) {
        ck_assert_msg(rules_status_in(&found->fail, failed[i]), "%u", failed[i]);
    }
    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) {
        ck_assert_msg(!rules_status_in(&found->fail, fine[i]), "%u", fine[i]);
    }
    ck_assert(rules_status_in(&found->neutral, 409) && rules_status_in(&found->neutral, 499));
    ck_assert(!rules_status_in(&found->neutral, 429));
}
END_TEST

START_TEST(every_setting_is_taken_over)
{
    const struct rules_settings *sre = settings_of(
        "success=0.5 window=5s buckets=20 min=7 trip=3 reset=2 probe=2s..9s "
        "ramp=500ms inflight=off hang=4s slow=800ms stall=9s pause_max=5m "
        "429=pause errno=ETIMEDOUT enforce=25% scope=host");
    ck_assert(sre->breaker.success == 0.5);
    ck_assert_uint_eq(sre->breaker.window, 5 * S);
    ck_assert_uint_eq(sre->breaker.buckets, 20);
    ck_assert_uint_eq(sre->breaker.min, 7);
    ck_assert_uint_eq(sre->breaker.trip, 3);
    ck_assert_uint_eq(sre->breaker.reset, 2);
    ck_assert_uint_eq(sre->breaker.probe_min, 2 * S);
    ck_assert_uint_eq(sre->breaker.probe_max, 9 * S);
    ck_assert_uint_eq(sre->breaker.ramp, 500 * MS);
    ck_assert_uint_eq(sre->breaker.inflight, 0);
    ck_assert_uint_eq(sre->breaker.hang, 4 * S);
    ck_assert_uint_eq(sre->breaker.pause_max, 300 * S);
    ck_assert_uint_eq(sre->slow, 800 * MS);
    ck_assert_uint_eq(sre->breaker.stall, 9 * S);
    ck_assert_int_eq(sre->status_429, RULES_429_PAUSE);
    ck_assert_int_eq(sre->refuse_errno, ETIMEDOUT);
    ck_assert_uint_eq(sre->enforce, 16383);
    ck_assert(sre->per_host);
    ck_assert_uint_eq(settings_of("policy=aegis count_refused=off")->breaker.count_refused, 0);
    const struct rules_settings *gozero = settings_of("policy=gozero k=2 min_k=1.25 protection=9 force_pass=3s");
    ck_assert(gozero->breaker.k == 2 && gozero->breaker.min_k == 1.25);
    ck_assert_uint_eq(gozero->breaker.protection, 9);
    ck_assert_uint_eq(gozero->breaker.force_pass, 3 * S);
    const struct rules_settings *gobreaker = settings_of("policy=gobreaker ratio=70% open=20s half_open=5");
    ck_assert(gobreaker->breaker.ratio == 0.7);
    ck_assert_uint_eq(gobreaker->breaker.open_min, 20 * S);
    ck_assert_uint_eq(gobreaker->breaker.open_max, 20 * S);
    ck_assert_uint_eq(gobreaker->breaker.half_open, 5);
    const struct rules_settings *consecutive = settings_of("policy=consecutive open=2s..30s jitter=0.1 trip=4");
    ck_assert_uint_eq(consecutive->breaker.open_min, 2 * S);
    ck_assert_uint_eq(consecutive->breaker.open_max, 30 * S);
    ck_assert(consecutive->breaker.jitter == 0.1);
    ck_assert_uint_eq(settings_of("policy=consecutive open=9s")->breaker.open_max, 9 * S);
}
END_TEST

static const struct {
    const char *settings;
    uint64_t slow;  /* ns */
    uint32_t times; /* thousandths */
    bool enforced;
} slows[] = {
    {"slow=0", 0, 0, true},
    {"slow=off", 0, 0, true},
    {"slow=2s", 2 * S, 0, true},
    {"slow=2s slow_enforce=off", 2 * S, 0, false},
    {"slow_enforce=off slow=2s", 2 * S, 0, false},
    {"slow=5x", 0, 5000, false},
    {"slow=2x", 0, 2000, false},
    {"slow=2.5x", 0, 2500, false},
    {"slow=100x", 0, 100000, false},
    {"slow=5x slow_enforce=auto", 0, 5000, false},
    {"slow=5x slow_enforce=on", 0, 5000, true},
};

START_TEST(slow_is_a_time_or_a_multiple_and_only_the_time_counts_as_failed_by_itself)
{
    const struct rules_settings *found = settings_of(slows[_i].settings);
    ck_assert_uint_eq(found->slow, slows[_i].slow);
    ck_assert_uint_eq(found->slow_times, slows[_i].times);
    ck_assert_msg(rules_slow_enforced(found) == slows[_i].enforced, "%s", slows[_i].settings);
}
END_TEST

static const char *const no_slows[] = {"x",   "1x",      "1.999x", "101x", "-5x",   "5xx", "5 x",
                                       "5X",  "0x",      "5.x",    "2sx",  "500us", "25h", "99999999999999999999x",
                                       "x5s", "5x..10x", "fast",   "5%"};

START_TEST(what_is_neither_time_nor_multiple_is_told_what_slow_can_be)
{
    char rule[128];
    snprintf(rule, sizeof rule, "n h slow=%s", no_slows[_i]);
    const struct rules_settings *found = first_settings(parse(rule));
    ck_assert_uint_eq(found->slow, 0);
    ck_assert_uint_eq(found->slow_times, 0);
    ck_assert_msg(complaints.count > 0, "%s", rule);
    ck_assert_msg(strstr(complaints.text[0],
                         "expected a duration (250ms, 10s, 5m) from 1ms to 24h, or off, or 2x to "
                         "100x what is usual") != NULL ||
                      strchr(no_slows[_i], ' ') != NULL,
                  "%s", complaints.text[0]);
}
END_TEST

START_TEST(a_rules_slow_replaces_the_other_form_of_the_defaults)
{
    const struct rules_settings *found = first_settings(parse_all("n h slow=5x", NULL, "slow=2s"));
    ck_assert_uint_eq(found->slow, 0);
    ck_assert_uint_eq(found->slow_times, 5000);
    found = first_settings(parse_all("n h slow=2s", NULL, "slow=5x slow_enforce=off"));
    ck_assert_uint_eq(found->slow, 2 * S);
    ck_assert_uint_eq(found->slow_times, 0);
    ck_assert(!rules_slow_enforced(found));
}
END_TEST

START_TEST(off_and_nought_mean_the_same_where_they_mean_anything)
{
    ck_assert_uint_eq(settings_of("hang=off")->breaker.hang, 0);
    ck_assert_uint_eq(settings_of("hang=0")->breaker.hang, 0);
    ck_assert_uint_eq(settings_of("stall=off slow=0")->breaker.stall, 0);
    ck_assert_uint_eq(settings_of("probe=0")->breaker.probe_max, 0);
    ck_assert_uint_eq(settings_of("probe=off ramp=off")->breaker.ramp, 0);
}
END_TEST

START_TEST(without_probes_it_never_opens)
{
    ck_assert_uint_eq(settings_of("probe=0")->breaker.trip, 0);
    ck_assert_uint_eq(settings_of("probe=0 trip=5")->breaker.trip, 0);
    ck_assert_uint_ne(settings_of("probe=1s")->breaker.trip, 0);
}
END_TEST

START_TEST(the_order_of_settings_does_not_matter)
{
    struct rules_settings first = *settings_of("policy=consecutive open=2s..30s trip=4");
    struct rules_settings last = *settings_of("trip=4 open=2s..30s policy=consecutive");
    ck_assert_mem_eq(&first, &last, sizeof first);
}
END_TEST

START_TEST(printed_settings_are_understood_again_as_the_same)
{
    static const char *const rules[] = {
        "",
        "policy=aegis success=2% count_refused=off fail=none neutral=4xx",
        "policy=gozero k=1.375 min_k=1.000001 fail=1xx,2xx,!203,404 neutral=none",
        "policy=gobreaker open=90s enforce=12.5% 429=neutral errno=ENETUNREACH",
        "policy=consecutive open=1ms..24h jitter=0 slow=1500us scope=host",
        "probe=0 ramp=0 hang=0 stall=off",
        "slow=5x",
        "api=anthropic",
        "api=bedrock policy=consecutive neutral=424 pause_by=none",
        "pause_by=ratelimit,retry-after",
        "slow=2.125x slow_enforce=on",
        "slow=3s slow_enforce=off",
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct rules_settings before = *settings_of(rules[i]);
        struct rules_settings after;
        char text[1024];
        ck_assert_uint_lt(rules_print_settings(&before, text, sizeof text), sizeof text);
        ck_assert_msg(rules_parse_settings(text, strlen(text), &after, note_complaint, NULL), "%s: %s", text,
                      complaints.text[0]);
        ck_assert_msg(memcmp(&before, &after, sizeof before) == 0, "'%s' became '%s'", rules[i], text);
    }
}
END_TEST

START_TEST(printed_settings_are_those_that_the_policy_reads)
{
    char text[1024];
    rules_print_settings(settings_of("policy=gobreaker"), text, sizeof text);
    ck_assert_str_eq(
        text,
        "policy=gobreaker api=generic scope=provider enforce=100% hang=30s slow=0 slow_enforce=auto stall=60s "
        "fail=408,425,429,5xx,!501,!505 neutral=409,499 429=auto pause_by=all pause_max=60s errno=ECONNREFUSED "
        "window=10s min=10 ratio=0.4 open=15s half_open=3");
}
END_TEST

START_TEST(the_table_of_settings_can_be_walked)
{
    struct rules_setting row;
    unsigned count = 0;
    while (rules_setting_at(count, &row)) {
        ck_assert_ptr_nonnull(row.name);
        ck_assert_uint_gt(strlen(row.what), 10);
        ck_assert_uint_ne(row.policies, 0);
        count++;
    }
    ck_assert_uint_gt(count, 20);
}
END_TEST

/* ---- status lists ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *list;
    unsigned in, out; /* one status each; 0: none */
} statuses[] = {
    {"5xx", 501, 499}, {"503", 503, 502},     {"!501,5xx", 500, 501}, {"5xx,!501", 500, 501},     {"!500", 503, 500},
    {"none", 0, 503},  {"2xx,404", 204, 500}, {"100,599", 599, 101},  {"5xx,503,!503", 504, 503},
};

START_TEST(status_lists_say_what_is_in_and_what_is_out)
{
    char setting[64];
    snprintf(setting, sizeof setting, "fail=%s", statuses[_i].list);
    const struct rules_settings *found = settings_of(setting);
    ck_assert(statuses[_i].in == 0 || rules_status_in(&found->fail, statuses[_i].in));
    ck_assert(!rules_status_in(&found->fail, statuses[_i].out));
}
END_TEST

START_TEST(a_status_is_in_one_list_only)
{
    const struct rules_settings *found = settings_of("fail=4xx");
    ck_assert(rules_status_in(&found->fail, 409) && !rules_status_in(&found->neutral, 409));
    found = settings_of("neutral=503");
    ck_assert(!rules_status_in(&found->fail, 503) && rules_status_in(&found->neutral, 503));
    found = settings_of("fail=503 neutral=503");
    ck_assert(!rules_status_in(&found->fail, 503) && rules_status_in(&found->neutral, 503));
}
END_TEST

/* ---- PREBREAK_DEFAULTS ----------------------------------------------------------------------------------------- */

START_TEST(defaults_hold_for_every_rule_that_says_nothing_else)
{
    const struct rules *rules = parse_all("a x; b y window=7s", NULL, "window=5s min=20");
    ck_assert_uint_eq(complaints.count, 0);
    ck_assert_uint_eq(match_host(rules, "x", 1).settings->breaker.window, 5 * S);
    ck_assert_uint_eq(match_host(rules, "y", 1).settings->breaker.window, 7 * S);
    ck_assert_uint_eq(match_host(rules, "y", 1).settings->breaker.min, 20);
}
END_TEST

START_TEST(defaults_may_hold_settings_that_only_some_policies_read)
{
    const struct rules *rules =
        parse_all("a x; b y policy=consecutive; c z policy=gobreaker", NULL, "success=0.9 open=2s..9s jitter=0.25");
    ck_assert_uint_eq(complaints.count, 0);
    ck_assert(match_host(rules, "x", 1).settings->breaker.success == 0.9);
    ck_assert_uint_eq(match_host(rules, "y", 1).settings->breaker.open_max, 9 * S);
    ck_assert_uint_eq(match_host(rules, "z", 1).settings->breaker.open_max, 15 * S);
}
END_TEST

START_TEST(defaults_may_name_the_policy)
{
    const struct rules *rules = parse_all("a x; b y policy=sre", NULL, "policy=aegis");
    ck_assert_uint_eq(match_host(rules, "x", 1).settings->breaker.policy, PREBREAK_AEGIS);
    ck_assert_uint_eq(match_host(rules, "x", 1).settings->breaker.window, 3 * S);
    ck_assert_uint_eq(match_host(rules, "y", 1).settings->breaker.policy, PREBREAK_SRE);
}
END_TEST

START_TEST(defaults_hold_for_the_built_in_rule)
{
    ck_assert_uint_eq(first_settings(parse_all(NULL, NULL, "min=3"))->breaker.min, 3);
}
END_TEST

START_TEST(a_rule_beats_the_lists_of_the_defaults)
{
    const struct rules *rules = parse_all("a h fail=409", NULL, "neutral=409,503");
    ck_assert(rules_status_in(&first_settings(rules)->fail, 409));
    ck_assert(!rules_status_in(&first_settings(rules)->neutral, 409));
}
END_TEST

/* ---- complaints ------------------------------------------------------------------------------------------------ */

static const struct {
    const char *providers, *defaults;
    const char *complaint; /* the first, or its beginning */
} bad[] = {
    {"n h success=1.5", NULL,
     "PREBREAK_PROVIDERS 1:13 found 'success=1.5', expected a ratio (0.6 or 60%) from 0.001 to 1"},
    {"a x; n h window=10", NULL,
     "PREBREAK_PROVIDERS 2:12 found 'window=10', expected a duration (250ms, 10s, 5m) from "},
    {"a x;\n  n h buckets=65", NULL,
     "PREBREAK_PROVIDERS 2:13 found 'buckets=65', expected a whole number from 1 to 64"},
    {"n h probe=5s..1s", NULL,
     "PREBREAK_PROVIDERS 1:11 found 'probe=5s..1s', expected a range (1s..5s) from 1ms to 24h, or off"},
    {"n h fail=5xx,600", NULL,
     "PREBREAK_PROVIDERS 1:10 found 'fail=5xx,600', expected statuses (5xx,429,!501) or none"},
    {"n h fail=", NULL, "PREBREAK_PROVIDERS 1:5 found 'fail=', expected statuses"},
    {"n h 429=maybe", NULL, "PREBREAK_PROVIDERS 1:9 found '429=maybe', expected one of auto, pause, fail, neutral"},
    {"n h policy=sse", NULL,
     "PREBREAK_PROVIDERS 1:12 found 'policy=sse', expected one of sre, aegis, gozero, gobreaker"},
    {"n h open=3s", NULL,
     "PREBREAK_PROVIDERS 1:5 found 'open=3s', expected a setting that policy sre reads (this one: gobreaker, "
     "consecutive)"},
    {"n h policy=gobreaker open=1s..3s", NULL, "PREBREAK_PROVIDERS 1:27 found 'open=1s..3s', expected a duration"},
    {"n h widow=3s", NULL, "PREBREAK_PROVIDERS 1:5 found 'widow=3s', expected a setting: is it 'window'?"},
    {"n h colour=red", NULL,
     "PREBREAK_PROVIDERS 1:5 found 'colour=red', expected a setting (prebreak explain --help lists them)"},
    {"n h min=1 min=2", NULL, "PREBREAK_PROVIDERS 1:11 found 'min=2', expected each setting once"},
    {"n h min = 1", NULL, "PREBREAK_PROVIDERS 1:5 found 'min', expected min=VALUE"},
    {"n h =1", NULL, "PREBREAK_PROVIDERS 1:5 found '=1', expected setting=value without blanks"},
    {"n", NULL, "PREBREAK_PROVIDERS 1:1 a rule without a pattern"},
    {"n min=1", NULL, "PREBREAK_PROVIDERS 1:1 a rule without a pattern"},
    {"n!x h", NULL, "PREBREAK_PROVIDERS 1:1 found 'n!x', expected a name of 1 to 64"},
    {"policy=sre h", NULL, "PREBREAK_PROVIDERS 1:1 found 'policy=sre', expected a name"},
    {"n a..b", NULL, "PREBREAK_PROVIDERS 1:5 found 'a..b', expected a name without empty labels"},
    {"n .a", NULL, "PREBREAK_PROVIDERS 1:3 found '.a', expected a name without empty labels"},
    {"n a*", NULL, "PREBREAK_PROVIDERS 1:4 found 'a*', expected '*' alone, or before a suffix"},
    {"n *a", NULL, "PREBREAK_PROVIDERS 1:3 found '*a', expected '*' alone"},
    {"n *.", NULL, "PREBREAK_PROVIDERS 1:3 found '*.', expected '*' alone"},
    {"n *.*", NULL, "PREBREAK_PROVIDERS 1:5 found '*.*', expected '*' alone"},
    {"n .", NULL, "PREBREAK_PROVIDERS 1:3 found '.', expected an IPv4 address"},
    {"n b\xc3\xbc.de", NULL, "PREBREAK_PROVIDERS 1:4 found 'b\?\?.de', expected a host, *.suffix, an address"},
    {"n https://h/", NULL, "PREBREAK_PROVIDERS 1:9 found 'https://h/', expected a port from 1 to 65535"},
    {"n h/x", NULL, "PREBREAK_PROVIDERS 1:3 found 'h/x', expected an IPv4 address"},
    {"n h:0", NULL, "PREBREAK_PROVIDERS 1:5 found 'h:0', expected a port from 1 to 65535"},
    {"n h:65536", NULL, "PREBREAK_PROVIDERS 1:5 found 'h:65536', expected a port"},
    {"n h:", NULL, "PREBREAK_PROVIDERS 1:5 found 'h:', expected a port"},
    {"n :80", NULL, "PREBREAK_PROVIDERS 1:3 found ':80', expected a host"},
    {"n ::1", NULL, "PREBREAK_PROVIDERS 1:3 found '::1', expected an IPv6 address in brackets"},
    {"n [::1", NULL, "PREBREAK_PROVIDERS 1:3 found '[::1', expected a closing ']'"},
    {"n [::g]", NULL, "PREBREAK_PROVIDERS 1:4 found '[::g]', expected an IPv6 address in the brackets"},
    {"n []", NULL, "PREBREAK_PROVIDERS 1:4 found '[]', expected an IPv6 address in the brackets"},
    {"n [fe80::1%eth0]", NULL, "PREBREAK_PROVIDERS 1:4 found '[fe80::1%eth0]', expected an IPv6 address"},
    {"n [::1/129]", NULL, "PREBREAK_PROVIDERS 1:8 found '[::1/129]', expected a length of the network from 0 to 128"},
    {"n [::1]80", NULL, "PREBREAK_PROVIDERS 1:8 found '[::1]80', expected ':' and a port"},
    {"n [::1]:", NULL, "PREBREAK_PROVIDERS 1:9 found '[::1]:', expected a port"},
    {"n 10.1.2", NULL, "PREBREAK_PROVIDERS 1:3 found '10.1.2', expected an IPv4 address"},
    {"n 10.1.2.300", NULL, "PREBREAK_PROVIDERS 1:3 found '10.1.2.300', expected an IPv4 address"},
    {"n 10.1.2.3/33", NULL,
     "PREBREAK_PROVIDERS 1:12 found '10.1.2.3/33', expected a length of the network from 0 to 32"},
    {"n 10.1.2.3/", NULL, "PREBREAK_PROVIDERS 1:12 found '10.1.2.3/', expected a length"},
    {"n unix:run", NULL, "PREBREAK_PROVIDERS 1:8 found 'unix:run', expected an absolute path"},
    {"* *", "windw=3s", "PREBREAK_DEFAULTS 0:1 found 'windw=3s', expected a setting: is it 'window'?"},
    {"* *", "min=1 window=x", "PREBREAK_DEFAULTS 0:14 found 'window=x', expected a duration"},
    {"* *", "open=x", "PREBREAK_DEFAULTS 0:6 found 'open=x', expected a range"},
    {"* *", "api.openai.com", "PREBREAK_DEFAULTS 0:1 found 'api.openai.com', expected setting=value"},
    {"", NULL, "PREBREAK_PROVIDERS 0:1 no rule could be read: nothing is touched"},
};

START_TEST(a_complaint_says_where_what_and_what_was_expected)
{
    parse_all(bad[_i].providers, NULL, bad[_i].defaults);
    ck_assert_msg(complaints.count > 0, "'%s' is not complained of", bad[_i].providers);
    ck_assert_msg(strncmp(complaints.text[0], bad[_i].complaint, strlen(bad[_i].complaint)) == 0,
                  "'%s' says '%s', expected '%s'", bad[_i].providers, complaints.text[0], bad[_i].complaint);
}
END_TEST

START_TEST(the_rest_of_a_bad_rule_works)
{
    const struct rules *rules = parse("n bad..host good.host window=x min=3; m other");
    ck_assert_uint_eq(complaints.count, 2);
    ck_assert_str_eq(match_host(rules, "good.host", 1).name, "n");
    ck_assert_uint_eq(match_host(rules, "good.host", 1).settings->breaker.min, 3);
    ck_assert_uint_eq(match_host(rules, "good.host", 1).settings->breaker.window, 10 * S);
    ck_assert_str_eq(match_host(rules, "other", 1).name, "m");
    ck_assert(!rules_restrained(rules));
}
END_TEST

START_TEST(a_bad_setting_keeps_what_the_defaults_say)
{
    const struct rules *rules = parse_all("n h window=x", NULL, "window=4s");
    ck_assert_uint_eq(match_host(rules, "h", 1).settings->breaker.window, 4 * S);
}
END_TEST

START_TEST(settings_that_contradict_each_other_give_way_to_the_defaults)
{
    const struct rules *rules = parse("n h policy=gozero k=1.2 min_k=1.4");
    ck_assert_uint_eq(complaints.count, 1);
    ck_assert(match_host(rules, "h", 1).settings->breaker.k == 1.5);
}
END_TEST

START_TEST(nobody_need_listen)
{
    struct rules_text text = {.providers = "n ..", .providers_length = 4};
    static char memory[RULES_MEMORY] __attribute__((aligned(16)));
    ck_assert_ptr_nonnull(rules_parse(&text, memory, sizeof memory, NULL, NULL));
}
END_TEST

/* ---- what restrains -------------------------------------------------------------------------------------------- */

static const char *const bad_enforce[] = {
    "enforce=",    "enforce=x",   "enforce=101%", "enforce=-1", "enforce", "enforce = 0", "enforce=1 enforce=1",
    "enforcee=1%", "enfroce=10%", "enforc=5%",    "Enforce=1",
};

START_TEST(a_bad_enforce_refuses_nothing)
{
    char text[64];
    snprintf(text, sizeof text, "n h %s", bad_enforce[_i]);
    const struct rules *rules = parse(text);
    ck_assert_uint_gt(complaints.count, 0);
    ck_assert_msg(match_host(rules, "h", 1).settings->enforce == 0, "%s", bad_enforce[_i]);
    rules = parse_all("n h; m g enforce=1", NULL, bad_enforce[_i]);
    ck_assert_msg(match_host(rules, "h", 1).settings->enforce == 0, "%s as a default", bad_enforce[_i]);
    ck_assert_uint_eq(match_host(rules, "g", 1).settings->enforce, 65535);
}
END_TEST

static const char *const bad_restraints[] = {
    "- 10.0.0.0/99; * *",
    "- good bad..host; * *",
    "-; * *",
    "- enforce=1; * *",
    "-- !",                /* sound name, bad pattern: not a restraint, see below */
    "\xe2\x80\x93 x; * *", /* an en dash */
    "-: x; * *",
    "! x; * *",
    "n 10.0.0.0/99 enforce=5%; * *",
    "n!m x enforce=0; * *",
    "n enforce=oops; * *",
};

START_TEST(a_restraint_that_cannot_be_read_makes_us_observe)
{
    bool expected = _i != 4;
    ck_assert_msg(rules_restrained(parse(bad_restraints[_i])) == expected, "%s", bad_restraints[_i]);
    ck_assert_uint_gt(complaints.count, 0);
}
END_TEST

static const char *const sound_restraints[] = {
    "- 10.0.0.0/8; * *", "n h enforce=5%; * *", "n bad..host; * *",
    "n h window=x; * *", "bad! h; * *",         "n h enforce=x; * *",
};

START_TEST(nothing_else_makes_us_observe)
{
    ck_assert_msg(!rules_restrained(parse(sound_restraints[_i])), "%s", sound_restraints[_i]);
}
END_TEST

/* ---- sources --------------------------------------------------------------------------------------------------- */

START_TEST(everything_is_touched_only_when_nothing_is_set)
{
    uint32_t number;
    const struct rules *rules = parse_all(NULL, NULL, NULL);
    ck_assert_str_eq(match_host(rules, "h", 443).name, "h");
    ck_assert_int_eq(rules_where(rules, 0, &number), RULES_BUILTIN);
    ck_assert_int_eq(match_host(parse_all("", NULL, NULL), "h", 443).rule, -1);
    ck_assert_int_eq(match_host(parse_all(NULL, "", NULL), "h", 443).rule, -1);
    ck_assert_int_eq(match_host(parse_all("n bad..", NULL, NULL), "h", 443).rule, -1);
}
END_TEST

START_TEST(the_files_rules_come_after_the_variables)
{
    uint32_t number;
    const struct rules *rules = parse_all("a x", "# head\n\n  b x y   # tail\n\nc z\n", NULL);
    ck_assert_uint_eq(complaints.count, 0);
    ck_assert_uint_eq(rules_count(rules), 3);
    ck_assert_str_eq(match_host(rules, "x", 1).name, "a");
    ck_assert_str_eq(match_host(rules, "y", 1).name, "b");
    ck_assert_int_eq(rules_where(rules, 1, &number), RULES_CONFIG);
    ck_assert_uint_eq(number, 3);
    (void)rules_where(rules, 2, &number);
    ck_assert_uint_eq(number, 5);
}
END_TEST

START_TEST(a_file_is_complained_of_by_line_and_column)
{
    parse_all(NULL, "a x\r\n\xef\xbb\xbf# no mark here\n  b y min=x; c z max=1\n", NULL);
    ck_assert_uint_eq(complaints.count, 3);
    ck_assert_ptr_nonnull(strstr(complaints.text[0], "/etc/rules 2:1 found"));
    ck_assert_ptr_nonnull(strstr(complaints.text[1], "/etc/rules 3:11 found 'min=x'"));
    ck_assert_ptr_nonnull(strstr(complaints.text[2], "/etc/rules 3:18 found 'max=1'"));
}
END_TEST

START_TEST(a_byte_order_mark_is_no_part_of_a_name)
{
    ck_assert_str_eq(match_host(parse_all(NULL,
                                          "\xef\xbb\xbf"
                                          "a x\n",
                                          NULL),
                                "x", 1)
                         .name,
                     "a");
    ck_assert_uint_eq(complaints.count, 0);
}
END_TEST

/* ---- half-written files ---------------------------------------------------------------------------------------- */

START_TEST(a_last_line_without_newline_does_not_count)
{
    const struct rules *rules = parse_all(NULL, "a x\nb *", NULL);
    ck_assert_uint_eq(rules_count(rules), 1);
    ck_assert_int_eq(match_host(rules, "other", 1).rule, -1);
    ck_assert_uint_eq(complaints.count, 1);
    ck_assert_ptr_nonnull(strstr(complaints.text[0], "/etc/rules 2:1 the last line has no newline"));
    (void)parse_all(NULL, "a x\n # only a comment", NULL);
    ck_assert_uint_eq(complaints.count, 0);
}
END_TEST

/* What a target belongs to and how much of its refusals is enforced, as text. */
static void describe(const struct rules *rules, const char *host, const char *address, char *text, size_t size)
{
    struct rules_match match = match_address(rules, host, address, 443);
    snprintf(text, size, "%s %u", match.rule < 0 || match.never ? "-" : match.name,
             match.settings == NULL || rules_restrained(rules) ? 0 : match.settings->enforce);
}

START_TEST(a_file_cut_anywhere_refuses_nothing_that_the_whole_one_would_not)
{
    static const char whole[] =
        "# ours\n- 10.0.0.0/8 internal.example:443\nopenai api.openai.com *.openai.azure.com "
        "enforce=10% success=0.5\npay 192.0.2.0/24 enforce=0\n- *.example\n* *\n";
    static const char *const hosts[] = {"api.openai.com", "x.openai.azure.com", "internal.example", "other.example",
                                        "pay.test"};
    static const char *const addresses[] = {"10.1.1.1", "192.0.2.7", "198.51.100.1", "2001:db8::1"};
    for (size_t length = 0; length < sizeof whole; length++) {
        for (size_t i = 0; i < 20; i++) {
            char expected[400];
            char found[400];
            char cut[sizeof whole];
            const char *host = hosts[i % 5];
            const char *address = addresses[i / 5];
            describe(parse_all(NULL, whole, NULL), host, address, expected, sizeof expected);
            memcpy(cut, whole, length);
            cut[length] = '\0';
            describe(parse_all(NULL, cut, NULL), host, address, found, sizeof found);
            ck_assert_msg(strcmp(found, expected) == 0 || strcmp(found, "- 0") == 0,
                          "cut to %zu bytes %s is '%s', whole '%s'", length, host, found, expected);
        }
    }
}
END_TEST

/* ---- limits ---------------------------------------------------------------------------------------------------- */

static char big[2u << 20];

static struct rules *parse_bytes(size_t length, bool file)
{
    struct rules_text text = {.config_path = "/etc/rules"};
    if (file) {
        text.config = big;
        text.config_length = length;
    } else {
        text.providers = big;
        text.providers_length = length;
    }
    return parse_text(&text);
}

static size_t repeat(const char *piece, size_t count)
{
    size_t length = strlen(piece);
    for (size_t i = 0; i < count; i++) {
        memcpy(big + i * length, piece, length);
    }
    return count * length;
}

START_TEST(a_thousand_rules_are_taken_and_no_more)
{
    const struct rules *rules = parse_bytes(repeat("a x;", 1000), false);
    ck_assert_uint_eq(rules_count(rules), 1000);
    ck_assert_uint_eq(complaints.count, 0);
    rules = parse_bytes(repeat("a x;", 1001), false);
    ck_assert_uint_eq(rules_count(rules), 1000);
    ck_assert_uint_eq(complaints.count, 1);
    ck_assert_ptr_nonnull(strstr(complaints.text[0], "1001:1 more than 1000 rules"));
}
END_TEST

START_TEST(patterns_beyond_the_limit_end_the_list)
{
    size_t length = repeat("n ", 1);
    for (unsigned i = 0; i < 6000; i++) {
        length += (size_t)sprintf(big + length, "h%u ", i);
    }
    length += (size_t)sprintf(big + length, "enforce=0; * *");
    const struct rules *rules = parse_bytes(length, false);
    ck_assert_uint_eq(complaints.count, 1);
    ck_assert_uint_eq(rules_count(rules), 1);
    ck_assert_int_eq(match_host(rules, "h4990", 1).rule, 0);
    ck_assert_uint_eq(match_host(rules, "h0", 1).settings->enforce, 0);
    ck_assert_int_eq(match_host(rules, "h5999", 1).rule, -1);
}
END_TEST

START_TEST(a_text_too_long_is_cut_behind_a_whole_rule)
{
    memset(big, ' ', sizeof big);
    memcpy(big, "a x\n", 4);
    memcpy(big + RULES_TEXT_MAX - 4, "b y.example\nc z\n", 16);
    for (unsigned file = 0; file < 2; file++) {
        const struct rules *rules = parse_bytes(sizeof big, file != 0);
        ck_assert_uint_eq(rules_count(rules), 1);
        ck_assert_uint_eq(complaints.count, 1);
        ck_assert_ptr_nonnull(strstr(complaints.text[0], "more than 128 KiB"));
    }
}
END_TEST

START_TEST(one_line_of_a_mebibyte_is_survived)
{
    memset(big, 'x', sizeof big);
    ck_assert_uint_eq(rules_count(parse_bytes(1u << 20, false)), 0);
    ck_assert_uint_eq(rules_count(parse_bytes(1u << 20, true)), 0);
    memset(big, '=', sizeof big);
    big[0] = 'n';
    big[1] = ' ';
    ck_assert_uint_eq(rules_count(parse_bytes(100000, false)), 0);
}
END_TEST

START_TEST(nul_bytes_are_a_complaint_like_any_other)
{
    static const char bytes[] = "a x\0y; b\0 z; c 10.0.0\0.1; d w";
    struct rules_text text = {.providers = bytes, .providers_length = sizeof bytes - 1};
    const struct rules *rules = parse_text(&text);
    ck_assert_uint_eq(complaints.count, 3);
    ck_assert_uint_eq(rules_count(rules), 1);
    ck_assert_str_eq(match_host(rules, "w", 1).name, "d");
}
END_TEST

START_TEST(too_little_memory_is_told_and_not_overrun)
{
    struct rules_text text = {.providers = "a x; b y; c z", .providers_length = 13};
    static char memory[RULES_MEMORY] __attribute__((aligned(16)));
    size_t needed = rules_size(rules_parse(&text, memory, sizeof memory, NULL, NULL));
    ck_assert_uint_lt(needed, 4096);
    for (size_t size = 0; size < needed; size++) {
        char *exact = aligned_alloc(16, (size + 16) & ~(size_t)15); /* for the sanitizers to see an overrun */
        ck_assert_ptr_nonnull(exact);
        ck_assert_ptr_null(rules_parse(&text, exact, size, NULL, NULL));
        free(exact);
    }
}
END_TEST

START_TEST(the_same_text_gives_the_same_bytes_whatever_the_memory_held)
{
    struct rules_text text = {.providers = "a x 10.0.0.0/8:5 scope=host; b *.y", .providers_length = 34};
    static char one[RULES_MEMORY] __attribute__((aligned(16)));
    static char two[RULES_MEMORY] __attribute__((aligned(16)));
    memset(two, 0xa5, sizeof two);
    struct rules *first = rules_parse(&text, one, sizeof one, NULL, NULL);
    struct rules *second = rules_parse(&text, two, sizeof two, NULL, NULL);
    ck_assert_uint_eq(rules_size(first), rules_size(second));
    ck_assert_str_eq(match_host(first, "q.y", 1).name, match_host(second, "q.y", 1).name);
}
END_TEST

static Suite *suite_of(void)
{
    Suite *suite = suite_create("rules: parsing");
    TCase *tests = tcase_create("parsing");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, defaults_are_the_breakers_for_each_policy);
    tcase_add_test(tests, what_no_breaker_needs_has_defaults_too);
    tcase_add_test(tests, every_setting_is_taken_over);
    tcase_add_loop_test(tests, slow_is_a_time_or_a_multiple_and_only_the_time_counts_as_failed_by_itself, 0,
                        (int)(sizeof slows / sizeof *slows));
    tcase_add_loop_test(tests, what_is_neither_time_nor_multiple_is_told_what_slow_can_be, 0,
                        (int)(sizeof no_slows / sizeof *no_slows));
    tcase_add_test(tests, a_rules_slow_replaces_the_other_form_of_the_defaults);
    tcase_add_test(tests, off_and_nought_mean_the_same_where_they_mean_anything);
    tcase_add_test(tests, without_probes_it_never_opens);
    tcase_add_test(tests, the_order_of_settings_does_not_matter);
    tcase_add_test(tests, printed_settings_are_understood_again_as_the_same);
    tcase_add_test(tests, printed_settings_are_those_that_the_policy_reads);
    tcase_add_test(tests, the_table_of_settings_can_be_walked);
    tcase_add_loop_test(tests, status_lists_say_what_is_in_and_what_is_out, 0, sizeof statuses / sizeof *statuses);
    tcase_add_test(tests, a_status_is_in_one_list_only);
    tcase_add_test(tests, defaults_hold_for_every_rule_that_says_nothing_else);
    tcase_add_test(tests, defaults_may_hold_settings_that_only_some_policies_read);
    tcase_add_test(tests, defaults_may_name_the_policy);
    tcase_add_test(tests, defaults_hold_for_the_built_in_rule);
    tcase_add_test(tests, a_rule_beats_the_lists_of_the_defaults);
    tcase_add_loop_test(tests, a_complaint_says_where_what_and_what_was_expected, 0, sizeof bad / sizeof *bad);
    tcase_add_test(tests, the_rest_of_a_bad_rule_works);
    tcase_add_test(tests, a_bad_setting_keeps_what_the_defaults_say);
    tcase_add_test(tests, settings_that_contradict_each_other_give_way_to_the_defaults);
    tcase_add_test(tests, nobody_need_listen);
    tcase_add_loop_test(tests, a_bad_enforce_refuses_nothing, 0, sizeof bad_enforce / sizeof *bad_enforce);
    tcase_add_loop_test(tests, a_restraint_that_cannot_be_read_makes_us_observe, 0,
                        sizeof bad_restraints / sizeof *bad_restraints);
    tcase_add_loop_test(tests, nothing_else_makes_us_observe, 0, sizeof sound_restraints / sizeof *sound_restraints);
    tcase_add_test(tests, everything_is_touched_only_when_nothing_is_set);
    tcase_add_test(tests, the_files_rules_come_after_the_variables);
    tcase_add_test(tests, a_file_is_complained_of_by_line_and_column);
    tcase_add_test(tests, a_byte_order_mark_is_no_part_of_a_name);
    tcase_add_test(tests, a_last_line_without_newline_does_not_count);
    tcase_add_test(tests, a_file_cut_anywhere_refuses_nothing_that_the_whole_one_would_not);
    tcase_add_test(tests, a_thousand_rules_are_taken_and_no_more);
    tcase_add_test(tests, patterns_beyond_the_limit_end_the_list);
    tcase_add_test(tests, a_text_too_long_is_cut_behind_a_whole_rule);
    tcase_add_test(tests, one_line_of_a_mebibyte_is_survived);
    tcase_add_test(tests, nul_bytes_are_a_complaint_like_any_other);
    tcase_add_test(tests, too_little_memory_is_told_and_not_overrun);
    tcase_add_test(tests, the_same_text_gives_the_same_bytes_whatever_the_memory_held);
    suite_add_tcase(suite, tests);
    return suite;
}

int main(void)
{
    return suite_run(suite_of());
}
