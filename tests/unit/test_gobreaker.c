#include "rig.h"

static struct rig *tripped(void)
{
    struct rig *rig = rig_new(PREBREAK_GOBREAKER);
    rig_calls(rig, 6, end_ok);
    rig_calls(rig, 4, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
    return rig;
}

static struct rig *half_open(struct breaker_call call[3])
{
    struct rig *rig = tripped();
    rig_pass_ms(rig, 15000);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert(rig_admit(rig, &call[i]));
    }
    return rig;
}

/* ---- closed ------------------------------------------------------------------------------------------------------ */

START_TEST(trips_on_a_failure_at_the_ratio_and_the_minimum)
{
    struct rig *rig = rig_new(PREBREAK_GOBREAKER);
    rig_calls(rig, 9, end_failed);
    ck_assert_msg(rig_kind(rig) == KIND_CLOSED, "nine calls are fewer than the minimum");
    rig_calls(rig, 1, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
    ck_assert_int_eq(rig->change.from, PREBREAK_CLOSED);
    ck_assert_int_eq(rig->change.to, PREBREAK_OPEN);
    ck_assert_int_eq(rig->change.reason, BREAKER_REASON_RATIO);
    ck_assert_uint_eq(rig->change.failed, 10);
}
END_TEST

START_TEST(stays_closed_below_the_ratio)
{
    struct rig *rig = rig_new(PREBREAK_GOBREAKER);
    rig_calls(rig, 7, end_ok);
    rig_calls(rig, 4, end_failed);
    ck_assert_msg(rig_kind(rig) == KIND_CLOSED, "4 of 11 are less than 40 %%");
    rig_calls(rig, 1, end_failed);
    ck_assert_msg(rig_kind(rig) == KIND_OPEN, "5 of 12 are more");
}
END_TEST

START_TEST(a_success_never_trips)
{
    struct rig *rig = rig_new(PREBREAK_GOBREAKER);
    rig_calls(rig, 9, end_failed);
    rig_calls(rig, 1, end_ok);
    ck_assert_int_eq(rig_kind(rig), KIND_CLOSED);
}
END_TEST

START_TEST(the_window_is_fixed_and_starts_from_zero_when_it_ends)
{
    struct rig *rig = rig_new(PREBREAK_GOBREAKER);
    rig_calls(rig, 1, end_ok);
    rig_pass_ms(rig, 9999);
    rig_calls(rig, 8, end_failed);
    rig_pass_ms(rig, 1);
    ck_assert_uint_eq(rig_view(rig).failed, 0);
    rig_calls(rig, 9, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_CLOSED);
}
END_TEST

START_TEST(calls_still_out_weigh_against_quick_errors)
{
    /* given thirty calls that are out, and nothing back yet */
    struct rig *rig = rig_new(PREBREAK_GOBREAKER);
    struct breaker_call out[30];
    for (unsigned i = 0; i < 30; i++) {
        ck_assert(rig_admit(rig, &out[i]));
    }
    /* when eleven of them fail at once */
    for (unsigned i = 0; i < 11; i++) {
        rig_end(rig, &out[i], end_failed);
    }
    /* then those are 11 of 30 requests, not 11 of 11 */
    ck_assert_int_eq(rig_kind(rig), KIND_CLOSED);
    rig_end(rig, &out[11], end_failed);
    ck_assert_msg(rig_kind(rig) == KIND_OPEN, "12 of 30 are 40 %%");
}
END_TEST

START_TEST(a_result_from_an_older_window_is_dropped)
{
    struct rig *rig = rig_new(PREBREAK_GOBREAKER);
    struct breaker_call out[20];
    for (unsigned i = 0; i < 20; i++) {
        ck_assert(rig_admit(rig, &out[i]));
    }
    rig_pass_ms(rig, 10000);
    rig_calls(rig, 5, end_ok);
    for (unsigned i = 0; i < 20; i++) {
        rig_end(rig, &out[i], end_failed);
    }
    ck_assert_int_eq(rig_kind(rig), KIND_CLOSED);
    ck_assert_uint_eq(rig_view(rig).failed, 0);
    ck_assert_uint_eq(rig_view(rig).ok, 5);
}
END_TEST

START_TEST(silence_counts_in_the_window_in_which_it_is_noticed)
{
    struct rig *rig = rig_new(PREBREAK_GOBREAKER);
    rig_calls(rig, 1, end_ok);
    uint64_t heard = rig->who.now;
    rig_pass_ms(rig, 30000);
    for (unsigned i = 0; i < 10; i++) {
        breaker_overdue(&rig->b, &rig->who, heard, false, &rig->change);
    }
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
}
END_TEST

START_TEST(a_neutral_end_is_no_request)
{
    struct rig *rig = rig_new(PREBREAK_GOBREAKER);
    rig_calls(rig, 20, end_neutral);
    rig_calls(rig, 9, end_failed);
    ck_assert_msg(rig_kind(rig) == KIND_CLOSED, "nine requests are fewer than the minimum");
    rig_calls(rig, 1, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
}
END_TEST

/* ---- open and half-open ------------------------------------------------------------------------------------------ */

START_TEST(open_refuses_all_until_the_wait_is_over)
{
    struct rig *rig = tripped();
    struct breaker_call call;
    rig_pass_ms(rig, 14999);
    ck_assert(!rig_admit(rig, &call));
    ck_assert_uint_eq(rig_view(rig).retry_in, 1 * MS);
    rig_pass_ms(rig, 1);
    ck_assert(rig_admit(rig, &call));
    ck_assert_int_eq(rig_kind(rig), KIND_HALF);
    ck_assert_int_eq(rig->change.to, PREBREAK_RECOVERING);
    ck_assert_int_eq(rig->change.reason, BREAKER_REASON_TIME);
}
END_TEST

START_TEST(half_open_admits_so_many_and_no_more)
{
    struct breaker_call call[4];
    struct rig *rig = half_open(call);
    ck_assert(!rig_admit(rig, &call[3]));
    ck_assert_int_eq(rig_view(rig).phase, PREBREAK_RECOVERING);
}
END_TEST

START_TEST(so_many_successes_in_a_row_close)
{
    struct breaker_call call[3];
    struct rig *rig = half_open(call);
    rig_end(rig, &call[0], end_ok);
    rig_end(rig, &call[1], end_ok);
    ck_assert_int_eq(rig_kind(rig), KIND_HALF);
    rig_end(rig, &call[2], end_ok);
    ck_assert_int_eq(rig_kind(rig), KIND_CLOSED);
    ck_assert_int_eq(rig->change.from, PREBREAK_RECOVERING);
    ck_assert_int_eq(rig->change.to, PREBREAK_CLOSED);
    ck_assert_uint_eq(rig_view(rig).ok + rig_view(rig).failed, 0);
    ck_assert_uint_eq(rig_generation(rig), 4);
}
END_TEST

START_TEST(any_failure_while_half_open_opens_again)
{
    struct breaker_call call[3];
    struct rig *rig = half_open(call);
    rig_end(rig, &call[0], end_ok);
    rig_end(rig, &call[1], end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
    rig_end(rig, &call[2], end_ok);
    ck_assert_msg(rig_kind(rig) == KIND_OPEN, "a result of an older generation is dropped");
    ck_assert_uint_eq(rig_view(rig).ok, 0);
}
END_TEST

START_TEST(a_place_without_a_result_lapses)
{
    struct breaker_call call[4];
    struct rig *rig = half_open(call);
    rig_end(rig, &call[0], end_ok);
    rig_pass_ms(rig, 14999);
    ck_assert(!rig_admit(rig, &call[3]));
    rig_pass_ms(rig, 1);
    ck_assert(rig_admit(rig, &call[3]));
    rig_end(rig, &call[3], end_ok);
    ck_assert(rig_admit(rig, &call[3]));
    rig_end(rig, &call[3], end_ok);
    ck_assert_msg(rig_kind(rig) == KIND_CLOSED, "the first success still counts");
}
END_TEST

START_TEST(a_neutral_end_gives_its_place_back)
{
    struct breaker_call call[4];
    struct rig *rig = half_open(call);
    rig_end(rig, &call[0], end_neutral);
    ck_assert(rig_admit(rig, &call[3]));
    ck_assert(!rig_admit(rig, &call[0]));
}
END_TEST

START_TEST(calls_that_a_hold_lets_through_weigh_against_failures)
{
    struct rig *rig = rig_new(PREBREAK_GOBREAKER);
    rig->order.hold = PREBREAK_HELD_CLOSED;
    rig_calls(rig, 90, end_ok);
    rig_calls(rig, 10, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_CLOSED);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("gobreaker");
    tcase_add_test(tests, trips_on_a_failure_at_the_ratio_and_the_minimum);
    tcase_add_test(tests, stays_closed_below_the_ratio);
    tcase_add_test(tests, a_success_never_trips);
    tcase_add_test(tests, the_window_is_fixed_and_starts_from_zero_when_it_ends);
    tcase_add_test(tests, calls_still_out_weigh_against_quick_errors);
    tcase_add_test(tests, a_result_from_an_older_window_is_dropped);
    tcase_add_test(tests, silence_counts_in_the_window_in_which_it_is_noticed);
    tcase_add_test(tests, a_neutral_end_is_no_request);
    tcase_add_test(tests, open_refuses_all_until_the_wait_is_over);
    tcase_add_test(tests, half_open_admits_so_many_and_no_more);
    tcase_add_test(tests, so_many_successes_in_a_row_close);
    tcase_add_test(tests, any_failure_while_half_open_opens_again);
    tcase_add_test(tests, a_place_without_a_result_lapses);
    tcase_add_test(tests, a_neutral_end_gives_its_place_back);
    tcase_add_test(tests, calls_that_a_hold_lets_through_weigh_against_failures);
    return rig_run(tests, "gobreaker");
}
