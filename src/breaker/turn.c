#include "breaker/policy.h"

/* ---- beginning --------------------------------------------------------------------------------------------------- */

#define SINCE_AHEAD_MS MS_PER_S /* `since` further ahead of now than this is garbage */
#define REPAIR_TRIES   8

static const struct policy *const policies[PREBREAK_POLICIES] = {
    [PREBREAK_SRE] = &policy_sre,
    [PREBREAK_AEGIS] = &policy_aegis,
    [PREBREAK_GOZERO] = &policy_gozero,
    [PREBREAK_GOBREAKER] = &policy_gobreaker,
    [PREBREAK_CONSECUTIVE] = &policy_consecutive,
};

static void turn_take_state(struct turn *turn, uint64_t state)
{
    turn->state = state;
    turn->generation = state_generation(state);
    turn->kind = state_kind(state);
    turn->since_ms = state_since_ms(state);
}

static bool state_sound(const struct turn *turn)
{
    return turn->generation != 0 && (turn->policy->kinds >> turn->kind & 1) != 0 &&
           turn->since_ms <= turn->now_ms + SINCE_AHEAD_MS;
}

static bool phase_renew(struct turn *turn, enum prebreak_phase phase);

/* Never touched: generation 1 begins now. Nonsense: the next one does. */
static void turn_repair(struct turn *turn)
{
    for (unsigned i = 0; i < REPAIR_TRIES && !state_sound(turn); i++) {
        if (turn->change == NULL) {
            turn_take_state(turn, state_make(turn->generation ? turn->generation : 1, KIND_CLOSED, turn->now_ms));
            return;
        }
        if (turn->generation != 0) {
            if (turn_change(turn, KIND_CLOSED, BREAKER_REASON_REPAIR, (struct window_sum){0})) {
                return;
            }
        } else {
            uint64_t found = turn->state;
            uint64_t fresh = state_make(1, KIND_CLOSED, turn->now_ms);
            if (word_swap(&turn->words->state, &found, fresh)) {
                turn_take_state(turn, fresh);
                phase_renew(turn, PREBREAK_CLOSED);
                return;
            }
        }
        turn_take_state(turn, word_load(&turn->words->state));
    }
}

void turn_begin(struct turn *turn, const struct breaker *b, uint64_t now, struct breaker_change *change)
{
    turn->b = b;
    turn->words = b->words;
    turn->set = b->settings;
    turn->policy = policies[b->settings->policy < PREBREAK_POLICIES ? b->settings->policy : PREBREAK_SRE];
    turn->now = now;
    turn->now_ms = now / NS_PER_MS;
    turn->draw = 0;
    turn->shard = 0;
    turn->drop = 0;
    turn->change = change;
    if (change != NULL) {
        *change = (struct breaker_change){0};
    }
    turn_take_state(turn, word_load(&b->words->state));
    if (__builtin_expect(!state_sound(turn), 0)) {
        turn_repair(turn);
    }
    if (__builtin_expect(turn->now_ms < turn->since_ms, 0)) {
        turn->now_ms = turn->since_ms;
        turn->now = turn->since_ms * NS_PER_MS;
    }
}

/* ---- the window -------------------------------------------------------------------------------------------------- */

struct window turn_window(const struct turn *turn)
{
    struct window window = {.words = turn->words->window,
                            .state = &turn->words->state,
                            .buckets = turn->set->buckets,
                            .generation = turn->generation};
    uint64_t slice;
    if (turn->set->policy == PREBREAK_GOBREAKER) {
        /* Its window is a fixed one that begins with the generation: one slice. */
        window.buckets = 1;
        slice = (turn->now - turn->since_ms * NS_PER_MS) / turn->set->window;
    } else {
        slice = turn->now / (turn->set->window / turn->set->buckets);
    }
    window.slice = (uint32_t)bits_get(slice, 0, WINDOW_SLICE_BITS);
    return window;
}

