/*
 * What is known of TLS objects. Of ClientHellos see test_plain.c.
 */
#include "suite.h"
#include "track/tls/ties.h"
#include "track/flow/fdtable.h"
#include "track/process.h"

#include <check.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 20000

static char objects[MANY][64]; /* stand at addresses as malloc's do */

static void set_up(void)
{
    setenv("PREBREAK_STATE", "private", 1);
    process_init();
    (void)process_forks(); /* the memory below is this process's from now on */
}

START_TEST(object_has_its_mark_and_its_library)
{
    uint64_t mark = UINT64_C(7) << 32 | FD_STREAM | 42;
    ck_assert(tls_tie_set(objects[0], TLS_TIE(mark, 3)));
    ck_assert_uint_eq(TLS_MARK(tls_tie(objects[0])), mark);
    ck_assert_uint_eq(TLS_LIBRARY(tls_tie(objects[0])), 3);
    ck_assert_uint_eq(tls_tie(objects[1]), 0);
}
END_TEST

START_TEST(object_is_what_was_said_of_it_last)
{
    ck_assert(tls_tie_set(objects[0], TLS_TIE(1, 1)));
    ck_assert(tls_tie_set(objects[0], TLS_TIE(FD_UPPER, 2)));
    ck_assert_uint_eq(tls_tie(objects[0]), TLS_TIE(FD_UPPER, 2));
}
END_TEST

START_TEST(object_that_is_gone_is_not_known)
{
    ck_assert(tls_tie_set(objects[0], TLS_TIE(1, 1)));
    tls_tie_forget(objects[0]);
    tls_tie_forget(objects[1]);
    tls_tie_forget(NULL);
    ck_assert_uint_eq(tls_tie(objects[0]), 0);
    ck_assert(!tls_tie_set(NULL, 1));
    ck_assert_uint_eq(tls_tie(NULL), 0);
}
END_TEST

START_TEST(full_table_knows_each_object_rightly_or_not_at_all)
{
    size_t known = 0;
    for (uint64_t i = 0; i < MANY; i++) {
        known += tls_tie_set(objects[i], i + 1) ? 1 : 0;
    }
    ck_assert_uint_gt(known, 2000);
    ck_assert_uint_lt(known, MANY);
    size_t found = 0;
    for (uint64_t i = 0; i < MANY; i++) {
        uint64_t tie = tls_tie(objects[i]);
        ck_assert(tie == 0 || tie == i + 1);
        found += tie != 0 ? 1 : 0;
    }
    ck_assert_uint_eq(found, known);
    /* And there is room again for whoever comes when they are gone. */
    for (size_t i = 0; i < MANY; i++) {
        tls_tie_forget(objects[i]);
    }
    for (size_t i = 0; i < 100; i++) {
        ck_assert(tls_tie_set(objects[i], 1));
    }
}
END_TEST

START_TEST(forked_child_knows_no_object_of_its_parents)
{
    ck_assert(tls_tie_set(objects[0], TLS_TIE(1, 1)));
    pid_t child = fork();
    if (child == 0) {
        bool clean = tls_tie(objects[0]) == 0 && tls_tie_set(objects[0], 5) && tls_tie(objects[0]) == 5;
        _exit(clean ? 0 : 1);
    }
    int status = 1;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(tls_tie(objects[0]), TLS_TIE(1, 1));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tls_ties");
    TCase *tcase = tcase_create("tls_ties");
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, object_has_its_mark_and_its_library);
    tcase_add_test(tcase, object_is_what_was_said_of_it_last);
    tcase_add_test(tcase, object_that_is_gone_is_not_known);
    tcase_add_test(tcase, full_table_knows_each_object_rightly_or_not_at_all);
    tcase_add_test(tcase, forked_child_knows_no_object_of_its_parents);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
