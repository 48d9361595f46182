#include "rig.h"

/* The draw at a failure decides how far a wait is stretched: 0 not at all. */
#define DRAW_NO_STRETCH 0u

static struct rig *tripped(uint32_t draw)
{
    struct rig *rig = rig_new(PREBREAK_CONSECUTIVE);
    rig->who.draw = draw;
    rig_calls(rig, 7, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
    return rig;
}

/* ms until a call is let through again. */
static unsigned wait_of(struct rig *rig, struct breaker_call *call)
{
    unsigned ms = 0;
    while (!rig_admit(rig, call)) {
        rig_pass_ms(rig, 1);
        ms++;
    }
    return ms;
}

START_TEST(so_many_failures_in_a_row_open)
{
    struct rig *rig = rig_new(PREBREAK_CONSECUTIVE);
    rig_calls(rig, 6, end_failed);
    rig_calls(rig, 1, end_ok);
    rig_calls(rig, 6, end_failed);
    ck_assert_msg(rig_kind(rig) == KIND_CLOSED, "a success breaks the row");
    rig_calls(rig, 1, end_neutral);
    rig_calls(rig, 1, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
    ck_assert_int_eq(rig->change.reason, BREAKER_REASON_STREAK);
}
END_TEST

START_TEST(each_failed_probe_doubles_the_wait_up_to_the_longest)
{
    static const unsigned waits[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    struct rig *rig = tripped(DRAW_NO_STRETCH);
    struct breaker_call call;
    for (unsigned i = 0; i < sizeof waits / sizeof *waits; i++) {
        ck_assert_uint_eq(wait_of(rig, &call), waits[i]);
        rig_end(rig, &call, end_failed);
    }
}
END_TEST

START_TEST(a_wait_is_stretched_by_at_most_the_jitter)
{
    struct rig *rig = tripped(DRAW_PASS);
    struct breaker_call call;
    ck_assert_uint_eq(wait_of(rig, &call), 1499);
}
END_TEST

START_TEST(a_success_closes_and_the_wait_starts_over)
{
    struct rig *rig = tripped(DRAW_NO_STRETCH);
    struct breaker_call call;
    wait_of(rig, &call);
    rig_end(rig, &call, end_failed);
    wait_of(rig, &call);
    rig_end(rig, &call, end_ok);
    ck_assert_int_eq(rig_kind(rig), KIND_CLOSED);
    ck_assert_int_eq(rig->change.from, PREBREAK_RECOVERING);
    ck_assert_int_eq(rig->change.to, PREBREAK_CLOSED);

    rig_calls(rig, 7, end_failed);
    ck_assert_uint_eq(wait_of(rig, &call), 1000);
}
END_TEST

START_TEST(one_probe_at_a_time)
{
    struct rig *rig = tripped(DRAW_NO_STRETCH);
    struct breaker_call probe;
    struct breaker_call other;
    wait_of(rig, &probe);
    ck_assert(!rig_admit(rig, &other));
    ck_assert_msg(wait_of(rig, &other) == 1000, "a probe without a result lapses");
    rig_end(rig, &probe, end_ok);
    ck_assert_msg(rig_kind(rig) == KIND_CLOSED, "and is believed when its result comes at last");
}
END_TEST

START_TEST(a_neutral_probe_makes_room_for_another)
{
    struct rig *rig = tripped(DRAW_NO_STRETCH);
    struct breaker_call call;
    wait_of(rig, &call);
    rig_end(rig, &call, end_neutral);
    ck_assert(rig_admit(rig, &call));
}
END_TEST

START_TEST(results_of_an_older_generation_are_dropped)
{
    struct rig *rig = rig_new(PREBREAK_CONSECUTIVE);
    struct breaker_call old;
    ck_assert(rig_admit(rig, &old));
    rig_calls(rig, 7, end_failed);
    rig_end(rig, &old, end_ok);
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
    ck_assert_uint_eq(rig_view(rig).outcome[PREBREAK_OK], 1);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("consecutive");
    tcase_add_test(tests, so_many_failures_in_a_row_open);
    tcase_add_test(tests, each_failed_probe_doubles_the_wait_up_to_the_longest);
    tcase_add_test(tests, a_wait_is_stretched_by_at_most_the_jitter);
    tcase_add_test(tests, a_success_closes_and_the_wait_starts_over);
    tcase_add_test(tests, one_probe_at_a_time);
    tcase_add_test(tests, a_neutral_probe_makes_room_for_another);
    tcase_add_test(tests, results_of_an_older_generation_are_dropped);
    return rig_run(tests, "consecutive");
}