struct window_sum turn_sum(const struct turn *turn)
{
    struct window window = turn_window(turn);
    return window_sum(&window, window.buckets);
}

void turn_count(const struct turn *turn, enum window_count which)
{
    struct window window = turn_window(turn);
    window_add(&window, turn->shard, which);
}

/* ---- the cached drop ratio: generation 14 | pressed 1 | ratio 16 | when computed 33 (ms) ------------------------- */

#define DROP_TAG_SHIFT     50
#define DROP_TAG_BITS      14
#define DROP_PRESSED_SHIFT 49
#define DROP_RATIO_SHIFT   33
#define DROP_RATIO_BITS    16
#define DROP_TIME_BITS     33
#define DROP_AGE_MS        10
#define DROP_AHEAD_MS      4 /* a tick of the clock: computed by somebody whose clock has ticked when ours has not yet */

uint32_t drop_of(double p)
{
    if (!(p > 0)) {
        return 0;
    }
    uint32_t drop = p < 1 ? (uint32_t)(p * DROP_ALL + 0.5) : DROP_MOST;
    return (uint32_t)most(1, least(drop, DROP_MOST));
}

static bool drop_current(const struct turn *turn, uint64_t word)
{
    return bits_get(word, DROP_TAG_SHIFT, DROP_TAG_BITS) == (turn->generation & bits_mask(DROP_TAG_BITS));
}

static uint64_t drop_compute(const struct turn *turn)
{
    bool pressed;
    double p = turn->policy->throttle(turn, &pressed);
    return bits_put(turn->generation, DROP_TAG_SHIFT, DROP_TAG_BITS) | bits_put(pressed, DROP_PRESSED_SHIFT, 1) |
           bits_put(drop_of(p), DROP_RATIO_SHIFT, DROP_RATIO_BITS) | bits_put(turn->now_ms, 0, DROP_TIME_BITS);
}

uint32_t turn_drop(const struct turn *turn, bool *pressed)
{
    uint64_t word = word_load(&turn->words->drop);
    uint64_t age = bits_get(turn->now_ms + DROP_AHEAD_MS - word, 0, DROP_TIME_BITS);
    if (!drop_current(turn, word) || age > DROP_AGE_MS + DROP_AHEAD_MS) {
        word = drop_compute(turn);
        word_store(&turn->words->drop, word);
    }
    if (pressed != NULL) {
        *pressed = bits_get(word, DROP_PRESSED_SHIFT, 1) != 0;
    }
    return (uint32_t)bits_get(word, DROP_RATIO_SHIFT, DROP_RATIO_BITS);
}

bool turn_pressed(const struct turn *turn)
{
    uint64_t word = word_load(&turn->words->drop);
    return drop_current(turn, word) && bits_get(word, DROP_PRESSED_SHIFT, 1) != 0;
}

/* ---- successes --------------------------------------------------------------------------------------------------- */

uint64_t turn_last_ok_ms(const struct turn *turn)
{
    uint64_t last = word_load(&turn->words->last_ok) / NS_PER_MS;
    if (last > turn->now_ms + MS_PER_S) {
        return turn->since_ms;
    }
    return most(least(last, turn->now_ms), turn->since_ms);
}

void turn_note_ok(const struct turn *turn)
{
    uint64_t last_ms = word_load(&turn->words->last_ok) / NS_PER_MS;
    /* To the millisecond, so that a busy key does not write it with every call. */
    if (last_ms < turn->now_ms || last_ms > turn->now_ms + MS_PER_S) {
        word_store(&turn->words->last_ok, turn->now);
    }
}

/*
 * The time that the window's counts are from, ms. With its current slice partial that is less than the window: were the
 * window taken, no success in it and the last one just outside would look as if they had stopped only now.
 */
