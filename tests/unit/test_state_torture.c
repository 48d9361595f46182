/*
 * Two hundred processes that call, hold, look and tell events on one region, each killed at a moment of nobody's
 * choice. No count may be lost or made up by more than the calls that each had out, nothing may be stuck, and what
 * they had out is freed without a word about the provider.
 */
#include "state_fixture.h"
#include "breaker/inflight.h"
#include "state/event.h"
#include "state/internal.h"
#include <sched.h>
#include <sys/mman.h>

enum { CHILDREN = 200, AT_ONCE = 10, NAMES = 6, OUT = 8 };

/* What a child did, told from outside the region: written before and after, so that the truth lies between the two. */
struct diary {
    uint64_t begun, ended;
    char cache_line[48];
};

static struct state state;
static struct diary *diaries;
static const struct breaker_order order = {.hold = PREBREAK_CLOSED, .enforce = 65535};

static void provider_name(int number, char *name)
{
    snprintf(name, PREBREAK_NAME, "provider-%d", number);
}

/* ---- what a child does until it is killed ----------------------------------------------------------------------- */

/* Calls of a child that are out; it ends them in any order. */
struct out {
    struct breaker breaker;
    struct breaker_call call;
    bool under_way;
};

static void tell(struct state *own, const struct breaker_change *change)
{
    struct event event;

    if (change->from != change->to) {
        event_begin(&event, own, EVENT_PHASE, "provider");
        event.change = *change;
        event_put(own, &event);
    }
}

static void begin_call(struct state *own, struct out *out, const struct breaker_caller *who, struct diary *diary)
{
    struct breaker_change change;

    __atomic_add_fetch(&diary->begun, 1, __ATOMIC_SEQ_CST);
    out->under_way = breaker_admit(&out->breaker, who, &order, &out->call, &change);
    if (!out->under_way) {
        __atomic_add_fetch(&diary->ended, 1, __ATOMIC_SEQ_CST);
    }
    tell(own, &change);
}

static void end_call(struct state *own, struct out *out, const struct breaker_caller *who, struct diary *diary)
{
    struct breaker_end end = {
        .outcome = who->draw % 50 ? PREBREAK_OK : PREBREAK_FAILED, .kind = PREBREAK_KIND_RESET, .answered = true};
    struct breaker_change change;

    breaker_heard(&out->breaker, who, &out->call);
    breaker_first_byte(&out->breaker, 1000000);
    breaker_finish(&out->breaker, who, &out->call, &end, &change);
    out->under_way = false;
    __atomic_add_fetch(&diary->ended, 1, __ATOMIC_SEQ_CST);
    tell(own, &change);
}

static void do_besides(struct state *own, struct breaker_caller *who, uint64_t draw, const char *name)
{
    struct event event;

    switch (draw >> 32 & 63) {
    case 0:
        state_hold(own, name, PREBREAK_HELD_CLOSED, who->now + NS_PER_S);
        break;
    case 1:
        state_release(own, name);
        break;
    case 2:
        event_begin(&event, own, EVENT_CONFIG, NULL);
        strcpy(event.text, "nothing new");
        event_put(own, &event);
        break;
    case 3:
        state_enrol(own);
        break;
    case 4:
        who->now = clock_ns(CLOCK_MONOTONIC);
        state_look(own, who, NULL, NULL);
        break;
    case 5:
        state_open(own, region_path, STATE_CREATE);
        break;
    default:
        break;
    }
}

