#include "breaker/inflight.h"
#include "breaker/words.h"

/* ---- the word: pid 22 | slot 10 | hash of the pid namespace 8 | event stream 1 | last sign of life 23 (64 ms) ----- */

#define TICK_BITS  23
#define STREAM     (UINT64_C(1) << TICK_BITS)
#define NS_SHIFT   24
#define NS_BITS    8
#define SLOT_SHIFT 32
#define SLOT_BITS  10
#define PID_SHIFT  42
#define PID_BITS   22

#define NS_PER_S      UINT64_C(1000000000)
#define REFRESH_TICKS (NS_PER_S / INFLIGHT_TICK_NS + 1) /* at most once a second */
#define AHEAD_NS      (60 * NS_PER_S)                   /* a time further ahead is one of long ago */

_Static_assert(PREBREAK_SLOTS <= 1 << SLOT_BITS, "a slot's number fits");
_Static_assert((PREBREAK_INFLIGHT & (PREBREAK_INFLIGHT - 1)) == 0, "places are masked");

static uint64_t word_make(const struct breaker_caller *who, uint32_t slot)
{
    return bits_put(who->pid, PID_SHIFT, PID_BITS) | bits_put(slot, SLOT_SHIFT, SLOT_BITS) |
           bits_put(who->pid_ns, NS_SHIFT, NS_BITS) | bits_put(who->now / INFLIGHT_TICK_NS, 0, TICK_BITS);
}

uint32_t inflight_pid(uint64_t word)
{
    return (uint32_t)bits_get(word, PID_SHIFT, PID_BITS);
}

uint32_t inflight_slot(uint64_t word)
{
    return (uint32_t)bits_get(word, SLOT_SHIFT, SLOT_BITS);
}

uint32_t inflight_pid_ns(uint64_t word)
{
    return (uint32_t)bits_get(word, NS_SHIFT, NS_BITS);
}

bool inflight_is_stream(uint64_t word)
{
    return (word & STREAM) != 0;
}

/* Ticks since boot of the word's time, by a now that is `newest` = (now + AHEAD_NS) in ticks. */
static uint64_t heard_tick(uint64_t word, uint64_t newest)
{
    uint64_t age = bits_get(newest - word, 0, TICK_BITS);
    return age <= newest ? newest - age : 0;
}

uint64_t inflight_heard(uint64_t word, uint64_t now)
{
    return heard_tick(word, (now + AHEAD_NS) / INFLIGHT_TICK_NS) * INFLIGHT_TICK_NS;
}

/* ---- entering and leaving ---------------------------------------------------------------------------------------- */

/*
 * Where to try: first the caller's own cache line, which most callers find empty, so that threads share none; then all
 * over the table, since one event loop may have thousands of calls out.
 */
#define HOME_TRIES 4
#define HOME_WORDS 8

static uint32_t scatter(uint32_t x)
{
    x = (x ^ x >> 16) * UINT32_C(0x7feb352d);
    return (x ^ x >> 15) * UINT32_C(0x846ca68b) >> 8;
}

uint64_t inflight_enter(prebreak_word *table, const struct breaker_caller *who, uint32_t slot, uint32_t *place)
{
    uint64_t word = word_make(who, slot);
    if (word == 0) {
        return 0;
    }
    uint32_t home = (who->shard * UINT32_C(0x9e3779b1) ^ who->pid * UINT32_C(0x85ebca6b)) >> 16;
    for (uint32_t i = 0; i < INFLIGHT_TRIES; i++) {
        uint32_t at = i < HOME_TRIES ? home * HOME_WORDS + i : scatter(who->draw + i);
        at &= PREBREAK_INFLIGHT - 1;
        uint64_t found = word_load(&table[at]);
        if (found == 0 && word_swap(&table[at], &found, word)) {
            *place = at;
            return word;
        }
    }
    return 0;
}

bool inflight_leave(prebreak_word *table, uint32_t place, uint64_t word)
{
    return word_swap(&table[place & (PREBREAK_INFLIGHT - 1)], &word, 0);
}