static uint64_t turn_counted_ms(const struct turn *turn)
{
    uint64_t since = turn->since_ms * NS_PER_MS;
    uint64_t slice = turn->set->window / turn->set->buckets;
    uint64_t counted = turn->set->policy == PREBREAK_GOBREAKER ? (turn->now - since) % turn->set->window
                                                               : turn->set->window - slice + turn->now % slice;
    return least(counted, turn->now - since) / NS_PER_MS;
}

bool turn_successes_missing(const struct turn *turn, uint64_t ok)
{
    double silent = (double)(turn->now_ms - turn_last_ok_ms(turn));
    double span = (double)turn_counted_ms(turn);
    return (double)ok * silent >= (double)turn->set->trip * (span - silent);
}

/* ---- telling phases: generation 21 | phase 3 | when it began 40 (ms) --------------------------------------------- */

#define TOLD_PHASE_SHIFT 40
#define TOLD_PHASE_BITS  3
#define TOLD_TIME_BITS   40

/* How long a winner may take to tell its change before another caller takes it for dead and tells. */
#define TELL_WITHIN_MS MS_PER_S
/* A throttle at its threshold turns on and off a hundred times a second: its end is told once it has lasted. */
#define THROTTLE_LASTS_MS MS_PER_S

static uint64_t told_make(const struct turn *turn, enum prebreak_phase phase)
{
    return tagged_make(turn->generation,
                       bits_put(phase, TOLD_PHASE_SHIFT, TOLD_PHASE_BITS) | bits_put(turn->now_ms, 0, TOLD_TIME_BITS));
}

static enum prebreak_phase told_phase(uint64_t told)
{
    uint64_t phase = bits_get(told, TOLD_PHASE_SHIFT, TOLD_PHASE_BITS);
    return phase < PREBREAK_PHASES ? (enum prebreak_phase)phase : PREBREAK_CLOSED;
}

static bool is_hold(enum prebreak_phase phase)
{
    return phase == PREBREAK_HELD_OPEN || phase == PREBREAK_HELD_CLOSED;
}

static enum prebreak_phase kind_phase(const struct turn *turn, enum kind kind)
{
    switch (kind) {
    case KIND_OPEN:
        return PREBREAK_OPEN;
    case KIND_RAMP:
    case KIND_HALF:
        return PREBREAK_RECOVERING;
    case KIND_CLOSED:
        break;
    }
    return turn->drop >= DROP_ALL ? PREBREAK_OPEN : turn->drop > 0 ? PREBREAK_THROTTLING : PREBREAK_CLOSED;
}

enum prebreak_phase turn_phase(const struct turn *turn, enum prebreak_phase hold)
{
    if (is_hold(hold)) {
        return hold;
    }
    if (pause_until(turn) != 0) {
        return PREBREAK_PAUSED;
    }
    bool ramp_over = turn->kind == KIND_RAMP && turn->now_ms - turn->since_ms >= turn->set->ramp / NS_PER_MS;
    return kind_phase(turn, ramp_over ? KIND_CLOSED : turn->kind);
}

static void change_fill(struct turn *turn, enum prebreak_phase from, enum prebreak_phase to, enum breaker_reason reason,
                        struct window_sum sum)
{
    *turn->change = (struct breaker_change){.from = from,
                                            .to = to,
                                            .reason = reason,
                                            .ok = (uint32_t)least(sum.ok, UINT32_MAX),
                                            .failed = (uint32_t)least(sum.failed, UINT32_MAX),
                                            .refused = (uint32_t)least(sum.refused, UINT32_MAX),
                                            .drop = turn->drop};
    if (from != to) {
        word_add(&turn->words->transitions[from][to], 1);
    }
}

/*
 * The phase word moves on to this turn's generation, unless it is further already. False: it stands there, as somebody
 * took this caller for dead and told in its place.
 */
