#include "rig.h"

/* ---- what the original decides, to the digit --------------------------------------------------------------------- */

static const struct {
    double success;
    uint32_t min;
    unsigned total, ok;
    double p;
    bool open;
} rows[] = {
    {.5, 100, 0, 0, 0, false},
    {.5, 100, 99, 0, 0, false},
    {.5, 100, 100, 0, .990099, true},
    {.5, 100, 100, 10, .792079, true},
    {.5, 100, 100, 40, .198020, true},
    {.5, 100, 100, 49, .019802, true},
    {.5, 100, 100, 50, 0, true},
    {.5, 100, 100, 51, 0, false},
    {.5, 100, 100, 90, 0, false},
    {.5, 100, 500, 10, .958084, true},
    {.6, 100, 100, 0, .990099, true},
    {.6, 100, 100, 40, .330033, true},
    {.6, 100, 100, 59, .016502, true},
    {.6, 100, 100, 60, 0, true},
    {.6, 100, 1000, 300, .499500, true},
    {.6, 100, 10000, 0, .999900, true},
    {.5, 0, 0, 0, 0, true},
    {.5, 1, 1, 0, .500000, true},
    {.5, 1, 2, 1, 0, true},
    {2.0 / 3, 20, 20, 10, .238095, true},
    {1 / 1.1, 100, 200, 150, .174129, true},
    {.95, 100, 100, 90, .052110, true},
    {1, 100, 100, 99, .009901, true},
};

START_TEST(decides_as_the_original_does)
{
    struct rig *rig = rig_new(PREBREAK_AEGIS);
    rig->set.success = rows[_i].success;
    rig->set.min = rows[_i].min;
    rig_count(rig, WINDOW_OK, rows[_i].ok);
    rig_count(rig, WINDOW_FAILED, rows[_i].total - rows[_i].ok);

    bool open;
    double p = rig_throttle(rig, &open);
    ck_assert_double_eq_tol(p, rows[_i].p, 5e-7);
    ck_assert_int_eq(open, rows[_i].open);
}
END_TEST

START_TEST(refusals_count_in_the_total_like_failures)
{
    struct rig *rig = rig_new(PREBREAK_AEGIS);
    rig->set.success = .5;
    rig_count(rig, WINDOW_OK, 10);
    rig_count(rig, WINDOW_FAILED, 20);
    rig_count(rig, WINDOW_REFUSED, 70);
    bool open;
    ck_assert_double_eq_tol(rig_throttle(rig, &open), .792079, 5e-7);

    rig->set.count_refused = 0;
    ck_assert_double_eq(rig_throttle(rig, &open), 0);
    ck_assert(!open);
}
END_TEST

START_TEST(a_refused_call_is_counted_as_refused_in_the_window)
{
    struct rig *rig = rig_new(PREBREAK_AEGIS);
    rig_count(rig, WINDOW_FAILED, 200);
    struct breaker_call call;
    ck_assert(!rig_admit_drawn(rig, DRAW_REFUSE, &call));
    ck_assert_uint_eq(rig_view(rig).refused, 1);
    ck_assert_uint_eq(rig_view(rig).total_refused, 1);
    ck_assert(rig_admit_drawn(rig, DRAW_PASS, &call));
}
END_TEST

START_TEST(old_counts_are_gone_with_the_window)
{
    struct rig *rig = rig_new(PREBREAK_AEGIS);
    rig_count(rig, WINDOW_FAILED, 200);
    rig_pass_ms(rig, 3000);
    struct breaker_call call;
    ck_assert(rig_admit_drawn(rig, DRAW_REFUSE, &call));
}
END_TEST

START_TEST(throttles_and_never_opens_for_people)
{
    struct rig *rig = rig_new(PREBREAK_AEGIS);
    rig_count(rig, WINDOW_FAILED, 100000);
    ck_assert_int_eq(rig_view(rig).phase, PREBREAK_THROTTLING);
    ck_assert_uint_eq(rig_generation(rig), 1);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("aegis");
    tcase_add_loop_test(tests, decides_as_the_original_does, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tests, refusals_count_in_the_total_like_failures);
    tcase_add_test(tests, a_refused_call_is_counted_as_refused_in_the_window);
    tcase_add_test(tests, old_counts_are_gone_with_the_window);
    tcase_add_test(tests, throttles_and_never_opens_for_people);
    return rig_run(tests, "aegis");
}
