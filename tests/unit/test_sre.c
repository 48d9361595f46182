/*
 * sre when a provider goes bad: throttle, streak, trip. (test_sre_recovery.c: how it comes back.)
 */
#include "breaker/streak.h"
#include "rig.h"

static struct rig *fresh(void)
{
    return rig_new(PREBREAK_SRE);
}

static uint32_t length_of_streak(struct rig *rig)
{
    struct turn turn;
    rig_turn(rig, &turn);
    return streak_length(&turn, rig->words.streak);
}

static void admit_many(struct rig *rig, struct breaker_call *call, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        ck_assert(rig_admit(rig, &call[i]));
    }
}

static void end_many(struct rig *rig, struct breaker_call *call, unsigned n, struct breaker_end end)
{
    for (unsigned i = 0; i < n; i++) {
        rig_end(rig, &call[i], end);
    }
}

/* ---- throttle ---------------------------------------------------------------------------------------------------- */

START_TEST(nothing_is_condemned_below_the_minimum)
{
    struct rig *rig = fresh();
    bool pressed;
    rig_count(rig, WINDOW_FAILED, 9);
    ck_assert_double_eq(rig_throttle(rig, &pressed), 0);
    rig_count(rig, WINDOW_FAILED, 1);
    ck_assert_double_eq_tol(rig_throttle(rig, &pressed), 10.0 / 11, 1e-12);
    ck_assert(pressed);
}
END_TEST

START_TEST(excess_over_k_successes_is_dropped)
{
    struct rig *rig = fresh();
    bool pressed;
    rig_count(rig, WINDOW_OK, 60);
    rig_count(rig, WINDOW_FAILED, 39);
    ck_assert_double_eq(rig_throttle(rig, &pressed), 0);
    rig_count(rig, WINDOW_FAILED, 11);
    ck_assert_double_eq_tol(rig_throttle(rig, &pressed), (110 - 60 / .6) / 111, 1e-12);
    rig_count(rig, WINDOW_REFUSED, 10);
    ck_assert_double_eq_tol(rig_throttle(rig, &pressed), (120 - 60 / .6) / 121, 1e-12);
}
END_TEST

START_TEST(calls_that_nothing_has_overtaken_speak_for_the_provider)
{
    struct rig *rig = fresh();
    struct breaker_call call[30];
    bool pressed;
    admit_many(rig, call, 12);
    rig_count(rig, WINDOW_FAILED, 20);
    double k = 1 / .6;
    ck_assert_double_eq_tol(rig_throttle(rig, &pressed), (20 - (k - 1) * 12) / (20 + 12 + 1), 1e-12);
    admit_many(rig, call + 12, 18);
    ck_assert_double_eq(rig_throttle(rig, &pressed), 0); /* 20 - 2/3 * 30 */
    ck_assert(!pressed);
}
END_TEST

START_TEST(calls_that_a_success_has_overtaken_do_not)
{
    struct rig *rig = fresh();
    struct breaker_call old[12];
    struct breaker_call later;
    bool pressed;
    admit_many(rig, old, 12);
    rig_pass_ms(rig, 640);
    ck_assert(rig_admit(rig, &later));
    rig_pass_ms(rig, 100);
    rig_end(rig, &later, end_ok);
    rig_count(rig, WINDOW_FAILED, 20);
    ck_assert_double_eq_tol(rig_throttle(rig, &pressed), (21 - 1 / .6) / 22, 1e-12);
}
END_TEST

START_TEST(without_calls_in_flight_it_is_the_bare_throttle)
{
    struct rig *rig = fresh();
    struct breaker_call call[12];
    bool pressed;
    rig->set.inflight = 0;
    admit_many(rig, call, 12);
    rig_count(rig, WINDOW_FAILED, 20);
    ck_assert_double_eq_tol(rig_throttle(rig, &pressed), 20.0 / 21, 1e-12);
}
END_TEST

