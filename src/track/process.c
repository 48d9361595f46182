/*
 * See process.h. Forks are noticed by a word that the kernel wipes in the child; where it cannot, by a fork handler.
 */
#include "track/process.h"
#include "real/real.h"
#include "rules/text.h"
#include "track/flow/attempt.h"
#include "track/config.h"
#include "track/flow/descriptors.h"
#include "track/flow/fdtable.h"
#include "track/log.h"
#include "track/names/names.h"
#include "track/provider.h"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>

bool process_acts;

static bool confined;
static struct state *current; /* atomic */
static uint64_t looked;       /* pid in the high half, second in the low one: who looked last */
static uint32_t forks;        /* atomic */
static pid_t pid;             /* of this process, by getpid */
static uint64_t hash_seed;

/* ---- clock ------------------------------------------------------------------------------------------------------- */

/* Without the canary that a local whose address is taken would bring: this is called several times a call. */
__attribute__((no_stack_protector)) uint64_t process_now(void)
{
    struct timespec now;
    real_clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* ---- random numbers and threads ---------------------------------------------------------------------------------- */

static __thread struct {
    uint64_t random;
    uint32_t forks; /* when it was seeded: siblings must not draw the same numbers */
    uint32_t seeded;
} thread;

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static void seed_thread(void)
{
    uint64_t kernel[2] = {0, 0};
    const unsigned char *bytes = (const unsigned char *)getauxval(AT_RANDOM);
    if (bytes != NULL) {
        __builtin_memcpy(kernel, bytes, sizeof kernel);
    }
    struct timespec now;
    real_clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t seed = kernel[0] ^ mix(kernel[1] ^ (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 32);
    seed = mix(seed ^ (uint64_t)(uintptr_t)&thread ^ (uint64_t)pid << 40);
    thread.random = seed != 0 ? seed : 1;
    thread.forks = __atomic_load_n(&forks, __ATOMIC_RELAXED);
    thread.seeded = 1;
}

uint64_t process_random(void)
{
    if (__builtin_expect(!thread.seeded || thread.forks != __atomic_load_n(&forks, __ATOMIC_RELAXED), 0)) {
        seed_thread();
    }
    uint64_t x = thread.random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    thread.random = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

uint64_t process_hash(const void *bytes, size_t length)
{
    return state_hash(hash_seed, bytes, length);
}

uint64_t process_thread(void)
{
    return (uint64_t)(uintptr_t)&thread;
}

/* ---- forks ------------------------------------------------------------------------------------------------------- */

/* In a child, once: whatever was under way is the parent's. */
static void forked(void)
{
    uint32_t dead = 0;
    if (!__atomic_compare_exchange_n(&fdtable.alive, &dead, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return;
    }
    pid = (pid_t)real_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
    __atomic_add_fetch(&forks, 1, __ATOMIC_RELEASE);
    struct state *state = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
    if (state != NULL) {
        state_forked(state);
        state_enrol(state);
    }
}

static inline void notice_fork(void)
{
    if (__builtin_expect(__atomic_load_n(&fdtable.alive, __ATOMIC_ACQUIRE) == 0, 0)) {
        int saved = errno;
        forked();
        errno = saved;
    }
}

uint32_t process_forks(void)
{
    notice_fork();
    return __atomic_load_n(&forks, __ATOMIC_RELAXED);
}

extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso);
extern void *__dso_handle __attribute__((visibility("hidden")));

static void child_of_fork(void)
{
    fdtable_wipe();
}

/*
 * Memory that the kernel hands to a child zeroed. An emulator that says yes to every advice would not, and an old kernel
 * or gVisor refuses: then a handler does it.
 */
static void watch_forks(void)
{
    bool says_yes_to_anything = real_madvise(&fdtable, sizeof fdtable, -1) == 0;
    if (says_yes_to_anything || real_madvise(&fdtable, sizeof fdtable, MADV_WIPEONFORK) != 0) {
        __register_atfork(NULL, NULL, child_of_fork, __dso_handle);
    }
}

bool process_is_own(void)
{
    if (confined) {
        return true;
    }
    return (pid_t)real_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0) == pid;
}

/* ---- who calls --------------------------------------------------------------------------------------------------- */

void process_caller(struct breaker_caller *who)
{
    notice_fork();
    const struct state *state = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
    who->now = process_now();
    who->draw = (uint32_t)(process_random() >> 32);
    who->shard = (uint32_t)(process_thread() >> 12);
    who->pid = state != NULL ? state->pid : (uint32_t)pid;
    who->pid_ns = state != NULL ? state->pid_ns : 0;
}

/* ---- the region -------------------------------------------------------------------------------------------------- */

/* Opening a file is a place where a thread may be cancelled: half of what we do would be left undone. */
static int uncancelled(void)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static void tell_trouble(struct state *state)
{
    if (state->trouble == STATE_SOUND || state->trouble == STATE_PRIVATE) {
        return;
    }
    struct event event;
    event_begin(&event, state, EVENT_STATE, NULL);
    char what[96];
    struct text text;
    text_begin(&text, event.text, sizeof event.text);
    text_add(&text, "PREBREAK_STATE: ");
    text_add(&text, state_trouble_say(state, what, sizeof what));
    text_add(&text, state->path[0] != '\0' ? ": " : ": its name is too long");
    text_add(&text, state->path); /* last: it may be cut */
    log_event(state, &event);
}

#define KEPT 16 /* states: the first ones; a process that meets more files makes new ones for the later */

/* Those that were current once, by what they say: pointers are put in, and never taken out. */
static struct state *kept[KEPT]; /* atomic */

/*
 * The state that says the same as a fresh one, which may be that one itself. A process that changes its effective user to
 * and fro must not meet each provider anew every time.
 */
static struct state *same_state(struct state *fresh)
{
    for (size_t i = 0; i < KEPT; i++) {
        struct state *known = NULL;
        if (__atomic_compare_exchange_n(&kept[i], &known, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            return fresh;
        }
        if (known->region == fresh->region && known->uid == fresh->uid && known->trouble == fresh->trouble &&
            known->device == fresh->device && known->inode == fresh->inode) {
            known->opened = fresh->opened;
            known->pid = fresh->pid; /* there may have been a fork in between */
            known->pid_ns = fresh->pid_ns;
            return known;
        }
    }
    return fresh;
}

/* Memory for a state: what same_state() had no use for, or new. */
static struct state *spare; /* atomic */

static struct state *state_memory(void)
{
    struct state *state = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQ_REL);
    return state != NULL ? state : process_memory(sizeof *state);
}

/* Maps what is at the path now, and makes it the current one if that is still `old`. */
static struct state *map_state(struct state *old)
{
    struct state *fresh = state_memory();
    if (fresh == NULL) {
        return old;
    }
    state_open(fresh, config_state(), STATE_CREATE);
    /* Nothing at the path, and nothing can be put there: what was removed serves those who have it all the same. */
    bool worse = old != NULL && old->shared && !fresh->shared && fresh->inode == 0;
    if (old != NULL && (fresh->region == NULL || worse)) {
        old->opened = fresh->opened; /* the next time after a minute */
        __atomic_store_n(&spare, fresh, __ATOMIC_RELEASE);
        return old;
    }
    struct state *state = same_state(fresh);
    if (state != fresh) {
        __atomic_store_n(&spare, fresh, __ATOMIC_RELEASE);
    }
    struct state *found = old;
    if (!__atomic_compare_exchange_n(&current, &found, state, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        return found;
    }
    log_region(state);
    state_enrol(state);
    tell_trouble(state);
    return state;
}

struct state *process_state(void)
{
    notice_fork();
    struct state *state = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
    if (__builtin_expect(state == NULL, 0)) {
        int saved = errno;
        int cancel = uncancelled();
        config_start();
        state = confined ? NULL : map_state(NULL);
        pthread_setcancelstate(cancel, NULL);
        errno = saved;
    }
    return state != NULL && state->region != NULL ? state : NULL;
}

enum prebreak_mode process_mode(const struct state *state)
{
    enum prebreak_mode own = config_mode();
    if (own == PREBREAK_MODE_OFF) {
        return own;
    }
    enum prebreak_mode operators = state_mode(state);
    switch (operators) {
    case PREBREAK_MODE_OFF:
    case PREBREAK_MODE_OBSERVE:
        return operators;
    case PREBREAK_MODE_ENFORCE:
        return config_may_enforce() ? operators : PREBREAK_MODE_OBSERVE;
    default:
        return own;
    }
}

/* ---- once a second ----------------------------------------------------------------------------------------------- */

static void told(void *context, int slot, const struct breaker_change *change)
{
    provider_tell_slot(context, slot, change);
}

static void look(void)
{
    (void)process_state();
    struct state *state = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
    bool free = !confined && state != NULL;
    if (free) {
        config_look();
    }
    if (free && state_stale(state)) { /* or there was no memory for it a minute ago; before anything in it is touched */
        state = map_state(state);
    }
    struct breaker_caller who; /* the caller's own was filled before there was a state, perhaps */
    process_caller(&who);
    attempt_sweep(who.now);
    if (free && state->region != NULL) {
        descriptors_look();
        state_look(state, &who, told, state);
    }
}

void process_look(const struct breaker_caller *who)
{
    uint64_t mine = (uint64_t)who->pid << 32 | (uint32_t)(who->now / SECOND_NS);
    uint64_t last = __atomic_load_n(&looked, __ATOMIC_RELAXED);
    if (__builtin_expect(last == mine, 1)) {
        return;
    }
    if (__atomic_compare_exchange_n(&looked, &last, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        int saved = errno;
        int cancel = uncancelled();
        look();
        pthread_setcancelstate(cancel, NULL);
        errno = saved;
    }
}

void process_tick(void)
{
    notice_fork();
    const struct state *state = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
    const struct breaker_caller who = {.now = process_now(), .pid = state != NULL ? state->pid : (uint32_t)pid};
    process_look(&who);
}

/* ---- seccomp ----------------------------------------------------------------------------------------------------- */

void process_confine(void)
{
    if (process_acts && !confined) {
        process_state();
        fdtable_prepare();
        names_prepare();
        log_stop();
        confined = true;
    }
}

bool process_confined(void)
{
    return confined;
}

#define UNLIKELY_WORD 0x5eed1e55

/*
 * Asked of the kernel by waiting no time for a word that is hardly ever there: EFAULT says that it cannot be read, and
 * nothing else happens. It is a word of the program's own bytes, so that memory checkers find nothing to say.
 */
static bool word_readable(uintptr_t address)
{
    static const struct timespec none;
    return real_syscall(SYS_futex, (long)(address & ~(uintptr_t)3), FUTEX_WAIT_PRIVATE, UNLIKELY_WORD, (long)&none, 0,
                        0) != -1 ||
           errno != EFAULT;
}

/*
 * Pages that the kernel called readable within this second: programs write from the same few buffers over and over, and
 * the question costs more than all that is done with the answer. One word a page, so that it is always whole: the page's
 * number, and the second (of 2^30 ns) in the low bits.
 */
#define PAGE_BITS   12
#define PROVEN      64
#define SECOND_BITS 20

static uint64_t proven[PROVEN];

static bool page_readable(uintptr_t address, uint64_t now)
{
    uint64_t page = (uint64_t)address >> PAGE_BITS;
    uint64_t word = page << SECOND_BITS | (now >> 30 & ((UINT64_C(1) << SECOND_BITS) - 1));
    uint64_t *entry = &proven[(page ^ page >> 6) % PROVEN];
    if (__atomic_load_n(entry, __ATOMIC_RELAXED) == word) {
        return true;
    }
    if (!word_readable(address)) {
        return false;
    }
    __atomic_store_n(entry, word, __ATOMIC_RELAXED);
    return true;
}

bool process_readable(const void *bytes, size_t length)
{
    if (confined || length == 0) {
        return true;
    }
    int saved = errno;
    uintptr_t first = (uintptr_t)bytes;
    uintptr_t last = first + length - 1;
    uint64_t now = process_now();
    bool readable = last >= first && page_readable(first, now) &&
                    (first >> PAGE_BITS == last >> PAGE_BITS || page_readable(last >> PAGE_BITS << PAGE_BITS, now));
    errno = saved;
    return readable;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

#define CHUNK (64u << 10)

static struct chunk {
    uint64_t used, spare;
    unsigned char bytes[CHUNK - 16];
} * chunk; /* atomic: the one that is being used up */

void *process_memory(size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (size > sizeof chunk->bytes) {
        return NULL;
    }
    for (;;) {
        struct chunk *from = __atomic_load_n(&chunk, __ATOMIC_ACQUIRE);
        if (from != NULL) {
            uint64_t at = __atomic_fetch_add(&from->used, size, __ATOMIC_RELAXED);
            if (at + size <= sizeof from->bytes) {
                return from->bytes + at;
            }
        }
        if (confined) {
            return NULL;
        }
        void *fresh = real_mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (fresh == MAP_FAILED) {
            return NULL;
        }
        if (!__atomic_compare_exchange_n(&chunk, &from, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            real_munmap(fresh, CHUNK);
        }
    }
}

/* ---- start ------------------------------------------------------------------------------------------------------- */

REAL_RARE void process_init(void)
{
    int saved = errno;
    real_init();
    pid = (pid_t)real_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
    if (config_init()) {
        log_init();
        fdtable.alive = 1;
        hash_seed = process_random();
        watch_forks();
        process_acts = true;
    }
    errno = saved;
}
