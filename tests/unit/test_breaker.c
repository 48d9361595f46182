/*
 * What stands around every policy: holds, pauses, observe mode, the enforced share, totals, phases, settings and names.
 */
#include "rig.h"

static struct rig *fresh(void)
{
    return rig_new(PREBREAK_SRE);
}

static struct rig *opened(void)
{
    struct rig *rig = fresh();
    rig_calls(rig, 10, end_failed);
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
    return rig;
}

static void ck_change(const struct rig *rig, enum prebreak_phase from, enum prebreak_phase to,
                      enum breaker_reason reason)
{
    ck_assert_str_eq(breaker_phase_name(rig->change.from), breaker_phase_name(from));
    ck_assert_str_eq(breaker_phase_name(rig->change.to), breaker_phase_name(to));
    ck_assert_str_eq(breaker_reason_name(rig->change.reason), breaker_reason_name(reason));
}

/* ---- a slot that begins as zeros ---- */

START_TEST(zeros_are_a_breaker_that_begins_now)
{
    struct rig *rig = fresh();
    ck_assert_int_eq(rig_view(rig).phase, PREBREAK_CLOSED);
    rig_calls(rig, 1, end_ok);
    ck_assert_uint_eq(rig_generation(rig), 1);
    ck_assert_uint_eq(state_since_ms(rig->words.state), START / MS);
    ck_assert_uint_eq(rig->change.from, rig->change.to);
}
END_TEST

START_TEST(a_generation_that_begins_in_the_future_is_begun_anew)
{
    struct rig *rig = opened();
    rig->who.now = START - 1001 * MS;
    struct breaker_call call;
    ck_assert(rig_admit(rig, &call));
    ck_assert_uint_eq(rig_generation(rig), 3);
    ck_assert_int_eq(rig_kind(rig), KIND_CLOSED);
    ck_change(rig, PREBREAK_OPEN, PREBREAK_CLOSED, BREAKER_REASON_REPAIR);
}
END_TEST

START_TEST(a_clock_just_before_since_is_taken_as_since)
{
    struct rig *rig = opened();
    rig->who.now = START - 1000 * MS;
    struct breaker_call call;
    ck_assert(!rig_admit(rig, &call));
    ck_assert_uint_eq(rig_generation(rig), 2);
}
END_TEST

START_TEST(a_view_changes_nothing)
{
    struct rig *rig = opened();
    struct prebreak_breaker before = rig->words;
    rig_view(rig);
    rig->who.now = START - 5000 * MS;
    rig_view(rig);
    rig->who.now = START + 3600 * SECOND;
    rig_view(rig);
    ck_assert_mem_eq(&before, &rig->words, sizeof before);
}
END_TEST

/* ---- totals ---- */

START_TEST(every_call_is_in_the_totals_once)
{
    struct rig *rig = fresh();
    struct breaker_call out;
    rig_calls(rig, 3, end_ok);
    rig_calls(rig, 2, end_neutral);
    rig_calls(rig, 10, end_failed);
    struct breaker_call call;
    ck_assert(!rig_admit(rig, &call));
    rig_pass_ms(rig, 100);
    ck_assert(rig_admit(rig, &out));

    struct breaker_view view = rig_view(rig);
    ck_assert_uint_eq(view.outcome[PREBREAK_OK], 3);
    ck_assert_uint_eq(view.outcome[PREBREAK_NEUTRAL], 2);
    ck_assert_uint_eq(view.outcome[PREBREAK_FAILED], 10);
    ck_assert_uint_eq(view.failures[PREBREAK_KIND_CONNECT], 10);
    ck_assert_uint_eq(view.total_refused, 1);
    ck_assert_uint_eq(view.inflight, 1);
}
END_TEST

START_TEST(a_call_that_ends_twice_is_counted_once)
{
    struct rig *rig = fresh();
    struct breaker_call call;
    ck_assert(rig_admit(rig, &call));
    rig_end(rig, &call, end_ok);
    rig_end(rig, &call, end_failed);
    ck_assert_uint_eq(rig_view(rig).outcome[PREBREAK_OK], 1);
    ck_assert_uint_eq(rig_view(rig).outcome[PREBREAK_FAILED], 0);
}
END_TEST

