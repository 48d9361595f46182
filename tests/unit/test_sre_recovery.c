/*
 * sre once it is open or pressed: probes, reset, ramp, forget, late answers. (test_sre.c: how it gets there.)
 */
#include "rig.h"

/* Opened at START, nothing in flight. */
static struct rig *opened(void)
{
    struct rig *rig = rig_new(PREBREAK_SRE);
    rig_calls(rig, 10, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
    return rig;
}

/* Nothing but failures by half, no streak: the throttle presses from here on. */
static struct rig *pressed(void)
{
    struct rig *rig = rig_new(PREBREAK_SRE);
    rig_count(rig, WINDOW_OK, 20);
    rig_count(rig, WINDOW_FAILED, 80);
    rig_pass_ms(rig, 4000);
    return rig;
}

static bool passes_unlucky(struct rig *rig, struct breaker_call *call)
{
    return rig_admit_drawn(rig, DRAW_REFUSE, call);
}

/* ms until a probe goes through, from now on. */
static unsigned wait_of(struct rig *rig, struct breaker_call *call)
{
    unsigned ms = 0;
    while (!passes_unlucky(rig, call)) {
        rig_pass_ms(rig, 1);
        ms++;
        ck_assert_uint_lt(ms, 100000);
    }
    ck_assert(call->probe);
    return ms;
}

/* The word of a call that is out, last heard of then. */
static void overdue(struct rig *rig, struct breaker_call *call)
{
    ck_assert(inflight_leave(rig->table, call->place, call->word));
    breaker_overdue(&rig->b, &rig->who, inflight_heard(call->word, rig->who.now), false, &rig->change);
}

/* ---- probes while open ------------------------------------------------------------------------------------------- */

START_TEST(open_refuses_whatever_the_draw)
{
    struct rig *rig = opened();
    struct breaker_call call;
    ck_assert(!rig_admit_drawn(rig, DRAW_PASS, &call));
    ck_assert_msg(rig_view(rig).refused == 0, "a refusal while open is in the totals only");
    ck_assert_uint_eq(rig_view(rig).total_refused, 1);
}
END_TEST

START_TEST(probes_come_at_a_tenth_of_the_time_open)
{
    static const unsigned waits[] = {50,   50,   100,  200,  400,  800,  1000, 1000, 1000, 1000,
                                     1000, 1000, 1000, 1000, 1000, 1060, 1166, 1282, 1410};
    struct rig *rig = opened();
    struct breaker_call call;
    for (unsigned i = 0; i < sizeof waits / sizeof *waits; i++) {
        ck_assert_msg(wait_of(rig, &call) == waits[i], "probe %u", i);
        rig_end(rig, &call, end_failed);
    }
    while (rig_ms(rig) < START / MS + 60000) {
        wait_of(rig, &call);
        rig_end(rig, &call, end_failed);
    }
    ck_assert_uint_eq(wait_of(rig, &call), 5000);
}
END_TEST

START_TEST(one_caller_takes_the_probe)
{
    struct rig *rig = opened();
    struct breaker_call call;
    rig_pass_ms(rig, 50);
    ck_assert(passes_unlucky(rig, &call));
    ck_assert(!passes_unlucky(rig, &call));
}
END_TEST

START_TEST(probes_that_hang_make_the_next_ones_rarer)
{
    struct rig *rig = opened();
    struct breaker_call call;
    while (rig_ms(rig) < START / MS + 5000) {
        wait_of(rig, &call);
    }
    unsigned hanging = 0;
    struct turn turn;
    rig_turn(rig, &turn);
    for (unsigned i = 0; i < PREBREAK_INFLIGHT; i++) {
        uint64_t word = rig->table[i];
        hanging +=
            word != 0 && inflight_heard(word, turn.now) / INFLIGHT_TICK_NS < (turn.now - 2 * SECOND) / INFLIGHT_TICK_NS;
    }
    ck_assert_uint_gt(hanging, 5);
    /* The probe just taken moved `next` by one second for each. */
    ck_assert_uint_eq(wait_of(rig, &call), 1000 * (1 + hanging));
}
END_TEST

START_TEST(hanging_probes_stretch_the_interval_to_half_a_minute_at_most)
{
    struct rig *rig = opened();
    struct breaker_call call;
    unsigned longest = 0;
    unsigned probes = 0;
    while (rig_ms(rig) < START / MS + 600000) {
        unsigned wait = wait_of(rig, &call);
        longest = wait > longest ? wait : longest;
        probes++;
    }
    ck_assert_uint_eq(longest, 30000);
    ck_assert_uint_lt(probes, 40);
}
END_TEST

START_TEST(a_success_brings_the_next_probe_within_20_ms)
{
    struct rig *rig = opened();
    struct breaker_call call;
    rig_pass_ms(rig, 3000);
    ck_assert(passes_unlucky(rig, &call));
    rig_end(rig, &call, end_ok);
    ck_assert_uint_eq(wait_of(rig, &call), 20);
    ck_assert_msg(wait_of(rig, &call) == 1000, "with something to hope for, the lower end of `probe`");
}
END_TEST

START_TEST(a_time_of_the_next_probe_too_far_ahead_is_due)
{
    struct rig *rig = opened();
    struct breaker_call call;
    rig->words.next |= bits_put(UINT64_MAX, 10, 40);
    rig->words.next = bits_put(2, 50, 14) | bits_put(rig_ms(rig) + 31000, 10, 40);
    ck_assert(passes_unlucky(rig, &call));
    ck_assert(!passes_unlucky(rig, &call));
}
END_TEST

/* ---- bursts ------------------------------------------------------------------------------------------------------ */

START_TEST(after_a_quiet_spell_reset_callers_of_a_burst_find_out)
{
    struct rig *rig = opened();
    struct breaker_call call[200];
    unsigned passed = 0;
    rig_pass_ms(rig, 60000);
    for (unsigned i = 0; i < 200; i++) {
        passed += passes_unlucky(rig, &call[i]);
    }
    ck_assert_uint_eq(passed, 4);
    ck_assert_uint_eq(wait_of(rig, call), 5000);
}
END_TEST

START_TEST(a_burst_that_succeeds_closes_for_the_next)
{
    struct rig *rig = opened();
    struct breaker_call call;
    rig_pass_ms(rig, 60000);
    for (unsigned i = 0; i < 4; i++) {
        ck_assert(passes_unlucky(rig, &call));
        rig_end(rig, &call, end_ok);
        ck_assert_int_eq(rig_kind(rig), i < 3 ? KIND_OPEN : KIND_RAMP);
        rig_pass_ms(rig, i < 3 ? 20 : 0);
    }
}
END_TEST

START_TEST(callers_left_of_a_burst_lapse_when_the_probe_moves_otherwise)
{
    struct rig *rig = opened();
    struct breaker_call call;
    rig_pass_ms(rig, 60000);
    ck_assert(passes_unlucky(rig, &call));
    rig_end(rig, &call, end_ok);
    ck_assert_msg(passes_unlucky(rig, &call), "the probe is due still");
    ck_assert_msg(!passes_unlucky(rig, &call), "but no burst any more: something succeeded");
}
END_TEST

START_TEST(a_spell_that_is_not_quiet_enough_makes_no_burst)
{
    struct rig *rig = opened();
    struct breaker_call call;
    rig_pass_ms(rig, 4000); /* interval 1 s, due at 50 ms: overdue by 3.95 s */
    ck_assert(passes_unlucky(rig, &call));
    ck_assert(!passes_unlucky(rig, &call));
}
END_TEST

/* ---- reset and ramp ---------------------------------------------------------------------------------------------- */

/* Probes until the state changes, all with this end: how many it took. */
static unsigned probes_until_reset(struct rig *rig, struct breaker_end end)
{
    unsigned probes = 0;
    struct breaker_call call;
    while (rig_kind(rig) == KIND_OPEN) {
        wait_of(rig, &call);
        rig_end(rig, &call, end);
        probes++;
        ck_assert_uint_lt(probes, 1000);
    }
    return probes;
}

START_TEST(reset_successes_close)
{
    struct rig *rig = opened();
    ck_assert_uint_eq(probes_until_reset(rig, end_ok), 4);
    ck_assert_int_eq(rig_kind(rig), KIND_RAMP);
    ck_assert_int_eq(rig->change.from, PREBREAK_OPEN);
    ck_assert_int_eq(rig->change.to, PREBREAK_RECOVERING);
    ck_assert_int_eq(rig->change.reason, BREAKER_REASON_SCORE);
    ck_assert_uint_eq(rig->change.ok, 4);
    ck_assert_uint_eq(rig_generation(rig), 3);
    ck_assert_msg(rig_ms(rig) < START / MS + 3000, "soon");
}
END_TEST

START_TEST(a_failure_takes_one_from_the_score_and_never_below_zero)
{
    struct rig *rig = opened();
    struct breaker_call call;
    for (unsigned i = 0; i < 3; i++) {
        wait_of(rig, &call);
        rig_end(rig, &call, end_failed);
    }
    for (unsigned i = 0; i < 3; i++) {
        wait_of(rig, &call);
        rig_end(rig, &call, end_ok);
    }
    wait_of(rig, &call);
    rig_end(rig, &call, end_failed);
    ck_assert_msg(probes_until_reset(rig, end_ok) == 2, "6 - 1 + 2 + 2 >= 8");
}
END_TEST

START_TEST(overtaken_calls_must_be_outweighed_too)
{
    struct rig *rig = opened();
    struct breaker_call stuck[3];
    struct breaker_call call;
    for (unsigned i = 0; i < 3; i++) {
        wait_of(rig, &stuck[i]);
    }
    rig_pass_ms(rig, 2100);
    for (unsigned i = 0; i < 5; i++) {
        wait_of(rig, &call);
        rig_end(rig, &call, end_ok);
        ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
    }
    wait_of(rig, &call);
    rig_end(rig, &call, end_ok);
    ck_assert_msg(rig_kind(rig) == KIND_RAMP, "12 >= 2*4 + 3");
}
END_TEST

START_TEST(calls_that_nothing_has_overtaken_need_not_be_outweighed)
{
    struct rig *rig = opened();
    struct breaker_call early[4];
    struct breaker_call later;
    for (unsigned i = 0; i < 4; i++) {
        wait_of(rig, &early[i]);
    }
    wait_of(rig, &later);
    rig_pass_ms(rig, 2100);
    for (unsigned i = 0; i < 4; i++) {
        rig_end(rig, &early[i], end_ok);
    }
    ck_assert_int_eq(rig_kind(rig), KIND_RAMP);
}
END_TEST

START_TEST(the_ramp_lets_a_growing_share_through)
{
    struct rig *rig = opened();
    probes_until_reset(rig, end_ok);
    ck_assert_double_eq_tol(rig_view(rig).drop, .8, 1e-4);
    ck_assert_int_eq(rig_view(rig).phase, PREBREAK_RECOVERING);
    rig_pass_ms(rig, 500);
    ck_assert_double_eq_tol(rig_view(rig).drop, .4, 1e-4);
    rig_pass_ms(rig, 499);
    ck_assert_double_eq_tol(rig_view(rig).drop, .0008, 1e-4);
    rig_pass_ms(rig, 1);
    ck_assert_double_eq(rig_view(rig).drop, 0);
    ck_assert_int_eq(rig_view(rig).phase, PREBREAK_CLOSED);

    struct breaker_call call;
    ck_assert(passes_unlucky(rig, &call));
    ck_assert_int_eq(rig->change.from, PREBREAK_RECOVERING);
    ck_assert_int_eq(rig->change.to, PREBREAK_CLOSED);
    ck_assert_int_eq(rig->change.reason, BREAKER_REASON_TIME);
}
END_TEST

START_TEST(a_refusal_of_the_ramp_is_not_in_the_window)
{
    struct rig *rig = opened();
    struct breaker_call call;
    probes_until_reset(rig, end_ok);
    ck_assert(!passes_unlucky(rig, &call));
    ck_assert_uint_eq(rig_view(rig).refused, 0);
}
END_TEST

START_TEST(reset_0_has_no_ramp)
{
    struct rig *rig = opened();
    rig->set.reset = 0;
    ck_assert_uint_eq(probes_until_reset(rig, end_ok), 1);
    ck_assert_int_eq(rig_kind(rig), KIND_CLOSED);
    ck_assert_double_eq(rig_view(rig).drop, 0);
}
END_TEST

/* ---- pressed ----------------------------------------------------------------------------------------------------- */

START_TEST(a_pressed_throttle_probes_at_the_lower_end_of_probe)
{
    struct rig *rig = pressed();
    struct breaker_call call;
    ck_assert_uint_eq(wait_of(rig, &call), 0);
    ck_assert_int_eq(rig_view(rig).phase, PREBREAK_THROTTLING);
    ck_assert_uint_eq(wait_of(rig, &call), 1000);
}
END_TEST

START_TEST(each_success_in_a_row_halves_the_interval)
{
    struct rig *rig = pressed();
    struct breaker_call call;
    static const unsigned waits[] = {500, 250, 125, 62, 31, 20, 20};
    wait_of(rig, &call);
    for (unsigned i = 0; i < sizeof waits / sizeof *waits; i++) {
        rig_end(rig, &call, end_ok);
        ck_assert_uint_eq(wait_of(rig, &call), 20); /* brought near by the success */
        struct breaker_call other;
        ck_assert_uint_eq(wait_of(rig, &other), waits[i]);
        rig_end(rig, &other, end_neutral);
    }
    rig_end(rig, &call, end_failed);
    wait_of(rig, &call);
    ck_assert_msg(wait_of(rig, &call) == 1000, "a failure empties the row");
}
END_TEST

START_TEST(two_good_seconds_are_enough_to_forget)
{
    struct rig *rig = pressed();
    struct breaker_call call;
    ck_assert(passes_unlucky(rig, &call));
    rig_count(rig, WINDOW_OK, 18);
    rig_count(rig, WINDOW_FAILED, 2);
    rig_end(rig, &call, end_ok);
    ck_assert_msg(rig_generation(rig) == 1, "19 successes are too few");
    ck_assert(rig_admit(rig, &call));
    rig_end(rig, &call, end_ok);
    ck_assert_uint_eq(rig_generation(rig), 2);
    ck_assert_int_eq(rig_kind(rig), KIND_CLOSED);
    ck_assert_double_eq(rig_view(rig).drop, 0);
    ck_assert_int_eq(rig->change.from, PREBREAK_THROTTLING);
    ck_assert_int_eq(rig->change.to, PREBREAK_CLOSED);
    ck_assert_int_eq(rig->change.reason, BREAKER_REASON_FORGET);
}
END_TEST

START_TEST(more_than_one_failure_for_nine_successes_is_not_forgotten)
{
    struct rig *rig = pressed();
    struct breaker_call call;
    ck_assert(passes_unlucky(rig, &call));
    rig_count(rig, WINDOW_OK, 22);
    rig_count(rig, WINDOW_FAILED, 3);
    for (unsigned i = 0; i < 4; i++) {
        rig_end(rig, &call, end_ok);
        ck_assert_msg(rig_generation(rig) == 1, "%u : 3", 23 + i);
        ck_assert(rig_admit(rig, &call));
    }
    rig_end(rig, &call, end_ok);
    ck_assert_msg(rig_generation(rig) == 2, "27 : 3");
}
END_TEST

START_TEST(successes_from_before_the_last_two_slices_do_not_count)
{
    struct rig *rig = pressed();
    struct breaker_call call;
    rig_count(rig, WINDOW_OK, 25);
    rig_pass_ms(rig, 2000);
    ck_assert(passes_unlucky(rig, &call));
    rig_end(rig, &call, end_ok);
    ck_assert_uint_eq(rig_generation(rig), 1);
}
END_TEST

/* ---- late answers ------------------------------------------------------------------------------------------------ */

/* Opened by calls that hang, with `extra` more of them still out. */
static struct rig *opened_by_hanging(struct breaker_call *call, unsigned calls)
{
    struct rig *rig = rig_new(PREBREAK_SRE);
    rig_calls(rig, 1, end_ok);
    for (unsigned i = 0; i < calls; i++) {
        ck_assert(rig_admit(rig, &call[i]));
    }
    rig_pass_ms(rig, 30000);
    for (unsigned i = 0; i < calls; i++) {
        overdue(rig, &call[i]);
    }
    return rig;
}

START_TEST(overdue_calls_are_failures_that_open)
{
    struct breaker_call call[10];
    struct rig *rig = opened_by_hanging(call, 10);
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
    ck_assert_uint_eq(rig_view(rig).failures[PREBREAK_KIND_HANG], 10);
    ck_assert_uint_eq(rig_view(rig).inflight, 0);
}
END_TEST

START_TEST(an_overdue_call_last_heard_of_before_since_counts_in_the_totals_only)
{
    struct rig *rig = opened();
    breaker_overdue(&rig->b, &rig->who, START - 65 * MS, false, &rig->change);
    ck_assert_uint_eq(rig_view(rig).failed, 0);
    ck_assert_uint_eq(rig_view(rig).failures[PREBREAK_KIND_HANG], 1);
    breaker_overdue(&rig->b, &rig->who, START, false, &rig->change);
    ck_assert_uint_eq(rig_view(rig).failed, 1);
}
END_TEST

START_TEST(late_answers_close_and_teach_patience)
{
    struct breaker_call call[12];
    struct rig *rig = opened_by_hanging(call, 12);
    rig_pass_ms(rig, 15000);
    for (unsigned i = 0; i < 3; i++) {
        rig_end(rig, &call[i], end_ok);
    }
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
    ck_assert_uint_eq(breaker_hang(&rig->b), 30 * SECOND);
    rig_end(rig, &call[3], end_ok);
    ck_assert_int_eq(rig_kind(rig), KIND_RAMP);
    ck_assert_msg(breaker_hang(&rig->b) == 90 * SECOND, "twice the age of 45 s");
    ck_assert_msg(rig_view(rig).outcome[PREBREAK_OK] == 1, "each call is in the totals once");
    ck_assert_uint_eq(rig_view(rig).outcome[PREBREAK_FAILED], 12);
}
END_TEST

START_TEST(patience_has_an_end)
{
    struct breaker_call call[12];
    struct rig *rig = opened_by_hanging(call, 12);
    rig_pass_ms(rig, 3600 * 1000);
    for (unsigned i = 0; i < 4; i++) {
        rig_end(rig, &call[i], end_ok);
    }
    ck_assert_uint_eq(breaker_hang(&rig->b), 300 * SECOND);
}
END_TEST

START_TEST(a_late_answer_does_not_move_what_was_overtaken)
{
    struct breaker_call call[12];
    struct rig *rig = opened_by_hanging(call, 12);
    rig_end(rig, &call[0], end_ok);
    ck_assert_uint_eq(rig->words.newest_ok >> 43, 1);
}
END_TEST

START_TEST(last_answers_of_a_dead_provider_do_not_re_open_it)
{
    struct breaker_call call[12];
    struct rig *rig = opened_by_hanging(call, 12);
    struct breaker_call probe;
    wait_of(rig, &probe);
    rig_end(rig, &probe, end_failed);
    for (unsigned i = 0; i < 12; i++) {
        rig_end(rig, &call[i], end_ok);
    }
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
    ck_assert_uint_eq(rig_view(rig).ok, 0);
}
END_TEST

START_TEST(failures_by_silence_do_not_discredit_late_answers)
{
    struct breaker_call call[12];
    struct rig *rig = opened_by_hanging(call, 12);
    struct breaker_call probe;
    wait_of(rig, &probe);
    rig_pass_ms(rig, 30000);
    overdue(rig, &probe);
    for (unsigned i = 0; i < 4; i++) {
        rig_end(rig, &call[i], end_ok);
    }
    ck_assert_int_eq(rig_kind(rig), KIND_RAMP);
}
END_TEST

START_TEST(any_other_late_end_changes_nothing)
{
    struct breaker_call call[12];
    struct rig *rig = opened_by_hanging(call, 12);
    struct breaker_view before = rig_view(rig);
    rig_end(rig, &call[0], end_failed);
    rig_end(rig, &call[1], end_neutral);
    struct breaker_view after = rig_view(rig);
    ck_assert_mem_eq(&before, &after, sizeof before);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("sre_recovery");
    tcase_add_test(tests, open_refuses_whatever_the_draw);
    tcase_add_test(tests, probes_come_at_a_tenth_of_the_time_open);
    tcase_add_test(tests, one_caller_takes_the_probe);
    tcase_add_test(tests, probes_that_hang_make_the_next_ones_rarer);
    tcase_add_test(tests, hanging_probes_stretch_the_interval_to_half_a_minute_at_most);
    tcase_add_test(tests, a_success_brings_the_next_probe_within_20_ms);
    tcase_add_test(tests, a_time_of_the_next_probe_too_far_ahead_is_due);
    tcase_add_test(tests, after_a_quiet_spell_reset_callers_of_a_burst_find_out);
    tcase_add_test(tests, a_burst_that_succeeds_closes_for_the_next);
    tcase_add_test(tests, callers_left_of_a_burst_lapse_when_the_probe_moves_otherwise);
    tcase_add_test(tests, a_spell_that_is_not_quiet_enough_makes_no_burst);
    tcase_add_test(tests, reset_successes_close);
    tcase_add_test(tests, a_failure_takes_one_from_the_score_and_never_below_zero);
    tcase_add_test(tests, overtaken_calls_must_be_outweighed_too);
    tcase_add_test(tests, calls_that_nothing_has_overtaken_need_not_be_outweighed);
    tcase_add_test(tests, the_ramp_lets_a_growing_share_through);
    tcase_add_test(tests, a_refusal_of_the_ramp_is_not_in_the_window);
    tcase_add_test(tests, reset_0_has_no_ramp);
    tcase_add_test(tests, a_pressed_throttle_probes_at_the_lower_end_of_probe);
    tcase_add_test(tests, each_success_in_a_row_halves_the_interval);
    tcase_add_test(tests, two_good_seconds_are_enough_to_forget);
    tcase_add_test(tests, more_than_one_failure_for_nine_successes_is_not_forgotten);
    tcase_add_test(tests, successes_from_before_the_last_two_slices_do_not_count);
    tcase_add_test(tests, overdue_calls_are_failures_that_open);
    tcase_add_test(tests, an_overdue_call_last_heard_of_before_since_counts_in_the_totals_only);
    tcase_add_test(tests, late_answers_close_and_teach_patience);
    tcase_add_test(tests, patience_has_an_end);
    tcase_add_test(tests, a_late_answer_does_not_move_what_was_overtaken);
    tcase_add_test(tests, last_answers_of_a_dead_provider_do_not_re_open_it);
    tcase_add_test(tests, failures_by_silence_do_not_discredit_late_answers);
    tcase_add_test(tests, any_other_late_end_changes_nothing);
    return rig_run(tests, "sre_recovery");
}
