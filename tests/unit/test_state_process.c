/*
 * Processes: who is alive, who has enrolled, and what becomes of the calls of those that died.
 */
#include "state_fixture.h"
#include "breaker/inflight.h"
#include "state/internal.h"
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <time.h>

static struct state state;

static void begin(void)
{
    fixture_begin();
    ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
}

/* A child that waits to be killed; it runs prepare() first, if there is any. */
static pid_t start_child(void (*prepare)(void))
{
    int ready[2];
    char byte;
    pid_t child;

    ck_assert_int_eq(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        if (prepare) {
            prepare();
        }
        _exit(write(ready[1], "", 1) == 1 && pause());
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

/* Kills it, and waits until it is dead but not waited for. */
static void kill_child(pid_t child)
{
    siginfo_t info;

    kill(child, SIGKILL);
    ck_assert_int_eq(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
}

static void hostile_name(void)
{
    prctl(PR_SET_NAME, "a) Z 1 (b) X");
}

static void enrol(void)
{
    state_forked(&state);
    state_enrol(&state);
}

/* ---- alive ------------------------------------------------------------------------------------------------------ */

START_TEST(a_process_is_alive_until_it_has_died_waited_for_or_not)
{
    uint64_t now;
    pid_t child = start_child(_i ? hostile_name : NULL);

    now = clock_ns(CLOCK_BOOTTIME);
    ck_assert(process_alive((uint32_t)child, now));
    kill_child(child);
    ck_assert(!process_alive((uint32_t)child, now));
    fixture_wait(child);
    ck_assert(!process_alive((uint32_t)child, now));
}
END_TEST

START_TEST(one_that_started_later_is_another_one)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);

    ck_assert(process_alive((uint32_t)getpid(), now));
    ck_assert(!process_alive((uint32_t)getpid(), 1));
    ck_assert(process_alive(1, now));
}
END_TEST

START_TEST(numbers_that_no_process_has_are_dead)
{
    ck_assert(!process_alive(0, UINT64_MAX));
    ck_assert(!process_alive(UINT32_MAX, UINT64_MAX));
    ck_assert(!process_alive((1u << 22) - 1, UINT64_MAX));
}
END_TEST

static void *stay(void *ready)
{
    if (write(*(int *)ready, "", 1) == 1) {
        pause();
    }
    return NULL;
}

START_TEST(a_process_whose_first_thread_has_ended_lives_on)
{
    int ready[2];
    char byte;
    pid_t child;
    char path[64], text[512];

    ck_assert_int_eq(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, stay, &ready[1]);
        pthread_exit(NULL);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    snprintf(path, sizeof path, "/proc/%d/stat", child);
    do {
        FILE *file = fopen(path, "r");
        ck_assert_ptr_nonnull(file);
        ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
        fclose(file);
    } while (!strstr(text, ") Z "));
    ck_assert(process_alive((uint32_t)child, clock_ns(CLOCK_BOOTTIME)));
    kill_child(child);
    ck_assert(!process_alive((uint32_t)child, clock_ns(CLOCK_BOOTTIME)));
    fixture_wait(child);
}
END_TEST

/*
 * In a pid namespace of its own, where /proc still shows the outer one. By that, its pid 2 began at boot or is somebody
 * who began long after: neither may be taken for what getpid() and kill() mean.
 */
static bool tells_the_living_from_the_dead(void)
{
    pid_t child = fork();

    if (child == 0) {
        pause();
    }
    return process_alive(1, 1) && process_alive((uint32_t)child, 1) && !process_alive(1000000, UINT64_MAX);
}

START_TEST(under_the_proc_of_another_namespace_only_the_dead_are_called_dead)
{
    pid_t child = fork();

    if (child == 0) {
        pid_t first;
        if (geteuid() != 0 || unshare(CLONE_NEWPID) != 0) {
            _exit(0);
        }
        first = fork(); /* pid 1 of it; with it dies all that it began */
        if (first == 0) {
            _exit(!tells_the_living_from_the_dead());
        }
        _exit(fixture_wait(first));
    }
    ck_assert_int_eq(fixture_wait(child), 0);
}
END_TEST

START_TEST(without_proc_the_living_are_not_called_dead)
{
    pid_t child, dead = fork();

    if (dead == 0) {
        _exit(0);
    }
    fixture_wait(dead);
    if (geteuid() != 0) {
        return;
    }
    child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("none", "/proc", "tmpfs", 0, NULL) != 0) {
            _exit(77); /* not here: in a chroot, or without the right */
        }
        struct state other;
        bool fine = process_alive((uint32_t)getpid(), 1) && !process_alive((uint32_t)dead, UINT64_MAX);
        /* And a region can be built and shared all the same. */
        char path[160];
        snprintf(path, sizeof path, "%s/without-proc", directory);
        fine = fine && state_open(&other, path, STATE_CREATE) == STATE_SOUND;
        fine = fine && state_open(&other, region_path, STATE_CREATE) == STATE_SOUND;
        _exit(!fine);
    }
    int how = fixture_wait(child);
    if (how == 77) {
        return;
    }
    ck_assert_int_eq(how, 0);
    ck_assert_int_eq(fixture_files(), 2);
}
END_TEST

