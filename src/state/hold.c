/*
 * The operator's word, kept in the region: holds by provider name, and the mode of all processes.
 *
 * A hold is one word (hash of the name, and how) beside its name and its end. Bit i of the header's word says that hold
 * i may be set: a process that decides reads that one word, and no more as long as nobody holds anything.
 */
#include "state/internal.h"
#include "state/words.h"
#include <errno.h>
#include <string.h>
#include <time.h>

uint64_t hold_word(uint64_t seed, const char *name, size_t length, enum prebreak_phase phase)
{
    uint64_t hash = state_hash(seed, name, length) & ~PREBREAK_HOLD_BUSY;
    uint64_t how = phase == PREBREAK_HELD_OPEN     ? PREBREAK_HOLD_OPEN
                   : phase == PREBREAK_HELD_CLOSED ? PREBREAK_HOLD_CLOSED
                                                   : PREBREAK_HOLD_BUSY;

    return (hash ? hash : PREBREAK_HOLD_BUSY + 1) | how;
}

static enum prebreak_phase hold_phase(uint64_t word)
{
    switch (word & PREBREAK_HOLD_BUSY) {
    case PREBREAK_HOLD_OPEN:
        return PREBREAK_HELD_OPEN;
    case PREBREAK_HOLD_CLOSED:
        return PREBREAK_HELD_CLOSED;
    default:
        return PREBREAK_CLOSED;
    }
}

static bool same_hash(uint64_t one, uint64_t other)
{
    return one && (one | PREBREAK_HOLD_BUSY) == (other | PREBREAK_HOLD_BUSY);
}

static bool same_name(const struct prebreak_hold *hold, const char *name, size_t length)
{
    char kept[PREBREAK_NAME] __attribute__((aligned(8)));

    words_read(kept, hold->name, sizeof kept);
    return memcmp(kept, name, length + 1) == 0;
}

static bool over(const struct prebreak_hold *hold, uint64_t now)
{
    uint64_t until = word_load(&hold->until);

    return until != 0 && until <= now;
}

static void mark(struct prebreak_region *region, int index, bool may_be_set)
{
    uint64_t bit = UINT64_C(1) << index;

    if (may_be_set) {
        __atomic_fetch_or(&region->header.holds, bit, __ATOMIC_ACQ_REL);
    } else {
        __atomic_fetch_and(&region->header.holds, ~bit, __ATOMIC_ACQ_REL);
    }
}

/*
 * Frees a hold whose word still is `word`. The bit goes before the word does: who claims the place afterwards sets it
 * again.
 */
static bool release(struct prebreak_region *region, int index, uint64_t word)
{
    struct prebreak_hold *hold = &region->hold[index];

    if (!word_change(&hold->state, word, word | PREBREAK_HOLD_BUSY)) {
        return false;
    }
    mark(region, index, false);
    word_change(&hold->state, word | PREBREAK_HOLD_BUSY, 0);
    return true;
}

#define HOLD_TRIES 4 /* against others who set and release at the same time */

/* ---- setting ---------------------------------------------------------------------------------------------------- */

/* The place of a name that is held already; -1: none. */
static int find(struct prebreak_region *region, uint64_t word, const char *name, size_t length)
{
    for (int i = 0; i < PREBREAK_HOLDS; i++) {
        uint64_t there = word_load(&region->hold[i].state);
        if (same_hash(there, word) &&
            (hold_phase(there) == PREBREAK_CLOSED || same_name(&region->hold[i], name, length))) {
            return i;
        }
    }
    return -1;
}

/*
 * A place claimed for a name: its own; else a free one; else one that has run out, or that was left half written. Its
 * word is busy now. -1: none.
 */
static int claim(struct prebreak_region *region, uint64_t word, const char *name, size_t length)
{
    uint64_t busy = word | PREBREAK_HOLD_BUSY, now = clock_ns(CLOCK_MONOTONIC);
    int own = find(region, word, name, length);

    if (own >= 0 && word_change(&region->hold[own].state, word_load(&region->hold[own].state), busy)) {
        return own;
    }
    for (int i = 0; i < PREBREAK_HOLDS; i++) {
        if (word_change(&region->hold[i].state, 0, busy)) {
            return i;
        }
    }
    for (int i = 0; i < PREBREAK_HOLDS; i++) {
        uint64_t there = word_load(&region->hold[i].state);
        if ((hold_phase(there) == PREBREAK_CLOSED || over(&region->hold[i], now)) &&
            word_change(&region->hold[i].state, there, busy)) {
            return i;
        }
    }
    return -1;
}

