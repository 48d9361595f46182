/*
 * prebreak simulate shows what the policies promise: `sre` within 15 % of the published figures, the others in shape. And
 * what the model rests on: order, sameness by seed, and an observe mode that decides as enforcing does.
 */
#include "suite.h"
#include "cli/simulate.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- given ------------------------------------------------------------------------------------------------------ */

static struct rules_settings settings_of(const char *text)
{
    static _Alignas(16) unsigned char memory[RULES_MEMORY];
    const struct rules_target target = {.host = "provider.example", .port = 443};
    struct rules_match match;
    char rule[256];
    const int length = snprintf(rule, sizeof rule, "x * %s", text);
    const struct rules_text source = {.providers = rule, .providers_length = (size_t)length};
    const struct rules *rules = rules_parse(&source, memory, sizeof memory, NULL, NULL);
    ck_assert(rules != NULL && rules_match(rules, &target, &match));
    return *match.settings;
}

static const struct sim_scenario *scenario_of(const char *name)
{
    for (size_t i = 0; i < sim_scenario_count; i++) {
        if (strcmp(sim_scenarios[i].name, name) == 0) {
            return &sim_scenarios[i];
        }
    }
    ck_abort_msg("no scenario %s", name);
}

/* ---- the published table ---------------------------------------------------------------------------------------- */

/* What a measure must lie within, both ends included. */
struct promise {
    const char *policy, *scenario;
    enum sim_measure_id measure;
    double low, high;
};

#define AROUND(value)     (value) * 0.85, (value)*1.15
#define WITHIN(low, high) (low) * 0.85, (high)*1.15
/* The other policies are there for comparison: half to double is their shape. */
#define SHAPE(value) (value) * 0.5, (value)*2
#define NEVER        INFINITY, INFINITY

