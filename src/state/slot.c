/*
 * Slots: which of the region's breakers is a provider's.
 *
 * The table of identities decides: a provider's hash says where to begin, and the first place that is free is its own,
 * by CAS. Whoever finds an identity whose slot is not ready writes name and settings, the same bytes as everybody else,
 * so that no claimer's death matters. Places are never freed, only given from one nameless host to another; so two
 * claimers of one identity, who try the same places in the same order, meet at the same one.
 */
#include "breaker/inflight.h"
#include "state/internal.h"
#include "state/words.h"
#include <string.h>

#define IDLE_NS (UINT64_C(3600) * NS_PER_S) /* after which a nameless slot may be taken over */

/* A provider that looks for its slot. */
struct wanted {
    char name[PREBREAK_NAME] __attribute__((aligned(8))); /* zeros to its end */
    const struct prebreak_settings *settings;
    uint64_t identity;
    uint64_t now;
    bool nameless;
};

static uint64_t identity_of(uint64_t seed, const struct wanted *wanted)
{
    uint64_t parts[2] = {state_hash(seed, wanted->name, sizeof wanted->name),
                         state_hash(seed, wanted->settings, sizeof *wanted->settings)};

    return state_hash(seed, parts, sizeof parts);
}

/* The place to be tried at an attempt, 0..PREBREAK_SLOTS-1. */
static int place_of(const struct wanted *wanted, int attempt)
{
    return (int)((wanted->identity + (uint64_t)attempt) % PREBREAK_SLOTS);
}

/* ---- contents --------------------------------------------------------------------------------------------------- */

static bool ready(const struct prebreak_region *region, int slot)
{
    uint64_t identity = word_load(&region->identity[slot]);

    return identity && word_load(&region->slot[slot].ready) == identity;
}

/* What is in a ready slot is this provider's, and not that of another one with the same hash. */
static bool same(const struct prebreak_slot *slot, const struct wanted *wanted)
{
    return words_equal(slot->name, wanted->name, sizeof wanted->name) &&
           words_equal(&slot->settings, wanted->settings, sizeof *wanted->settings);
}

static void fill(struct prebreak_slot *slot, const struct wanted *wanted)
{
    words_write(slot->name, wanted->name, sizeof wanted->name);
    words_write(&slot->settings, wanted->settings, sizeof *wanted->settings);
    word_store(&slot->breaker.last_call, wanted->now);
    word_store(&slot->flags, wanted->nameless ? PREBREAK_SLOT_NAMELESS : 0);
    word_store(&slot->ready, wanted->identity);
}

/* Whose identity stands at the place: is it this provider's, and if so, made ready? */
static bool mine(struct prebreak_region *region, int place, const struct wanted *wanted)
{
    struct prebreak_slot *slot = &region->slot[place];

    if (word_load(&region->identity[place]) != wanted->identity) {
        return false;
    }
    if (word_load(&slot->ready) != wanted->identity) {
        fill(slot, wanted);
        return true;
    }
    if (!same(slot, wanted)) {
        return false;
    }
    if (!wanted->nameless && word_load(&slot->flags)) {
        word_store(&slot->flags, 0); /* a rule names it now: not to be taken over any more */
    }
    return true;
}

/* ---- finding and claiming --------------------------------------------------------------------------------------- */

static int find(struct prebreak_region *region, const struct wanted *wanted)
{
    for (int i = 0; i < PREBREAK_SLOTS; i++) {
        int place = place_of(wanted, i);
        if (mine(region, place, wanted)) {
            return place;
        }
    }
    return -1;
}

/* Counts one more nameless slot unless that is more than their share. */
static bool nameless_take(struct prebreak_region *region)
{
    uint64_t taken = word_load(&region->header.nameless);

    while (taken < PREBREAK_SLOTS_NAMELESS) {
        if (word_change(&region->header.nameless, taken, taken + 1)) {
            return true;
        }
        taken = word_load(&region->header.nameless);
    }
    return false;
}

static void nameless_give(struct prebreak_region *region)
{
    uint64_t taken = word_load(&region->header.nameless);

    while (taken > 0 && !word_change(&region->header.nameless, taken, taken - 1)) {
        taken = word_load(&region->header.nameless);
    }
}