START_TEST(a_lost_call_is_neutral)
{
    struct rig *rig = fresh();
    breaker_lost(&rig->b, &rig->who);
    ck_assert_uint_eq(rig_view(rig).outcome[PREBREAK_NEUTRAL], 1);
}
END_TEST

START_TEST(it_works_without_a_table_of_calls)
{
    struct rig *rig = fresh();
    struct breaker_call call;
    rig->b.inflight = NULL;
    ck_assert(rig_admit(rig, &call));
    breaker_heard(&rig->b, &rig->who, &call);
    rig_end(rig, &call, end_ok);
    rig_calls(rig, 10, end_failed);
    ck_assert_int_eq(rig_view(rig).phase, PREBREAK_OPEN);
    ck_assert_uint_eq(rig_view(rig).inflight, 0);
}
END_TEST

START_TEST(first_bytes_are_counted_by_powers_of_two)
{
    struct rig *rig = fresh();
    breaker_first_byte(&rig->b, 0);
    breaker_first_byte(&rig->b, 999999);
    breaker_first_byte(&rig->b, 1 * MS);
    breaker_first_byte(&rig->b, 1 * MS + 1);
    breaker_first_byte(&rig->b, 3 * MS);
    breaker_first_byte(&rig->b, 262144 * MS);
    breaker_first_byte(&rig->b, 262144 * MS + 1);
    struct breaker_first_bytes seen;
    breaker_first_bytes(&rig->b, &seen);
    ck_assert_uint_eq(seen.count[0], 3);
    ck_assert_uint_eq(seen.count[1], 1);
    ck_assert_uint_eq(seen.count[2], 1);
    ck_assert_uint_eq(seen.count[PREBREAK_HISTOGRAM - 2], 1);
    ck_assert_uint_eq(seen.count[PREBREAK_HISTOGRAM - 1], 1);
    ck_assert_uint_eq(seen.sum, 999 + 1000 + 1000 + 3000 + 262144000 + 262144000);
}
END_TEST

/* ---- overdue ---- */

START_TEST(nothing_is_overdue_where_no_answer_ever_came)
{
    struct rig *rig = fresh();
    rig_calls(rig, 3, end_failed);
    ck_assert_uint_eq(breaker_hang(&rig->b), 0);
    rig_calls(rig, 1, end_status);
    ck_assert_uint_eq(breaker_hang(&rig->b), 30 * SECOND);
}
END_TEST

START_TEST(a_call_hears_that_it_was_overdue)
{
    struct rig *rig = fresh();
    struct breaker_call call;
    ck_assert(rig_admit(rig, &call));
    rig_pass_ms(rig, 31000);
    rig->table[call.place] = 0;
    breaker_overdue(&rig->b, &rig->who, START, false, &rig->change);
    breaker_heard(&rig->b, &rig->who, &call);
    ck_assert(call.overdue);
    rig_end(rig, &call, end_ok);
    ck_assert_uint_eq(rig_view(rig).ok, 1);
    ck_assert_uint_eq(rig_view(rig).outcome[PREBREAK_OK], 0);
    ck_assert_uint_eq(rig_view(rig).outcome[PREBREAK_FAILED], 1);
}
END_TEST

START_TEST(every_policy_counts_an_overdue_call_as_failed)
{
    struct rig *rig = rig_new((enum prebreak_policy)_i);
    struct breaker_call call;
    ck_assert(rig_admit(rig, &call));
    rig_pass_ms(rig, 2000);
    rig->table[call.place] = 0;
    breaker_overdue(&rig->b, &rig->who, START, false, &rig->change);
    ck_assert_uint_eq(rig_view(rig).failed, 1);
    rig_end(rig, &call, end_ok);
    ck_assert_msg(rig_view(rig).ok == 1, "a late ok counts in the window");
    ck_assert_uint_eq(rig_view(rig).failures[PREBREAK_KIND_HANG], 1);
}
END_TEST

