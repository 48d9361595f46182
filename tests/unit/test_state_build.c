/*
 * A region is built whole or not at all, by whoever comes first, whatever fails or dies meanwhile.
 */
#include "state_fixture.h"
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>

static struct state state;

/* ---- building --------------------------------------------------------------------------------------------------- */

START_TEST(the_first_process_builds_a_region_that_only_its_user_can_touch)
{
    struct stat status;

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);

    ck_assert(state.shared);
    ck_assert_int_eq(lstat(region_path, &status), 0);
    ck_assert_int_eq(status.st_mode, S_IFREG | 0600);
    ck_assert_int_eq(status.st_nlink, 1);
    ck_assert_int_eq(status.st_size, (off_t)sizeof(struct prebreak_region));
    ck_assert_int_ge(status.st_blocks * 512, (off_t)sizeof(struct prebreak_region));
    ck_assert_int_eq(fixture_files(), 1);
    fixture_works(&state);
}
END_TEST

START_TEST(the_umask_of_the_program_does_not_matter)
{
    struct stat status;

    umask(_i ? 0777 : 0);
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    umask(022);

    ck_assert_int_eq(lstat(region_path, &status), 0);
    ck_assert_int_eq(status.st_mode & 07777, 0600);
}
END_TEST

START_TEST(the_second_process_finds_what_the_first_one_left)
{
    struct state other;
    pid_t child = fork();

    if (child == 0) {
        state_open(&other, region_path, STATE_CREATE);
        state_set_mode(&other, PREBREAK_MODE_OBSERVE);
        _exit(state_slot(&other, "openai", &defaults, false, NOW) < 0);
    }
    ck_assert_int_eq(fixture_wait(child), 0);

    ck_assert_int_eq(state_open(&state, region_path, STATE_EXISTING), STATE_SOUND);
    ck_assert_int_eq(state_mode(&state), PREBREAK_MODE_OBSERVE);
    ck_assert_uint_ne(state_identity(&state, state_slot(&state, "openai", &defaults, false, NOW)), 0);
}
END_TEST

START_TEST(the_command_does_not_build_one)
{
    ck_assert_int_eq(state_open(&state, region_path, STATE_EXISTING), STATE_ABSENT);
    ck_assert_ptr_null(state.region);
    ck_assert_int_eq(fixture_files(), 0);
}
END_TEST

START_TEST(processes_that_race_to_build_share_one_region)
{
    int go[2];
    pid_t children[8];

    ck_assert_int_eq(pipe(go), 0);
    for (int i = 0; i < 8; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            char name[8] = {'a', (char)('0' + i)}, byte;
            close(go[1]);
            if (read(go[0], &byte, 1) != 0 || state_open(&state, region_path, STATE_CREATE) != STATE_SOUND) {
                _exit(1);
            }
            _exit(state_slot(&state, name, &defaults, false, NOW) < 0);
        }
    }
    close(go[0]);
    close(go[1]);
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(fixture_wait(children[i]), 0);
    }

    ck_assert_int_eq(state_open(&state, region_path, STATE_EXISTING), STATE_SOUND);
    ck_assert_int_eq(fixture_files(), 1);
    int claimed = 0;
    for (int slot = 0; slot < PREBREAK_SLOTS; slot++) {
        claimed += state_identity(&state, slot) != 0;
    }
    ck_assert_int_eq(claimed, 8);
}
END_TEST

START_TEST(kill_in_the_middle_of_a_build_leaves_nothing_that_hurts)
{
    for (int round = 0; round < 60; round++) {
        int ready[2];
        char byte;
        pid_t child;

        ck_assert_int_eq(pipe(ready), 0);
        child = fork();
        if (child == 0) {
            if (write(ready[1], "", 1) == 1) {
                state_open(&state, region_path, STATE_CREATE);
            }
            pause();
        }
        ck_assert_int_eq(read(ready[0], &byte, 1), 1);
        for (volatile int spin = 0; spin < round * 20000; spin++) {
        }
        kill(child, SIGKILL);
        ck_assert_int_eq(fixture_wait(child), 128 + SIGKILL);
        close(ready[0]);
        close(ready[1]);

        int there = fixture_files();
        ck_assert_int_le(there, 1);
        enum state_trouble found = state_open(&state, region_path, STATE_EXISTING);
        ck_assert_int_eq(found, there ? STATE_SOUND : STATE_ABSENT);
        state_close(&state);
        unlink(region_path);
    }
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    fixture_works(&state);
}
END_TEST

