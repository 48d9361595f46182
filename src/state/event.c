/*
 * The ring of events in the region. A writer takes a number, and with it a place; the sequence word is odd while it
 * writes. Writers a whole ring apart may meet in one place, or one may die in it: then the check does not fit, and the
 * event is lost, never mixed.
 */
#include "state/event.h"
#include "state/internal.h"
#include "state/words.h"
#include <errno.h>
#include <string.h>
#include <time.h>

#define SEQUENCE_MASK (UINT64_MAX >> 2)

static const char *const names[EVENT_WHATS] = {
    [EVENT_PHASE] = "phase", [EVENT_REFUSED] = "refused", [EVENT_HOLD] = "hold",     [EVENT_RELEASE] = "release",
    [EVENT_RESET] = "reset", [EVENT_MODE] = "mode",       [EVENT_CONFIG] = "config", [EVENT_STATE] = "state",
    [EVENT_QUOTA] = "quota", [EVENT_OFF] = "off",
};

const char *event_what_name(enum event_what what)
{
    return (unsigned)what < EVENT_WHATS ? names[what] : NULL;
}

/* A text into a field, cut to its size, zeros to the field's end. */
static void keep(char *field, size_t size, const char *text)
{
    size_t length = strnlen(text, size - 1);

    memset(field, 0, size);
    memcpy(field, text, length);
}

void event_begin(struct event *event, const struct state *state, enum event_what what, const char *name)
{
    memset(event, 0, sizeof *event);
    event->what = what;
    event->time = clock_ns(CLOCK_REALTIME);
    event->pid = state->pid;
    keep(event->comm, sizeof event->comm, program_invocation_short_name);
    keep(event->name, sizeof event->name, name ? name : "");
}

/* ---- one event as it stands in the ring ------------------------------------------------------------------------- */

static uint64_t check_of(uint64_t seed, const struct prebreak_event *event)
{
    const char *from = (const char *)&event->time;

    return state_hash(seed ^ event->sequence, from, sizeof *event - (size_t)(from - (const char *)event));
}

static void pack(struct prebreak_event *packed, const struct event *event)
{
    const struct breaker_change *change = &event->change;
    const uint64_t bytes[] = {event->what, change->from, change->to, change->reason, event->policy, event->mode};

    memset(packed, 0, sizeof *packed);
    packed->time = event->time;
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        packed->what |= (bytes[i] & 0xff) << 8 * i;
    }
    packed->drop = change->drop;
    packed->ok = change->ok;
    packed->failed = change->failed;
    packed->refused = change->refused;
    packed->pid = event->pid;
    keep(packed->comm, sizeof packed->comm, event->comm);
    keep(packed->name, sizeof packed->name, event->name);
    keep(packed->text, sizeof packed->text, event->text);
}

/* False: it holds what no event can. */
static bool unpack(struct event *event, const struct prebreak_event *packed)
{
    static const uint8_t limits[] = {EVENT_WHATS,     PREBREAK_PHASES,   PREBREAK_PHASES,
                                     BREAKER_REASONS, PREBREAK_POLICIES, PREBREAK_MODES};
    uint8_t bytes[sizeof limits];

    for (size_t i = 0; i < sizeof limits; i++) {
        bytes[i] = (uint8_t)(packed->what >> 8 * i);
        if (bytes[i] >= limits[i]) {
            return false;
        }
    }
    memset(event, 0, sizeof *event);
    event->what = (enum event_what)bytes[0];
    event->time = packed->time;
    event->sequence = packed->sequence >> 1;
    event->change.from = (enum prebreak_phase)bytes[1];
    event->change.to = (enum prebreak_phase)bytes[2];
    event->change.reason = (enum breaker_reason)bytes[3];
    event->change.ok = (uint32_t)packed->ok;
    event->change.failed = (uint32_t)packed->failed;
    event->change.refused = (uint32_t)packed->refused;
    event->change.drop = packed->drop > UINT16_MAX ? UINT16_MAX : (uint32_t)packed->drop;
    event->policy = (enum prebreak_policy)bytes[4];
    event->mode = (enum prebreak_mode)bytes[5];
    event->pid = (uint32_t)packed->pid;
    keep(event->comm, sizeof event->comm, packed->comm);
    keep(event->name, sizeof event->name, packed->name);
    keep(event->text, sizeof event->text, packed->text);
    return event->name[0] == '\0' || state_name_sound(event->name);
}

/* ---- the ring --------------------------------------------------------------------------------------------------- */

void event_put(struct state *state, struct event *event)
{
    struct prebreak_region *region = state->region;
    struct prebreak_event packed, *place;
    uint64_t number, writing;

    if (!region) {
        return;
    }
    do {
        number = word_next(&region->header.next_event) & SEQUENCE_MASK;
    } while (number == 0);
    place = &region->event[number % PREBREAK_EVENTS];
    pack(&packed, event);
    packed.sequence = number << 1;
    packed.check = check_of(region->header.seed, &packed);
    writing = packed.sequence | 1;
    word_store(&place->sequence, writing);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* odd before the first byte changes */
    words_write(&place->check, &packed.check, sizeof packed - offsetof(struct prebreak_event, check));
    word_change(&place->sequence, writing, packed.sequence); /* not if a later writer has the place by now */
    event->sequence = number;
}

/* The event at a place if it is the whole one with this sequence word. */
static bool event_at(struct prebreak_region *region, int place, uint64_t sequence, struct event *event)
{
    struct prebreak_event packed;

    words_read(&packed, &region->event[place], sizeof packed);
    return packed.sequence == sequence && packed.check == check_of(region->header.seed, &packed) &&
           unpack(event, &packed);
}

bool event_next(struct state *state, uint64_t after, struct event *event)
{
    struct prebreak_region *region = state->region;

    while (region) {
        uint64_t oldest = UINT64_MAX;
        int place = -1;

        for (int i = 0; i < PREBREAK_EVENTS; i++) {
            uint64_t sequence = word_load(&region->event[i].sequence);
            if (!(sequence & 1) && sequence >> 1 > after && sequence < oldest) {
                oldest = sequence;
                place = i;
            }
        }
        if (place < 0) {
            return false;
        }
        if (event_at(region, place, oldest, event)) {
            return true;
        }
        after = oldest >> 1; /* overwritten by now, or garbage */
    }
    return false;
}
