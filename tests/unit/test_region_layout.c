/*
 * The layout of the region is a contract: numbers at compile time (region_layout.h), and words that are changed by one
 * instruction.
 */
#include "region_layout.h"
#include <check.h>
#include <stdlib.h>

START_TEST(a_word_is_changed_by_one_instruction)
{
    static prebreak_word word;

    ck_assert(__atomic_is_lock_free(sizeof word, &word));
}
END_TEST

START_TEST(no_word_is_cut_by_a_cache_line)
{
    ck_assert_uint_eq(_Alignof(prebreak_word), 8);
    ck_assert_uint_eq(_Alignof(prebreak_real), 8);
    ck_assert_uint_eq(_Alignof(struct prebreak_region), 64);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("layout");
    TCase *layout = tcase_create("layout");
    SRunner *runner;
    int failed;

    tcase_add_test(layout, a_word_is_changed_by_one_instruction);
    tcase_add_test(layout, no_word_is_cut_by_a_cache_line);
    suite_add_tcase(suite, layout);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
