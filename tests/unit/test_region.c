/*
 * What must hold for a breaker in shared memory, whatever stands there and whoever dies: words of random bits heal,
 * threads win each change once, and killed processes leave nothing behind.
 */
#include "rig.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t random_state = 88172645463325252u;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* ---- random bits ---- */

#define REGIONS 3000
#define PACE_MS 20 /* between two calls: aegis decides nothing below 100 in 3 s */

static void fill_random(void *memory, size_t size)
{
    uint64_t *word = memory;
    for (size_t i = 0; i < size / sizeof *word; i++) {
        word[i] = random_bits();
    }
}

/* Calls at a steady pace that all end so, each after a moment. */
static void calls_for(struct rig *rig, unsigned seconds, struct breaker_end end)
{
    for (unsigned ms = 0; ms < seconds * 1000; ms += PACE_MS) {
        rig->who.draw = (uint32_t)random_bits();
        struct breaker_call call;
        bool passed = breaker_admit(&rig->b, &rig->who, &rig->order, &call, &rig->change);
        rig_pass_ms(rig, PACE_MS);
        if (passed) {
            rig_end(rig, &call, end);
        }
    }
}

/* Seconds until so many calls in a row have passed in turn. */
#define HEALTHY_ROW 50

static unsigned seconds_until_healthy(struct rig *rig, unsigned most)
{
    unsigned row = 0;
    unsigned ms = 0;
    while (row < HEALTHY_ROW && ms <= most * 1000) {
        rig->who.draw = (uint32_t)random_bits();
        struct breaker_call call;
        bool passed = breaker_admit(&rig->b, &rig->who, &rig->order, &call, &rig->change);
        rig_pass_ms(rig, PACE_MS);
        ms += PACE_MS;
        if (passed) {
            rig_end(rig, &call, end_ok);
        }
        row = passed && !call.probe ? row + 1 : 0;
    }
    return ms / 1000;
}

START_TEST(words_of_random_bits_heal_and_work)
{
    enum prebreak_policy policy = (enum prebreak_policy)_i;
    struct rig *rig = rig_new(policy);
    for (unsigned i = 0; i < REGIONS / PREBREAK_POLICIES; i++) {
        fill_random(&rig->words, sizeof rig->words);
        fill_random(rig->table, sizeof rig->table);
        rig->who.now = random_bits() % (UINT64_C(1) << (40 + i % 20)) + START;
        unsigned healed = seconds_until_healthy(rig, 120);
        ck_assert_msg(healed < 120, "%s, region %u: healed after %u s", breaker_policy_name(policy), i, healed);

        calls_for(rig, 20, end_failed);
        double drop = rig_view(rig).drop;
        ck_assert_msg(drop > .9 || rig_view(rig).phase == PREBREAK_RECOVERING, "%s, region %u: drops %g in an outage",
                      breaker_policy_name(policy), i, drop);

        unsigned back = seconds_until_healthy(rig, 120);
        ck_assert_msg(back < 120, "%s, region %u: back after %u s", breaker_policy_name(policy), i, back);
    }
}
END_TEST

START_TEST(views_of_random_bits_make_sense)
{
    struct rig *rig = rig_new((enum prebreak_policy)_i);
    for (unsigned i = 0; i < 200; i++) {
        fill_random(&rig->words, sizeof rig->words);
        fill_random(rig->table, sizeof rig->table);
        rig->who.now = random_bits() >> (1 + i % 32);
        struct breaker_view view = rig_view(rig);
        ck_assert_uint_lt(view.phase, PREBREAK_PHASES);
        ck_assert(view.drop >= 0 && view.drop <= 1);
        ck_assert_uint_le(view.retry_in, 150 * SECOND);
        ck_assert_uint_le(view.hang, 300 * SECOND);
        ck_assert_uint_le(view.since, rig->who.now);
    }
}
END_TEST

/* ---- threads: every change is won once ---- */

#define THREADS 4
#define ROUNDS  30000

static struct rig shared;
static uint64_t shared_now;
static uint64_t thread_now[THREADS]; /* the time each thread acts at */
static struct {
    uint64_t trips, resets, probes, told_to_open, told_from_open;
} seen;

static void note_change(const struct breaker_change *change)
{
    bool trip = change->reason == BREAKER_REASON_STREAK;
    bool reset = change->reason == BREAKER_REASON_SCORE || change->reason == BREAKER_REASON_FORGET;
    __atomic_fetch_add(&seen.trips, trip, __ATOMIC_RELAXED);
    __atomic_fetch_add(&seen.resets, reset, __ATOMIC_RELAXED);
    __atomic_fetch_add(&seen.told_to_open, change->from != change->to && change->to == PREBREAK_OPEN, __ATOMIC_RELAXED);
    __atomic_fetch_add(&seen.told_from_open, change->from != change->to && change->from == PREBREAK_OPEN,
                       __ATOMIC_RELAXED);
}

