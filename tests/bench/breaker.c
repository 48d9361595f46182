/*
 * What a decision costs: admit and report for each policy, closed and open, with one and two threads, on one key and on
 * 64, with the clock, the draw, the totals and the in-flight word that every call pays for. Beside it, in the same rounds,
 * the same rolling window and throttle kept the usual way: plain counters under a process-shared mutex. A figure is the
 * lower quartile of many short rounds, each on processors of their own and side by side nearly all the time: every other
 * program on the machine disturbs.
 *
 *   breaker              a table of nanoseconds and ratios, tab-separated
 *   breaker count WHAT N N calls of admit or report and nothing else of weight, to be counted by callgrind
 */
#include "bench.h"
#include "breaker/breaker.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define KEYS   64
#define CALLS  20000 // a round: shorter than the machine's moods
#define ROUNDS 41
#define TRIES  20 // until two threads really ran side by side

static struct prebreak_settings settings;

static uint64_t coarse_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint32_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (uint32_t)(*seed >> 32);
}

// ---- ours -------------------------------------------------------------------------------------------------------------

static struct prebreak_breaker *words;
static prebreak_word *inflight;

static void our_call(uint32_t key, struct breaker_caller *who, uint64_t *seed, const struct breaker_end *end)
{
    static const struct breaker_order order = {.hold = PREBREAK_CLOSED, .enforce = 65535};
    struct breaker b = {.words = &words[key], .settings = &settings, .inflight = inflight, .slot = key};
    struct breaker_call call;
    struct breaker_change change;
    who->now = coarse_now();
    who->draw = draw(seed);
    if (breaker_admit(&b, who, &order, &call, &change)) {
        who->now = coarse_now();
        breaker_finish(&b, who, &call, end, &change);
    }
}

// ---- the alternative: the same window, counters and throttle under one process-shared mutex a key ---------------------

struct mutex_window {
    pthread_mutex_t lock;
    struct {
        uint64_t slice, count[3]; // ok, failed, refused
    } slices[10];
    uint64_t total[3], inflight;
};
static struct mutex_window *windows;

static void mutex_add(struct mutex_window *w, uint64_t now, int what)
{
    uint64_t slice = now / (settings.window / 10);
    uint64_t i = slice % 10;
    if (w->slices[i].slice != slice) {
        memset(&w->slices[i], 0, sizeof w->slices[i]);
        w->slices[i].slice = slice;
    }
    w->slices[i].count[what]++;
    w->total[what]++;
}

static double mutex_drop(const struct mutex_window *w, uint64_t now)
{
    uint64_t slice = now / (settings.window / 10), all = 0, ok = 0;
    for (int i = 0; i < 10; i++) {
        if (w->slices[i].slice + 10 > slice) {
            ok += w->slices[i].count[0];
            all += w->slices[i].count[0] + w->slices[i].count[1] + w->slices[i].count[2];
        }
    }
    return all < 10 ? 0 : ((double)all - (double)ok / settings.success) / ((double)all + 1);
}

static void mutex_call(uint32_t key, uint64_t *seed, bool failing)
{
    struct mutex_window *w = &windows[key];
    uint64_t now = coarse_now();
    double x = draw(seed) / 4294967296.0;
    pthread_mutex_lock(&w->lock);
    bool pass = x >= mutex_drop(w, now);
    if (pass) {
        w->inflight++;
    } else {
        mutex_add(w, now, 2);
    }
    pthread_mutex_unlock(&w->lock);
    if (pass) {
        now = coarse_now();
        pthread_mutex_lock(&w->lock);
        mutex_add(w, now, failing);
        w->inflight--;
        pthread_mutex_unlock(&w->lock);
    }
}

static void mutex_fresh(struct mutex_window *w)
{
    pthread_mutexattr_t shared;
    memset(w, 0, sizeof *w);
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&w->lock, &shared);
    pthread_mutexattr_destroy(&shared);
}

// ---- rounds -----------------------------------------------------------------------------------------------------------

struct job {
    pthread_barrier_t *start;
    int thread, keys;
    bool failing, mutex;
    uint64_t begun, ended;
};

static void *work(void *argument)
{
    struct job *job = argument;
    uint64_t seed = 0x9e3779b97f4a7c15u * (uint64_t)(job->thread + 1);
    struct breaker_caller who = {.shard = (uint32_t)job->thread, .pid = 1000 + (uint32_t)job->thread, .pid_ns = 1};
    struct breaker_end end = {
        .outcome = job->failing ? PREBREAK_FAILED : PREBREAK_OK, .kind = PREBREAK_KIND_STATUS, .answered = true};
    pthread_barrier_wait(job->start);
    job->begun = bench_now();
    for (uint32_t i = 0; i < CALLS; i++) {
        uint32_t key = i % (uint32_t)job->keys;
        if (job->mutex) {
            mutex_call(key, &seed, job->failing);
        } else {
            our_call(key, &who, &seed, &end);
        }
    }
    job->ended = bench_now();
    return NULL;
}

// The processor of this number among those that we may use.
static cpu_set_t one_processor(int number)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof all, &all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all) && number-- == 0) {
            CPU_SET(cpu, &one);
        }
    }
    return CPU_COUNT(&one) > 0 ? one : all;
}

