/*
 * The region's file: built whole or not at all, shared by those who may, and never touched when it is not ours or not
 * sound.
 */
#include "state_fixture.h"
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

static struct state state;

/* ---- building
 * --------------------------------------------------------------------------------------------------------- */

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

static volatile sig_atomic_t ticks;

static void tick(int signal)
{
    (void)signal;
    ticks = ticks + 1;
}

START_TEST(signals_that_interrupt_the_building_do_not_stop_it)
{
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = tick}; /* without SA_RESTART */

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 1000 && ticks < 100; i++) {
        ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
        state_close(&state);
        unlink(region_path);
    }
    setitimer(ITIMER_REAL, &never, NULL);
}
END_TEST

/* ---- private, without harm
 * -------------------------------------------------------------------------------------------- */

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

START_TEST(a_region_that_others_may_touch_is_not_ours)
{
    static const mode_t modes[] = {0660, 0604, 0640, 0606, 0610};

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert_int_eq(chmod(region_path, modes[_i]), 0);
    opens_privately(region_path, STATE_NOT_OURS);
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

/* ---- other versions
 * --------------------------------------------------------------------------------------------------- */

/* A region of a later version at the path: with header and holds as ever, and who knows what behind them. */
static void leave_other_version(void)
{
    const uint64_t version = 7, size = 5 << 20;

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    state_set_mode(&state, PREBREAK_MODE_OBSERVE);
    ck_assert(state_hold(&state, "openai", PREBREAK_HELD_OPEN, 0));
    ck_assert(state_hold(&state, "stripe", PREBREAK_HELD_CLOSED, UINT64_MAX));
    ck_assert(state_hold(&state, "expired", PREBREAK_HELD_OPEN, 1));
    state_close(&state);
    ck_assert_int_eq(truncate(region_path, (off_t)size), 0);
    fixture_poke(region_path, offsetof(struct prebreak_header, version), &version, sizeof version);
    fixture_poke(region_path, offsetof(struct prebreak_header, size), &size, sizeof size);
}

/* What leave_other_version() set is in force. */
static void orders_taken_over(void)
{
    enum prebreak_phase phase;
    uint64_t until;
    char name[PREBREAK_NAME];
    int held = 0;

    ck_assert_int_eq(state_mode(&state), PREBREAK_MODE_OBSERVE);
    ck_assert_int_eq(state_held(&state, "openai", NOW), PREBREAK_HELD_OPEN);
    ck_assert_int_eq(state_held(&state, "stripe", NOW), PREBREAK_HELD_CLOSED);
    for (int i = 0; i < PREBREAK_HOLDS; i++) {
        held += state_hold_at(&state, i, 0, name, &phase, &until);
    }
    ck_assert_int_eq(held, 2);
}

START_TEST(beside_a_region_of_another_version_stands_ours_with_its_mode_and_holds)
{
    struct stat before, after;
    char versioned[160];

    leave_other_version();
    ck_assert_int_eq(stat(region_path, &before), 0);

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert(state.shared);
    orders_taken_over();
    ck_assert(!state_stale(&state));
    snprintf(versioned, sizeof versioned, "%s.v1", region_path);
    ck_assert_int_eq(stat(versioned, &after), 0);
    ck_assert_int_eq(stat(region_path, &after), 0);
    ck_assert_int_eq(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    ck_assert_int_eq(state_open(&state, region_path, STATE_EXISTING), STATE_SOUND);
}
END_TEST

START_TEST(the_command_says_so_where_no_region_of_our_version_stands_beside)
{
    leave_other_version();
    ck_assert_int_eq(state_open(&state, region_path, STATE_EXISTING), STATE_OTHER_VERSION);
    ck_assert_int_eq(fixture_files(), 1);
}
END_TEST

START_TEST(recreating_over_another_version_takes_its_mode_and_holds_over)
{
    leave_other_version();
    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND);
    ck_assert_int_eq(state_open(&state, region_path, STATE_EXISTING), STATE_SOUND);
    orders_taken_over();
}
END_TEST

START_TEST(garbage_in_the_holds_of_another_version_is_not_taken_over)
{
    uint64_t seed = 88172645463325252;
    uint64_t bytes[sizeof(struct prebreak_hold) * PREBREAK_HOLDS / 8];
    enum prebreak_phase phase;
    uint64_t until;
    char name[PREBREAK_NAME];

    leave_other_version();
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        bytes[i] = fixture_random(&seed);
    }
    fixture_poke(region_path, offsetof(struct prebreak_region, hold), bytes, sizeof bytes);
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    for (int i = 0; i < PREBREAK_HOLDS; i++) {
        ck_assert(!state_hold_at(&state, i, 0, name, &phase, &until));
    }
    fixture_works(&state);
}
END_TEST

