#include "rig.h"
#include <pthread.h>

static prebreak_word table[PREBREAK_INFLIGHT];
static prebreak_word last_look;
static struct breaker_caller who;

/* The world that a look asks, and what it was told. */
static struct {
    uint64_t hang, stall;
    uint32_t dead_pid; /* no such process; 0 none */
    unsigned asked;
    unsigned overdue, stalled, lost; /* stalled: of those overdue */
    uint32_t slot;
    uint64_t heard;
} world;

static uint64_t world_hang(void *context, uint32_t slot, bool stream)
{
    (void)context;
    (void)slot;
    return stream ? world.stall : world.hang;
}

static bool world_alive(void *context, uint32_t pid, uint64_t heard)
{
    (void)context;
    (void)heard;
    world.asked++;
    return pid != world.dead_pid;
}

static void world_overdue(void *context, uint32_t slot, uint64_t heard, bool stream)
{
    (void)context;
    world.overdue++;
    world.stalled += stream;
    world.slot = slot;
    world.heard = heard;
}

static void world_lost(void *context, uint32_t slot)
{
    (void)context;
    world.lost++;
    world.slot = slot;
}

static const struct inflight_world asked = {
    .hang = world_hang, .alive = world_alive, .overdue = world_overdue, .lost = world_lost};

static void setup(void)
{
    memset(table, 0, sizeof table);
    memset(&world, 0, sizeof world);
    world.hang = 30 * SECOND;
    world.stall = 60 * SECOND;
    last_look = 0;
    who = (struct breaker_caller){.now = START, .draw = 12345, .shard = 3, .pid = 4711, .pid_ns = 9};
}

static uint64_t enter(uint32_t slot, uint32_t *place)
{
    who.draw = who.draw * UINT32_C(1664525) + UINT32_C(1013904223);
    return inflight_enter(table, &who, slot, place);
}

static bool look(void)
{
    return inflight_look(table, &last_look, &who, &asked);
}