/* Health changes every two seconds; the clock is everybody's and moves with each call. */
static bool healthy_at(uint64_t now)
{
    return now / (2 * SECOND) % 2 == 0;
}

/*
 * The next moment of the clock. It waits for threads that are behind: here half a second passes in a moment, and a thread
 * that loses the processor is not to act on a time that long ago.
 */
static uint64_t clock_read(uintptr_t thread)
{
    uint64_t now = __atomic_add_fetch(&shared_now, 200000, __ATOMIC_RELAXED);
    __atomic_store_n(&thread_now[thread], now, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < THREADS; i++) {
        while (now > __atomic_load_n(&thread_now[i], __ATOMIC_RELAXED) + 500 * MS) {
            sched_yield();
        }
    }
    return now;
}

static void *caller(void *arg)
{
    struct breaker_caller who = shared.who;
    who.shard = (uint32_t)(uintptr_t)arg;
    uint64_t seed = who.shard + 1;
    struct breaker_call out[8] = {{0}};
    for (unsigned i = 0; i < ROUNDS; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        who.draw = (uint32_t)(seed >> 32);
        who.now = clock_read((uintptr_t)arg);
        struct breaker_call *call = &out[i % 8];
        struct breaker_end end = healthy_at(who.now) ? end_ok : end_failed;
        struct breaker_change change;
        breaker_finish(&shared.b, &who, call, &end, &change);
        note_change(&change);
        *call = (struct breaker_call){0};
        if (breaker_admit(&shared.b, &who, &shared.order, call, &change)) {
            __atomic_fetch_add(&seen.probes, call->probe, __ATOMIC_RELAXED);
        } else {
            *call = (struct breaker_call){0};
        }
        note_change(&change);
    }
    for (unsigned i = 0; i < 8; i++) {
        struct breaker_change change;
        breaker_finish(&shared.b, &who, &out[i], &end_neutral, &change);
        note_change(&change);
    }
    __atomic_store_n(&thread_now[(uintptr_t)arg], UINT64_MAX / 2, __ATOMIC_RELAXED);
    return NULL;
}

START_TEST(every_change_is_won_once_and_told_once)
{
    rig_init(&shared, PREBREAK_SRE);
    shared_now = START;
    for (unsigned i = 0; i < THREADS; i++) {
        thread_now[i] = START;
    }
    pthread_t thread[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&thread[i], NULL, caller, (void *)i), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    shared.who.now = shared_now;
    ck_assert_uint_gt(seen.trips, 3);
    ck_assert_uint_eq(rig_generation(&shared), 1 + seen.trips + seen.resets);
    ck_assert_uint_eq(seen.told_to_open, seen.trips);

    struct breaker_view view = rig_view(&shared);
    ck_assert_msg(view.inflight == 0, "nothing is left once all calls have ended");
    uint64_t calls = view.total_refused;
    for (unsigned i = 0; i < PREBREAK_OUTCOMES; i++) {
        calls += view.outcome[i];
    }
    ck_assert_uint_eq(calls, THREADS * ROUNDS);

    uint64_t elapsed_ms = (shared_now - START) / MS;
    ck_assert_uint_le(seen.probes, elapsed_ms / 20 + seen.trips + seen.resets);
}
END_TEST

/* ---- threads: what only so many may do ---- */

#define CROWD_ROUNDS 200

static unsigned crowd_passed;