/* ---- replacing
 * -------------------------------------------------------------------------------------------------------- */

START_TEST(recreating_keeps_mode_and_holds_and_tells_who_has_the_old_one_mapped)
{
    struct state fresh;

    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    state_set_mode(&state, PREBREAK_MODE_OBSERVE);
    ck_assert(state_hold(&state, "openai", PREBREAK_HELD_OPEN, 0));
    ck_assert_int_ge(state_slot(&state, "openai", &defaults, false, NOW), 0);
    ck_assert(!state_stale(&state));

    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND);
    ck_assert_uint_ne(state.region->header.retired, 0);
    ck_assert(state_stale(&state));
    ck_assert_int_eq(state_open(&fresh, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert_ptr_ne(fresh.region, state.region);
    ck_assert(!state_stale(&fresh));
    ck_assert_int_eq(state_mode(&fresh), PREBREAK_MODE_OBSERVE);
    ck_assert_int_eq(state_held(&fresh, "openai", NOW), PREBREAK_HELD_OPEN);
    ck_assert_uint_eq(fresh.region->identity[state_slot(&state, "openai", &defaults, false, NOW)], 0);
    ck_assert_int_eq(fixture_files(), 1);
    fixture_works(&state); /* calls in flight go on with the old one */
}
END_TEST

START_TEST(recreating_heals_what_cannot_be_used)
{
    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND); /* nothing */
    ck_assert_int_eq(truncate(region_path, 100), 0);
    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND); /* a stump */
    ck_assert_int_eq(chmod(region_path, 0666), 0);
    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND); /* an open door */
    ck_assert_int_eq(unlink(region_path), 0);
    ck_assert_int_eq(symlink("/etc/passwd", region_path), 0);
    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND); /* a trap */
    ck_assert_int_eq(state_open(&state, region_path, STATE_EXISTING), STATE_SOUND);
    ck_assert_int_eq(fixture_files(), 1);

    ck_assert_int_eq(unlink(region_path), 0);
    ck_assert_int_eq(mkdir(region_path, 0700), 0);
    ck_assert_int_eq(state_recreate(region_path), STATE_NOT_A_FILE);
    ck_assert_int_eq(state_recreate("private"), STATE_PRIVATE);
}
END_TEST

START_TEST(private_state_ends_when_its_cause_is_replaced)
{
    ck_assert_int_eq(symlink("/nowhere", region_path), 0);
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_NOT_A_FILE);
    ck_assert(!state_stale(&state));
    ck_assert_int_eq(state_recreate(region_path), STATE_SOUND);
    ck_assert(state_stale(&state));
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
}
END_TEST

START_TEST(a_path_where_nothing_is_any_more_is_no_reason_to_map_again)
{
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert_int_eq(unlink(region_path), 0);
    ck_assert(!state_stale(&state));
}
END_TEST

START_TEST(another_effective_uid_is_a_reason_to_map_again)
{
    if (geteuid() != 0) {
        return;
    }
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
    ck_assert_int_eq(seteuid(NOBODY), 0);
    ck_assert(state_stale(&state));
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert(!state_stale(&state));
}
END_TEST