START_TEST(an_event_stream_that_stalled_is_a_failed_stream)
{
    struct rig *rig = fresh();
    struct breaker_call call;
    ck_assert(rig_admit(rig, &call));
    rig_pass_ms(rig, 2000);
    breaker_stream(&rig->b, &rig->who, &call);
    ck_assert(call.stream && inflight_is_stream(rig->table[call.place]));
    rig_pass_ms(rig, 61000);
    rig->table[call.place] = 0;
    breaker_overdue(&rig->b, &rig->who, START + 2000 * MS, true, &rig->change);
    ck_assert_uint_eq(rig_view(rig).failures[PREBREAK_KIND_STREAM], 1);
    ck_assert_uint_eq(rig_view(rig).failures[PREBREAK_KIND_HANG], 0);
    rig_end(rig, &call, end_ok);
    ck_assert_msg(breaker_hang(&rig->b) == 30 * SECOND, "how long it talked says nothing of how long answers take");
    ck_assert_uint_eq(breaker_stall(&rig->b), 60 * SECOND);
}
END_TEST

START_TEST(a_learnt_hang_of_random_bits_is_none)
{
    struct rig *rig = fresh();
    rig_calls(rig, 1, end_ok);
    rig->words.hang = UINT64_C(0x123456789abcdef);
    ck_assert_uint_eq(breaker_hang(&rig->b), 30 * SECOND);
}
END_TEST

/* ---- holds ---- */

START_TEST(held_open_refuses_and_counts_in_the_totals_only)
{
    struct rig *rig = fresh();
    struct breaker_call call;
    rig->order.hold = PREBREAK_HELD_OPEN;
    ck_assert(!rig_admit(rig, &call));
    ck_change(rig, PREBREAK_CLOSED, PREBREAK_HELD_OPEN, BREAKER_REASON_HOLD);
    ck_assert_uint_eq(rig_view(rig).refused, 0);
    ck_assert_uint_eq(rig_view(rig).total_refused, 1);
    ck_assert_int_eq(rig_view(rig).phase, PREBREAK_HELD_OPEN);
    ck_assert_double_eq(rig_view(rig).drop, 1);

    rig->order.hold = PREBREAK_CLOSED;
    ck_assert(rig_admit(rig, &call));
    ck_change(rig, PREBREAK_HELD_OPEN, PREBREAK_CLOSED, BREAKER_REASON_RELEASE);
}
END_TEST

START_TEST(held_closed_passes_while_counting_goes_on)
{
    struct rig *rig = fresh();
    struct breaker_call call;
    rig->order.hold = PREBREAK_HELD_CLOSED;
    for (unsigned i = 0; i < 10; i++) {
        ck_assert(rig_call(rig, end_failed));
        ck_assert_msg(rig->change.from == rig->change.to, "for people it is held, before and after");
    }
    ck_assert_int_eq(rig_kind(rig), KIND_OPEN);
    ck_assert(rig_admit_drawn(rig, DRAW_REFUSE, &call));
    ck_assert_uint_eq(rig_view(rig).phase, PREBREAK_HELD_CLOSED);

    rig->order.hold = PREBREAK_CLOSED;
    ck_assert(!rig_admit(rig, &call));
    ck_change(rig, PREBREAK_HELD_CLOSED, PREBREAK_OPEN, BREAKER_REASON_RELEASE);
}
END_TEST

/* ---- pauses ---- */

static struct breaker_end retry_after(uint64_t at, int retry)
{
    struct breaker_end end = end_soft;
    end.retry_at = at;
    end.retry = retry;
    return end;
}

START_TEST(an_obeyed_retry_after_pauses)
{
    struct rig *rig = fresh();
    struct breaker_call call;
    rig_calls(rig, 5, end_ok);
    rig_calls(rig, 1, retry_after(START + 7 * SECOND, BREAKER_RETRY_OBEY));
    ck_change(rig, PREBREAK_CLOSED, PREBREAK_PAUSED, BREAKER_REASON_RETRY_AFTER);
    ck_assert(!rig_admit(rig, &call));

    struct breaker_view view = rig_view(rig);
    ck_assert_int_eq(view.phase, PREBREAK_PAUSED);
    ck_assert_uint_eq(view.pauses, 1);
    ck_assert_uint_eq(view.retry_in, 7 * SECOND);
    ck_assert_msg(view.outcome[PREBREAK_NEUTRAL] == 1 && view.failed == 0, "that call is neutral");
    ck_assert_msg(view.refused == 0 && view.total_refused == 1, "what a pause refuses is in the totals only");

    rig_pass_ms(rig, 7000);
    ck_assert(rig_admit(rig, &call));
    ck_change(rig, PREBREAK_PAUSED, PREBREAK_CLOSED, BREAKER_REASON_TIME);
}
END_TEST

