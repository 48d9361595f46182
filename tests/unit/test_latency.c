/* What is usual for a key's first bytes: learnt from period to period, and no provider's own slowness counts for it. */
#include "breaker/latency.h"
#include "rig.h"
#include <math.h>
#include <pthread.h>

#define WINDOW (10 * SECOND)
#define TIMES  5000 /* five times what is usual */
#define ENOUGH 20
#define FIFTH  0.21 /* half a bucket of half an octave, at worst */

static struct prebreak_breaker words;
static uint64_t now;

static void setup(void)
{
    memset(&words, 0, sizeof words);
    now = START;
}

static bool answer(uint64_t latency)
{
    return latency_slow(&words, WINDOW, now, latency, TIMES);
}

/* So many answers spread over a window that begins now. Returns how many of them were slow. */
static unsigned a_window_of(unsigned answers, uint64_t latency)
{
    unsigned slow = 0;
    for (unsigned i = 0; i < answers; i++) {
        now += WINDOW / answers;
        slow += answer(latency);
    }
    return slow;
}

static void given_usual(uint64_t latency)
{
    a_window_of(2, latency);
    a_window_of(100, latency);
    a_window_of(2, latency);
    ck_assert_uint_ne(latency_usual(&words), 0);
}

static void check_near(uint64_t found, uint64_t expected, double share)
{
    ck_assert_msg(fabs((double)found - (double)expected) <= share * (double)expected, "%g ms, expected about %g ms",
                  (double)found / (double)MS, (double)expected / (double)MS);
}

/* ---- learning ---------------------------------------------------------------------------------------------------- */

START_TEST(nothing_is_slow_before_anything_is_usual)
{
    ck_assert(!answer(300 * SECOND));
    ck_assert_uint_eq(latency_usual(&words), 0);
}
END_TEST

START_TEST(a_window_with_enough_answers_is_learnt_from_when_it_is_over)
{
    for (unsigned i = 0; i < ENOUGH; i++) {
        answer(100 * MS);
        now += MS;
    }
    now = START + WINDOW - 1;
    answer(100 * MS);
    ck_assert_uint_eq(latency_usual(&words), 0);
    now = START + WINDOW;
    ck_assert_msg(!answer(400 * MS), "below five times as long");
    check_near(latency_usual(&words), 100 * MS, FIFTH);
    ck_assert(answer(700 * MS));
}
END_TEST

START_TEST(one_answer_less_is_not_enough)
{
    for (unsigned i = 0; i < ENOUGH - 1; i++) {
        answer(100 * MS);
    }
    now += WINDOW;
    answer(100 * MS);
    ck_assert_uint_eq(latency_usual(&words), 0);
}
END_TEST

static const uint64_t latencies[] = {1 * MS,   2 * MS,   3 * MS,    9 * MS,    16 * MS,     23 * MS,
                                     100 * MS, 333 * MS, 1000 * MS, 2500 * MS, 20 * SECOND, 250 * SECOND};

START_TEST(what_is_usual_is_right_by_a_fifth)
{
    given_usual(latencies[_i]);
    check_near(latency_usual(&words), latencies[_i], FIFTH);
}
END_TEST

START_TEST(a_median_lies_between_the_halves)
{
    answer(1 * MS);
    for (unsigned i = 0; i < 500; i++) {
        answer(50 * MS);
        answer(51 * MS);
        answer(3000 * MS);
        answer(10 * MS);
        answer(70 * MS);
    }
    now += WINDOW;
    answer(1 * MS);
    check_near(latency_usual(&words), 51 * MS, FIFTH);
}
END_TEST

START_TEST(times_within_a_bucket_are_taken_as_spread)
{
    for (uint64_t ms = 64; ms < 90; ms++) {
        for (unsigned i = 0; i < 10; i++) {
            answer(ms * MS);
        }
    }
    now += WINDOW;
    answer(1 * MS);
    check_near(latency_usual(&words), 77 * MS, 0.02);
}
END_TEST

START_TEST(slow_traffic_is_given_ten_windows)
{
    for (unsigned i = 0; i < ENOUGH; i++) {
        answer(100 * MS);
        now += WINDOW / 4;
    }
    answer(100 * MS);
    check_near(latency_usual(&words), 100 * MS, FIFTH);
}
END_TEST

START_TEST(slower_traffic_never_says_what_is_usual)
{
    for (unsigned i = 0; i < 10 * ENOUGH; i++) {
        answer(100 * MS);
        now += WINDOW;
    }
    ck_assert_uint_eq(latency_usual(&words), 0);
}
END_TEST

START_TEST(a_flood_of_other_answers_does_not_outweigh_a_full_bucket)
{
    for (unsigned i = 0; i < 5000; i++) {
        answer(10 * MS);
    }
    for (unsigned i = 0; i < 3000; i++) {
        answer(500 * MS);
    }
    now += WINDOW;
    answer(10 * MS);
    check_near(latency_usual(&words), 10 * MS, FIFTH);
}
END_TEST

