/*
 * Anything at all as a region, then everything that is done with one: breakers with the settings found there, names,
 * holds, events, the look at calls in flight. The region ends where a page does that cannot be touched.
 *
 * An input is one byte that says what the region begins as, patches to it, and operations with their arguments.
 */
#include "breaker/breaker.h"
#include "real/real.h"
#include "state/event.h"
#include "state/state.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE UINT64_C(4096)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* ---- the input --------------------------------------------------------------------------------------------------- */

struct input {
    const uint8_t *next;
    size_t left;
};

/* Zeros when there is nothing left. */
static void take(struct input *input, void *bytes, size_t size)
{
    size_t taken = size < input->left ? size : input->left;

    memset(bytes, 0, size);
    memcpy(bytes, input->next, taken);
    input->next += taken;
    input->left -= taken;
}

static uint8_t take_byte(struct input *input)
{
    uint8_t byte;

    take(input, &byte, sizeof byte);
    return byte;
}

static uint64_t take_word(struct input *input)
{
    uint64_t word;

    take(input, &word, sizeof word);
    return word;
}

/* One of a few names, so that they meet, or whatever the input says. */
static const char *take_name(struct input *input)
{
    static const char *const names[] = {"openai", "stripe", "db@10.0.0.1:5432", "api.openai.com", "[::1]:8080"};
    static char name[PREBREAK_NAME + 8];
    uint8_t which = take_byte(input);

    if (which % 8 < sizeof names / sizeof *names) {
        return names[which % 8];
    }
    take(input, name, which);
    name[which] = '\0';
    return name;
}

/* ---- the region -------------------------------------------------------------------------------------------------- */

static struct prebreak_region *region_before_a_wall(void)
{
    uint64_t whole = (sizeof(struct prebreak_region) + PAGE - 1) / PAGE * PAGE;
    char *map = mmap(NULL, whole + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    must(map != MAP_FAILED && mprotect(map + whole, PAGE, PROT_NONE) == 0);
    return (struct prebreak_region *)(void *)(map + whole - sizeof(struct prebreak_region));
}

/* A slot that is taken, if any is near. */
static struct prebreak_slot *some_slot(struct prebreak_region *region, uint8_t from)
{
    for (unsigned i = 0; i < PREBREAK_SLOTS; i++) {
        unsigned slot = (from * 4 + i) % PREBREAK_SLOTS;
        if (region->identity[slot]) {
            region->slot[slot].ready = region->identity[slot];
            return &region->slot[slot];
        }
    }
    return &region->slot[from];
}

/* Bytes of the input over a part of the region, most often one that something is read from. */
static void patch(struct prebreak_region *region, struct input *input)
{
    uint8_t which = take_byte(input), at = take_byte(input);
    struct prebreak_slot *slot = some_slot(region, at);
    const struct {
        void *start;
        size_t size;
    } parts[] = {
        {&region->header, sizeof region->header},
        {&region->hold[at % 8], sizeof region->hold[0]},
        {region->hold[at % 8].name, sizeof region->hold[0].name},
        {&region->event[at], sizeof region->event[0]},
        {&slot->settings, sizeof slot->settings},
        {slot->name, sizeof slot->name},
        {&slot->breaker, sizeof slot->breaker},
        {&region->inflight[at * 64u], 64 * sizeof region->inflight[0]},
        {&region->identity[at * 4u], 4 * sizeof region->identity[0]},
        {&region->process[at * 16u], 16 * sizeof region->process[0]},
    };
    size_t part = which % (sizeof parts / sizeof *parts);
    size_t from = take_word(input) % parts[part].size, count = take_byte(input);

    if (count > parts[part].size - from) {
        count = parts[part].size - from;
    }
    take(input, (char *)parts[part].start + from, count);
}

static void fill(struct state *state, struct input *input)
{
    struct prebreak_region *region = state->region;
    uint64_t *words = (uint64_t *)(void *)region, noise;
    struct prebreak_settings settings;

    memset(region, 0, sizeof *region);
    region->header.seed = 1;
    switch (take_byte(input) % 3) {
    case 0:
        break;
    case 1:
        for (unsigned policy = 0; policy < PREBREAK_POLICIES; policy++) {
            breaker_settings_default((enum prebreak_policy)policy, &settings);
            state_slot(state, "openai", &settings, policy % 2, 1);
        }
        break;
    default:
        noise = take_word(input) | 1;
        for (size_t i = 0; i < sizeof *region / sizeof *words; i++) {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            words[i] = noise;
        }
    }
    for (unsigned patches = take_byte(input) % 64; patches > 0; patches--) {
        patch(region, input);
    }
}

/* ---- what is done with it ---------------------------------------------------------------------------------------- */

static void tell(void *context, int slot, const struct breaker_change *change)
{
    (void)context;
    must(slot >= 0 && slot < PREBREAK_SLOTS && change->from < PREBREAK_PHASES && change->to < PREBREAK_PHASES);
}

static struct breaker_caller take_caller(struct input *input)
{
    struct breaker_caller who = {.now = take_word(input) >> take_byte(input) % 64, .draw = (uint32_t)take_word(input)};