static const struct promise promises[] = {
    {"sre", "outage-20s", SIM_LEAKED, AROUND(32)},
    {"sre", "outage-20s", SIM_BACK, WITHIN(1, 2.5)},
    {"sre", "outage-120s", SIM_LEAKED, AROUND(56)},
    {"sre", "outage-120s", SIM_BACK, WITHIN(1.7, 5)},
    {"sre", "outage-refused", SIM_LEAKED, AROUND(31)},
    {"sre", "outage-refused", SIM_BACK, AROUND(2.1)},
    {"sre", "outage-503", SIM_LEAKED, AROUND(218)},
    {"sre", "outage-503", SIM_ISOLATED, AROUND(0.4)},
    {"sre", "partial-20", SIM_REFUSED_SHARE, 0, 0},
    {"sre", "partial-30", SIM_REFUSED_SHARE, 0, 0.0005},
    {"sre", "partial-40", SIM_REFUSED_SHARE, 0, 0.01},
    {"sre", "overload-bucket", SIM_GOODPUT, AROUND(1.00)},
    {"sre", "overload-bucket", SIM_SENT_PER_CAPACITY, AROUND(2.1)},
    {"sre", "overload-bucket", SIM_BACK, WITHIN(0.7, 1.1)},
    {"sre", "overload-429", SIM_GOODPUT, AROUND(1.00)},
    {"sre", "overload-429", SIM_SENT_PER_CAPACITY, AROUND(2.1)},
    {"sre", "overload-429", SIM_BACK, WITHIN(0.7, 1.1)},
    {"sre", "overload-concurrency", SIM_GOODPUT, AROUND(0.95)},
    {"sre", "overload-concurrency", SIM_SENT_PER_CAPACITY, AROUND(2.0)},
    {"sre", "overload-concurrency", SIM_BACK, WITHIN(0.7, 1.1)},
    {"sre", "overload-quota", SIM_GOODPUT, AROUND(1.01)},
    {"sre", "overload-quota", SIM_SENT_PER_CAPACITY, AROUND(2.1)},
    {"sre", "overload-quota", SIM_BACK, WITHIN(0.7, 1.1)},
    {"sre", "restart", SIM_REFUSED, 0, 0},
    {"sre", "flapping", SIM_SERVED, AROUND(0.61)},
    {"sre", "pool-hang", SIM_STUCK, AROUND(6)},
    {"sre", "pool-hang", SIM_BACK, WITHIN(2.6, 6)},
    {"sre", "slow-traffic-1", SIM_LEAKED, AROUND(36)},
    {"sre", "slow-traffic-1", SIM_BACK, 0,
     6}, /* published: 2; by then probes are 5 s apart, so it is a matter of luck */
    {"sre", "healthy-slow", SIM_REFUSED_SHARE, 0, 0},
    {"sre", "slow-hang", SIM_REFUSED_SHARE, 0, 0.00115},
    {"sre", "cron", SIM_REFUSED_AFTER, AROUND(196)},

    {"consecutive", "outage-20s", SIM_LEAKED, SHAPE(11)},
    {"consecutive", "outage-20s", SIM_BACK, SHAPE(13.6)},
    {"consecutive", "outage-503", SIM_LEAKED, SHAPE(83)},
    {"consecutive", "partial-30", SIM_REFUSED_SHARE, SHAPE(0.26)},
    {"consecutive", "partial-40", SIM_REFUSED_SHARE, SHAPE(0.81)},
    {"consecutive", "overload-bucket", SIM_GOODPUT, SHAPE(0.20)},
    {"consecutive", "overload-concurrency", SIM_GOODPUT, SHAPE(0.11)},
    {"consecutive", "restart", SIM_REFUSED, SHAPE(760)},
    {"consecutive", "flapping", SIM_SERVED, SHAPE(0.20)},
    {"consecutive", "pool-hang", SIM_STUCK, SHAPE(5)},

    {"aegis", "outage-20s", SIM_LEAKED, SHAPE(1023)},
    {"aegis", "outage-20s", SIM_BACK, SHAPE(21)},
    {"aegis", "overload-bucket", SIM_GOODPUT, SHAPE(1.00)},
    {"aegis", "overload-bucket", SIM_SENT_PER_CAPACITY, SHAPE(1.8)},
    {"aegis", "overload-bucket", SIM_BACK, SHAPE(3)},
    {"aegis", "restart", SIM_REFUSED, 0, 0},
    {"aegis", "flapping", SIM_SERVED, 0, 0.02},
    {"aegis", "pool-hang", SIM_STUCK, 59, 60},
    {"aegis", "slow-traffic-1", SIM_ISOLATED, NEVER},

    {"gozero", "outage-20s", SIM_LEAKED, SHAPE(3046)},
    {"gozero", "outage-503", SIM_ISOLATED, SHAPE(8.8)},
    {"gozero", "partial-40", SIM_REFUSED_SHARE, SHAPE(0.59)},
    {"gozero", "overload-bucket", SIM_GOODPUT, SHAPE(1.00)},
    {"gozero", "overload-bucket", SIM_BACK, SHAPE(13)},
    {"gozero", "restart", SIM_REFUSED, 0, 0},
    {"gozero", "flapping", SIM_SERVED, SHAPE(0.24)},
    {"gozero", "pool-hang", SIM_STUCK, SHAPE(18)},
    {"gozero", "slow-traffic-1", SIM_LEAKED, SHAPE(92)},

    {"gobreaker", "outage-20s", SIM_LEAKED, SHAPE(246)},
    {"gobreaker", "outage-20s", SIM_BACK, SHAPE(10.4)},
    {"gobreaker", "partial-40", SIM_REFUSED_SHARE, SHAPE(0.92)},
    {"gobreaker", "overload-bucket", SIM_GOODPUT, 0, 0.04},
    {"gobreaker", "overload-quota", SIM_GOODPUT, SHAPE(0.08)},
    {"gobreaker", "restart", SIM_REFUSED, 0, 0},
    {"gobreaker", "flapping", SIM_SERVED, SHAPE(0.28)},
    {"gobreaker", "pool-hang", SIM_STUCK, 59, 60},
    {"gobreaker", "healthy-slow", SIM_REFUSED_SHARE, 0, 0},
};

#define PROMISES (sizeof promises / sizeof *promises)

static double kept[PROMISES];