uint64_t inflight_stream(prebreak_word *table, uint32_t place, uint64_t word, uint64_t now)
{
    uint64_t fresh = (word & ~bits_mask(TICK_BITS)) | STREAM | bits_put(now / INFLIGHT_TICK_NS, 0, TICK_BITS);
    return word_swap(&table[place & (PREBREAK_INFLIGHT - 1)], &word, fresh) ? fresh : 0;
}

uint64_t inflight_refresh(prebreak_word *table, uint32_t place, uint64_t word, uint64_t now)
{
    uint64_t tick = now / INFLIGHT_TICK_NS;
    uint64_t age = bits_get(tick - word, 0, TICK_BITS);
    if (age < REFRESH_TICKS || age > bits_mask(TICK_BITS) / 2) {
        return word;
    }
    uint64_t fresh = (word & ~bits_mask(TICK_BITS)) | bits_put(tick, 0, TICK_BITS);
    return word_swap(&table[place & (PREBREAK_INFLIGHT - 1)], &word, fresh) ? fresh : 0;
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

uint32_t inflight_between(const prebreak_word *table, uint32_t slot, uint64_t now, uint64_t from, uint64_t before)
{
    uint64_t newest = (now + AHEAD_NS) / INFLIGHT_TICK_NS;
    uint64_t from_tick = from / INFLIGHT_TICK_NS;
    uint64_t before_tick = before / INFLIGHT_TICK_NS;
    uint32_t count = 0;
    for (uint32_t i = 0; i < PREBREAK_INFLIGHT; i++) {
        uint64_t word = __atomic_load_n(&table[i], __ATOMIC_RELAXED);
        if (word == 0 || inflight_slot(word) != slot) {
            continue;
        }
        uint64_t tick = heard_tick(word, newest);
        count += tick >= from_tick && tick < before_tick;
    }
    return count;
}

uint32_t inflight_count(const prebreak_word *table, uint32_t slot, uint64_t now, uint64_t since)
{
    return inflight_between(table, slot, now, since, UINT64_MAX);
}

/* ---- the look at all of them ------------------------------------------------------------------------------------- */

#define LOOK_EVERY      NS_PER_S
#define LOOK_LATE       (5 * NS_PER_S) /* a look that comes later may have been frozen */
#define LOOK_PIDS       16
#define LOOK_NOTED      UINT64_C(1) /* low bit of last_look: that look only noted */
#define FORGOTTEN_NS    (3600 * NS_PER_S)
#define FORGOTTEN_HANGS 10
#define FORGOTTEN_MOST  (120 * 3600 * NS_PER_S) /* well within what the word's time can tell */

/* One look: what is known of the processes asked about so far. */
struct look {
    prebreak_word *table;
    const struct breaker_caller *who;
    const struct inflight_world *world;
    uint64_t gap;  /* ns since the last look */
    bool believed; /* the last look only noted too: silence is silence */
    bool overdue;  /* this pass is for overdue words: they come first when processes are asked about */
    uint32_t asked;
    struct {
        uint32_t pid;
        bool alive;
        uint64_t heard; /* earliest time for which this is the answer */
    } process[LOOK_PIDS];
};

/* Alive, dead, or not to be asked any more in this look. */
enum life { LIFE_UNKNOWN, LIFE_ALIVE, LIFE_DEAD };

static enum life look_life(struct look *look, uint32_t pid, uint64_t heard)
{
    for (uint32_t i = 0; i < look->asked; i++) {
        /* Dead for a later word is dead for an earlier one; alive for an earlier one is alive for a later one. */
        if (look->process[i].pid == pid &&
            (look->process[i].alive ? heard >= look->process[i].heard : heard <= look->process[i].heard)) {
            return look->process[i].alive ? LIFE_ALIVE : LIFE_DEAD;
        }
    }
    if (look->asked == LOOK_PIDS) {
        return LIFE_UNKNOWN;
    }
    bool alive = look->world->alive(look->world->context, pid, heard);
    look->process[look->asked].pid = pid;
    look->process[look->asked].alive = alive;
    look->process[look->asked].heard = heard;
    look->asked++;
    return alive ? LIFE_ALIVE : LIFE_DEAD;
}

static void look_lost(struct look *look, prebreak_word *place, uint64_t word)
{
    if (word_swap(place, &word, 0)) {
        look->world->lost(look->world->context, inflight_slot(word));
    }
}

static void look_at(struct look *look, prebreak_word *place, uint64_t word)
{
    uint32_t slot = inflight_slot(word);
    uint64_t now = look->who->now;
    uint64_t heard = inflight_heard(word, now);
    uint64_t silence = heard < now ? now - heard : 0;
    bool stream = inflight_is_stream(word);
    uint64_t hang = look->world->hang(look->world->context, slot, stream);
    if (silence > least(FORGOTTEN_NS + FORGOTTEN_HANGS * least(hang, FORGOTTEN_MOST), FORGOTTEN_MOST)) {
        look_lost(look, place, word);
        return;
    }
    if (inflight_pid_ns(word) != bits_get(look->who->pid_ns, 0, NS_BITS)) {
        return;
    }
    bool overdue = hang != 0 && silence >= hang;
    if (overdue != look->overdue || (!overdue && silence < LOOK_EVERY)) {
        return;
    }
    uint32_t pid = inflight_pid(word);
    enum life life = pid == look->who->pid ? LIFE_ALIVE : look_life(look, pid, heard);
    bool frozen = look->gap > LOOK_LATE && look->gap > hang / 2 && !look->believed;
    if (life == LIFE_DEAD) {
        look_lost(look, place, word);
    } else if (life == LIFE_ALIVE && overdue && !frozen && word_swap(place, &word, 0)) {
        look->world->overdue(look->world->context, slot, heard, stream);
    }
}

/* All words once, from anywhere on: who comes late in one look comes early in another. */
static void look_pass(struct look *look, bool overdue)
{
    look->overdue = overdue;
    for (uint32_t i = 0; i < PREBREAK_INFLIGHT; i++) {
        prebreak_word *place = &look->table[(i + look->who->draw) & (PREBREAK_INFLIGHT - 1)];
        uint64_t word = __atomic_load_n(place, __ATOMIC_RELAXED);
        if (word != 0) {
            look_at(look, place, word);
        }
    }
}

bool inflight_look(prebreak_word *table, prebreak_word *last_look, const struct breaker_caller *who,
                   const struct inflight_world *world)
{
    uint64_t found = word_load(last_look);
    uint64_t last = found & ~LOOK_NOTED;
    /* One from the future (a clock of another boot, garbage) is due too. */
    if (last <= who->now + LOOK_EVERY && who->now < last + LOOK_EVERY) {
        return false;
    }
    uint64_t gap = last <= who->now ? who->now - last : UINT64_MAX;
    bool late = gap > LOOK_LATE;
    bool believed = (found & LOOK_NOTED) != 0;
    bool notes = late && !believed;
    if (!word_swap(last_look, &found, (who->now & ~LOOK_NOTED) | (notes ? LOOK_NOTED : 0))) {
        return false;
    }
    struct look look = {.table = table, .who = who, .world = world, .gap = gap, .believed = believed};
    look_pass(&look, true);
    look_pass(&look, false);
    return true;
}

void inflight_disown(prebreak_word *table, const struct breaker_caller *who, const struct inflight_world *world)
{
    uint64_t tick = who->now / INFLIGHT_TICK_NS * INFLIGHT_TICK_NS;
    for (uint32_t i = 0; i < PREBREAK_INFLIGHT; i++) {
        uint64_t word = __atomic_load_n(&table[i], __ATOMIC_RELAXED);
        if (word != 0 && inflight_pid(word) == bits_get(who->pid, 0, PID_BITS) &&
            inflight_pid_ns(word) == bits_get(who->pid_ns, 0, NS_BITS) && inflight_heard(word, who->now) < tick &&
            word_swap(&table[i], &word, 0)) {
            world->lost(world->context, inflight_slot(word));
        }
    }
}