START_TEST(deadlines_only_move_later_and_no_further_than_pause_max)
{
    struct rig *rig = fresh();
    struct breaker_call call[3];
    for (unsigned i = 0; i < 3; i++) {
        ck_assert(rig_admit(rig, &call[i]));
    }
    rig_end(rig, &call[0], retry_after(START + 9 * SECOND, BREAKER_RETRY_OBEY));
    rig_end(rig, &call[1], retry_after(START + 2 * SECOND, BREAKER_RETRY_OBEY));
    ck_assert_uint_eq(rig_view(rig).retry_in, 9 * SECOND);
    rig_end(rig, &call[2], retry_after(START + 3600 * SECOND, BREAKER_RETRY_OBEY));
    ck_assert_uint_eq(rig_view(rig).retry_in, 60 * SECOND);
    ck_assert_msg(rig_view(rig).pauses == 1, "however many asked for it");
    ck_assert_uint_eq(rig_view(rig).outcome[PREBREAK_NEUTRAL], 3);

    rig_pass_ms(rig, 61000);
    rig_calls(rig, 1, retry_after(rig->who.now + 2 * SECOND, BREAKER_RETRY_OBEY));
    ck_assert_uint_eq(rig_view(rig).pauses, 2);
}
END_TEST

START_TEST(an_ignored_retry_after_is_a_failure_like_any_other)
{
    struct rig *rig = fresh();
    rig_calls(rig, 1, retry_after(START + 9 * SECOND, BREAKER_RETRY_IGNORE));
    ck_assert_uint_eq(rig_view(rig).failed, 1);
    ck_assert_uint_eq(rig_view(rig).pauses, 0);
}
END_TEST

START_TEST(a_call_of_an_older_generation_asks_for_no_pause)
{
    struct rig *rig = fresh();
    struct breaker_call old;
    ck_assert(rig_admit(rig, &old));
    rig_calls(rig, 10, end_failed);
    rig_end(rig, &old, retry_after(START + 9 * SECOND, BREAKER_RETRY_OBEY));
    ck_assert_uint_eq(rig_view(rig).pauses, 0);
    ck_assert_uint_eq(rig_view(rig).outcome[PREBREAK_FAILED], 11);
}
END_TEST

START_TEST(auto_does_not_pause_while_something_gets_through)
{
    struct rig *rig = fresh();
    for (unsigned i = 0; i < 300; i++) {
        rig_call(rig, i % 3 == 0 ? end_ok : retry_after(rig->who.now + 5 * SECOND, BREAKER_RETRY_AUTO));
        rig_pass_ms(rig, 20);
    }
    ck_assert_uint_eq(rig_view(rig).pauses, 0);
}
END_TEST

START_TEST(auto_pauses_when_nothing_gets_through_any_more)
{
    struct rig *rig = fresh();
    for (unsigned i = 0; i < 100; i++) {
        rig_calls(rig, 1, end_ok);
        rig_pass_ms(rig, 20);
    }
    while (rig_view(rig).pauses == 0) {
        rig_call(rig, retry_after(rig->who.now + 5 * SECOND, BREAKER_RETRY_AUTO));
        rig_pass_ms(rig, 20);
        ck_assert_uint_lt(rig->who.now, START + 4 * SECOND);
    }
    ck_assert_msg(rig->who.now >= START + 2980 * MS, "a second after the last success");
}
END_TEST

