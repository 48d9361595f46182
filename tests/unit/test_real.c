/*
 * The real libc's functions are there before and after real_init(), which may be called any number of times.
 */
#include "suite.h"
#include "real/real.h"
#include <check.h>
#include <errno.h>
#include <stdlib.h>

/* Given nobody has called real_init, when a function is used, then it binds itself and works. */
START_TEST(a_function_used_before_real_init_binds_itself)
{
    __typeof__(real_getsockopt) before = real_getsockopt;
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    int type = 0;
    socklen_t length = sizeof type;

    ck_assert_int_eq(real_getsockopt(pair[0], SOL_SOCKET, SO_TYPE, &type, &length), 0);

    ck_assert_int_eq(type, SOCK_STREAM);
    ck_assert_ptr_ne((void *)(uintptr_t)real_getsockopt, (void *)(uintptr_t)before);
    close(pair[0]);
    close(pair[1]);
}
END_TEST

START_TEST(a_variadic_function_passes_its_last_argument_on)
{
    int fd = real_open("/dev/null", O_RDONLY | O_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);

    ck_assert_int_eq(real_fcntl(fd, F_GETFD), FD_CLOEXEC);
    ck_assert_int_eq(real_fcntl(fd, F_SETFD, 0), 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD), 0);
    ck_assert_int_eq(real_close(fd), 0);
}
END_TEST

START_TEST(everything_is_bound_after_real_init_and_errno_is_left_alone)
{
    errno = 0;
    real_init();
    real_init();
    ck_assert_int_eq(errno, 0);
#define FIXED(type, name, parameters, arguments)                ck_assert_msg(real_##name != NULL, #name);
#define VARIADIC(type, name, parameters, last, rest, arguments) ck_assert_msg(real_##name != NULL, #name);
#include "real/real_list.h"
#undef FIXED
#undef VARIADIC
}
END_TEST

START_TEST(syscall_passes_six_arguments_and_unknown_numbers_verbatim)
{
    ck_assert_int_eq(real_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0), getpid());
    errno = 0;
    ck_assert_int_eq(real_syscall(99999, 1, 2, 3, 4, 5, 6), -1);
    ck_assert_int_eq(errno, ENOSYS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("real");
    TCase *tcase = tcase_create("real");
    tcase_add_test(tcase, a_function_used_before_real_init_binds_itself);
    tcase_add_test(tcase, a_variadic_function_passes_its_last_argument_on);
    tcase_add_test(tcase, everything_is_bound_after_real_init_and_errno_is_left_alone);
    tcase_add_test(tcase, syscall_passes_six_arguments_and_unknown_numbers_verbatim);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
