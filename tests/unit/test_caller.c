#include "suite.h"
#include "real/real.h"

#include <check.h>
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

/* ISO C knows no way between the two kinds of pointer. */
static const void *address_of(int (*function)(void))
{
    const void *address;

    memcpy(&address, &function, sizeof address);
    return address;
}

static int of_the_program(void)
{
    return 0;
}

/* A library that the program is not linked to, loaded where only its loader sees it. */
static void *load_unseen(void **function)
{
    void *handle = dlopen("libz.so.1", RTLD_LAZY | RTLD_LOCAL);

    ck_assert_ptr_nonnull(handle);
    ck_assert_ptr_null(dlsym(RTLD_DEFAULT, "inflate"));
    *function = dlsym(handle, "inflate");
    ck_assert_ptr_nonnull(*function);
    return handle;
}

START_TEST(program_gets_what_the_loader_would_have_given_it)
{
    void *found = real_by_caller("strtol", address_of(of_the_program));

    ck_assert_ptr_nonnull(found);
    ck_assert_ptr_eq(found, dlsym(RTLD_DEFAULT, "strtol"));
    ck_assert_ptr_eq(real_by_caller("strtol", address_of(of_the_program)), found);
}
END_TEST

START_TEST(library_that_was_loaded_unseen_gets_its_own)
{
    void *inflate = NULL;

    load_unseen(&inflate);
    ck_assert_ptr_null(real_by_caller("inflate", address_of(of_the_program)));
    ck_assert_ptr_eq(real_by_caller("inflate", inflate), inflate);
    ck_assert_ptr_eq(real_by_caller("inflate", inflate), inflate);
}
END_TEST

START_TEST(what_was_found_stays_loaded)
{
    void *inflate = NULL;
    void *handle = load_unseen(&inflate);

    ck_assert_ptr_eq(real_by_caller("inflate", inflate), inflate);
    ck_assert_int_eq(dlclose(handle), 0);
    ck_assert_ptr_nonnull(dlopen("libz.so.1", RTLD_LAZY | RTLD_NOLOAD));
}
END_TEST

START_TEST(name_that_nobody_has_is_not_found)
{
    ck_assert_ptr_null(real_by_caller("no_such_function", address_of(of_the_program)));
    ck_assert_ptr_null(real_by_caller("no_such_function", address_of(of_the_program)));
}
END_TEST

START_TEST(what_was_found_holds_until_an_object_is_unloaded)
{
    ck_assert_ptr_null(real_by_caller("inflate", address_of(of_the_program)));
    void *handle = dlopen("libz.so.1", RTLD_LAZY | RTLD_GLOBAL);

    ck_assert_ptr_nonnull(handle);
    ck_assert_ptr_null(real_by_caller("inflate", address_of(of_the_program)));
    real_unloaded();
    ck_assert_ptr_eq(real_by_caller("inflate", address_of(of_the_program)), dlsym(handle, "inflate"));
}
END_TEST

START_TEST(room_is_made_by_unloading)
{
    static char names[200][4];

    for (size_t i = 0; i < 200; i++) {
        memcpy(names[i], (char[]){'~', (char)('a' + i / 15), (char)('a' + i % 15), '\0'}, 4);
        real_unloaded();
        ck_assert_ptr_null(real_by_caller(names[i], address_of(of_the_program)));
    }
    /* Had there been no room for it, it would be found now. */
    ck_assert_ptr_null(real_by_caller("inflate", address_of(of_the_program)));
    ck_assert_ptr_nonnull(dlopen("libz.so.1", RTLD_LAZY | RTLD_GLOBAL));
    ck_assert_ptr_null(real_by_caller("inflate", address_of(of_the_program)));
}
END_TEST

START_TEST(caller_that_lies_nowhere_is_bound_as_the_program_is)
{
    int here = 0;

    ck_assert_ptr_eq(real_by_caller("strtol", &here), dlsym(RTLD_DEFAULT, "strtol"));
    ck_assert_ptr_eq(real_by_caller("strtol", NULL), dlsym(RTLD_DEFAULT, "strtol"));
}
END_TEST

START_TEST(beside_a_function_are_those_of_its_own_library)
{
    void *inflate = NULL;
    void *handle = load_unseen(&inflate);

    ck_assert_ptr_eq(real_beside("deflate", inflate), dlsym(handle, "deflate"));
    ck_assert_ptr_null(real_beside("strtol", inflate)); /* its handle finds libc's as well */
    ck_assert_ptr_null(real_beside("no_such_function", inflate));
}
END_TEST

START_TEST(range_holds_the_whole_object_and_no_other)
{
    struct real_range range = real_range_of(address_of(of_the_program));
    uintptr_t inside = (uintptr_t)address_of(of_the_program), outside = (uintptr_t)dlsym(RTLD_DEFAULT, "strtol");

    ck_assert(range.from <= inside && inside < range.to);
    ck_assert(outside < range.from || outside >= range.to);
    range = real_range_of(&range);
    ck_assert_uint_eq(range.from, range.to);
}
END_TEST

START_TEST(more_callers_than_are_remembered_are_served_all_the_same)
{
    static const char *const names[] = {"strtol", "strtoul", "strtoll", "strtoull", "atoi", "atol", "qsort", "bsearch"};
    static char copies[40][8][16];

    for (size_t i = 0; i < 40; i++) {
        for (size_t j = 0; j < 8; j++) {
            strcpy(copies[i][j], names[j]);
            ck_assert_ptr_eq(real_by_caller(copies[i][j], address_of(of_the_program)), dlsym(RTLD_DEFAULT, names[j]));
        }
    }
    static char others[100][8];

    for (size_t i = 0; i < 100; i++) {
        memcpy(others[i], (char[]){'n', 'o', (char)('a' + i / 10), (char)('a' + i % 10)}, 4);
        ck_assert_ptr_null(real_by_caller(others[i], address_of(of_the_program)));
    }
    ck_assert_ptr_eq(real_by_caller("abs", address_of(of_the_program)), dlsym(RTLD_DEFAULT, "abs"));
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        program_gets_what_the_loader_would_have_given_it,
        library_that_was_loaded_unseen_gets_its_own,
        what_was_found_stays_loaded,
        name_that_nobody_has_is_not_found,
        what_was_found_holds_until_an_object_is_unloaded,
        room_is_made_by_unloading,
        caller_that_lies_nowhere_is_bound_as_the_program_is,
        beside_a_function_are_those_of_its_own_library,
        range_holds_the_whole_object_and_no_other,
        more_callers_than_are_remembered_are_served_all_the_same,
    };
    Suite *suite = suite_create("caller");
    TCase *tcase = tcase_create("caller");

    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        tcase_add_test(tcase, tests[i]);
    }
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
