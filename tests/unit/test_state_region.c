/*
 * What is at the path is shared by those who may, and never touched when it is not ours or not sound: then the state is
 * private, and the program unharmed.
 */
#include "state_fixture.h"
#include "state/internal.h"
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

static struct state state;

/* Opens, and the trouble must be this one; what is at the path stays as it was; all works, privately. */
static void opens_privately(const char *path, enum state_trouble trouble)
{
    struct stat before, after;
    bool there = lstat(path, &before) == 0;

    errno = EXFULL;
    ck_assert_int_eq(state_open(&state, path, STATE_CREATE), trouble);
    ck_assert_int_eq(errno, EXFULL);
    ck_assert(!state.shared);
    ck_assert_int_eq(state.trouble, trouble);
    fixture_works(&state);
    ck_assert(!state_stale(&state));
    ck_assert_int_eq(errno, EXFULL);
    ck_assert_int_eq(lstat(path, &after) == 0, there);
    if (there) {
        ck_assert_uint_eq(before.st_ino, after.st_ino);
        ck_assert_int_eq(before.st_size, after.st_size);
        ck_assert_int_eq(before.st_mode, after.st_mode);
        ck_assert_int_eq(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    }
}

START_TEST(private_state_is_shared_with_forks_and_leaves_no_file)
{
    ck_assert_int_eq(state_open(&state, "private", STATE_CREATE), STATE_PRIVATE);
    ck_assert_str_eq(state.path, "");
    pid_t child = fork();
    if (child == 0) {
        state_forked(&state);
        _exit(state.pid != (uint32_t)getpid() || state_slot(&state, "openai", &defaults, false, NOW) < 0);
    }
    ck_assert_int_eq(fixture_wait(child), 0);

    ck_assert_uint_ne(state_identity(&state, state_slot(&state, "openai", &defaults, false, NOW)), 0);
    int claimed = 0;
    for (int slot = 0; slot < PREBREAK_SLOTS; slot++) {
        claimed += state_identity(&state, slot) != 0;
    }
    ck_assert_int_eq(claimed, 1);
    ck_assert(!state_stale(&state));
    ck_assert_int_eq(fixture_files(), 0);
}
END_TEST

START_TEST(a_directory_is_no_region)
{
    ck_assert_int_eq(mkdir(region_path, 0700), 0);
    opens_privately(region_path, STATE_NOT_A_FILE);
}
END_TEST

START_TEST(a_symlink_is_not_followed)
{
    char target[160];

    snprintf(target, sizeof target, "%s/target", directory);
    ck_assert_int_eq(state_open(&state, target, STATE_CREATE), STATE_SOUND);
    ck_assert_int_eq(symlink(_i ? target : "/nowhere", region_path), 0);
    opens_privately(region_path, STATE_NOT_A_FILE);
}
END_TEST

START_TEST(a_symlink_that_comes_after_the_first_look_is_not_followed)
{
    char target[160];

    snprintf(target, sizeof target, "%s/target", directory);
    ck_assert_int_eq(state_open(&state, target, STATE_CREATE), STATE_SOUND);
    ck_assert_int_eq(symlink(target, region_path), 0);
    real_lstat = stat; /* a plain file, at that moment */
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_NOT_A_FILE);
    ck_assert(!state.shared);
}
END_TEST

START_TEST(a_fifo_is_neither_waited_for_nor_used)
{
    ck_assert_int_eq(mkfifo(region_path, 0600), 0);
    opens_privately(region_path, STATE_NOT_A_FILE);
}
END_TEST

START_TEST(a_device_is_not_opened)
{
    opens_privately("/dev/null", STATE_NOT_A_FILE);
}
END_TEST

START_TEST(a_region_that_others_may_touch_is_not_used)
{
    static const mode_t modes[] = {0660, 0604, 0640, 0606, 0610};

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert_int_eq(chmod(region_path, modes[_i]), 0);
    opens_privately(region_path, STATE_EXPOSED);
    char expected[96];
    char found[96];
    snprintf(expected, sizeof expected, "others may read or write it: mode 0%o, expected mode 0600",
             (unsigned)modes[_i]);
    ck_assert_str_eq(state_trouble_say(&state, found, sizeof found), expected);
}
END_TEST

START_TEST(a_region_of_another_owner_is_not_ours_and_cannot_be_replaced)
{
    if (geteuid() != 0) {
        return;
    }
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert_int_eq(chown(region_path, NOBODY, NOBODY), 0);
    opens_privately(region_path, STATE_NOT_OURS);
    char found[96];
    ck_assert_str_eq(state_trouble_say(&state, found, sizeof found),
                     "somebody else owns it: uid 65534, expected uid 0");
    ck_assert_int_eq(state_recreate(region_path), STATE_NOT_OURS);
}
END_TEST

