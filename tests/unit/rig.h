/*
 * What the breaker's tests share: one breaker with its words and a table of calls in flight, a clock that the test sets,
 * and draws that the test chooses.
 */
#ifndef TESTS_RIG_H
#define TESTS_RIG_H

#include "suite.h"

#include "breaker/inflight.h"
#include "breaker/policy.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
#define START  (1000 * SECOND) /* a multiple of every slice and of the in-flight tick's second */

#define DRAW_REFUSE 0u         /* refused at any drop ratio above 0 */
#define DRAW_PASS   UINT32_MAX /* passes at any drop ratio below 1 */
#define ENFORCE_ALL 65535u

struct rig {
    struct prebreak_breaker words;
    prebreak_word table[PREBREAK_INFLIGHT];
    struct prebreak_settings set;
    struct breaker b;
    struct breaker_caller who;
    struct breaker_order order;
    struct breaker_change change; /* of the last call */
};

static inline void rig_init(struct rig *rig, enum prebreak_policy policy)
{
    memset(rig, 0, sizeof *rig);
    breaker_settings_default(policy, &rig->set);
    rig->b = (struct breaker){.words = &rig->words, .settings = &rig->set, .inflight = rig->table, .slot = 5};
    rig->who = (struct breaker_caller){.now = START, .draw = DRAW_PASS, .shard = 1, .pid = 4711, .pid_ns = 9};
    rig->order = (struct breaker_order){.hold = PREBREAK_CLOSED, .enforce = ENFORCE_ALL};
}

/* For tests that need one only. */
static inline struct rig *rig_new(enum prebreak_policy policy)
{
    static struct rig rig;
    rig_init(&rig, policy);
    return &rig;
}

static inline void rig_pass_ms(struct rig *rig, uint64_t ms)
{
    rig->who.now += ms * MS;
}

static inline uint64_t rig_ms(const struct rig *rig)
{
    return rig->who.now / MS;
}

static inline bool rig_admit(struct rig *rig, struct breaker_call *call)
{
    /* The half of the draw that decides nothing while all refusals are enforced: it scatters calls over the table. */
    rig->who.draw = (rig->who.draw & ~0xffffu) | ((rig->who.draw + 40503) & 0xffff);
    return breaker_admit(&rig->b, &rig->who, &rig->order, call, &rig->change);
}

/* Admits with a draw that refuses wherever the drop ratio is above 0. */
static inline bool rig_admit_drawn(struct rig *rig, uint32_t draw, struct breaker_call *call)
{
    uint32_t before = rig->who.draw;
    rig->who.draw = draw;
    bool passed = rig_admit(rig, call);
    rig->who.draw = before;
    return passed;
}

static inline void rig_end(struct rig *rig, struct breaker_call *call, struct breaker_end end)
{
    breaker_finish(&rig->b, &rig->who, call, &end, &rig->change);
}

static const struct breaker_end end_ok = {.outcome = PREBREAK_OK, .answered = true};
static const struct breaker_end end_neutral = {.outcome = PREBREAK_NEUTRAL};
static const struct breaker_end end_failed = {.outcome = PREBREAK_FAILED, .kind = PREBREAK_KIND_CONNECT};
static const struct breaker_end end_status = {
    .outcome = PREBREAK_FAILED, .kind = PREBREAK_KIND_STATUS, .answered = true};
static const struct breaker_end end_soft = {
    .outcome = PREBREAK_FAILED, .kind = PREBREAK_KIND_STATUS, .answered = true, .soft = true};

/* A call that begins and ends at this moment. False: it was refused. */
static inline bool rig_call(struct rig *rig, struct breaker_end end)
{
    struct breaker_call call;
    if (!rig_admit(rig, &call)) {
        return false;
    }
    rig_end(rig, &call, end);
    return true;
}

static inline void rig_calls(struct rig *rig, unsigned n, struct breaker_end end)
{
    for (unsigned i = 0; i < n; i++) {
        ck_assert(rig_call(rig, end));
    }
}

static inline void rig_turn(struct rig *rig, struct turn *turn)
{
    turn_begin(turn, &rig->b, &rig->who, &rig->change);
}

/* Puts counts into the window, past policy and streak. */
static inline void rig_count(struct rig *rig, enum window_count which, unsigned n)
{
    struct turn turn;
    rig_turn(rig, &turn);
    for (unsigned i = 0; i < n; i++) {
        turn_count(&turn, which);
    }
}

static inline struct breaker_view rig_view(struct rig *rig)
{
    struct breaker_view view;
    breaker_view(&rig->b, rig->who.now, rig->order.hold, &view);
    return view;
}

static inline enum kind rig_kind(struct rig *rig)
{
    return state_kind(rig->words.state);
}

static inline uint32_t rig_generation(struct rig *rig)
{
    return state_generation(rig->words.state);
}

static inline double rig_throttle(struct rig *rig, bool *pressed)
{
    struct turn turn;
    rig_turn(rig, &turn);
    return turn.policy->throttle(&turn, pressed);
}

static inline int rig_run(TCase *tests, const char *name)
{
    Suite *suite = suite_create(name);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}

#endif