/* Runs what the promises are about, those that only have a shape less often. */
static void measure_promises(void)
{
    for (size_t i = 0; i < PROMISES; i++) {
        const struct promise *promise = &promises[i];
        struct sim_scenario scenario = *scenario_of(promise->scenario);
        static struct sim_result result;
        if (i == 0 || strcmp(promise->policy, promise[-1].policy) != 0 ||
            strcmp(promise->scenario, promise[-1].scenario) != 0) {
            char text[64];
            snprintf(text, sizeof text, "policy=%s", promise->policy);
            const struct rules_settings settings = settings_of(text);
            scenario.runs = strcmp(promise->policy, "sre") != 0 && scenario.runs > 5 ? 5 : scenario.runs;
            sim_result(&result, &scenario, &settings, 1, false);
        }
        kept[i] = result.value[promise->measure];
    }
}

START_TEST(policies_keep_what_is_published)
{
    const struct promise *promise = &promises[_i];
    ck_assert_msg(kept[_i] >= promise->low && kept[_i] <= promise->high, "%s, %s: %s is %g, expected %g to %g",
                  promise->policy, promise->scenario, sim_measures[promise->measure].name, kept[_i], promise->low,
                  promise->high);
}
END_TEST

/* ---- observe mode ----------------------------------------------------------------------------------------------- */

static const char *const watched[] = {
    "outage-refused", "outage-503", "partial-40",     "overload-bucket", "overload-concurrency",
    "overload-quota", "flapping",   "slow-traffic-1", "pool-hang",       "cron",
};
#define WATCHED (sizeof watched / sizeof *watched)

static void expect_same_decisions(const struct sim_run *a, const struct sim_run *b)
{
    ck_assert_uint_eq(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        ck_assert_msg(a->decisions[i].time == b->decisions[i].time && a->decisions[i].let == b->decisions[i].let,
                      "decision %zu differs", i);
    }
}

START_TEST(observing_counts_exactly_what_enforcing_refuses)
{
    const struct sim_scenario *scenario = scenario_of(watched[_i]);
    for (int policy = 0; policy < PREBREAK_POLICIES; policy++) {
        char text[64];
        /* the pool is silent for longer than that before its clients give up */
        snprintf(text, sizeof text, "policy=%s hang=5s", breaker_policy_name((enum prebreak_policy)policy));
        const struct rules_settings settings = settings_of(text);
        struct sim_run enforced, observed;

        sim_run(&enforced, scenario, &settings, 7, false);
        sim_run(&observed, scenario, &settings, 7, true);

        expect_same_decisions(&enforced, &observed);
        ck_assert_uint_eq(observed.view.total_refused, 0);
        ck_assert_uint_eq(observed.view.would_refuse, enforced.view.total_refused);
        ck_assert_uint_eq(enforced.view.would_refuse, 0);
        ck_assert_uint_le(observed.view.would_refuse_ok + observed.view.would_refuse_failed,
                          observed.view.would_refuse);
        ck_assert_uint_eq(observed.view.generation, enforced.view.generation);
        ck_assert_uint_eq(observed.view.transitions, enforced.view.transitions);
        sim_run_free(&enforced);
        sim_run_free(&observed);
    }
}
END_TEST

START_TEST(enforcing_a_share_decides_as_enforcing_all)
{
    const struct sim_scenario *scenario = scenario_of("overload-bucket");
    const struct rules_settings all = settings_of("policy=sre"), share = settings_of("policy=sre enforce=25%");
    struct sim_run whole, part;

    sim_run(&whole, scenario, &all, 7, false);
    sim_run(&part, scenario, &share, 7, false);

    expect_same_decisions(&whole, &part);
    ck_assert_uint_eq(part.view.total_refused + part.view.would_refuse, whole.view.total_refused);
    ck_assert_double_eq_tol((double)part.view.total_refused / (double)whole.view.total_refused, 0.25, 0.02);
    sim_run_free(&whole);
    sim_run_free(&part);
}
END_TEST

START_TEST(observing_an_outage_is_right_about_it)
{
    const struct rules_settings settings = settings_of("policy=sre");
    struct sim_run run;
    sim_run(&run, scenario_of("outage-120s"), &settings, 7, true);
    /* nearly all that would have been refused fell into the outage; what came just after it would have gone well */
    ck_assert_uint_gt(run.view.would_refuse_failed, 50000);
    ck_assert_uint_lt(run.view.would_refuse_ok, 5000);
    ck_assert_uint_gt(run.view.would_refuse_ok, 0);
    sim_run_free(&run);
}
END_TEST