// The share of the time that all of them ran.
static double overlap(const struct job *job, int threads)
{
    uint64_t begun = job[0].begun, ended = job[0].ended, first = begun, last = ended;
    for (int i = 1; i < threads; i++) {
        begun = job[i].begun > begun ? job[i].begun : begun;
        ended = job[i].ended < ended ? job[i].ended : ended;
        first = job[i].begun < first ? job[i].begun : first;
        last = job[i].ended > last ? job[i].ended : last;
    }
    return ended > begun ? (double)(ended - begun) / (double)(last - first) : 0;
}

static double round_once(int threads, int keys, bool failing, bool mutex, double *side_by_side)
{
    pthread_t thread[2];
    struct job job[2];
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        job[i] = (struct job){.start = &start, .thread = i, .keys = keys, .failing = failing, .mutex = mutex};
        cpu_set_t own = one_processor(i);
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setaffinity_np(&attributes, sizeof own, &own);
        pthread_create(&thread[i], &attributes, work, &job[i]);
        pthread_attr_destroy(&attributes);
    }
    uint64_t took = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        took += job[i].ended - job[i].begun;
    }
    pthread_barrier_destroy(&start);
    *side_by_side = overlap(job, threads);
    return (double)took / threads / CALLS;
}

static double round_of(int threads, int keys, bool failing, bool mutex)
{
    double took = 0, side_by_side = 0;
    for (int i = 0; i < TRIES && side_by_side < 0.9; i++) {
        took = round_once(threads, keys, failing, mutex, &side_by_side);
    }
    return took;
}

// Failures of the last two seconds, one after the other, until every policy has seen enough.
static void fail_all(uint32_t key)
{
    uint64_t seed = 7;
    struct breaker b = {.words = &words[key], .settings = &settings, .inflight = inflight, .slot = key};
    struct breaker_order order = {.hold = PREBREAK_CLOSED, .enforce = 65535};
    struct breaker_end end = {.outcome = PREBREAK_FAILED, .kind = PREBREAK_KIND_STATUS, .answered = true};
    for (uint64_t ago = 200; ago > 0; ago--) {
        struct breaker_caller who = {.now = coarse_now() - ago * 10000000u, .draw = draw(&seed), .pid = 1};
        struct breaker_call call;
        struct breaker_change change;
        if (breaker_admit(&b, &who, &order, &call, &change)) {
            breaker_finish(&b, &who, &call, &end, &change);
        }
        mutex_add(&windows[key], who.now, 1);
    }
}

static void fresh(enum prebreak_policy policy, bool open)
{
    breaker_settings_default(policy, &settings);
    memset(words, 0, KEYS * sizeof *words);
    memset(inflight, 0, PREBREAK_INFLIGHT * sizeof *inflight);
    for (uint32_t key = 0; key < KEYS; key++) {
        mutex_fresh(&windows[key]);
        if (open) {
            fail_all(key);
        }
    }
}

static void row(enum prebreak_policy policy, bool open, int threads, int keys)
{
    double ours[ROUNDS], mutex[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        fresh(policy, open);
        ours[r] = round_of(threads, keys, open, false);
        mutex[r] = round_of(threads, keys, open, true);
    }
    double a = bench_quartile(ours, ROUNDS), b = bench_quartile(mutex, ROUNDS);
    printf("%s\t%s\t%d\t%d\t%.1f\t%.1f\t%.2f\n", breaker_policy_name(policy), open ? "open" : "closed", threads, keys,
           a, b, a / b);
    fflush(stdout);
}

static void table(void)
{
    printf("policy\tphase\tthreads\tkeys\tours ns\tmutex ns\tratio\n");
    for (int policy = 0; policy < PREBREAK_POLICIES; policy++) {
        for (int open = 0; open < 2; open++) {
            for (int threads = 1; threads <= 2; threads++) {
                row((enum prebreak_policy)policy, open, threads, 1);
                row((enum prebreak_policy)policy, open, threads, KEYS);
            }
        }
    }
}

// ---- instruction counts -----------------------------------------------------------------------------------------------

static void count(bool report, uint32_t calls)
{
    fresh(PREBREAK_SRE, false);
    uint64_t seed = 1;
    struct breaker_caller who = {.now = coarse_now(), .pid = 1};
    struct breaker_order order = {.hold = PREBREAK_CLOSED, .enforce = 65535};
    struct breaker_end end = {.outcome = PREBREAK_OK, .answered = true};
    struct breaker b = {.words = words, .settings = &settings, .inflight = inflight};
    for (uint32_t i = 0; i < calls; i++) {
        struct breaker_call call;
        struct breaker_change change;
        who.draw = draw(&seed);
        who.now += 1000;
        breaker_admit(&b, &who, &order, &call, &change);
        if (report) {
            breaker_finish(&b, &who, &call, &end, &change);
        } else {
            inflight[call.place] = 0; // out again, so that the table never fills
        }
    }
}

static void *shared(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return memory;
}

int main(int argc, char **argv)
{
    words = shared(KEYS * sizeof *words);
    inflight = shared(PREBREAK_INFLIGHT * sizeof *inflight);
    windows = shared(KEYS * sizeof *windows);
    if (argc == 4 && strcmp(argv[1], "count") == 0) {
        count(strcmp(argv[2], "report") == 0, (uint32_t)strtoul(argv[3], NULL, 10));
    } else if (argc == 1) {
        table();
    } else {
        fprintf(stderr, "usage: breaker [count admit|report N]\n");
        return 64;
    }
    return 0;
}