START_TEST(slow_answers_beside_quick_errors_condemn_nobody)
{
    /* A language model: answers take 20 s, one call in twenty fails at once. From a cold start. */
    enum { CALLS = 2000, TAKES = 1000 };
    struct rig *rig = fresh();
    static struct breaker_call call[CALLS];
    for (unsigned i = 0; i < CALLS; i++) {
        rig_pass_ms(rig, 20);
        rig->who.draw = i * UINT32_C(2654435761);
        ck_assert_msg(rig_admit(rig, &call[i]), "call %u was refused", i);
        if (i % 20 == 19) {
            rig_end(rig, &call[i], end_status);
        }
        if (i >= TAKES && (i - TAKES) % 20 != 19) {
            rig_end(rig, &call[i - TAKES], end_ok);
        }
    }
    ck_assert_uint_eq(rig_generation(rig), 1);
}
END_TEST

START_TEST(a_refusal_by_the_throttle_counts_in_the_window)
{
    struct rig *rig = fresh();
    struct breaker_call call;
    rig->set.probe_min = rig->set.probe_max = 0;
    rig_count(rig, WINDOW_FAILED, 20);
    ck_assert(!rig_admit_drawn(rig, DRAW_REFUSE, &call));
    ck_assert_uint_eq(rig_view(rig).refused, 1);
    ck_assert(rig_admit_drawn(rig, DRAW_PASS, &call));
    ck_assert_uint_eq(rig_view(rig).refused, 1);
}
END_TEST

START_TEST(the_ratio_is_kept_for_ten_milliseconds)
{
    struct rig *rig = fresh();
    struct breaker_call call;
    rig->set.probe_min = rig->set.probe_max = 0;
    ck_assert(rig_admit(rig, &call));
    rig_count(rig, WINDOW_FAILED, 100);
    rig_pass_ms(rig, 10);
    ck_assert(rig_admit_drawn(rig, DRAW_REFUSE, &call));
    rig_pass_ms(rig, 1);
    ck_assert(!rig_admit_drawn(rig, DRAW_REFUSE, &call));
}
END_TEST

START_TEST(a_ratio_from_the_future_is_computed_anew)
{
    struct rig *rig = fresh();
    struct breaker_call call;
    rig->set.probe_min = rig->set.probe_max = 0;
    rig_calls(rig, 1, end_neutral);
    rig_pass_ms(rig, 100);
    rig_count(rig, WINDOW_FAILED, 100);
    ck_assert(!rig_admit_drawn(rig, DRAW_REFUSE, &call));
    rig->who.now -= 50 * MS;
    memset(rig->words.window, 0, sizeof rig->words.window);
    ck_assert(rig_admit_drawn(rig, DRAW_REFUSE, &call));
}
END_TEST

/* ---- streak ------------------------------------------------------------------------------------------------------ */

START_TEST(a_streak_begins_with_the_first_failure_after_a_success)
{
    struct rig *rig = fresh();
    rig_calls(rig, 1, end_ok);
    rig_calls(rig, 1, end_failed);
    ck_assert_uint_eq(length_of_streak(rig), 1);
    rig_calls(rig, 1, end_failed);
    ck_assert_uint_eq(length_of_streak(rig), 2);
    rig_calls(rig, 1, end_ok);
    ck_assert_uint_eq(length_of_streak(rig), 0);
}
END_TEST

START_TEST(a_neutral_end_leaves_the_streak)
{
    struct rig *rig = fresh();
    rig_calls(rig, 3, end_failed);
    rig_calls(rig, 5, end_neutral);
    ck_assert_uint_eq(length_of_streak(rig), 3);
    ck_assert_uint_eq(rig_view(rig).failed, 3);
}
END_TEST

START_TEST(forty_calls_that_one_restart_resets_are_one_piece_of_evidence)
{
    struct rig *rig = fresh();
    static struct breaker_call call[40];
    for (unsigned i = 0; i < 100; i++) {
        rig_calls(rig, 1, end_ok);
        rig_pass_ms(rig, 10);
    }
    admit_many(rig, call, 40);
    rig_pass_ms(rig, 10);
    end_many(rig, call, 40, end_failed);
    ck_assert_uint_eq(length_of_streak(rig), 1);
    for (unsigned i = 0; i < 40; i++) {
        struct breaker_call next;
        ck_assert(rig_admit_drawn(rig, DRAW_REFUSE, &next));
    }
}
END_TEST