/* One look each second until `seconds` from now, as a busy region has them. */
static void look_for(unsigned seconds)
{
    for (unsigned i = 0; i < seconds; i++) {
        look();
        who.now += SECOND;
    }
    look();
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

START_TEST(a_word_says_who_for_which_key_and_when)
{
    uint32_t place;
    uint64_t word = enter(1023, &place);
    ck_assert_uint_eq(table[place], word);
    ck_assert_uint_eq(inflight_pid(word), 4711);
    ck_assert_uint_eq(inflight_slot(word), 1023);
    ck_assert_uint_eq(inflight_pid_ns(word), 9);
    ck_assert_uint_le(inflight_heard(word, START), START);
    ck_assert_uint_gt(inflight_heard(word, START) + INFLIGHT_TICK_NS, START);
}
END_TEST

START_TEST(a_time_is_the_latest_that_is_not_after_now_and_a_minute)
{
    uint32_t place;
    uint64_t word = enter(5, &place);
    uint64_t span = INFLIGHT_TICK_NS << 23;
    ck_assert_uint_eq(inflight_heard(word, START + 3 * SECOND), START / INFLIGHT_TICK_NS * INFLIGHT_TICK_NS);
    ck_assert_uint_le(inflight_heard(word, START - 50 * SECOND), START);
    ck_assert_uint_gt(inflight_heard(word, START - 50 * SECOND), START - SECOND);
    ck_assert_uint_gt(inflight_heard(word, START + span), START + span - SECOND);
}
END_TEST

START_TEST(one_who_left_cannot_leave_again)
{
    uint32_t place;
    uint64_t word = enter(5, &place);
    ck_assert(inflight_leave(table, place, word));
    ck_assert(!inflight_leave(table, place, word));
}
END_TEST

START_TEST(one_event_loop_may_have_thousands_out)
{
    uint32_t place;
    unsigned entered = 0;
    for (unsigned i = 0; i < 8000; i++) {
        entered += enter(5, &place) != 0;
    }
    ck_assert_uint_gt(entered, 7900);
    ck_assert_uint_eq(inflight_count(table, 5, who.now, 0), entered);
}
END_TEST

START_TEST(a_full_table_takes_nobody)
{
    uint32_t place;
    memset(table, 1, sizeof table);
    ck_assert_uint_eq(enter(5, &place), 0);
}
END_TEST

START_TEST(calls_are_counted_by_key_and_time)
{
    uint32_t place;
    enter(5, &place);
    enter(6, &place);
    who.now += SECOND;
    enter(5, &place);
    ck_assert_uint_eq(inflight_count(table, 5, who.now, 0), 2);
    ck_assert_uint_eq(inflight_count(table, 5, who.now, START + 500 * MS), 1);
    ck_assert_uint_eq(inflight_between(table, 5, who.now, 0, START + 500 * MS), 1);
    ck_assert_uint_eq(inflight_count(table, 7, who.now, 0), 0);
}
END_TEST

START_TEST(a_call_is_refreshed_at_most_once_a_second)
{
    uint32_t place;
    uint64_t word = enter(5, &place);
    ck_assert_uint_eq(inflight_refresh(table, place, word, START + 900 * MS), word);
    uint64_t fresh = inflight_refresh(table, place, word, START + 1100 * MS);
    ck_assert_uint_ne(fresh, word);
    ck_assert_uint_eq(table[place], fresh);
    ck_assert_msg(inflight_refresh(table, place, word, START + 3000 * MS) == 0, "somebody else's by now");
}
END_TEST

START_TEST(an_event_stream_is_told_by_its_word_and_heard_of_from_when_it_began)
{
    uint32_t place;
    uint64_t word = enter(1023, &place);
    ck_assert(!inflight_is_stream(word));
    uint64_t stream = inflight_stream(table, place, word, START + 200 * MS);
    ck_assert(inflight_is_stream(stream));
    ck_assert_uint_eq(table[place], stream);
    ck_assert_uint_eq(inflight_pid(stream), 4711);
    ck_assert_uint_eq(inflight_slot(stream), 1023);
    ck_assert_uint_eq(inflight_pid_ns(stream), 9);
    ck_assert_uint_eq(inflight_heard(stream, START + SECOND), (START + 200 * MS) / INFLIGHT_TICK_NS * INFLIGHT_TICK_NS);
    ck_assert(inflight_is_stream(inflight_refresh(table, place, stream, START + 2 * SECOND)));
    ck_assert_msg(inflight_stream(table, place, word, START) == 0, "it is not there any more");
}
END_TEST

/* ---- the look ---------------------------------------------------------------------------------------------------- */

START_TEST(one_caller_looks_once_a_second)
{
    ck_assert(look());
    ck_assert(!look());
    who.now += 999 * MS;
    ck_assert(!look());
    who.now += 1 * MS;
    ck_assert(look());
}
END_TEST

START_TEST(a_last_look_from_the_future_is_no_look)
{
    last_look = START + 3600 * SECOND;
    ck_assert(look());
    ck_assert_uint_le(last_look, START + 1);
}
END_TEST

START_TEST(silence_for_hang_is_overdue_once)
{
    uint32_t place;
    uint64_t word = enter(5, &place);
    look_for(29);
    ck_assert_uint_eq(world.overdue, 0);
    look_for(5);
    ck_assert_uint_eq(world.overdue, 1);
    ck_assert_uint_eq(world.slot, 5);
    ck_assert_uint_eq(world.heard, inflight_heard(word, who.now));
    ck_assert(!inflight_leave(table, place, word));
}
END_TEST

START_TEST(a_byte_in_time_is_no_silence)
{
    uint32_t place;
    uint64_t word = enter(5, &place);
    look_for(20);
    word = inflight_refresh(table, place, word, who.now);
    look_for(20);
    ck_assert_uint_eq(world.overdue, 0);
    ck_assert(inflight_leave(table, place, word));
}
END_TEST

START_TEST(an_event_stream_has_stalled_by_a_silence_of_its_own)
{
    uint32_t place;
    uint64_t word = enter(5, &place);
    inflight_stream(table, place, word, START);
    look_for(59);
    ck_assert_uint_eq(world.overdue, 0);
    look_for(5);
    ck_assert_uint_eq(world.overdue, 1);
    ck_assert_uint_eq(world.stalled, 1);
    ck_assert_uint_eq(world.heard, START / INFLIGHT_TICK_NS * INFLIGHT_TICK_NS);
}
END_TEST

START_TEST(a_stall_may_be_shorter_than_a_hang_or_off)
{
    uint32_t place;
    world.stall = 5 * SECOND;
    uint64_t word = enter(5, &place);
    inflight_stream(table, place, word, START);
    look_for(7);
    ck_assert_uint_eq(world.stalled, 1);
    world.stall = 0;
    word = enter(5, &place);
    inflight_stream(table, place, word, who.now);
    look_for(100);
    ck_assert_uint_eq(world.overdue, 1);
}
END_TEST

START_TEST(no_hang_no_overdue)
{
    uint32_t place;
    world.hang = 0;
    enter(5, &place);
    look_for(100);
    ck_assert_uint_eq(world.overdue + world.lost, 0);
}
END_TEST

START_TEST(after_a_freeze_the_first_look_only_notes)
{
    uint32_t place;
    enter(5, &place);
    look_for(3);
    who.now += 60 * SECOND;
    ck_assert(look());
    ck_assert_msg(world.overdue == 0, "the answer may be waiting");
    who.now += 60 * SECOND;
    ck_assert(look());
    ck_assert_msg(world.overdue == 1, "looks are that rare here: silence is silence");
}
END_TEST

START_TEST(a_look_not_much_later_than_usual_is_no_freeze)
{
    uint32_t place;
    enter(5, &place);
    look_for(28);
    who.now += 6 * SECOND; /* more than 5 s, but less than half of 30 s */
    look();
    ck_assert_uint_eq(world.overdue, 1);
}
END_TEST

START_TEST(calls_of_dead_processes_are_lost)
{
    uint32_t place;
    who.pid = world.dead_pid = 815;
    enter(5, &place);
    who.pid = 4711;
    look_for(2);
    ck_assert_uint_eq(world.lost, 1);
    ck_assert_uint_eq(world.overdue, 0);
    ck_assert_uint_eq(table[place], 0);
}
END_TEST

START_TEST(calls_of_another_pid_namespace_are_left_to_it)
{
    uint32_t place;
    who.pid_ns = 10;
    enter(5, &place);
    who.pid_ns = 9;
    world.dead_pid = 4711;
    look_for(60);
    ck_assert_uint_eq(world.overdue + world.lost + world.asked, 0);
}
END_TEST

START_TEST(what_is_an_hour_and_ten_hangs_old_is_freed_by_anybody)
{
    uint32_t place;
    who.pid_ns = 10;
    enter(5, &place);
    who.pid_ns = 9;
    who.now += 3600 * SECOND + 300 * SECOND - SECOND;
    look();
    ck_assert_uint_eq(world.lost, 0);
    who.now += 2 * SECOND;
    look();
    ck_assert_uint_eq(world.lost, 1);
}
END_TEST

START_TEST(sixteen_processes_are_asked_about_in_a_look_the_overdue_first)
{
    uint32_t place;
    for (uint32_t pid = 1; pid <= 100; pid++) {
        who.pid = pid;
        enter(5, &place);
    }
    who.now += 20 * SECOND;
    for (uint32_t pid = 101; pid <= 200; pid++) {
        who.pid = pid;
        enter(6, &place);
    }
    who.pid = 4711;
    last_look = START + 10 * SECOND;
    who.now = START + 31 * SECOND;
    last_look = who.now - SECOND;
    look();
    ck_assert_uint_eq(world.asked, 16);
    ck_assert_uint_eq(world.overdue, 16);
    look_for(9);
    ck_assert_msg(world.overdue == 100, "all of them in a few looks");
}
END_TEST

START_TEST(a_process_that_asks_of_itself_asks_nobody)
{
    uint32_t place;
    enter(5, &place);
    look_for(40);
    ck_assert_uint_eq(world.asked, 0);
    ck_assert_uint_eq(world.overdue, 1);
}
END_TEST

START_TEST(one_frees_what_an_earlier_process_of_its_number_left)
{
    uint32_t place;
    enter(5, &place);
    who.pid = 4712;
    enter(5, &place);
    who.pid = 4711;
    inflight_disown(table, &who, &asked);
    ck_assert_msg(world.lost == 0, "of this very moment: it is our own");
    who.now += 2 * INFLIGHT_TICK_NS;
    inflight_disown(table, &who, &asked);
    ck_assert_uint_eq(world.lost, 1);
    ck_assert_uint_eq(inflight_count(table, 5, who.now, 0), 1);
}
END_TEST

START_TEST(any_bits_are_survived)
{
    uint64_t seed = 42;
    for (unsigned i = 0; i < PREBREAK_INFLIGHT; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        table[i] = seed;
    }
    who.now = 20 * 86400 * SECOND;
    world.hang = UINT64_MAX;
    look();
    world.hang = 1;
    who.now += 2 * SECOND;
    look();
    /* Within the 12 days that a word can tell, most are more than an hour old. */
    ck_assert_uint_gt(world.lost, PREBREAK_INFLIGHT * 9 / 10);
}
END_TEST

/* ---- threads ----------------------------------------------------------------------------------------------------- */

#define THREADS 3
#define CALLS   3000

static unsigned left_by_threads, overdue_by_looks;

static void *caller(void *arg)
{
    struct breaker_caller me = who;
    me.shard = (uint32_t)(uintptr_t)arg;
    for (unsigned i = 0; i < CALLS; i++) {
        uint32_t place;
        me.draw = me.draw * UINT32_C(1664525) + UINT32_C(1013904223);
        uint64_t word = inflight_enter(table, &me, 5, &place);
        if (word == 0 || inflight_leave(table, place, word)) {
            __atomic_fetch_add(&left_by_threads, 1, __ATOMIC_RELAXED);
        }
    }
    return NULL;
}

static void count_overdue(void *context, uint32_t slot, uint64_t heard, bool stream)
{
    (void)stream;
    (void)context;
    (void)slot;
    (void)heard;
    __atomic_fetch_add(&overdue_by_looks, 1, __ATOMIC_RELAXED);
}

START_TEST(a_call_is_counted_by_its_caller_or_by_a_look_never_by_both)
{
    pthread_t thread[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&thread[i], NULL, caller, (void *)i), 0);
    }
    struct inflight_world eager = asked;
    eager.overdue = count_overdue;
    world.hang = 1;
    struct breaker_caller looker = who;
    for (unsigned i = 0; i < 200; i++) {
        looker.now += SECOND;
        inflight_look(table, &last_look, &looker, &eager);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    ck_assert_uint_eq(left_by_threads + overdue_by_looks, THREADS * CALLS);
    ck_assert_uint_eq(inflight_count(table, 5, who.now, 0), 0);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("inflight");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_test(tests, a_word_says_who_for_which_key_and_when);
    tcase_add_test(tests, a_time_is_the_latest_that_is_not_after_now_and_a_minute);
    tcase_add_test(tests, one_who_left_cannot_leave_again);
    tcase_add_test(tests, one_event_loop_may_have_thousands_out);
    tcase_add_test(tests, a_full_table_takes_nobody);
    tcase_add_test(tests, calls_are_counted_by_key_and_time);
    tcase_add_test(tests, a_call_is_refreshed_at_most_once_a_second);
    tcase_add_test(tests, one_caller_looks_once_a_second);
    tcase_add_test(tests, a_last_look_from_the_future_is_no_look);
    tcase_add_test(tests, silence_for_hang_is_overdue_once);
    tcase_add_test(tests, an_event_stream_is_told_by_its_word_and_heard_of_from_when_it_began);
    tcase_add_test(tests, an_event_stream_has_stalled_by_a_silence_of_its_own);
    tcase_add_test(tests, a_stall_may_be_shorter_than_a_hang_or_off);
    tcase_add_test(tests, a_byte_in_time_is_no_silence);
    tcase_add_test(tests, no_hang_no_overdue);
    tcase_add_test(tests, after_a_freeze_the_first_look_only_notes);
    tcase_add_test(tests, a_look_not_much_later_than_usual_is_no_freeze);
    tcase_add_test(tests, calls_of_dead_processes_are_lost);
    tcase_add_test(tests, calls_of_another_pid_namespace_are_left_to_it);
    tcase_add_test(tests, what_is_an_hour_and_ten_hangs_old_is_freed_by_anybody);
    tcase_add_test(tests, sixteen_processes_are_asked_about_in_a_look_the_overdue_first);
    tcase_add_test(tests, a_process_that_asks_of_itself_asks_nobody);
    tcase_add_test(tests, one_frees_what_an_earlier_process_of_its_number_left);
    tcase_add_test(tests, any_bits_are_survived);
    tcase_add_test(tests, a_call_is_counted_by_its_caller_or_by_a_look_never_by_both);
    return rig_run(tests, "inflight");
}