START_TEST(a_directory_that_cannot_be_written_gives_private_state)
{
    ck_assert_int_eq(chmod(directory, 0555), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(seteuid(NOBODY), 0);
    }
    opens_privately(region_path, STATE_FORBIDDEN);
    ck_assert_int_eq(seteuid(getuid()), 0);
}
END_TEST

START_TEST(a_path_without_a_directory_or_too_long_gives_private_state)
{
    char path[400] = "/";

    opens_privately("/nowhere/at/all", STATE_FORBIDDEN);
    memset(path + 1, 'x', sizeof path - 2);
    opens_privately(path, STATE_FORBIDDEN);
}
END_TEST

START_TEST(a_truncated_region_is_not_mapped)
{
    const off_t sizes[] = {0, 8, sizeof(struct prebreak_header), sizeof(struct prebreak_region) - 1,
                           sizeof(struct prebreak_region) / 2};

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert_int_eq(truncate(region_path, sizes[_i]), 0);
    opens_privately(region_path, STATE_SHORT);
}
END_TEST

START_TEST(a_region_with_something_behind_it_is_not_one)
{
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert_int_eq(truncate(region_path, sizeof(struct prebreak_region) + 1), 0);
    opens_privately(region_path, STATE_GARBAGE);
}
END_TEST

START_TEST(a_header_that_makes_no_sense_is_not_believed)
{
    static const struct {
        size_t field;
        uint64_t value;
    } wrong[] = {
        {offsetof(struct prebreak_header, magic), UINT64_C(0xfeedfacecafebeef)},
        {offsetof(struct prebreak_header, size), UINT64_MAX},
        {offsetof(struct prebreak_header, slots), PREBREAK_SLOTS + 1},
        {offsetof(struct prebreak_header, seed), 0},
    };

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    fixture_poke(region_path, wrong[_i].field, &wrong[_i].value, sizeof wrong[_i].value);
    opens_privately(region_path, STATE_GARBAGE);
}
END_TEST

START_TEST(a_region_of_another_machine_or_time_namespace_is_left_alone)
{
    static const size_t fields[] = {
        offsetof(struct prebreak_header, boot),
        offsetof(struct prebreak_header, time_ns),
    };
    const uint64_t other = 12345;

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    if (fixture_peek(region_path, fields[_i]) == 0) {
        return; /* /proc does not tell here */
    }
    fixture_poke(region_path, fields[_i], &other, sizeof other);
    opens_privately(region_path, STATE_OTHER_BOOT);
}
END_TEST

START_TEST(a_region_of_an_earlier_boot_is_replaced_by_a_fresh_one)
{
    const uint64_t boot = 12345, long_ago = 1;
    struct stat before, after;

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    state_set_mode(&state, PREBREAK_MODE_OFF);
    fixture_poke(region_path, offsetof(struct prebreak_header, boot), &boot, sizeof boot);
    fixture_poke(region_path, offsetof(struct prebreak_header, created), &long_ago, sizeof long_ago);
    ck_assert_int_eq(stat(region_path, &before), 0);

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert_int_eq(stat(region_path, &after), 0);
    ck_assert_uint_ne(before.st_ino, after.st_ino);
    ck_assert_int_eq(state_mode(&state), PREBREAK_MODE_ENV);
    ck_assert_int_eq(fixture_files(), 1);
    fixture_works(&state);
}
END_TEST

START_TEST(a_full_file_system_is_an_error_at_start_and_no_signal)
{
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", directory, "tmpfs", 0, "size=1m") != 0) {
        return;
    }
    opens_privately(region_path, STATE_FULL_DISK);
    ck_assert_int_eq(fixture_files(), 0);
    umount(directory);
}
END_TEST

START_TEST(a_file_size_limit_is_an_error_at_start_and_no_signal)
{
    struct rlimit limit = {1 << 20, 1 << 20};

    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    opens_privately(region_path, STATE_FULL_DISK);
    ck_assert_int_eq(fixture_files(), 0);
}
END_TEST

START_TEST(a_region_copied_with_holes_gets_its_space_before_it_is_mapped)
{
    struct stat status;
    char header[sizeof(struct prebreak_header)];
    char copy[160];

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    memcpy(header, state.region, sizeof header);
    snprintf(copy, sizeof copy, "%s/copy", directory);
    close(open(copy, O_CREAT | O_WRONLY, 0600));
    ck_assert_int_eq(truncate(copy, sizeof(struct prebreak_region)), 0);
    fixture_poke(copy, 0, header, sizeof header);

    ck_assert_int_eq(state_open(&state, copy, STATE_CREATE), STATE_SOUND);
    ck_assert_int_eq(stat(copy, &status), 0);
    ck_assert_int_ge(status.st_blocks * 512, (off_t)sizeof(struct prebreak_region));
}
END_TEST