START_TEST(a_pause_of_random_bits_is_none)
{
    struct rig *rig = fresh();
    struct breaker_call call;
    rig->words.pause_until = START + 3600 * SECOND;
    ck_assert(rig_admit(rig, &call));
    ck_assert_int_eq(rig_view(rig).phase, PREBREAK_CLOSED);
    rig_end(rig, &call, retry_after(START + 2 * SECOND, BREAKER_RETRY_OBEY));
    ck_assert_uint_eq(rig_view(rig).retry_in, 2 * SECOND);
}
END_TEST

START_TEST(a_hold_stands_above_a_pause)
{
    struct rig *rig = fresh();
    struct breaker_call call;
    rig->order.hold = PREBREAK_HELD_CLOSED;
    rig_calls(rig, 1, retry_after(START + 7 * SECOND, BREAKER_RETRY_OBEY));
    ck_assert_uint_eq(rig->change.from, rig->change.to);
    ck_assert(rig_admit(rig, &call));
    rig->order.hold = PREBREAK_CLOSED;
    ck_assert(!rig_admit(rig, &call));
    ck_change(rig, PREBREAK_HELD_CLOSED, PREBREAK_PAUSED, BREAKER_REASON_RELEASE);
}
END_TEST

/* ---- observe and enforce ---- */

/* The same calls, with the same draws, to a breaker that enforces and to one that does as `order` says. */
static void run_beside(struct rig *enforcing, struct rig *shadow)
{
    uint64_t seed = 99;
    for (unsigned i = 0; i < 20000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint32_t draw = (uint32_t)(seed >> 32);
        bool outage = i % 5000 > 2000 && i % 5000 < 3000;
        bool fails = outage || (i % 7000 > 5000 && draw % 2 == 0) || draw % 50 == 0;
        struct breaker_end end = fails ? end_failed : end_ok;
        struct rig *rigs[] = {enforcing, shadow};
        for (unsigned j = 0; j < 2; j++) {
            struct breaker_call call;
            rigs[j]->who.draw = draw;
            if (breaker_admit(&rigs[j]->b, &rigs[j]->who, &rigs[j]->order, &call, &rigs[j]->change)) {
                rig_end(rigs[j], &call, end);
            }
            rig_pass_ms(rigs[j], 5);
        }
    }
}

START_TEST(observing_is_a_shadow_of_enforcing)
{
    static struct rig enforcing, observing;
    rig_init(&enforcing, (enum prebreak_policy)_i);
    rig_init(&observing, (enum prebreak_policy)_i);
    observing.order.observe = true;
    run_beside(&enforcing, &observing);

    struct breaker_view would = rig_view(&observing);
    struct breaker_view did = rig_view(&enforcing);
    ck_assert_uint_gt(did.total_refused, 100);
    ck_assert_uint_eq(would.would_refuse, did.total_refused);
    ck_assert_uint_eq(would.would_refuse_ok + would.would_refuse_failed, would.would_refuse);
    ck_assert_uint_eq(would.total_refused, 0);
    ck_assert_uint_eq(would.outcome[PREBREAK_OK] - would.would_refuse_ok, did.outcome[PREBREAK_OK]);
    ck_assert_uint_eq(would.outcome[PREBREAK_OK] + would.outcome[PREBREAK_FAILED], 20000);
    ck_assert_uint_eq(would.refused, did.refused);
    ck_assert_uint_eq(would.failed, did.failed);
    ck_assert_uint_eq(observing.words.state, enforcing.words.state);
}
END_TEST

START_TEST(a_share_of_the_refusals_is_enforced)
{
    static struct rig enforcing, sharing;
    rig_init(&enforcing, PREBREAK_SRE);
    rig_init(&sharing, PREBREAK_SRE);
    sharing.order.enforce = 65535 / 4;
    run_beside(&enforcing, &sharing);

    uint64_t all = rig_view(&enforcing).total_refused;
    uint64_t share = rig_view(&sharing).total_refused;
    ck_assert_uint_eq(share + rig_view(&sharing).would_refuse, all);
    ck_assert_double_eq_tol((double)share / (double)all, .25, .03);
    ck_assert_uint_eq(sharing.words.state, enforcing.words.state);
}
END_TEST