/* ---- a provider that changes ------------------------------------------------------------------------------------- */

START_TEST(a_provider_that_turns_slow_does_not_raise_its_own_measure)
{
    given_usual(100 * MS);
    for (unsigned window = 0; window < 8; window++) {
        ck_assert_uint_eq(a_window_of(50, 1000 * MS), 50);
    }
}
END_TEST

START_TEST(a_provider_that_stays_slow_is_usual_in_the_end)
{
    given_usual(100 * MS);
    unsigned windows = 0;
    while (a_window_of(50, 1000 * MS) != 0) {
        ck_assert_uint_lt(++windows, 20);
    }
    ck_assert_uint_gt(windows, 8);
}
END_TEST

START_TEST(neither_is_one_of_which_only_probes_are_seen)
{
    given_usual(100 * MS);
    unsigned windows = 0;
    while (a_window_of(1, 1000 * MS) != 0) { /* ten seconds apart: never enough to learn from */
        ck_assert_uint_lt(++windows, 25);
    }
    ck_assert_uint_gt(windows, 8);
    ck_assert_uint_eq(a_window_of(1, 1000 * MS), 0);
}
END_TEST

START_TEST(a_third_of_slow_answers_stays_slow)
{
    given_usual(100 * MS);
    for (unsigned third = 0; third < 4000; third++) {
        ck_assert(!answer(100 * MS) && !answer(100 * MS));
        ck_assert(answer(1000 * MS));
        now += WINDOW / 20;
    }
}
END_TEST

START_TEST(a_provider_that_turns_quick_is_held_to_it_at_once)
{
    given_usual(1000 * MS);
    a_window_of(50, 100 * MS);
    a_window_of(50, 100 * MS);
    check_near(latency_usual(&words), 100 * MS, FIFTH);
    ck_assert(answer(800 * MS));
}
END_TEST

START_TEST(a_small_change_is_followed_within_a_window)
{
    given_usual(100 * MS);
    ck_assert_uint_eq(a_window_of(50, 150 * MS), 0);
    for (unsigned window = 0; window < 8; window++) {
        a_window_of(50, 150 * MS);
    }
    check_near(latency_usual(&words), 150 * MS, FIFTH);
}
END_TEST

START_TEST(what_was_usual_is_forgotten_over_night)
{
    given_usual(100 * MS);
    now += 8 * 3600 * SECOND;
    ck_assert_msg(!answer(20 * SECOND), "the first of the morning");
    ck_assert_uint_eq(latency_usual(&words), 0);
}
END_TEST

START_TEST(what_is_usual_survives_a_short_lull)
{
    given_usual(100 * MS);
    now += 3 * WINDOW;
    ck_assert(answer(20 * SECOND));
}
END_TEST

/* ---- what is slow ------------------------------------------------------------------------------------------------ */

START_TEST(what_the_clock_cannot_tell_is_not_slow)
{
    given_usual(MS / 2);
    ck_assert(!answer(20 * MS));
    ck_assert(answer(21 * MS));
}
END_TEST

START_TEST(an_operators_reset_forgets_what_is_usual)
{
    struct rig *rig = rig_new(PREBREAK_SRE);
    for (unsigned i = 0; i <= ENOUGH; i++) {
        breaker_slow(&rig->b, rig->who.now, 100 * MS, TIMES);
    }
    rig->who.now += rig->set.window;
    ck_assert(breaker_slow(&rig->b, rig->who.now, SECOND, TIMES));
    breaker_reset(&rig->b, &rig->who, &rig->change);
    ck_assert(!breaker_slow(&rig->b, rig->who.now, SECOND, TIMES));
    struct breaker_first_bytes seen;
    breaker_first_bytes(&rig->b, &seen);
    ck_assert_uint_eq(seen.usual, 0);
}
END_TEST

START_TEST(an_answer_that_was_ok_and_slow_is_counted_as_both)
{
    struct rig *rig = rig_new(PREBREAK_SRE);
    rig_call(rig, (struct breaker_end){.outcome = PREBREAK_OK, .answered = true, .slow = true});
    rig_call(rig, (struct breaker_end){.outcome = PREBREAK_FAILED, .kind = PREBREAK_KIND_SLOW, .slow = true});
    rig_call(rig, end_ok);
    struct breaker_first_bytes seen;
    breaker_first_bytes(&rig->b, &seen);
    struct breaker_view view = rig_view(rig);
    ck_assert_uint_eq(seen.slow, 1);
    ck_assert_uint_eq(view.outcome[PREBREAK_OK], 2);
    ck_assert_uint_eq(view.failures[PREBREAK_KIND_SLOW], 1);
    ck_assert_uint_eq(view.failed, 1);
}
END_TEST

/* ---- whatever stands there --------------------------------------------------------------------------------------- */

