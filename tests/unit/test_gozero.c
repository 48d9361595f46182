#include "rig.h"

/* ---- what the original decides, to the digit --------------------------------------------------------------------- */

/* Some slices alike: in each, so many calls. */
struct run {
    unsigned slices, ok, failed, refused;
};

static const struct {
    struct run run[4]; /* oldest first */
    double r;
} rows[] = {
    {{{0}}, 0},
    {{{1, 0, 5, 0}}, 0},
    {{{1, 0, 6, 0}}, .142857},
    {{{1, 0, 10, 0}}, .454545},
    {{{1, 0, 100, 0}}, .940594},
    {{{1, 0, 1000, 0}}, .994006},
    {{{1, 40, 60, 0}}, .346535},
    {{{1, 10, 90, 0}}, .792079},
    {{{1, 60, 40, 0}}, .049505},
    {{{1, 63, 37, 0}}, .004950},
    {{{1, 64, 36, 0}}, 0},
    {{{1, 10, 20, 70}}, .792079},
    {{{1, 10, 20, 0}}, .322581},
    {{{1, 40, 0, 0}, {20, 0, 3, 0}}, .425743},
    {{{1, 40, 0, 0}, {38, 0, 1, 0}, {1, 0, 22, 0}}, .500990},
    {{{1, 0, 60, 0}, {10, 4, 0, 0}}, .259901},
    {{{1, 0, 120, 0}, {20, 4, 0, 0}}, .186567},
    {{{1, 0, 60, 0}, {10, 4, 0, 0}, {3, 0, 0, 5}, {2, 0, 0, 0}}, .323276},
    {{{1, 0, 59, 0}, {10, 4, 0, 0}, {1, 1, 1, 0}}, .338235},
    {{{1, 0, 0, 200}}, .970149},
};

#define SLICE_MS 250

static void play(struct rig *rig, const struct run *run)
{
    bool first = true;
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned j = 0; j < run[i].slices; j++) {
            rig_pass_ms(rig, first ? 0 : SLICE_MS);
            first = false;
            rig_count(rig, WINDOW_OK, run[i].ok);
            rig_count(rig, WINDOW_FAILED, run[i].failed);
            rig_count(rig, WINDOW_REFUSED, run[i].refused);
        }
    }
}

START_TEST(decides_as_the_original_does)
{
    struct rig *rig = rig_new(PREBREAK_GOZERO);
    play(rig, rows[_i].run);
    bool condemns;
    ck_assert_double_eq_tol(rig_throttle(rig, &condemns), rows[_i].r, 5e-7);
    ck_assert_int_eq(condemns, rows[_i].r > 0);
}
END_TEST

START_TEST(slices_that_all_work_refuse_nothing_although_condemned)
{
    struct rig *rig = rig_new(PREBREAK_GOZERO);
    const struct run run[4] = {{40, 1, 0, 9}};
    play(rig, run);
    bool condemns;
    ck_assert_double_eq(rig_throttle(rig, &condemns), 0);
    ck_assert(condemns);
}
END_TEST

/* ---- passes by force --------------------------------------------------------------------------------------------- */

static bool passes_unlucky(struct rig *rig)
{
    struct breaker_call call;
    return rig_admit_drawn(rig, DRAW_REFUSE, &call);
}

START_TEST(no_forced_pass_before_the_first_lucky_one)
{
    struct rig *rig = rig_new(PREBREAK_GOZERO);
    rig_count(rig, WINDOW_FAILED, 6);
    for (unsigned i = 0; i < 5; i++) {
        rig_pass_ms(rig, 1500);
        ck_assert(!passes_unlucky(rig));
    }
}
END_TEST

START_TEST(one_forced_pass_a_second_after_the_last_pass)
{
    struct rig *rig = rig_new(PREBREAK_GOZERO);
    rig_count(rig, WINDOW_FAILED, 6);
    struct breaker_call call;
    ck_assert(rig_admit_drawn(rig, DRAW_PASS, &call));

    rig_pass_ms(rig, 1000);
    ck_assert_msg(!passes_unlucky(rig), "a second is not more than a second");
    rig_pass_ms(rig, 1);
    ck_assert(passes_unlucky(rig));
    ck_assert_msg(!passes_unlucky(rig), "exactly one");
    rig_pass_ms(rig, 1001);
    ck_assert(passes_unlucky(rig));
}
END_TEST

START_TEST(a_pass_of_the_healthy_leaves_the_last_pass_alone)
{
    struct rig *rig = rig_new(PREBREAK_GOZERO);
    rig_calls(rig, 20, end_ok);
    ck_assert_uint_eq(rig->words.last_pass, 0);
}
END_TEST

START_TEST(a_last_pass_from_the_future_is_forgotten)
{
    struct rig *rig = rig_new(PREBREAK_GOZERO);
    rig->words.last_pass = rig->who.now + 3600 * SECOND;
    rig_count(rig, WINDOW_FAILED, 6);
    ck_assert(!passes_unlucky(rig));
    struct breaker_call call;
    ck_assert(rig_admit_drawn(rig, DRAW_PASS, &call));
    rig_pass_ms(rig, 1001);
    ck_assert(passes_unlucky(rig));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("gozero");
    tcase_add_loop_test(tests, decides_as_the_original_does, 0, sizeof rows / sizeof *rows);
    tcase_add_test(tests, slices_that_all_work_refuse_nothing_although_condemned);
    tcase_add_test(tests, no_forced_pass_before_the_first_lucky_one);
    tcase_add_test(tests, one_forced_pass_a_second_after_the_last_pass);
    tcase_add_test(tests, a_pass_of_the_healthy_leaves_the_last_pass_alone);
    tcase_add_test(tests, a_last_pass_from_the_future_is_forgotten);
    return rig_run(tests, "gozero");
}