START_TEST(enforcing_nothing_refuses_nothing)
{
    struct rig *rig = opened();
    struct breaker_call call;
    rig->order.enforce = 0;
    for (unsigned i = 0; i < 1000; i++) {
        rig->who.draw = i * UINT32_C(4294967);
        ck_assert(rig_admit(rig, &call));
        ck_assert(call.would_refuse);
    }
}
END_TEST

START_TEST(what_went_out_against_the_policy_is_not_in_the_table)
{
    struct rig *rig = opened();
    struct breaker_call call;
    rig->order.observe = true;
    ck_assert(rig_admit(rig, &call));
    ck_assert(call.would_refuse && !call.held);
    ck_assert_uint_eq(rig_view(rig).inflight, 0);
    rig->order.hold = PREBREAK_HELD_OPEN;
    ck_assert(rig_admit(rig, &call));
    ck_assert(call.would_refuse && call.held);
}
END_TEST

/* ---- phases ---- */

START_TEST(a_throttle_is_told_when_it_begins_and_when_it_has_lasted)
{
    struct rig *rig = fresh();
    rig_calls(rig, 1, end_ok);
    rig_count(rig, WINDOW_FAILED, 50);
    rig_pass_ms(rig, 20);
    struct breaker_call call;
    ck_assert(rig_admit(rig, &call));
    ck_change(rig, PREBREAK_CLOSED, PREBREAK_THROTTLING, BREAKER_REASON_RATIO);
    ck_assert_uint_eq(rig->change.failed, 50);
    ck_assert_uint_gt(rig->change.drop, 0);
    ck_assert(rig_admit(rig, &call));
    ck_assert_msg(rig->change.from == rig->change.to, "once");

    rig_count(rig, WINDOW_OK, 100);
    rig_pass_ms(rig, 20);
    ck_assert(rig_admit(rig, &call));
    ck_assert_msg(rig->change.from == rig->change.to, "not a hundred times a second");
    ck_assert_int_eq(rig_view(rig).phase, PREBREAK_CLOSED);
    rig_pass_ms(rig, 1000);
    ck_assert(rig_admit(rig, &call));
    ck_change(rig, PREBREAK_THROTTLING, PREBREAK_CLOSED, BREAKER_REASON_RATIO);
    ck_assert_uint_eq(rig_view(rig).transitions, 2);
}
END_TEST

START_TEST(a_change_whose_winner_died_is_told_by_another_a_second_later)
{
    struct rig *rig = fresh();
    struct breaker_call call;
    rig_calls(rig, 1, end_ok);
    rig->words.state = state_make(2, KIND_OPEN, rig_ms(rig));
    ck_assert(!rig_admit(rig, &call));
    ck_assert_uint_eq(rig->change.from, rig->change.to);
    rig_pass_ms(rig, 1001);
    rig_admit(rig, &call);
    ck_change(rig, PREBREAK_CLOSED, PREBREAK_OPEN, BREAKER_REASON_STREAK);
}
END_TEST

START_TEST(transitions_are_counted_from_and_to)
{
    struct rig *rig = opened();
    ck_assert_uint_eq(rig->words.transitions[PREBREAK_CLOSED][PREBREAK_OPEN], 1);
    ck_assert_uint_eq(rig_view(rig).transitions, 1);
    rig_calls(rig, 0, end_ok);
    ck_assert_uint_eq(rig_view(rig).transitions, 1);
}
END_TEST

START_TEST(an_operators_reset_closes_ends_a_pause_and_sets_hang_back)
{
    struct rig *rig = opened();
    struct breaker_view before = rig_view(rig);
    rig->words.pause_until = START + 30 * SECOND;
    rig->words.hang = (uint64_t)~UINT32_C(60000) << 32 | 60000;
    rig->words.answered = 1;
    ck_assert_uint_eq(breaker_hang(&rig->b), 60 * SECOND);

    breaker_reset(&rig->b, &rig->who, &rig->change);
    ck_change(rig, PREBREAK_OPEN, PREBREAK_CLOSED, BREAKER_REASON_OPERATOR);
    struct breaker_view after = rig_view(rig);
    ck_assert_int_eq(after.phase, PREBREAK_CLOSED);
    ck_assert_double_eq(after.drop, 0);
    ck_assert_uint_eq(breaker_hang(&rig->b), 30 * SECOND);
    ck_assert_msg(after.outcome[PREBREAK_FAILED] == before.outcome[PREBREAK_FAILED], "totals stay");
    ck_assert_uint_eq(after.generation, before.generation + 1);
}
END_TEST