START_TEST(a_call_of_an_earlier_streak_says_nothing_new)
{
    struct rig *rig = fresh();
    struct breaker_call call;
    rig_calls(rig, 1, end_failed);
    ck_assert(rig_admit(rig, &call));
    rig_calls(rig, 1, end_ok);
    rig_calls(rig, 1, end_failed);
    rig_end(rig, &call, end_failed);
    ck_assert_uint_eq(length_of_streak(rig), 1);
}
END_TEST

START_TEST(slow_failures_are_news_after_a_second_of_silence)
{
    struct rig *rig = fresh();
    struct breaker_call call[4];
    rig_pass_ms(rig, 5000);
    rig_calls(rig, 1, end_ok);
    admit_many(rig, call, 4);
    rig_pass_ms(rig, 900);
    rig_end(rig, &call[0], end_failed);
    rig_end(rig, &call[1], end_failed);
    ck_assert_msg(length_of_streak(rig) == 1, "a second has not passed yet");
    rig_pass_ms(rig, 100);
    rig_end(rig, &call[2], end_failed);
    rig_end(rig, &call[3], end_failed);
    ck_assert_uint_eq(length_of_streak(rig), 3);
}
END_TEST

START_TEST(slow_failures_are_no_news_within_a_second_of_a_success)
{
    struct rig *rig = fresh();
    struct breaker_call call[2];
    admit_many(rig, call, 2);
    rig_pass_ms(rig, 5000);
    rig_calls(rig, 1, end_ok);
    rig_pass_ms(rig, 999);
    end_many(rig, call, 2, end_failed);
    ck_assert_uint_eq(length_of_streak(rig), 1);
}
END_TEST

START_TEST(a_429_is_no_evidence_within_a_second_of_a_success)
{
    struct rig *rig = fresh();
    rig_pass_ms(rig, 1);
    rig_calls(rig, 1, end_ok);
    rig_pass_ms(rig, 999);
    rig_calls(rig, 20, end_soft);
    ck_assert_uint_eq(length_of_streak(rig), 0);
    rig_pass_ms(rig, 1);
    rig_calls(rig, 2, end_soft);
    ck_assert_uint_eq(length_of_streak(rig), 2);
}
END_TEST

START_TEST(a_429_is_no_evidence_in_the_first_second_of_a_generation)
{
    struct rig *rig = fresh();
    rig_calls(rig, 20, end_soft);
    ck_assert_uint_eq(length_of_streak(rig), 0);
    ck_assert_msg(rig_view(rig).failed == 20, "it counts in the window all the same");
}
END_TEST

START_TEST(a_quota_by_the_second_does_not_look_like_an_outage)
{
    struct rig *rig = fresh();
    for (unsigned second = 0; second < 60; second++) {
        for (unsigned i = 0; i < 50; i++) {
            rig_call(rig, i < 10 ? end_ok : end_soft);
            rig_pass_ms(rig, 20);
        }
    }
    ck_assert_int_ne(rig_kind(rig), KIND_OPEN);
}
END_TEST

/* ---- trip -------------------------------------------------------------------------------------------------------- */