START_TEST(where_nothing_can_be_built_without_a_name_it_gets_one_that_is_gone_afterwards)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/proc", "tmpfs", 0, NULL) != 0) {
        return; /* without /proc there is no way to name it later */
    }
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert_int_eq(fixture_files(), 1);
    fixture_works(&state);
    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND);
    ck_assert_int_eq(fixture_files(), 1);
    ck_assert(state_stale(&state));
    umount("/proc");
}
END_TEST

/* ---- each call of the system's fails in turn -------------------------------------------------------------------- */

enum { CALLS_MOST = 300 }; /* more than building or opening ever makes */

/* The call of that number fails, all the others are real. */
static int calls, failing, failure;

static bool fails(void)
{
    if (++calls != failing) {
        return false;
    }
    errno = failure;
    return true;
}

/* tortured_NAME stands for real_NAME. */
#define TORTURED(type, name, parameters, arguments)                                                                    \
    static __typeof__(name) *kept_##name;                                                                              \
    static type tortured_##name parameters                                                                             \
    {                                                                                                                  \
        return fails() ? (type)-1 : kept_##name arguments;                                                             \
    }
TORTURED(int, fstat, (int fd, struct stat *status), (fd, status))
TORTURED(int, stat, (const char *path, struct stat *status), (path, status))
TORTURED(int, lstat, (const char *path, struct stat *status), (path, status))
TORTURED(ssize_t, read, (int fd, void *buffer, size_t size), (fd, buffer, size))
TORTURED(ssize_t, pread, (int fd, void *buffer, size_t size, off_t at), (fd, buffer, size, at))
TORTURED(ssize_t, pwrite, (int fd, const void *buffer, size_t size, off_t at), (fd, buffer, size, at))
TORTURED(int, fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
TORTURED(int, fchmod, (int fd, mode_t mode), (fd, mode))
TORTURED(int, link, (const char *from, const char *to), (from, to))
TORTURED(int, linkat, (int from_fd, const char *from, int to_fd, const char *to, int flags),
         (from_fd, from, to_fd, to, flags))
TORTURED(int, rename, (const char *from, const char *to), (from, to))
TORTURED(void *, mmap, (void *at, size_t size, int protection, int flags, int fd, off_t offset),
         (at, size, protection, flags, fd, offset))

static __typeof__(open) *kept_open;
static int tortured_open(const char *path, int flags, ...)
{
    return fails() ? -1 : kept_open(path, flags, S_IRUSR | S_IWUSR);
}

/* With do_(NAME) for each of them. */
#define ALL_TORTURED(do_)                                                                                              \
    do_(fstat) do_(stat) do_(lstat) do_(read) do_(pread) do_(pwrite) do_(fallocate) do_(fchmod) do_(link) do_(linkat)  \
        do_(rename) do_(mmap) do_(open)

static void torture_begin(int number, int error)
{
#define TORTURE(name) kept_##name = real_##name, real_##name = tortured_##name;
    ALL_TORTURED(TORTURE)
    calls = 0;
    failing = number;
    failure = error;
}

static void torture_end(void)
{
#define SPARE(name) real_##name = kept_##name;
    ALL_TORTURED(SPARE)
}

static const int errors[] = {ENOSPC, EINTR, ENOENT, EACCES, EMFILE, EIO, EEXIST, EOPNOTSUPP, ENOMEM};
enum { ERRORS = sizeof errors / sizeof *errors };

/* The next descriptor that would be given out: the same as before, or one has leaked. */
static int next_descriptor(void)
{
    int fd = dup(0);

    close(fd);
    return fd;
}

/* What stands at the path is whole; ends with nothing there. */
static void whole_or_absent(void)
{
    enum state_trouble trouble = state_open(&state, region_path, STATE_EXISTING);

    ck_assert_int_eq(trouble, fixture_files() ? STATE_SOUND : STATE_ABSENT);
    state_close(&state);
    unlink(region_path);
    ck_assert_int_eq(fixture_files(), 0);
}

START_TEST(whichever_call_fails_there_is_a_state_and_nothing_is_left_behind)
{
    int number, first = next_descriptor();

    for (number = 1; number < CALLS_MOST; number++) {
        torture_begin(number, errors[_i]);
        errno = EXFULL;
        enum state_trouble trouble = state_open(&state, region_path, STATE_CREATE);
        ck_assert_int_eq(errno, EXFULL);
        torture_end();

        ck_assert_int_eq(state.trouble, trouble);
        ck_assert(state.shared == (trouble == STATE_SOUND));
        ck_assert_int_eq(next_descriptor(), first);
        fixture_works(&state);
        state_close(&state);
        whole_or_absent();
        if (calls < number) {
            break; /* each one has had its turn */
        }
    }
    ck_assert_int_gt(number, 20);
    ck_assert_int_lt(number, CALLS_MOST);
}
END_TEST

START_TEST(whichever_call_fails_while_recreating_the_old_region_or_a_new_one_is_there)
{
    int number, first = next_descriptor();

    for (number = 1; number < CALLS_MOST; number++) {
        ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
        ck_assert(state_hold(&state, "openai", PREBREAK_HELD_OPEN, 0));
        torture_begin(number, errors[_i]);
        enum state_trouble trouble = state_recreate(region_path);
        torture_end();

        ck_assert(trouble != STATE_SOUND || state_stale(&state));
        ck_assert_int_eq(next_descriptor(), first);
        ck_assert_int_eq(fixture_files(), 1);
        state_close(&state);
        whole_or_absent();
        if (calls < number) {
            break;
        }
    }
    ck_assert_int_gt(number, 20);
    ck_assert_int_lt(number, CALLS_MOST);
}
END_TEST

/* ---- interrupted ------------------------------------------------------------------------------------------------ */

static int interruptions;

static int interrupted_fallocate(int fd, int mode, off_t at, off_t size)
{
    if (interruptions > 0) {
        interruptions--;
        errno = EINTR;
        return -1;
    }
    return fallocate(fd, mode, at, size);
}

START_TEST(an_interrupted_reservation_goes_on_unless_that_never_ends)
{
    real_fallocate = interrupted_fallocate;
    interruptions = 20;
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    state_close(&state);
    unlink(region_path);
    interruptions = INT_MAX;
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_FULL_DISK);
    ck_assert_int_eq(fixture_files(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("build");
    TCase *building = tcase_create("building");

    tcase_add_checked_fixture(building, fixture_begin, fixture_end);
    tcase_set_timeout(building, 60);
    tcase_add_test(building, the_first_process_builds_a_region_that_only_its_user_can_touch);
    tcase_add_loop_test(building, the_umask_of_the_program_does_not_matter, 0, 2);
    tcase_add_test(building, the_second_process_finds_what_the_first_one_left);
    tcase_add_test(building, the_command_does_not_build_one);
    tcase_add_test(building, processes_that_race_to_build_share_one_region);
    tcase_add_test(building, kill_in_the_middle_of_a_build_leaves_nothing_that_hurts);
    tcase_add_test(building, where_nothing_can_be_built_without_a_name_it_gets_one_that_is_gone_afterwards);
    tcase_add_loop_test(building, whichever_call_fails_there_is_a_state_and_nothing_is_left_behind, 0, ERRORS);
    tcase_add_loop_test(building, whichever_call_fails_while_recreating_the_old_region_or_a_new_one_is_there, 0,
                        ERRORS);
    tcase_add_test(building, an_interrupted_reservation_goes_on_unless_that_never_ends);
    suite_add_tcase(suite, building);
    return fixture_run(suite);
}