/* ---- settings and names ---- */

START_TEST(every_default_is_sound)
{
    struct prebreak_settings set;
    breaker_settings_default((enum prebreak_policy)_i, &set);
    ck_assert(breaker_settings_sound(&set));
    ck_assert_uint_eq(set.policy, _i);
    ck_assert_uint_eq(set.hang, 30 * SECOND);
}
END_TEST

START_TEST(the_defaults_are_those_that_people_know)
{
    struct prebreak_settings sre, aegis, gozero, gobreaker, consecutive;
    breaker_settings_default(PREBREAK_SRE, &sre);
    ck_assert(sre.success == .6 && sre.window == 10 * SECOND && sre.buckets == 10 && sre.min == 10 && sre.trip == 10 &&
              sre.reset == 4 && sre.probe_min == SECOND && sre.probe_max == 5 * SECOND && sre.ramp == SECOND &&
              sre.inflight == 1);
    breaker_settings_default(PREBREAK_AEGIS, &aegis);
    ck_assert(aegis.success == .6 && aegis.window == 3 * SECOND && aegis.buckets == 10 && aegis.min == 100);
    breaker_settings_default(PREBREAK_GOZERO, &gozero);
    ck_assert(gozero.k == 1.5 && gozero.min_k == 1.1 && gozero.window == 10 * SECOND && gozero.buckets == 40 &&
              gozero.protection == 5 && gozero.force_pass == SECOND);
    breaker_settings_default(PREBREAK_GOBREAKER, &gobreaker);
    ck_assert(gobreaker.ratio == .4 && gobreaker.min == 10 && gobreaker.window == 10 * SECOND &&
              gobreaker.open_min == 15 * SECOND && gobreaker.half_open == 3);
    breaker_settings_default(PREBREAK_CONSECUTIVE, &consecutive);
    ck_assert(consecutive.trip == 7 && consecutive.open_min == SECOND && consecutive.open_max == 60 * SECOND &&
              consecutive.jitter == .5);
}
END_TEST