    who.shard = who.draw >> 8;
    who.pid = take_byte(input);
    who.pid_ns = take_byte(input) % 2;
    return who;
}

/* Calls of a slot, with the settings that stand in it or with our own. */
static void do_calls(struct state *state, struct input *input)
{
    struct prebreak_settings copy;
    struct breaker breaker;
    struct breaker_caller who = take_caller(input);
    struct breaker_order order = {PREBREAK_CLOSED, take_byte(input) % 2, take_byte(input) * 257u};
    struct breaker_change change;
    struct breaker_view view;
    const char *name = take_name(input);
    int slot = take_byte(input) % 2 ? (int)(some_slot(state->region, take_byte(input)) - state->region->slot) : -1;

    if (slot < 0) {
        breaker_settings_default((enum prebreak_policy)(take_byte(input) % PREBREAK_POLICIES), &copy);
        slot = state_slot(state, name, &copy, take_byte(input) % 2, who.now);
        must(slot >= -1 && slot < PREBREAK_SLOTS);
    }
    if (!state_breaker(state, slot, NULL, &copy, &breaker)) {
        return;
    }
    must(state_identity(state, slot) != 0);
    order.hold = state_held(state, name, who.now);
    must(order.hold == PREBREAK_CLOSED || order.hold == PREBREAK_HELD_OPEN || order.hold == PREBREAK_HELD_CLOSED);
    for (unsigned count = take_byte(input) % 32; count > 0; count--) {
        struct breaker_call call;
        struct breaker_end end = {.outcome = (enum prebreak_outcome)(take_byte(input) % PREBREAK_OUTCOMES),
                                  .kind = (enum prebreak_kind)(take_byte(input) % PREBREAK_KINDS),
                                  .answered = take_byte(input) % 2};
        if (breaker_admit(&breaker, &who, &order, &call, &change)) {
            who.now += take_word(input) % UINT64_C(5000000000);
            breaker_heard(&breaker, &who, &call);
            end.slow = breaker_slow(&breaker, who.now, who.now - call.admitted, 5000);
            breaker_finish(&breaker, &who, &call, &end, &change);
        }
    }
    breaker_view(&breaker, who.now, order.hold, &view);
    must(view.phase < PREBREAK_PHASES && view.drop >= 0 && view.drop <= 1);
    struct breaker_first_bytes first_bytes;
    breaker_first_bytes(&breaker, &first_bytes);
    must(first_bytes.usual <= UINT64_C(1000) * UINT32_MAX);
}

static void do_list(struct state *state, struct input *input)
{
    char name[PREBREAK_NAME];
    enum prebreak_phase phase;
    uint64_t until, now = take_word(input);

    for (int slot = -1; slot <= PREBREAK_SLOTS; slot++) {
        if (state_name(state, slot, name)) {
            must(state_name_sound(name) == strlen(name) && *name);
        }
    }
    for (int i = -1; i <= PREBREAK_HOLDS; i++) {
        if (state_hold_at(state, i, now, name, &phase, &until)) {
            must(state_name_sound(name) && (phase == PREBREAK_HELD_OPEN || phase == PREBREAK_HELD_CLOSED));
        }
    }
    must(state_mode(state) < PREBREAK_MODES);
}

static void do_hold(struct state *state, struct input *input)
{
    const char *name = take_name(input);
    enum prebreak_phase phase = take_byte(input) % 2 ? PREBREAK_HELD_OPEN : PREBREAK_HELD_CLOSED;

    if (state_hold(state, name, phase, 0)) {
        must(state_held(state, name, 1) == phase);
        if (take_byte(input) % 2) {
            must(state_release(state, name));
        }
    }
    state_set_mode(state, (enum prebreak_mode)take_byte(input));
}

static void do_put(struct state *state, struct input *input)
{
    struct event event;

    event_begin(&event, state, (enum event_what)(take_byte(input) % (EVENT_WHATS + 1)), take_name(input));
    event.change.from = (enum prebreak_phase)take_byte(input);
    event.change.to = (enum prebreak_phase)take_byte(input);
    event.mode = (enum prebreak_mode)take_byte(input);
    event.time = take_word(input);
    take(input, event.text, take_byte(input) % sizeof event.text);
    event_put(state, &event);
}

static void do_events(struct state *state, struct input *input)
{
    struct event event;
    char line[EVENT_LINE];
    uint64_t after = take_word(input);

    while (event_next(state, after, &event)) {
        must(event.sequence > after);
        after = event.sequence;
        for (int format = EVENT_LOGFMT; format <= EVENT_JSON; format++) {
            size_t length = event_format(&event, (enum event_format)format, line, sizeof line);
            must(length > 0 && length <= sizeof line && memchr(line, '\n', length) == line + length - 1);
        }
    }
}

static void do_look(struct state *state, struct input *input)
{
    struct breaker_caller who = take_caller(input);

    state_look(state, &who, tell, NULL);
}

static void do_process(struct state *state, struct input *input)
{
    state->pid = take_byte(input);
    state_enrol(state);
    if (take_byte(input) % 4 == 0) {
        state_forked(state);
        state_processes(state);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const operations[])(struct state *, struct input *) = {do_calls,  do_list, do_hold,    do_put,
                                                                         do_events, do_look, do_process, do_calls};
    static struct prebreak_region *region;
    struct state state = {.shared = true};
    struct input input = {data, size};

    if (!region) {
        real_init();
        region = region_before_a_wall();
    }
    state.region = region;
    fill(&state, &input);
    for (int i = 0; i < 64 && input.left > 0; i++) {
        operations[take_byte(&input) % (sizeof operations / sizeof *operations)](&state, &input);
    }
    return 0;
}