static _Noreturn void live(int number)
{
    uint64_t seed = UINT64_C(88172645463325252) * (uint64_t)(2 * number + 1);
    struct out outs[OUT] = {0};
    struct state own;

    state_open(&own, region_path, STATE_CREATE);
    for (;;) {
        uint64_t draw = fixture_random(&seed);
        struct breaker_caller who = {.now = clock_ns(CLOCK_MONOTONIC),
                                     .draw = (uint32_t)draw,
                                     .shard = (uint32_t)number,
                                     .pid = own.pid,
                                     .pid_ns = own.pid_ns};
        struct out *out = &outs[draw >> 50 & (OUT - 1)];
        char name[PREBREAK_NAME];

        provider_name((int)(draw % NAMES), name);
        if (out->under_way) {
            end_call(&own, out, &who, &diaries[number]);
        } else if (state_breaker(&own, state_slot(&own, name, &defaults, draw >> 40 & 1, who.now), &defaults, NULL,
                                 &out->breaker)) {
            begin_call(&own, out, &who, &diaries[number]);
        } else {
            _exit(1);
        }
        do_besides(&own, &who, draw, name);
    }
}

/* ---- what remains of them --------------------------------------------------------------------------------------- */

static void kill_all(void)
{
    uint64_t seed = 42;

    for (int first = 0; first < CHILDREN; first += AT_ONCE) {
        pid_t children[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++) {
            children[i] = fork();
            if (children[i] == 0) {
                live(first + i);
            }
        }
        for (int i = 0; i < AT_ONCE; i++) {
            uint64_t moment = fixture_random(&seed) % 400;
            while (__atomic_load_n(&diaries[first + i].begun, __ATOMIC_SEQ_CST) < moment) {
                sched_yield();
            }
            for (volatile uint64_t spin = fixture_random(&seed) % 3000; spin > 0; spin--) {
            }
            kill(children[i], SIGKILL);
            ck_assert_int_eq(fixture_wait(children[i]), 128 + SIGKILL);
        }
    }
}

static uint64_t words_in_flight(void)
{
    uint64_t count = 0;

    for (int i = 0; i < PREBREAK_INFLIGHT; i++) {
        count += state.region->inflight[i] != 0;
    }
    return count;
}

/* Sums over all slots; each provider must have exactly one. */
static struct breaker_view sums(uint64_t now)
{
    struct breaker_view sum = {0};
    int slots = 0;

    for (int slot = 0; slot < PREBREAK_SLOTS; slot++) {
        struct prebreak_settings copy;
        struct breaker breaker;
        struct breaker_view view;

        if (state_identity(&state, slot) == 0) {
            continue;
        }
        slots++;
        ck_assert(state_breaker(&state, slot, NULL, &copy, &breaker));
        breaker_view(&breaker, now, PREBREAK_CLOSED, &view);
        for (int i = 0; i < PREBREAK_OUTCOMES; i++) {
            sum.outcome[i] += view.outcome[i];
        }
        sum.total_refused += view.total_refused;
        sum.inflight += view.inflight;
    }
    ck_assert_int_eq(slots, NAMES);
    return sum;
}

/* All in the past was said; the dead are found, sixteen a look, one look a second. */
static uint64_t drain(struct breaker_caller *who)
{
    who->now = clock_ns(CLOCK_MONOTONIC);
    for (int second = 0; second < 2 * CHILDREN / 16 + 4; second++) {
        who->now += 2 * NS_PER_S;
        who->draw += 7919;
        state_look(&state, who, NULL, NULL);
    }
    return who->now;
}

static void works_as_before(struct breaker_caller *who)
{
    struct breaker_end ok = {.outcome = PREBREAK_OK, .answered = true},
                       failed = {.outcome = PREBREAK_FAILED, .kind = PREBREAK_KIND_CONNECT};
    struct breaker_change change;
    struct breaker breaker;
    struct breaker_view view;
    struct breaker_call call;
    bool down = false;

    for (int number = 0; number < NAMES; number++) {
        char name[PREBREAK_NAME];
        provider_name(number, name);
        ck_assert(state_release(&state, name) || state_held(&state, name, who->now) == PREBREAK_CLOSED);
        ck_assert(
            state_breaker(&state, state_slot(&state, name, &defaults, false, who->now), &defaults, NULL, &breaker));
        /* A minute well, half a minute down, a minute well; fifty calls a second. */
        for (int i = 0; i < 150 * 50; i++) {
            down = i >= 60 * 50 && i < 90 * 50;
            who->now += NS_PER_S / 50;
            who->draw = who->draw * 1664525 + 1013904223;
            if (breaker_admit(&breaker, who, &order, &call, &change)) {
                breaker_finish(&breaker, who, &call, down ? &failed : &ok, &change);
            }
            if (i == 60 * 50 - 1 || i == 90 * 50 - 1 || i == 150 * 50 - 1) {
                breaker_view(&breaker, who->now, PREBREAK_CLOSED, &view);
                ck_assert_int_eq(view.phase, down ? PREBREAK_OPEN : PREBREAK_CLOSED);
            }
        }
    }
}