START_TEST(settings_beyond_their_limits_are_unsound)
{
    struct prebreak_settings sound;
    breaker_settings_default(PREBREAK_SRE, &sound);
#define UNSOUND(field, value)                                                                                          \
    do {                                                                                                               \
        struct prebreak_settings set = sound;                                                                          \
        set.field = value;                                                                                             \
        ck_assert_msg(!breaker_settings_sound(&set), #field " = " #value);                                             \
    } while (0)
    UNSOUND(policy, PREBREAK_POLICIES);
    UNSOUND(buckets, 0);
    UNSOUND(buckets, 65);
    UNSOUND(window, 0);
    UNSOUND(window, UINT64_MAX);
    UNSOUND(window, 9 * MS);
    UNSOUND(success, 0);
    UNSOUND(success, 1.01);
    UNSOUND(success, 0.0 / 0.0);
    UNSOUND(k, 1e9);
    UNSOUND(min_k, 2);
    UNSOUND(ratio, -1);
    UNSOUND(jitter, 1.5);
    UNSOUND(min, UINT32_MAX);
    UNSOUND(trip, UINT32_MAX);
    UNSOUND(reset, UINT32_MAX);
    UNSOUND(half_open, 0);
    UNSOUND(inflight, 2);
    UNSOUND(probe_min, 0);
    UNSOUND(probe_min, 6 * SECOND);
    UNSOUND(probe_max, UINT64_MAX);
    UNSOUND(ramp, UINT64_MAX);
    UNSOUND(force_pass, 0);
    UNSOUND(open_min, 0);
    UNSOUND(open_max, UINT64_MAX);
    UNSOUND(hang, UINT64_MAX);
    UNSOUND(pause_max, UINT64_MAX);
#undef UNSOUND
}
END_TEST

START_TEST(everything_has_a_name_and_nothing_else_has)
{
    for (unsigned i = 0; i < PREBREAK_POLICIES; i++) {
        ck_assert_ptr_nonnull(breaker_policy_name(i));
    }
    for (unsigned i = 0; i < PREBREAK_PHASES; i++) {
        ck_assert_ptr_nonnull(breaker_phase_name(i));
    }
    for (unsigned i = 0; i < PREBREAK_KINDS; i++) {
        ck_assert_ptr_nonnull(breaker_kind_name(i));
    }
    for (unsigned i = 0; i < BREAKER_REASONS; i++) {
        ck_assert_ptr_nonnull(breaker_reason_name(i));
    }
    ck_assert_ptr_null(breaker_policy_name(PREBREAK_POLICIES));
    ck_assert_ptr_null(breaker_phase_name(PREBREAK_PHASES));
    ck_assert_ptr_null(breaker_kind_name(PREBREAK_KINDS));
    ck_assert_ptr_null(breaker_reason_name(BREAKER_REASONS));
    ck_assert_str_eq(breaker_phase_name(PREBREAK_HELD_OPEN), "held-open");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("breaker");
    tcase_add_test(tests, zeros_are_a_breaker_that_begins_now);
    tcase_add_test(tests, a_generation_that_begins_in_the_future_is_begun_anew);
    tcase_add_test(tests, a_clock_just_before_since_is_taken_as_since);
    tcase_add_test(tests, a_view_changes_nothing);
    tcase_add_test(tests, every_call_is_in_the_totals_once);
    tcase_add_test(tests, a_call_that_ends_twice_is_counted_once);
    tcase_add_test(tests, a_lost_call_is_neutral);
    tcase_add_test(tests, it_works_without_a_table_of_calls);
    tcase_add_test(tests, first_bytes_are_counted_by_powers_of_two);
    tcase_add_test(tests, nothing_is_overdue_where_no_answer_ever_came);
    tcase_add_test(tests, a_call_hears_that_it_was_overdue);
    tcase_add_loop_test(tests, every_policy_counts_an_overdue_call_as_failed, 0, PREBREAK_POLICIES);
    tcase_add_test(tests, an_event_stream_that_stalled_is_a_failed_stream);
    tcase_add_test(tests, a_learnt_hang_of_random_bits_is_none);
    tcase_add_test(tests, held_open_refuses_and_counts_in_the_totals_only);
    tcase_add_test(tests, held_closed_passes_while_counting_goes_on);
    tcase_add_test(tests, an_obeyed_retry_after_pauses);
    tcase_add_test(tests, deadlines_only_move_later_and_no_further_than_pause_max);
    tcase_add_test(tests, an_ignored_retry_after_is_a_failure_like_any_other);
    tcase_add_test(tests, a_call_of_an_older_generation_asks_for_no_pause);
    tcase_add_test(tests, auto_does_not_pause_while_something_gets_through);
    tcase_add_test(tests, auto_pauses_when_nothing_gets_through_any_more);
    tcase_add_test(tests, a_pause_of_random_bits_is_none);
    tcase_add_test(tests, a_hold_stands_above_a_pause);
    tcase_add_loop_test(tests, observing_is_a_shadow_of_enforcing, 0, PREBREAK_POLICIES);
    tcase_add_test(tests, a_share_of_the_refusals_is_enforced);
    tcase_add_test(tests, enforcing_nothing_refuses_nothing);
    tcase_add_test(tests, what_went_out_against_the_policy_is_not_in_the_table);
    tcase_add_test(tests, a_throttle_is_told_when_it_begins_and_when_it_has_lasted);
    tcase_add_test(tests, a_change_whose_winner_died_is_told_by_another_a_second_later);
    tcase_add_test(tests, transitions_are_counted_from_and_to);
    tcase_add_test(tests, an_operators_reset_closes_ends_a_pause_and_sets_hang_back);
    tcase_add_loop_test(tests, every_default_is_sound, 0, PREBREAK_POLICIES);
    tcase_add_test(tests, the_defaults_are_those_that_people_know);
    tcase_add_test(tests, settings_beyond_their_limits_are_unsound);
    tcase_add_test(tests, everything_has_a_name_and_nothing_else_has);
    return rig_run(tests, "breaker");
}
