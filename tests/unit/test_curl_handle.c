#include "suite.h"
#include "track/curl/handle.h"
#include "track/process.h"

#include <check.h>
#include <pthread.h>
#include <string.h>

/* ---- calls and forks, as far as the table knows them ---------------------------------------------------------------- */

static unsigned ended;
static uint32_t forks;

void call_neutral(struct call *call)
{
    if (call->provider != NULL) {
        ended++;
        call->provider = NULL;
    }
}

uint32_t process_forks(void)
{
    return forks;
}

static bool confined;

bool process_confined(void)
{
    return confined;
}

static struct curl_api api, other_api;
static struct provider *const somebody = (struct provider *)&ended; /* never looked into */

/* Handles are only addresses here. */
static CURL *handle(size_t number)
{
    return (CURL *)(uintptr_t)(0x555500001000 + number * 0x1500);
}

/* ---- what must be so ------------------------------------------------------------------------------------------------ */

START_TEST(unknown_handle_is_not_found)
{
    ck_assert_ptr_null(curl_handle_find(handle(0)));
    ck_assert_ptr_null(curl_handle_find(NULL));
    curl_handle_add(handle(0), &api);
    ck_assert_ptr_null(curl_handle_find(handle(1)));
    ck_assert_ptr_null(curl_handle_find(NULL));
}
END_TEST

START_TEST(under_a_filter_no_table_is_mapped)
{
    confined = true;
    ck_assert_ptr_null(curl_handle_add(handle(0), &api));
    ck_assert_ptr_null(curl_handle_find(handle(0)));
    confined = false;
    ck_assert_ptr_nonnull(curl_handle_add(handle(0), &api));
    confined = true;
    ck_assert_ptr_nonnull(curl_handle_add(handle(1), &api));
}
END_TEST

START_TEST(handle_is_found_until_it_is_removed)
{
    struct curl_handle *added = curl_handle_add(handle(0), &api);

    ck_assert_ptr_nonnull(added);
    ck_assert_ptr_eq(curl_handle_find(handle(0)), added);
    ck_assert_ptr_eq(added->api, &api);
    curl_handle_remove(handle(0));
    ck_assert_ptr_null(curl_handle_find(handle(0)));
    curl_handle_remove(handle(0));
    curl_handle_remove(NULL);
}
END_TEST

START_TEST(handle_of_the_same_address_starts_afresh)
{
    struct curl_handle *first = curl_handle_add(handle(0), &api);

    strcpy(first->options.target.host, "old.example");
    first->refused = 111;
    first->call.provider = somebody;
    curl_handle_under_way(first, curl_host_hash("old.example"));

    /* the first one was freed by a function that we do not see */
    struct curl_handle *second = curl_handle_add(handle(0), &other_api);

    ck_assert_ptr_eq(curl_handle_find(handle(0)), second);
    ck_assert_ptr_eq(second->api, &other_api);
    ck_assert_str_eq(second->options.target.host, "");
    ck_assert_int_eq(second->refused, 0);
    ck_assert_uint_eq(ended, 1);
    ck_assert(!curl_handle_tell_dns("old.example", CURL_DNS_FAILED));
}
END_TEST

START_TEST(removing_a_handle_ends_a_call_that_was_left_in_it)
{
    struct curl_handle *added = curl_handle_add(handle(0), &api);

    added->call.provider = somebody;
    curl_handle_remove(handle(0));
    ck_assert_uint_eq(ended, 1);
}
END_TEST

START_TEST(full_table_knows_no_more_and_forgets_none)
{
    size_t known = 0;

    for (size_t i = 0; i < 2 * CURL_HANDLES; i++) {
        struct curl_handle *added = curl_handle_add(handle(i), &api);

        if (added != NULL) {
            added->refused = (int)i + 1;
            known++;
        }
    }
    ck_assert_uint_gt(known, CURL_HANDLES / 2);
    ck_assert_uint_le(known, CURL_HANDLES);
    for (size_t i = 0; i < 2 * CURL_HANDLES; i++) {
        struct curl_handle *found = curl_handle_find(handle(i));

        ck_assert(found == NULL || found->refused == (int)i + 1);
        known -= found != NULL ? 1 : 0;
        curl_handle_remove(handle(i));
    }
    ck_assert_uint_eq(known, 0);
    ck_assert_ptr_nonnull(curl_handle_add(handle(0), &api));
}
END_TEST

