#include "rig.h"
#include <pthread.h>

#define GENERATION 7u

static prebreak_word words[PREBREAK_WINDOW_WORDS];
static prebreak_word state;

static struct window ring(uint32_t buckets, uint32_t slice)
{
    return (struct window){
        .words = words, .state = &state, .buckets = buckets, .generation = GENERATION, .slice = slice};
}

static void setup(void)
{
    memset(words, 0, sizeof words);
    state = state_make(GENERATION, KIND_CLOSED, 0);
}

static uint64_t ok_of(struct window window)
{
    return window_sum(&window, window.buckets).ok;
}

static void add(struct window window, unsigned n, enum window_count which)
{
    for (unsigned i = 0; i < n; i++) {
        window_add(&window, i, which);
    }
}

/* ---- slices ------------------------------------------------------------------------------------------------------ */

START_TEST(the_counts_are_kept_apart)
{
    add(ring(10, 100), 3, WINDOW_OK);
    add(ring(10, 101), 5, WINDOW_FAILED);
    add(ring(10, 101), 7, WINDOW_REFUSED);
    struct window window = ring(10, 101);
    struct window_sum sum = window_sum(&window, 10);
    ck_assert_uint_eq(sum.ok, 3);
    ck_assert_uint_eq(sum.failed, 5);
    ck_assert_uint_eq(sum.refused, 7);
    ck_assert_uint_eq(window_sum(&window, 1).ok, 0);
    ck_assert_uint_eq(window_slice(&window, 1).ok, 3);
    ck_assert_uint_eq(window_slice(&window, 0).failed, 5);
}
END_TEST

START_TEST(a_slice_counts_until_it_is_a_window_old)
{
    static const uint32_t buckets[] = {1, 2, 10, 21, 40, 64};
    uint32_t n = buckets[_i];
    add(ring(n, 1000), 4, WINDOW_OK);
    for (uint32_t age = 0; age < n; age++) {
        ck_assert_uint_eq(ok_of(ring(n, 1000 + age)), 4);
    }
    ck_assert_msg(ok_of(ring(n, 1000 + n)) == 0, "gone although nobody wrote");
    ck_assert_uint_eq(ok_of(ring(n, 1000 + 1000 * n)), 0);
}
END_TEST

START_TEST(a_new_slice_takes_the_place_of_the_one_a_window_before)
{
    add(ring(10, 100), 4, WINDOW_OK);
    add(ring(10, 110), 1, WINDOW_OK);
    ck_assert_uint_eq(ok_of(ring(10, 110)), 1);
}
END_TEST

START_TEST(a_count_for_an_overtaken_slice_is_dropped)
{
    add(ring(10, 110), 1, WINDOW_OK);
    add(ring(10, 100), 4, WINDOW_OK);
    ck_assert_uint_eq(ok_of(ring(10, 110)), 1);
}
END_TEST

START_TEST(a_slice_from_far_ahead_is_replaced)
{
    add(ring(10, 120), 1, WINDOW_OK);
    add(ring(10, 100), 4, WINDOW_OK);
    ck_assert_uint_eq(ok_of(ring(10, 100)), 4);
}
END_TEST

START_TEST(a_reader_whose_clock_lags_sees_the_newest_slice)
{
    add(ring(10, 101), 4, WINDOW_OK);
    ck_assert_uint_eq(ok_of(ring(10, 100)), 4);
    ck_assert_msg(ok_of(ring(10, 99)) == 0, "but none from further ahead");
}
END_TEST

START_TEST(slice_numbers_wrap)
{
    uint32_t last = (1u << WINDOW_SLICE_BITS) - 1;
    add(ring(8, last), 4, WINDOW_OK); /* eight: so that the place of a number goes on over the wrap */
    add(ring(8, 0), 2, WINDOW_OK);
    ck_assert_uint_eq(ok_of(ring(8, 3)), 6);
    ck_assert_uint_eq(ok_of(ring(8, 7)), 2);
}
END_TEST

START_TEST(counts_saturate)
{
    add(ring(10, 100), 1, WINDOW_OK);
    for (unsigned i = 0; i < PREBREAK_WINDOW_WORDS; i++) {
        words[i] |= words[i] ? bits_mask(WINDOW_COUNT_BITS) - 1 : 0;
    }
    add(ring(10, 100), 3, WINDOW_OK);
    /* One ring was full, the other two callers went to rings of their own. */
    ck_assert_uint_eq(ok_of(ring(10, 100)), bits_mask(WINDOW_COUNT_BITS) + 2);
}
END_TEST

/* ---- generations ------------------------------------------------------------------------------------------------- */

START_TEST(counts_of_another_generation_are_not_seen)
{
    add(ring(10, 100), 4, WINDOW_OK);
    struct window next = ring(10, 100);
    next.generation = GENERATION + 1;
    ck_assert_uint_eq(ok_of(next), 0);
    ck_assert_uint_eq(window_slice(&next, 0).ok, 0);
}
END_TEST

START_TEST(a_new_generation_overwrites)
{
    add(ring(10, 100), 4, WINDOW_OK);
    struct window next = ring(10, 100);
    next.generation = GENERATION + 1;
    state = state_make(GENERATION + 1, KIND_OPEN, 0);
    window_add(&next, 0, WINDOW_OK);
    ck_assert_uint_eq(ok_of(next), 1);
}
END_TEST

START_TEST(a_straggler_of_an_older_generation_never_overwrites)
{
    struct window next = ring(10, 100);
    next.generation = GENERATION + 1;
    state = state_make(GENERATION + 1, KIND_OPEN, 0);
    add(next, 4, WINDOW_OK);
    add(ring(10, 100), 4, WINDOW_OK);
    ck_assert_uint_eq(ok_of(next), 4);
    ck_assert_uint_eq(ok_of(ring(10, 100)), 0);
}
END_TEST

/* ---- threads ----------------------------------------------------------------------------------------------------- */

#define THREADS 4
#define ADDS    20000

static void *adder(void *arg)
{
    uint32_t shard = (uint32_t)(uintptr_t)arg;
    for (unsigned i = 0; i < ADDS; i++) {
        struct window window = ring(10, 100 + i * 9 / ADDS);
        window_add(&window, shard, WINDOW_OK);
    }
    return NULL;
}

START_TEST(no_count_is_lost_between_threads)
{
    pthread_t thread[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        /* Two to a shard. */
        ck_assert_int_eq(pthread_create(&thread[i], NULL, adder, (void *)(i / 2)), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    ck_assert_uint_eq(ok_of(ring(10, 108)), THREADS * ADDS);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("window");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, the_counts_are_kept_apart);
    tcase_add_loop_test(tests, a_slice_counts_until_it_is_a_window_old, 0, 6);
    tcase_add_test(tests, a_new_slice_takes_the_place_of_the_one_a_window_before);
    tcase_add_test(tests, a_count_for_an_overtaken_slice_is_dropped);
    tcase_add_test(tests, a_slice_from_far_ahead_is_replaced);
    tcase_add_test(tests, a_reader_whose_clock_lags_sees_the_newest_slice);
    tcase_add_test(tests, slice_numbers_wrap);
    tcase_add_test(tests, counts_saturate);
    tcase_add_test(tests, counts_of_another_generation_are_not_seen);
    tcase_add_test(tests, a_new_generation_overwrites);
    tcase_add_test(tests, a_straggler_of_an_older_generation_never_overwrites);
    tcase_add_test(tests, no_count_is_lost_between_threads);
    return rig_run(tests, "window");
}