/* ---- what the model rests on ------------------------------------------------------------------------------------ */

START_TEST(one_seed_is_one_run_and_another_is_another)
{
    const struct rules_settings settings = settings_of("policy=sre");
    const struct sim_scenario *scenario = scenario_of("overload-concurrency");
    struct sim_run first, again, other;
    sim_run(&first, scenario, &settings, 3, false);
    sim_run(&again, scenario, &settings, 3, false);
    sim_run(&other, scenario, &settings, 4, false);
    expect_same_decisions(&first, &again);
    ck_assert_mem_eq(first.bin, again.bin, sizeof first.bin);
    ck_assert_uint_ne(first.decisions[0].time - first.begun[0], other.decisions[0].time - other.begun[0]);
    sim_run_free(&first);
    sim_run_free(&again);
    sim_run_free(&other);
}
END_TEST

START_TEST(every_call_is_accounted_for)
{
    const struct rules_settings settings = settings_of("policy=sre");
    for (size_t i = 0; i < WATCHED; i++) {
        struct sim_run run;
        sim_run(&run, scenario_of(watched[i]), &settings, 5, false);
        const struct breaker_view *view = &run.view;
        ck_assert_uint_eq(view->outcome[PREBREAK_OK] + view->outcome[PREBREAK_FAILED] +
                              view->outcome[PREBREAK_NEUTRAL] + view->total_refused + view->inflight,
                          run.count);
        sim_run_free(&run);
    }
}
END_TEST

START_TEST(events_come_in_order_of_time_and_then_of_entry)
{
    struct sim_queue queue = {0};
    struct sim_event event;
    uint64_t time = 0, order = 0;
    for (uint64_t i = 0; i < 5000; i++) {
        sim_queue_push(&queue, (struct sim_event){.time = sim_bits(1, i, SIM_FOR_GAP) % 500});
    }
    for (uint64_t i = 0; i < 5000; i++) {
        ck_assert(sim_queue_pop(&queue, &event));
        ck_assert(event.time > time || (event.time == time && (i == 0 || event.order > order)));
        time = event.time;
        order = event.order;
    }
    ck_assert(!sim_queue_pop(&queue, &event));
    sim_queue_free(&queue);
}
END_TEST

START_TEST(a_name_before_the_dash_means_the_family)
{
    ck_assert(sim_scenario_is(scenario_of("outage-503"), "outage-503"));
    ck_assert(sim_scenario_is(scenario_of("outage-503"), "outage"));
    ck_assert(!sim_scenario_is(scenario_of("outage-503"), "out"));
    ck_assert(!sim_scenario_is(scenario_of("outage-503"), "outage-"));
    ck_assert(!sim_scenario_is(scenario_of("outage-503"), ""));
    ck_assert(!sim_scenario_is(scenario_of("restart"), "restart-1"));
}
END_TEST

/* ---- */

int main(void)
{
    Suite *suite = suite_create("simulate");
    TCase *published = tcase_create("published"), *model = tcase_create("model");
    tcase_add_unchecked_fixture(published, measure_promises, NULL);
    tcase_set_timeout(published, 0);
    tcase_add_loop_test(published, policies_keep_what_is_published, 0, PROMISES);
    suite_add_tcase(suite, published);
    tcase_set_timeout(model, 0);
    tcase_add_loop_test(model, observing_counts_exactly_what_enforcing_refuses, 0, WATCHED);
    tcase_add_test(model, enforcing_a_share_decides_as_enforcing_all);
    tcase_add_test(model, observing_an_outage_is_right_about_it);
    tcase_add_test(model, one_seed_is_one_run_and_another_is_another);
    tcase_add_test(model, every_call_is_accounted_for);
    tcase_add_test(model, events_come_in_order_of_time_and_then_of_entry);
    tcase_add_test(model, a_name_before_the_dash_means_the_family);
    suite_add_tcase(suite, model);
    return suite_run(suite);
}
