/*
 * The layout of the region is a contract: numbers at compile time (region_layout.h), and words that are changed by one
 * instruction.
 */
#include "suite.h"
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

    tcase_add_test(layout, a_word_is_changed_by_one_instruction);
    tcase_add_test(layout, no_word_is_cut_by_a_cache_line);
    suite_add_tcase(suite, layout);
    return suite_run(suite);
}