START_TEST(what_is_mapped_once_is_not_mapped_again)
{
    struct prebreak_region *shared, *private;

    state_open(&state, region_path, STATE_CREATE);
    shared = state.region;
    state_open(&state, "private", STATE_CREATE);
    private = state.region;
    for (int i = 0; i < 100; i++) {
        state_open(&state, region_path, STATE_CREATE);
        ck_assert_ptr_eq(state.region, shared);
        state_open(&state, "/nowhere/at/all", STATE_CREATE);
        ck_assert_ptr_eq(state.region, private);
    }
}
END_TEST

START_TEST(more_replacements_than_are_noted_still_map)
{
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(state_recreate(region_path), STATE_SOUND);
        ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
        ck_assert_uint_eq(state.region->header.retired, 0);
    }
}
END_TEST

START_TEST(every_trouble_has_a_text)
{
    for (int trouble = 0; trouble < STATE_TROUBLES; trouble++) {
        ck_assert_ptr_nonnull(state_trouble_text((enum state_trouble)trouble));
    }
    ck_assert_ptr_nonnull(state_trouble_text(STATE_TROUBLES));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("region");
    TCase *building = tcase_create("building"), *harm = tcase_create("harm"), *versions = tcase_create("versions"),
          *replacing = tcase_create("replacing");

    TCase *all[] = {building, harm, versions, replacing};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        tcase_add_checked_fixture(all[i], fixture_begin, fixture_end);
        tcase_set_timeout(all[i], 60);
        suite_add_tcase(suite, all[i]);
    }
    tcase_add_test(building, the_first_process_builds_a_region_that_only_its_user_can_touch);
    tcase_add_loop_test(building, the_umask_of_the_program_does_not_matter, 0, 2);
    tcase_add_test(building, the_second_process_finds_what_the_first_one_left);
    tcase_add_test(building, the_command_does_not_build_one);
    tcase_add_test(building, processes_that_race_to_build_share_one_region);
    tcase_add_test(building, kill_in_the_middle_of_a_build_leaves_nothing_that_hurts);
    tcase_add_test(building, where_nothing_can_be_built_without_a_name_it_gets_one_that_is_gone_afterwards);
    tcase_add_test(building, signals_that_interrupt_the_building_do_not_stop_it);

    tcase_add_test(harm, private_state_is_shared_with_forks_and_leaves_no_file);
    tcase_add_test(harm, a_directory_is_no_region);
    tcase_add_loop_test(harm, a_symlink_is_not_followed, 0, 2);
    tcase_add_test(harm, a_fifo_is_neither_waited_for_nor_used);
    tcase_add_test(harm, a_device_is_not_opened);
    tcase_add_loop_test(harm, a_region_that_others_may_touch_is_not_ours, 0, 5);
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

    tcase_add_test(versions, beside_a_region_of_another_version_stands_ours_with_its_mode_and_holds);
    tcase_add_test(versions, the_command_says_so_where_no_region_of_our_version_stands_beside);
    tcase_add_test(versions, recreating_over_another_version_takes_its_mode_and_holds_over);
    tcase_add_test(versions, garbage_in_the_holds_of_another_version_is_not_taken_over);

    tcase_add_test(replacing, recreating_keeps_mode_and_holds_and_tells_who_has_the_old_one_mapped);
    tcase_add_test(replacing, recreating_heals_what_cannot_be_used);
    tcase_add_test(replacing, private_state_ends_when_its_cause_is_replaced);
    tcase_add_test(replacing, a_path_where_nothing_is_any_more_is_no_reason_to_map_again);
    tcase_add_test(replacing, another_effective_uid_is_a_reason_to_map_again);
    tcase_add_test(replacing, what_is_mapped_once_is_not_mapped_again);
    tcase_add_test(replacing, more_replacements_than_are_noted_still_map);
    tcase_add_test(replacing, every_trouble_has_a_text);
    return fixture_run(suite);
}