static int claim_free(struct prebreak_region *region, const struct wanted *wanted)
{
    for (int i = 0; i < PREBREAK_SLOTS; i++) {
        int place = place_of(wanted, i);
        bool claimed = word_change(&region->identity[place], 0, wanted->identity);
        if (mine(region, place, wanted)) {
            if (!claimed && wanted->nameless) {
                nameless_give(region);
            }
            return place;
        }
    }
    if (wanted->nameless) {
        nameless_give(region);
    }
    return -1;
}

/* A nameless host that nobody has called for an hour, closed, and without calls in flight. */
static bool idle(struct prebreak_region *region, int place, uint64_t now)
{
    struct prebreak_slot *slot = &region->slot[place];
    uint64_t last = word_load(&slot->breaker.last_call);
    struct prebreak_settings settings;
    struct breaker_view view;
    struct breaker breaker = {&slot->breaker, &settings, region->inflight, (uint32_t)place};

    if (!ready(region, place) || word_load(&slot->flags) != PREBREAK_SLOT_NAMELESS || last > now ||
        now - last < IDLE_NS) {
        return false;
    }
    words_read(&settings, &slot->settings, sizeof settings);
    if (!breaker_settings_sound(&settings)) {
        return true;
    }
    breaker_view(&breaker, now, PREBREAK_CLOSED, &view);
    return view.phase == PREBREAK_CLOSED && view.inflight == 0;
}

/* Whoever moves the identity empties the breaker; a death in between leaves counts an hour old, which no window shows.
 */
static int take_over(struct prebreak_region *region, const struct wanted *wanted)
{
    for (int i = 0; i < PREBREAK_SLOTS; i++) {
        int place = place_of(wanted, i);
        uint64_t from = word_load(&region->identity[place]);
        if (from == 0 || !idle(region, place, wanted->now)) {
            continue;
        }
        if (word_change(&region->identity[place], from, wanted->identity)) {
            words_clear(&region->slot[place].breaker, sizeof region->slot[place].breaker);
            word_store(&region->slot[place].breaker.last_call, wanted->now);
            if (!wanted->nameless) {
                nameless_give(region);
            }
        }
        if (mine(region, place, wanted)) {
            return place;
        }
    }
    return -1;
}

/* ---- the interface ---------------------------------------------------------------------------------------------- */

int state_slot(struct state *state, const char *name, const struct prebreak_settings *settings, bool nameless,
               uint64_t now)
{
    struct prebreak_region *region = state->region;
    struct wanted wanted = {.settings = settings, .now = now, .nameless = nameless};
    size_t length = state_name_sound(name);
    int slot;

    if (!region || length == 0 || !breaker_settings_sound(settings)) {
        return -1;
    }
    memcpy(wanted.name, name, length);
    wanted.identity = identity_of(region->header.seed, &wanted);
    slot = find(region, &wanted);
    if (slot < 0 && (!nameless || nameless_take(region))) {
        slot = claim_free(region, &wanted);
    }
    if (slot < 0) {
        slot = take_over(region, &wanted);
    }
    if (slot < 0) {
        word_next(&region->header.table_full);
    }
    return slot;
}

uint64_t state_identity(const struct state *state, int slot)
{
    return state->region && slot >= 0 && slot < PREBREAK_SLOTS ? word_load(&state->region->identity[slot]) : 0;
}

bool state_breaker(struct state *state, int slot, const struct prebreak_settings *settings,
                   struct prebreak_settings *copy, struct breaker *breaker)
{
    struct prebreak_region *region = state->region;

    if (!region || slot < 0 || slot >= PREBREAK_SLOTS || !ready(region, slot)) {
        return false;
    }
    if (!settings) {
        words_read(copy, &region->slot[slot].settings, sizeof *copy);
        if (!breaker_settings_sound(copy)) {
            return false;
        }
        settings = copy;
    }
    breaker->words = &region->slot[slot].breaker;
    breaker->settings = settings;
    breaker->inflight = region->inflight;
    breaker->slot = (uint32_t)slot;
    return true;
}

bool state_name(struct state *state, int slot, char *name)
{
    char kept[PREBREAK_NAME] __attribute__((aligned(8)));
    size_t length;

    if (!state->region || slot < 0 || slot >= PREBREAK_SLOTS || !ready(state->region, slot)) {
        return false;
    }
    words_read(kept, state->region->slot[slot].name, sizeof kept);
    length = state_name_sound(kept);
    memcpy(name, kept, length);
    name[length] = '\0';
    return length > 0;
}