START_TEST(a_streak_of_trip_failures_opens)
{
    struct rig *rig = fresh();
    rig_calls(rig, 9, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_CLOSED);
    rig_calls(rig, 1, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
    ck_assert_int_eq(rig->change.from, PREBREAK_CLOSED);
    ck_assert_int_eq(rig->change.to, PREBREAK_OPEN);
    ck_assert_int_eq(rig->change.reason, BREAKER_REASON_STREAK);
    ck_assert_uint_eq(rig->change.failed, 10);
    ck_assert_uint_eq(rig->change.drop, DROP_ALL);
    ck_assert_uint_eq(rig_generation(rig), 2);
}
END_TEST

START_TEST(everything_is_empty_after_a_change)
{
    struct rig *rig = fresh();
    rig_calls(rig, 10, end_failed);
    struct breaker_view view = rig_view(rig);
    ck_assert_uint_eq(view.ok + view.failed + view.refused, 0);
    ck_assert_uint_eq(length_of_streak(rig), 0);
    ck_assert_uint_eq(view.since, START);
    ck_assert_uint_eq(view.retry_in, 50 * MS);
    ck_assert_double_eq(view.drop, 1);
}
END_TEST

START_TEST(no_trip_while_successes_are_not_missing)
{
    /* 500 calls a second for 10 s; then nothing but failures. Ten successes are missing after 20 ms. */
    struct rig *rig = fresh();
    for (unsigned i = 0; i < 5000; i++) {
        rig_calls(rig, 1, end_ok);
        rig_pass_ms(rig, 2);
    }
    rig_calls(rig, 15, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_CLOSED);
    rig_pass_ms(rig, 30);
    rig_calls(rig, 1, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
}
END_TEST

START_TEST(five_times_trip_opens_whatever_is_missing)
{
    struct rig *rig = fresh();
    rig_calls(rig, 1, end_ok);
    rig_pass_ms(rig, 10);
    rig_calls(rig, 1000, end_ok);
    rig_calls(rig, 49, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_CLOSED);
    rig_calls(rig, 1, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
}
END_TEST

START_TEST(successes_that_have_just_left_the_window_are_missing)
{
    /* given a provider that went silent 9.8 s ago: its last successes lie within `window`, but in a slice that is gone */
    struct rig *rig = fresh();
    static struct breaker_call call[10];
    rig_pass_ms(rig, 300);
    rig_calls(rig, 100, end_ok);
    admit_many(rig, call, 10);
    rig_pass_ms(rig, 9800);
    ck_assert_uint_eq(rig_view(rig).ok, 0);
    /* when the calls of that time give up */
    end_many(rig, call, 9, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_CLOSED);
    end_many(rig, call + 9, 1, end_failed);
    /* then ten of them are enough */
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
}
END_TEST

START_TEST(what_is_in_flight_since_the_streak_began_may_outweigh_it)
{
    struct rig *rig = fresh();
    static struct breaker_call call[30];
    rig_calls(rig, 1, end_failed);
    admit_many(rig, call, 30);
    rig_calls(rig, 18, end_failed);
    ck_assert_msg(rig_kind(rig) == KIND_CLOSED, "19 < 30 * 2/3");
    rig_calls(rig, 1, end_failed);
    ck_assert_msg(rig_kind(rig) == KIND_OPEN, "20 >= 30 * 2/3");
}
END_TEST

START_TEST(what_was_in_flight_before_the_streak_began_does_not_count)
{
    struct rig *rig = fresh();
    static struct breaker_call call[30];
    admit_many(rig, call, 30);
    rig_pass_ms(rig, 640);
    rig_calls(rig, 10, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
}
END_TEST

START_TEST(slow_traffic_trips_all_the_same)
{
    struct rig *rig = fresh();
    for (unsigned i = 0; i < 20; i++) {
        rig_calls(rig, 1, end_ok);
        rig_pass_ms(rig, 20000);
    }
    for (unsigned i = 0; i < 10; i++) {
        rig_calls(rig, 1, end_failed);
        rig_pass_ms(rig, 20000);
    }
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
}
END_TEST

START_TEST(a_call_admitted_under_an_older_generation_counts_in_the_totals_only)
{
    struct rig *rig = fresh();
    static struct breaker_call call[2];
    admit_many(rig, call, 2);
    rig_calls(rig, 10, end_failed);
    rig_end(rig, &call[0], end_ok);
    rig_end(rig, &call[1], end_failed);
    struct breaker_view view = rig_view(rig);
    ck_assert_uint_eq(view.ok + view.failed, 0);
    ck_assert_uint_eq(view.outcome[PREBREAK_OK], 1);
    ck_assert_uint_eq(view.outcome[PREBREAK_FAILED], 11);
    ck_assert_uint_eq(view.retry_in, 50 * MS);
}
END_TEST

START_TEST(a_last_success_from_the_future_is_ignored)
{
    struct rig *rig = fresh();
    rig_calls(rig, 1, end_neutral);
    rig->words.last_ok = rig_ms(rig) + 3600 * 1000;
    rig_pass_ms(rig, 1000);
    rig_calls(rig, 10, end_soft);
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
}
END_TEST

/* ---- parameters that switch something off ------------------------------------------------------------------------ */

START_TEST(trip_0_never_opens)
{
    struct rig *rig = fresh();
    rig->set.trip = 0;
    rig_calls(rig, 1000, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_CLOSED);
}
END_TEST

START_TEST(probe_0_lets_nothing_out_of_turn_and_never_opens)
{
    struct rig *rig = fresh();
    struct breaker_call call;
    rig->set.probe_min = rig->set.probe_max = 0;
    rig_calls(rig, 100, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_CLOSED);
    rig_pass_ms(rig, 5000);
    ck_assert(!rig_admit_drawn(rig, DRAW_REFUSE, &call));
}
END_TEST

START_TEST(all_switched_off_is_the_textbook_throttle)
{
    struct rig *rig = fresh();
    struct breaker_call call[50];
    rig->set.trip = 0;
    rig->set.reset = 0;
    rig->set.probe_min = rig->set.probe_max = 0;
    rig->set.inflight = 0;
    rig_count(rig, WINDOW_FAILED, 5);
    admit_many(rig, call, 50);
    end_many(rig, call, 25, end_failed);
    end_many(rig, call + 25, 25, end_ok);
    bool pressed;
    ck_assert_double_eq_tol(rig_throttle(rig, &pressed), (55 - 25 / .6) / 56, 1e-12);
    ck_assert_uint_eq(rig_generation(rig), 1);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("sre");
    tcase_add_test(tests, nothing_is_condemned_below_the_minimum);
    tcase_add_test(tests, excess_over_k_successes_is_dropped);
    tcase_add_test(tests, calls_that_nothing_has_overtaken_speak_for_the_provider);
    tcase_add_test(tests, calls_that_a_success_has_overtaken_do_not);
    tcase_add_test(tests, without_calls_in_flight_it_is_the_bare_throttle);
    tcase_add_test(tests, slow_answers_beside_quick_errors_condemn_nobody);
    tcase_add_test(tests, a_refusal_by_the_throttle_counts_in_the_window);
    tcase_add_test(tests, the_ratio_is_kept_for_ten_milliseconds);
    tcase_add_test(tests, a_ratio_from_the_future_is_computed_anew);
    tcase_add_test(tests, a_streak_begins_with_the_first_failure_after_a_success);
    tcase_add_test(tests, a_neutral_end_leaves_the_streak);
    tcase_add_test(tests, forty_calls_that_one_restart_resets_are_one_piece_of_evidence);
    tcase_add_test(tests, a_call_of_an_earlier_streak_says_nothing_new);
    tcase_add_test(tests, slow_failures_are_news_after_a_second_of_silence);
    tcase_add_test(tests, slow_failures_are_no_news_within_a_second_of_a_success);
    tcase_add_test(tests, a_429_is_no_evidence_within_a_second_of_a_success);
    tcase_add_test(tests, a_429_is_no_evidence_in_the_first_second_of_a_generation);
    tcase_add_test(tests, a_quota_by_the_second_does_not_look_like_an_outage);
    tcase_add_test(tests, a_streak_of_trip_failures_opens);
    tcase_add_test(tests, everything_is_empty_after_a_change);
    tcase_add_test(tests, no_trip_while_successes_are_not_missing);
    tcase_add_test(tests, five_times_trip_opens_whatever_is_missing);
    tcase_add_test(tests, successes_that_have_just_left_the_window_are_missing);
    tcase_add_test(tests, what_is_in_flight_since_the_streak_began_may_outweigh_it);
    tcase_add_test(tests, what_was_in_flight_before_the_streak_began_does_not_count);
    tcase_add_test(tests, slow_traffic_trips_all_the_same);
    tcase_add_test(tests, a_call_admitted_under_an_older_generation_counts_in_the_totals_only);
    tcase_add_test(tests, a_last_success_from_the_future_is_ignored);
    tcase_add_test(tests, trip_0_never_opens);
    tcase_add_test(tests, probe_0_lets_nothing_out_of_turn_and_never_opens);
    tcase_add_test(tests, all_switched_off_is_the_textbook_throttle);
    return rig_run(tests, "sre");
}