static bool phase_renew(struct turn *turn, enum prebreak_phase phase)
{
    uint64_t told = word_load(&turn->words->phase);
    uint64_t fresh = told_make(turn, phase);
    do {
        if (state_generation(told) == turn->generation) {
            return false;
        }
        uint64_t ahead = bits_get(state_generation(told) - (uint64_t)turn->generation, 0, GENERATION_BITS);
        bool newer = ahead < bits_mask(GENERATION_BITS) / 2 &&
                     state_generation(word_load(&turn->words->state)) != turn->generation;
        if (newer) {
            return true;
        }
    } while (!word_swap(&turn->words->phase, &told, fresh));
    return true;
}

bool turn_change(struct turn *turn, enum kind kind, enum breaker_reason reason, struct window_sum sum)
{
    uint64_t found = turn->state;
    uint64_t fresh = state_make(generation_after(turn->generation), kind, turn->now_ms);
    uint64_t told = word_load(&turn->words->phase);
    enum prebreak_phase from = kind_phase(turn, turn->kind);
    if (state_generation(told) == turn->generation || is_hold(told_phase(told))) {
        from = told_phase(told);
    }
    if (!word_swap(&turn->words->state, &found, fresh)) {
        return false;
    }
    turn_take_state(turn, fresh);
    turn->drop = kind == KIND_OPEN ? DROP_ALL : 0;
    enum prebreak_phase to = kind_phase(turn, kind);
    /* What an operator or the provider asked for stands above, before and after: nothing changes for people. */
    if (is_hold(from) || (from == PREBREAK_PAUSED && pause_until(turn) != 0)) {
        to = from;
    }
    if (phase_renew(turn, to)) {
        change_fill(turn, from, to, reason, sum);
    }
    return true;
}

/* Why a phase came that nobody told: nearly always there is only one way there. */
static enum breaker_reason reason_of(const struct turn *turn, enum prebreak_phase from, enum prebreak_phase to)
{
    if (is_hold(to)) {
        return BREAKER_REASON_HOLD;
    }
    if (is_hold(from)) {
        return BREAKER_REASON_RELEASE;
    }
    if (to == PREBREAK_PAUSED) {
        return BREAKER_REASON_RETRY_AFTER;
    }
    if (from == PREBREAK_PAUSED || from == PREBREAK_RECOVERING) {
        return BREAKER_REASON_TIME;
    }
    if (to == PREBREAK_OPEN) {
        return turn->policy->opens;
    }
    return from == PREBREAK_OPEN ? turn->policy->closes : BREAKER_REASON_RATIO;
}

void turn_tell(struct turn *turn, enum prebreak_phase phase)
{
    uint64_t told = word_load(&turn->words->phase);
    enum prebreak_phase from = told_phase(told);
    bool current = state_generation(told) == turn->generation;
    if (current && from == phase) {
        return;
    }
    bool above = is_hold(from) || is_hold(phase);
    if (!current && !above && turn->now_ms - turn->since_ms < TELL_WITHIN_MS) {
        return;
    }
    if (state_generation(word_load(&turn->words->state)) != turn->generation) {
        /* What this turn saw is over, and whoever ended it tells. */
        return;
    }
    uint64_t lasted = bits_get(turn->now_ms - told, 0, TOLD_TIME_BITS);
    if (current && from == PREBREAK_THROTTLING && phase == PREBREAK_CLOSED && lasted < THROTTLE_LASTS_MS) {
        return;
    }
    if (word_swap(&turn->words->phase, &told, told_make(turn, phase)) && from != phase) {
        change_fill(turn, from, phase, reason_of(turn, from, phase), turn_sum(turn));
    }
}

bool turn_told_hold(const struct turn *turn)
{
    return is_hold(told_phase(word_load(&turn->words->phase)));
}

uint64_t turn_phase_since_ms(const struct turn *turn, enum prebreak_phase phase)
{
    uint64_t told = word_load(&turn->words->phase);
    uint64_t began = bits_get(told, 0, TOLD_TIME_BITS);
    bool known = state_generation(told) == turn->generation && told_phase(told) == phase && began <= turn->now_ms;
    return known ? began : turn->since_ms;
}
