/*
 * A pool's records: each is somebody's alone, until it is given back.
 */
#include "suite.h"
#include "track/flow/pool.h"
#include "track/process.h"
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct record {
    struct pooled pooled;
    uint32_t owner;
};

static const struct pool_kind kind = {sizeof(struct record), 2};
static struct pool pool;

#define ALL (POOL_CHUNKS * 2)

static void set_up(void)
{
    setenv("PREBREAK_STATE", "private", 1);
    process_init();
}

static struct record *at(uint32_t number)
{
    return pool_at(&pool, &kind, number);
}

START_TEST(every_record_is_taken_once_and_then_there_are_no_more)
{
    for (uint32_t i = 0; i < ALL; i++) {
        uint32_t number = pool_take(&pool, &kind);
        ck_assert_ptr_nonnull(at(number));
        ck_assert_uint_eq(at(number)->owner, 0);
        at(number)->owner = 1;
    }
    ck_assert_uint_eq(pool_take(&pool, &kind), 0);
    pool_give_back(&pool, &kind, 7);
    ck_assert_uint_eq(pool_take(&pool, &kind), 7);
    ck_assert_uint_eq(pool_take(&pool, &kind), 0);
}
END_TEST

START_TEST(number_that_was_never_taken_is_nothing)
{
    ck_assert_ptr_null(at(0));
    ck_assert_ptr_null(at(1));
    ck_assert_ptr_null(at(ALL + 1));
    ck_assert_ptr_null(at(UINT32_MAX));
}
END_TEST

static void *take_and_give_back(void *owner)
{
    uint32_t taken[3];
    for (unsigned round = 0; round < 20000; round++) {
        for (unsigned i = 0; i < 3; i++) {
            taken[i] = pool_take(&pool, &kind);
            ck_assert_uint_ne(taken[i], 0);
            ck_assert_uint_eq(__atomic_exchange_n(&at(taken[i])->owner, (uint32_t)(uintptr_t)owner, __ATOMIC_RELAXED),
                              0);
        }
        for (unsigned i = 0; i < 3; i++) {
            __atomic_store_n(&at(taken[i])->owner, 0, __ATOMIC_RELAXED);
            pool_give_back(&pool, &kind, taken[i]);
        }
    }
    return NULL;
}

START_TEST(threads_never_share_a_record)
{
    pthread_t threads[3];
    for (uintptr_t i = 0; i < 3; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_and_give_back, (void *)(i + 1)), 0);
    }
    for (unsigned i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pool");
    TCase *tcase = tcase_create("pool");
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, every_record_is_taken_once_and_then_there_are_no_more);
    tcase_add_test(tcase, number_that_was_never_taken_is_nothing);
    tcase_add_test(tcase, threads_never_share_a_record);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