static void *crowd_member(void *arg)
{
    struct breaker_caller who = shared.who;
    who.shard = (uint32_t)(uintptr_t)arg;
    who.draw = DRAW_REFUSE;
    for (unsigned i = 0; i < 4; i++) {
        struct breaker_call call;
        struct breaker_change change;
        bool passed = breaker_admit(&shared.b, &who, &shared.order, &call, &change);
        __atomic_fetch_add(&crowd_passed, passed, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* Sixteen calls of four threads at one moment: how many pass? */
static unsigned crowd_passes(void)
{
    pthread_t thread[THREADS];
    crowd_passed = 0;
    for (uintptr_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&thread[i], NULL, crowd_member, (void *)i), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    return crowd_passed;
}

static const struct {
    enum prebreak_policy policy;
    unsigned wait_ms; /* from the failures until the crowd comes */
    unsigned passes;
} crowds[] = {
    {PREBREAK_SRE, 60, 1},           /* a probe */
    {PREBREAK_SRE, 60000, 4},        /* a quiet spell: `reset` */
    {PREBREAK_GOZERO, 1500, 1},      /* a forced pass */
    {PREBREAK_GOBREAKER, 15000, 3},  /* half-open places */
    {PREBREAK_CONSECUTIVE, 1600, 1}, /* one probe at a time */
};

START_TEST(of_a_crowd_exactly_so_many_pass)
{
    for (unsigned round = 0; round < CROWD_ROUNDS; round++) {
        rig_init(&shared, crowds[_i].policy);
        for (unsigned i = 0; i < 200; i++) {
            rig_call(&shared, end_failed);
            rig_pass_ms(&shared, 1);
        }
        rig_pass_ms(&shared, crowds[_i].wait_ms);
        ck_assert_uint_eq(crowd_passes(), crowds[_i].passes);
    }
}
END_TEST

/* ---- processes that are killed ---- */

#define KILLED 300

struct region {
    struct rig rig;
    prebreak_word now; /* one clock for all */
    prebreak_word last_look;
};

static void child_calls(struct region *region, unsigned n)
{
    struct breaker_caller who = region->rig.who;
    who.pid = (uint32_t)getpid();
    who.shard = n;
    uint64_t seed = n + 1;
    struct breaker_call out[4] = {{0}};
    for (unsigned i = 0;; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        who.draw = (uint32_t)(seed >> 32);
        who.now = __atomic_add_fetch(&region->now, 20000, __ATOMIC_RELAXED);
        struct breaker_end end = healthy_at(who.now) ? end_ok : end_failed;
        struct breaker_change change;
        breaker_finish(&region->rig.b, &who, &out[i % 4], &end, &change);
        out[i % 4] = (struct breaker_call){0};
        if (!breaker_admit(&region->rig.b, &who, &region->rig.order, &out[i % 4], &change)) {
            out[i % 4] = (struct breaker_call){0};
        }
    }
}

static uint64_t look_hang(void *context, uint32_t slot, bool stream)
{
    (void)stream;
    (void)slot;
    struct region *region = context;
    return breaker_hang(&region->rig.b);
}

static bool look_alive(void *context, uint32_t pid, uint64_t heard)
{
    (void)context;
    (void)heard;
    return kill((pid_t)pid, 0) == 0;
}

static void look_overdue(void *context, uint32_t slot, uint64_t heard, bool stream)
{
    (void)slot;
    struct region *region = context;
    breaker_overdue(&region->rig.b, &region->rig.who, heard, stream, &region->rig.change);
}

static void look_lost(void *context, uint32_t slot)
{
    (void)slot;
    struct region *region = context;
    breaker_lost(&region->rig.b, &region->rig.who);
}

START_TEST(processes_killed_in_mid_call_leave_a_region_that_works_as_before)
{
    struct region *region = mmap(NULL, sizeof *region, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(region, MAP_FAILED);
    struct rig *rig = &region->rig;
    rig_init(rig, (enum prebreak_policy)_i);
    region->now = START;

    for (unsigned i = 0; i < KILLED / PREBREAK_POLICIES; i++) {
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (child == 0) {
            child_calls(region, i);
        }
        uint64_t begun = __atomic_load_n(&region->now, __ATOMIC_RELAXED);
        uint64_t until = begun + random_bits() % 20000 * 20000;
        while (__atomic_load_n(&region->now, __ATOMIC_RELAXED) <= until) {
            sched_yield();
        }
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }

    rig->who.now = region->now;
    struct inflight_world world = {
        .context = region, .hang = look_hang, .alive = look_alive, .overdue = look_overdue, .lost = look_lost};
    uint64_t before = rig_view(rig).inflight;
    ck_assert_msg(before > 0 && before <= KILLED * 4, "%lu", (unsigned long)before);
    for (unsigned i = 0; i < 200 && rig_view(rig).inflight > 0; i++) {
        rig_pass_ms(rig, 1000);
        inflight_look(rig->table, &region->last_look, &rig->who, &world);
    }
    ck_assert_msg(rig_view(rig).inflight == 0, "what the dead had out was freed");

    ck_assert_uint_lt(seconds_until_healthy(rig, 120), 120);
    calls_for(rig, 20, end_failed);
    ck_assert(rig_view(rig).drop > .9 || rig_view(rig).phase == PREBREAK_RECOVERING);
    ck_assert_uint_lt(seconds_until_healthy(rig, 120), 120);
    munmap(region, sizeof *region);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("region");
    tcase_add_loop_test(tests, words_of_random_bits_heal_and_work, 0, PREBREAK_POLICIES);
    tcase_add_loop_test(tests, views_of_random_bits_make_sense, 0, PREBREAK_POLICIES);
    tcase_add_test(tests, every_change_is_won_once_and_told_once);
    tcase_add_loop_test(tests, of_a_crowd_exactly_so_many_pass, 0, sizeof crowds / sizeof *crowds);
    tcase_add_loop_test(tests, processes_killed_in_mid_call_leave_a_region_that_works_as_before, 0, PREBREAK_POLICIES);
    return rig_run(tests, "region");
}