START_TEST(without_a_file_descriptor_to_be_had_it_is_private_and_shared_later)
{
    struct rlimit none = {0, 0}, before;

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    none.rlim_max = before.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_NO_MEMORY);
    fixture_works(&state);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);

    ck_assert(!state_stale(&state)); /* not at every look */
    state.opened -= 60 * NS_PER_S;
    ck_assert(state_stale(&state));
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert(!state_stale(&state));
}
END_TEST

START_TEST(without_memory_for_a_shared_one_it_is_private_and_shared_later)
{
    struct rlimit little = {1 << 20, RLIM_INFINITY}, before;
    struct state other;

    if (SANITIZED) {
        return;
    }
    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND);
    ck_assert_int_eq(state_open(&other, "private", STATE_CREATE), STATE_PRIVATE);
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &little), 0);
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_NO_MEMORY);
    ck_assert_ptr_eq(state.region, other.region);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);

    ck_assert(!state_stale(&state)); /* not at every look */
    state.opened -= 60 * NS_PER_S;
    ck_assert(state_stale(&state));
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
}
END_TEST

START_TEST(without_memory_everything_is_answered_and_nothing_done)
{
    struct rlimit little = {1 << 20, RLIM_INFINITY};
    struct breaker_caller who = {.now = NOW};
    struct prebreak_settings copy;
    struct breaker breaker;
    enum prebreak_phase phase;
    uint64_t until;
    char name[PREBREAK_NAME];

    if (SANITIZED) {
        return;
    }
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &little), 0);
    errno = EXFULL;
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_NO_MEMORY);

    ck_assert_ptr_null(state.region);
    ck_assert(!state_stale(&state));
    state.opened -= 60 * NS_PER_S;
    ck_assert(state_stale(&state));
    ck_assert_int_eq(state_slot(&state, "openai", &defaults, false, NOW), -1);
    ck_assert(!state_breaker(&state, 0, NULL, &copy, &breaker));
    ck_assert(!state_name(&state, 0, name));
    ck_assert_uint_eq(state_identity(&state, 0), 0);
    ck_assert(!state_hold(&state, "openai", PREBREAK_HELD_OPEN, 0));
    ck_assert(!state_release(&state, "openai"));
    ck_assert_int_eq(state_held(&state, "openai", NOW), PREBREAK_CLOSED);
    ck_assert(!state_hold_at(&state, 0, NOW, name, &phase, &until));
    ck_assert_int_eq(state_mode(&state), PREBREAK_MODE_ENV);
    state_set_mode(&state, PREBREAK_MODE_OFF);
    state_enrol(&state);
    ck_assert_uint_eq(state_processes(&state), 0);
    state_look(&state, &who, NULL, NULL);
    state_forked(&state);
    state_close(&state);
    ck_assert_int_eq(errno, EXFULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("region");
    TCase *harm = tcase_create("harm");

    tcase_add_checked_fixture(harm, fixture_begin, fixture_end);
    tcase_set_timeout(harm, 60);
    tcase_add_test(harm, private_state_is_shared_with_forks_and_leaves_no_file);
    tcase_add_test(harm, a_directory_is_no_region);
    tcase_add_loop_test(harm, a_symlink_is_not_followed, 0, 2);
    tcase_add_test(harm, a_symlink_that_comes_after_the_first_look_is_not_followed);
    tcase_add_test(harm, a_fifo_is_neither_waited_for_nor_used);
    tcase_add_test(harm, a_device_is_not_opened);
    tcase_add_loop_test(harm, a_region_that_others_may_touch_is_not_used, 0, 5);
    tcase_add_test(harm, a_region_of_another_owner_is_not_ours_and_cannot_be_replaced);
    tcase_add_test(harm, a_directory_that_cannot_be_written_gives_private_state);
    tcase_add_test(harm, a_path_without_a_directory_or_too_long_gives_private_state);
    tcase_add_loop_test(harm, a_truncated_region_is_not_mapped, 0, 5);
    tcase_add_test(harm, a_region_with_something_behind_it_is_not_one);
    tcase_add_loop_test(harm, a_header_that_makes_no_sense_is_not_believed, 0, 4);
    tcase_add_loop_test(harm, a_region_of_another_machine_or_time_namespace_is_left_alone, 0, 2);
    tcase_add_test(harm, a_region_of_an_earlier_boot_is_replaced_by_a_fresh_one);
    tcase_add_test(harm, a_full_file_system_is_an_error_at_start_and_no_signal);
    tcase_add_test(harm, a_file_size_limit_is_an_error_at_start_and_no_signal);
    tcase_add_test(harm, a_region_copied_with_holes_gets_its_space_before_it_is_mapped);
    tcase_add_test(harm, without_a_file_descriptor_to_be_had_it_is_private_and_shared_later);
    tcase_add_test(harm, without_memory_for_a_shared_one_it_is_private_and_shared_later);
    tcase_add_test(harm, without_memory_everything_is_answered_and_nothing_done);
    suite_add_tcase(suite, harm);
    return fixture_run(suite);
}