/* ---- enrolled --------------------------------------------------------------------------------------------------- */

START_TEST(those_who_enrolled_are_counted_while_they_live)
{
    pid_t children[5];

    state_enrol(&state);
    state_enrol(&state); /* once is enough */
    for (int i = 0; i < 5; i++) {
        children[i] = start_child(enrol);
    }
    ck_assert_uint_eq(state_processes(&state), 6);
    kill_child(children[0]);
    ck_assert_uint_eq(state_processes(&state), 5);
    for (int i = 0; i < 5; i++) {
        kill(children[i], SIGKILL);
        fixture_wait(children[i]);
    }
    ck_assert_uint_eq(state_processes(&state), 1);
}
END_TEST

START_TEST(the_places_of_the_dead_are_used_again)
{
    pid_t dead = start_child(NULL);

    kill_child(dead);
    fixture_wait(dead);
    for (int i = 0; i < PREBREAK_PROCESSES; i++) {
        state.region->process[i].pid = (uint64_t)state.pid_ns << 32 | (uint32_t)dead;
        state.region->process[i].since = UINT64_MAX;
    }
    state_enrol(&state);
    ck_assert_uint_eq(state_processes(&state), 1);
}
END_TEST

START_TEST(a_table_full_of_others_leaves_one_out)
{
    for (int i = 0; i < PREBREAK_PROCESSES; i++) {
        state.region->process[i].pid = (uint64_t)(state.pid_ns ^ 1) << 32 | 1;
    }
    errno = EXFULL;
    state_enrol(&state);
    ck_assert_uint_eq(state_processes(&state), 0); /* nor does it count those of another namespace */
    ck_assert_int_eq(errno, EXFULL);
}
END_TEST

/* ---- calls in flight -------------------------------------------------------------------------------------------- */

static struct breaker breaker;
static const struct breaker_order order = {.hold = PREBREAK_CLOSED, .enforce = 65535};
static struct breaker_change change;
static int told;

static void tell(void *context, int slot, const struct breaker_change *what)
{
    ck_assert_ptr_eq(context, &told);
    ck_assert_int_eq(slot, (int)breaker.slot);
    ck_assert_int_ne(what->from, what->to);
    told++;
}

/* A slot of which an answer has come, so that its silence means something; and so a breaker that opens at 3 failures.
 */
static struct breaker_caller begin_calls(void)
{
    static struct prebreak_settings settings;
    struct breaker_caller who = {.now = clock_ns(CLOCK_MONOTONIC), .pid = state.pid, .pid_ns = state.pid_ns};
    struct breaker_end fine = {.outcome = PREBREAK_OK, .answered = true};
    struct breaker_call call;

    breaker_settings_default(PREBREAK_CONSECUTIVE, &settings);
    settings.trip = 3;
    ck_assert(
        state_breaker(&state, state_slot(&state, "openai", &settings, false, who.now), &settings, NULL, &breaker));
    ck_assert(breaker_admit(&breaker, &who, &order, &call, &change));
    breaker_finish(&breaker, &who, &call, &fine, &change);
    state_look(&state, &who, NULL, NULL);
    return who;
}

static void call_out(struct breaker_caller who, uint32_t pid, uint32_t pid_ns)
{
    static uint32_t calls;
    struct breaker_call call;

    who.pid = pid;
    who.pid_ns = pid_ns;
    who.shard = calls++;
    ck_assert(breaker_admit(&breaker, &who, &order, &call, &change));
    ck_assert_uint_ne(call.word, 0);
}

static struct breaker_view view_now(uint64_t now)
{
    struct breaker_view view;

    breaker_view(&breaker, now, PREBREAK_CLOSED, &view);
    return view;
}

START_TEST(overdue_calls_of_the_living_fail_and_the_change_is_told)
{
    struct breaker_caller who = begin_calls();

    for (int i = 0; i < 3; i++) {
        call_out(who, state.pid, state.pid_ns);
    }
    for (int second = 0; second < 40; second++) {
        who.now += NS_PER_S;
        state_look(&state, &who, tell, &told);
    }
    ck_assert_uint_eq(view_now(who.now).failures[PREBREAK_KIND_HANG], 3);
    ck_assert_uint_eq(view_now(who.now).inflight, 0);
    ck_assert_int_eq(view_now(who.now).phase, PREBREAK_OPEN);
    ck_assert_int_eq(told, 1);
}
END_TEST