START_TEST(a_clock_that_is_a_tick_behind_changes_nothing)
{
    given_usual(100 * MS);
    uint64_t period = words.period;
    now = bits_get(period, 0, 49) * MS - 4 * MS;
    ck_assert(answer(1000 * MS));
    ck_assert_uint_eq(words.period, period);
}
END_TEST

START_TEST(a_period_from_the_future_ends_at_once)
{
    given_usual(100 * MS);
    words.period |= bits_mask(49);
    answer(100 * MS);
    ck_assert_uint_eq(bits_get(words.period, 0, 49), now / MS);
}
END_TEST

START_TEST(words_of_random_bits_heal)
{
    uint64_t random = 88172645463325252u;
    for (unsigned i = 0; i < 3000; i++) {
        uint64_t *at = (uint64_t *)(void *)&words;
        for (size_t j = 0; j < sizeof words / sizeof *at; j++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            at[j] = random;
        }
        now = START + random % (1000 * SECOND);
        /* Now and then the bits of a count pass for this period's, and teach what then has to be unlearnt. */
        for (unsigned window = 0; window < 100 && (window < 3 || latency_usual(&words) < 90 * MS); window++) {
            a_window_of(25, 100 * MS);
        }
        check_near(latency_usual(&words), 100 * MS, FIFTH);
    }
}
END_TEST

START_TEST(who_comes_late_for_a_period_does_not_empty_the_next)
{
    given_usual(100 * MS);
    uint64_t next = (words.period >> 50) + 1;
    words.recent[2] = next << 50 | 7; /* counted by somebody who has begun it meanwhile */
    for (unsigned bucket = 0; bucket < 40; bucket++) {
        answer(MS << bucket / 2);
    }
    ck_assert_uint_eq(words.recent[2], next << 50 | 7);
}
END_TEST

#define THREADS 4
#define EACH    200

static void *answers_of_a_thread(void *context)
{
    for (unsigned i = 0; i < EACH; i++) {
        latency_slow(&words, WINDOW, START, (uintptr_t)context * 16 * MS + MS, TIMES);
    }
    return NULL;
}

START_TEST(no_threads_answer_is_lost)
{
    pthread_t thread[THREADS];
    latency_slow(&words, WINDOW, START, 100 * SECOND, TIMES);
    for (uintptr_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&thread[i], NULL, answers_of_a_thread, (void *)i), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    uint64_t counted = 0;
    for (unsigned i = 0; i < PREBREAK_RECENT; i++) {
        for (unsigned j = 0; j < 5; j++) {
            counted += words.recent[i] >> 50 == words.period >> 50 ? bits_get(words.recent[i], j * 10, 10) : 0;
        }
    }
    ck_assert_uint_eq(counted, THREADS * EACH + 1);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("latency");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, nothing_is_slow_before_anything_is_usual);
    tcase_add_test(tests, a_window_with_enough_answers_is_learnt_from_when_it_is_over);
    tcase_add_test(tests, one_answer_less_is_not_enough);
    tcase_add_loop_test(tests, what_is_usual_is_right_by_a_fifth, 0, (int)(sizeof latencies / sizeof *latencies));
    tcase_add_test(tests, a_median_lies_between_the_halves);
    tcase_add_test(tests, times_within_a_bucket_are_taken_as_spread);
    tcase_add_test(tests, slow_traffic_is_given_ten_windows);
    tcase_add_test(tests, slower_traffic_never_says_what_is_usual);
    tcase_add_test(tests, a_flood_of_other_answers_does_not_outweigh_a_full_bucket);
    tcase_add_test(tests, a_provider_that_turns_slow_does_not_raise_its_own_measure);
    tcase_add_test(tests, a_provider_that_stays_slow_is_usual_in_the_end);
    tcase_add_test(tests, neither_is_one_of_which_only_probes_are_seen);
    tcase_add_test(tests, a_third_of_slow_answers_stays_slow);
    tcase_add_test(tests, a_provider_that_turns_quick_is_held_to_it_at_once);
    tcase_add_test(tests, a_small_change_is_followed_within_a_window);
    tcase_add_test(tests, what_was_usual_is_forgotten_over_night);
    tcase_add_test(tests, what_is_usual_survives_a_short_lull);
    tcase_add_test(tests, what_the_clock_cannot_tell_is_not_slow);
    tcase_add_test(tests, an_operators_reset_forgets_what_is_usual);
    tcase_add_test(tests, an_answer_that_was_ok_and_slow_is_counted_as_both);
    tcase_add_test(tests, a_clock_that_is_a_tick_behind_changes_nothing);
    tcase_add_test(tests, a_period_from_the_future_ends_at_once);
    tcase_add_test(tests, words_of_random_bits_heal);
    tcase_add_test(tests, who_comes_late_for_a_period_does_not_empty_the_next);
    tcase_add_test(tests, no_threads_answer_is_lost);
    return rig_run(tests, "latency");
}