#define THREADS 4
#define ROUNDS  2000

/* Handles of its own, made and freed at random beside the other threads'. */
static void *churn(void *number)
{
    size_t first = (size_t)(uintptr_t)number * 1000;
    uintptr_t good = 1;

    for (size_t i = 0; i < ROUNDS; i++) {
        CURL *easy = handle(first + i % 7);
        struct curl_handle *added = curl_handle_add(easy, &api);

        if (added == NULL) {
            continue;
        }
        added->refused = (int)first + 1;
        good &= curl_handle_find(easy) == added && added->refused == (int)first + 1 ? 1 : 0;
        if (i % 3 != 0) {
            curl_handle_remove(easy);
            good &= curl_handle_find(easy) == NULL ? 1 : 0;
        }
    }
    return (void *)good;
}

START_TEST(threads_keep_their_handles_apart)
{
    pthread_t threads[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, (void *)i), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        void *good = NULL;

        pthread_join(threads[i], &good);
        ck_assert_ptr_nonnull(good);
    }
}
END_TEST

START_TEST(resolver_tells_the_transfers_to_its_host_and_no_others)
{
    struct curl_handle *one = curl_handle_add(handle(0), &api);
    struct curl_handle *two = curl_handle_add(handle(1), &api);
    struct curl_handle *three = curl_handle_add(handle(2), &api);

    ck_assert(!curl_handle_tell_dns("a.example", CURL_DNS_FAILED));
    curl_handle_under_way(one, curl_host_hash("a.example"));
    curl_handle_under_way(two, curl_host_hash("b.example"));
    curl_handle_under_way(three, curl_host_hash("a.example"));
    ck_assert(!curl_handle_tell_dns("c.example", CURL_DNS_FAILED));
    ck_assert(!curl_handle_tell_dns("", CURL_DNS_FAILED));
    ck_assert(curl_handle_tell_dns("a.example", CURL_DNS_FAILED));
    ck_assert_int_eq(one->dns, CURL_DNS_FAILED);
    ck_assert_int_eq(two->dns, CURL_DNS_FINE);
    ck_assert_int_eq(three->dns, CURL_DNS_FAILED);

    curl_handle_under_way(one, 0);
    curl_handle_under_way(three, 0);
    ck_assert(!curl_handle_tell_dns("a.example", CURL_DNS_FAILED));
    curl_handle_under_way(one, curl_host_hash("a.example"));
    ck_assert_int_eq(one->dns, CURL_DNS_FINE);
}
END_TEST

START_TEST(transfers_of_the_parent_are_not_told_in_the_child)
{
    struct curl_handle *one = curl_handle_add(handle(0), &api);

    curl_handle_under_way(one, curl_host_hash("a.example"));
    forks = 1;
    ck_assert(!curl_handle_tell_dns("a.example", CURL_DNS_FAILED));
    curl_handle_under_way(one, 0);
    curl_handle_under_way(one, curl_host_hash("b.example"));
    ck_assert(curl_handle_tell_dns("b.example", CURL_DNS_FAILED));
    curl_handle_under_way(one, 0);
    ck_assert(!curl_handle_tell_dns("b.example", CURL_DNS_FAILED));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        unknown_handle_is_not_found,
        under_a_filter_no_table_is_mapped,
        handle_is_found_until_it_is_removed,
        handle_of_the_same_address_starts_afresh,
        removing_a_handle_ends_a_call_that_was_left_in_it,
        full_table_knows_no_more_and_forgets_none,
        threads_keep_their_handles_apart,
        resolver_tells_the_transfers_to_its_host_and_no_others,
        transfers_of_the_parent_are_not_told_in_the_child,
    };
    Suite *suite = suite_create("curl handles");
    TCase *tcase = tcase_create("curl handles");

    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