START_TEST(two_hundred_killed_at_any_moment_leave_a_region_that_works_as_before)
{
    struct breaker_caller who = {.draw = 1};
    struct breaker_view before, after;
    uint64_t begun = 0, ended = 0, out, sequence = 0, told;
    struct event event;

    kill_all();
    ck_assert_int_eq(state_open(&state, region_path, STATE_EXISTING), STATE_SOUND);
    ck_assert_int_eq(fixture_files(), 1);
    who.pid = state.pid;
    who.pid_ns = state.pid_ns;
    for (int i = 0; i < CHILDREN; i++) {
        begun += diaries[i].begun;
        ended += diaries[i].ended;
    }
    ck_assert_uint_ge(begun, CHILDREN);
    ck_assert_uint_le(begun - ended, CHILDREN * (OUT + 1));

    /* Every call that ended is counted once; of those that a death cut short, each may be. */
    before = sums(clock_ns(CLOCK_MONOTONIC));
    told = before.outcome[PREBREAK_OK] + before.outcome[PREBREAK_FAILED] + before.outcome[PREBREAK_NEUTRAL] +
           before.total_refused;
    ck_assert_uint_ge(told, ended);
    ck_assert_uint_le(told, begun);
    out = words_in_flight();
    ck_assert_uint_eq(before.inflight, out);
    ck_assert_uint_gt(out + before.outcome[PREBREAK_NEUTRAL], CHILDREN); /* some were found by the living */
    ck_assert_uint_le(out, begun - ended);

    /* What is out is freed, and counts as neutral: no failure is made up. */
    drain(&who);
    after = sums(who.now);
    ck_assert_uint_eq(words_in_flight(), 0);
    ck_assert_uint_eq(after.outcome[PREBREAK_NEUTRAL], before.outcome[PREBREAK_NEUTRAL] + out);
    ck_assert_uint_eq(after.outcome[PREBREAK_OK], before.outcome[PREBREAK_OK]);
    ck_assert_uint_eq(after.outcome[PREBREAK_FAILED], before.outcome[PREBREAK_FAILED]);
    ck_assert_uint_eq(state_processes(&state), 0);
    ck_assert_uint_eq(state.region->header.holds, 0); /* they lasted a second */

    /* The ring shows whole events only, and goes on. */
    while (event_next(&state, sequence, &event)) {
        sequence = event.sequence;
    }
    event_begin(&event, &state, EVENT_CONFIG, NULL);
    event_put(&state, &event);
    ck_assert_uint_ge(event.sequence, sequence);
    ck_assert(event_next(&state, event.sequence - 1, &event));
    works_as_before(&who);
}
END_TEST

static void begin(void)
{
    fixture_begin();
    diaries = mmap(NULL, CHILDREN * sizeof *diaries, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(diaries, MAP_FAILED);
}

int main(void)
{
    Suite *suite = suite_create("torture");
    TCase *torture = tcase_create("torture");

    tcase_add_checked_fixture(torture, begin, fixture_end);
    tcase_set_timeout(torture, 120);
    tcase_add_test(torture, two_hundred_killed_at_any_moment_leave_a_region_that_works_as_before);
    suite_add_tcase(suite, torture);
    return fixture_run(suite);
}