START_TEST(calls_of_the_dead_are_lost_and_say_nothing)
{
    pid_t child = start_child(NULL);
    struct breaker_caller who = begin_calls();

    for (int i = 0; i < 5; i++) {
        call_out(who, (uint32_t)child, state.pid_ns);
    }
    who.now += 2 * NS_PER_S;
    state_look(&state, &who, tell, &told);
    ck_assert_uint_eq(view_now(who.now).inflight, 5);
    kill_child(child);
    who.now += 2 * NS_PER_S;
    state_look(&state, &who, tell, &told);
    ck_assert_uint_eq(view_now(who.now).inflight, 0);
    ck_assert_uint_eq(view_now(who.now).outcome[PREBREAK_NEUTRAL], 5);
    ck_assert_uint_eq(view_now(who.now).outcome[PREBREAK_FAILED], 0);
    ck_assert_int_eq(told, 0);
    fixture_wait(child);
}
END_TEST

START_TEST(calls_of_another_namespace_are_left_to_it)
{
    struct breaker_caller who = begin_calls();

    call_out(who, (1u << 22) - 1, state.pid_ns ^ 1);
    for (int second = 0; second < 60; second++) {
        who.now += NS_PER_S;
        state_look(&state, &who, tell, &told);
    }
    ck_assert_uint_eq(view_now(who.now).inflight, 1);
}
END_TEST

/* Two calls under this process's pid and one under another's, of a while ago. */
static struct breaker_caller leave_calls(void)
{
    struct breaker_caller who = begin_calls();

    who.now -= NS_PER_S;
    call_out(who, state.pid, state.pid_ns);
    call_out(who, state.pid, state.pid_ns);
    call_out(who, state.pid ^ 1, state.pid_ns);
    return who;
}

START_TEST(calls_under_our_own_number_are_a_dead_ones_when_we_have_just_begun_or_were_forked)
{
    struct breaker_caller who = leave_calls();

    if (_i == 0) {
        state_close(&state); /* as in a process that has not been here yet */
        ck_assert_int_eq(state_open(&state, region_path, STATE_CREATE), STATE_SOUND);
        breaker.words = &state.region->slot[breaker.slot].breaker;
        breaker.inflight = state.region->inflight;
    } else {
        state_forked(&state);
    }
    ck_assert_uint_eq(view_now(who.now).inflight, 1);
    ck_assert_uint_eq(view_now(who.now).outcome[PREBREAK_NEUTRAL], 2);
}
END_TEST

START_TEST(calls_under_our_own_number_are_ours_when_we_have_been_here_all_the_time)
{
    struct breaker_caller who = leave_calls();
    struct state again;

    ck_assert_int_eq(state_open(&again, region_path, _i ? STATE_CREATE : STATE_EXISTING), STATE_SOUND);
    ck_assert_uint_eq(view_now(who.now).inflight, 3);
}
END_TEST

START_TEST(calls_of_slots_that_are_none_are_not_waited_for)
{
    struct breaker_caller who = begin_calls();

    call_out(who, state.pid, state.pid_ns);
    state.region->slot[breaker.slot].ready ^= 1;
    for (int second = 0; second < 40; second++) {
        who.now += NS_PER_S;
        state_look(&state, &who, tell, &told);
    }
    ck_assert_int_eq(told, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("process");
    TCase *processes = tcase_create("processes");

    tcase_add_checked_fixture(processes, begin, fixture_end);
    tcase_set_timeout(processes, 60);
    tcase_add_loop_test(processes, a_process_is_alive_until_it_has_died_waited_for_or_not, 0, 2);
    tcase_add_test(processes, one_that_started_later_is_another_one);
    tcase_add_test(processes, numbers_that_no_process_has_are_dead);
    tcase_add_test(processes, a_process_whose_first_thread_has_ended_lives_on);
    tcase_add_test(processes, under_the_proc_of_another_namespace_only_the_dead_are_called_dead);
    tcase_add_test(processes, without_proc_the_living_are_not_called_dead);
    tcase_add_test(processes, those_who_enrolled_are_counted_while_they_live);
    tcase_add_test(processes, the_places_of_the_dead_are_used_again);
    tcase_add_test(processes, a_table_full_of_others_leaves_one_out);
    tcase_add_test(processes, overdue_calls_of_the_living_fail_and_the_change_is_told);
    tcase_add_test(processes, calls_of_the_dead_are_lost_and_say_nothing);
    tcase_add_test(processes, calls_of_another_namespace_are_left_to_it);
    tcase_add_loop_test(processes, calls_under_our_own_number_are_a_dead_ones_when_we_have_just_begun_or_were_forked, 0,
                        2);
    tcase_add_loop_test(processes, calls_under_our_own_number_are_ours_when_we_have_been_here_all_the_time, 0, 2);
    tcase_add_test(processes, calls_of_slots_that_are_none_are_not_waited_for);
    suite_add_tcase(suite, processes);
    return fixture_run(suite);
}