bool state_hold(struct state *state, const char *name, enum prebreak_phase phase, uint64_t until)
{
    char whole[PREBREAK_NAME] __attribute__((aligned(8))) = {0};
    size_t length = state_name_sound(name);
    struct prebreak_region *region = state->region;
    uint64_t word;
    int index;

    if (!region || length == 0 || (phase != PREBREAK_HELD_OPEN && phase != PREBREAK_HELD_CLOSED)) {
        return false;
    }
    word = hold_word(region->header.seed, name, length, phase);
    memcpy(whole, name, length);
    for (int tries = 0; tries < HOLD_TRIES; tries++) {
        index = claim(region, word, whole, length);
        if (index < 0) {
            return false;
        }
        words_write(region->hold[index].name, whole, sizeof whole);
        word_store(&region->hold[index].until, until);
        if (word_change(&region->hold[index].state, word | PREBREAK_HOLD_BUSY, word)) {
            mark(region, index, true);
            return true;
        }
    }
    return false;
}

bool state_release(struct state *state, const char *name)
{
    size_t length = state_name_sound(name);
    struct prebreak_region *region = state->region;
    uint64_t word;
    int index;

    if (!region || length == 0) {
        return false;
    }
    word = hold_word(region->header.seed, name, length, PREBREAK_HELD_OPEN);
    index = find(region, word, name, length);
    if (index < 0) {
        return false;
    }
    word = word_load(&region->hold[index].state);
    return same_hash(word, hold_word(region->header.seed, name, length, PREBREAK_HELD_OPEN)) &&
           release(region, index, word) && hold_phase(word) != PREBREAK_CLOSED;
}

void hold_sweep(struct prebreak_region *region, uint64_t now)
{
    uint64_t marked = word_load(&region->header.holds);

    for (int i = 0; marked && i < PREBREAK_HOLDS; i++) {
        uint64_t word = word_load(&region->hold[i].state);
        if (marked >> i & 1 && word && over(&region->hold[i], now)) {
            release(region, i, word);
        }
    }
}

/* ---- asking ----------------------------------------------------------------------------------------------------- */

/* Out of line: what a call costs while anything is held at all. */
static __attribute__((noinline)) enum prebreak_phase held(struct prebreak_region *region, uint64_t marked,
                                                          const char *name, uint64_t now)
{
    size_t length = name ? strnlen(name, PREBREAK_NAME) : 0;
    uint64_t word;

    if (length == 0 || length == PREBREAK_NAME) {
        return PREBREAK_CLOSED;
    }
    word = hold_word(region->header.seed, name, length, PREBREAK_HELD_OPEN);
    for (int i = 0; i < PREBREAK_HOLDS; i++) {
        const struct prebreak_hold *hold = &region->hold[i];
        uint64_t there = marked >> i & 1 ? word_load(&hold->state) : 0;
        if (same_hash(there, word) && hold_phase(there) != PREBREAK_CLOSED && same_name(hold, name, length) &&
            !over(hold, now)) {
            return hold_phase(there);
        }
    }
    return PREBREAK_CLOSED;
}

enum prebreak_phase state_held(struct state *state, const char *name, uint64_t now)
{
    uint64_t marked = state->region ? word_load(&state->region->header.holds) : 0;

    return marked ? held(state->region, marked, name, now) : PREBREAK_CLOSED;
}

bool state_hold_at(struct state *state, int index, uint64_t now, char *name, enum prebreak_phase *phase,
                   uint64_t *until)
{
    char kept[PREBREAK_NAME] __attribute__((aligned(8)));
    struct prebreak_hold *hold;
    uint64_t word;

    if (!state->region || index < 0 || index >= PREBREAK_HOLDS ||
        !(word_load(&state->region->header.holds) >> index & 1)) {
        return false;
    }
    hold = &state->region->hold[index];
    word = word_load(&hold->state);
    *phase = hold_phase(word);
    *until = word_load(&hold->until);
    words_read(kept, hold->name, sizeof kept);
    if (word == 0 || *phase == PREBREAK_CLOSED || over(hold, now) || !state_name_sound(kept)) {
        return false;
    }
    memcpy(name, kept, sizeof kept);
    return true;
}

/* ---- mode ------------------------------------------------------------------------------------------------------- */

enum prebreak_mode state_mode(const struct state *state)
{
    uint64_t mode = state->region ? word_load(&state->region->header.mode) : PREBREAK_MODE_ENV;

    return mode < PREBREAK_MODES ? (enum prebreak_mode)mode : PREBREAK_MODE_ENV;
}

void state_set_mode(struct state *state, enum prebreak_mode mode)
{
    if (state->region && (unsigned)mode < PREBREAK_MODES) {
        word_store(&state->region->header.mode, mode);
    }
}
