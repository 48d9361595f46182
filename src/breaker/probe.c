#include "breaker/probe.h"

/* ---- next: generation 14 | due 40 (ms) | callers left of a burst 10 ---------------------------------------------- */

#define NEXT_TAG_SHIFT 50
#define NEXT_TAG_BITS  14
#define NEXT_DUE_SHIFT 10
#define NEXT_DUE_BITS  40
#define NEXT_LEFT_BITS 10

#define FIRST_MS       50    /* after a change */
#define HASTE_MS       20    /* after a success, and the shortest interval of all */
#define OPEN_LEAST_MS  50    /* the shortest interval while open and nothing has succeeded */
#define LONGEST_MS     30000 /* however many calls hang; a time further off is garbage */
#define CLOCK_SLACK_MS 4     /* a tick: whoever moved it may have read a later clock */
#define TAKE_TRIES     64

struct next {
    uint64_t due_ms;
    uint32_t left; /* of a burst: callers that go through before it moves */
};

static struct next next_read(const struct turn *turn, uint64_t word)
{
    if (bits_get(word, NEXT_TAG_SHIFT, NEXT_TAG_BITS) != (turn->generation & bits_mask(NEXT_TAG_BITS))) {
        return (struct next){.due_ms = turn->since_ms + FIRST_MS};
    }
    struct next next = {.due_ms = bits_get(word, NEXT_DUE_SHIFT, NEXT_DUE_BITS),
                        .left = (uint32_t)bits_get(word, 0, NEXT_LEFT_BITS)};
    if (next.due_ms > turn->now_ms + LONGEST_MS + CLOCK_SLACK_MS) {
        next = (struct next){.due_ms = turn->now_ms};
    }
    return next;
}

static uint64_t next_make(const struct turn *turn, uint64_t due_ms, uint32_t left)
{
    return bits_put(turn->generation, NEXT_TAG_SHIFT, NEXT_TAG_BITS) | bits_put(due_ms, NEXT_DUE_SHIFT, NEXT_DUE_BITS) |
           bits_put(left, 0, NEXT_LEFT_BITS);
}

uint64_t probe_due_ms(const struct turn *turn)
{
    return next_read(turn, word_load(&turn->words->next)).due_ms;
}

/* ---- how long until the one after -------------------------------------------------------------------------------- */

static uint32_t row_now(const struct turn *turn)
{
    return (uint32_t)least(tagged_value(word_load(&turn->words->row), turn->generation, 0), 63);
}

/* While a throttle or a ramp holds calls back. */
static uint64_t interval_pressed(const struct turn *turn)
{
    return most(turn->set->probe_min / NS_PER_MS >> row_now(turn), HASTE_MS);
}

/* While open: a tenth of the time that it has been. Once something has succeeded, often, to be sure of it soon. */
static uint64_t interval_open(const struct turn *turn, bool hopeful)
{
    uint64_t low = turn->set->probe_min / NS_PER_MS;
    uint64_t high = turn->set->probe_max / NS_PER_MS;
    uint64_t open = turn->now_ms - turn->since_ms;
    uint64_t i = most(least(most(least(open / 10, high), low), open), OPEN_LEAST_MS);
    if (hopeful) {
        return least(i, most(low, HASTE_MS));
    }
    return least(i * (1 + (uint64_t)overtaken(turn)), LONGEST_MS);
}

/* ---- taking one -------------------------------------------------------------------------------------------------- */

bool probe_take(const struct turn *turn)
{
    if (turn->set->probe_min == 0) {
        return false;
    }
    uint64_t found = word_load(&turn->words->next);
    for (unsigned i = 0; i < TAKE_TRIES; i++) {
        struct next next = next_read(turn, found);
        if (turn->now_ms < next.due_ms) {
            return false;
        }
        bool open = turn->kind == KIND_OPEN;
        bool hopeful = open && score_now(turn) >= 2;
        uint64_t interval = open ? interval_open(turn, hopeful) : interval_pressed(turn);
        uint64_t moved = next_make(turn, turn->now_ms + interval, 0);
        if (open && !hopeful) {
            /* Callers that come in bursts with long silence between them: `reset` of the burst find out, at once. */
            bool quiet = turn->now_ms - next.due_ms >= turn->set->reset * interval;
            uint32_t left = next.left > 0 ? next.left : quiet ? turn->set->reset : 0;
            if (left > 1) {
                moved = next_make(turn, next.due_ms, left - 1);
            }
        }
        if (word_swap(&turn->words->next, &found, moved)) {
            return true;
        }
    }
    return false;
}

void probe_hasten(const struct turn *turn)
{
    uint64_t found = word_load(&turn->words->next);
    while (next_read(turn, found).due_ms > turn->now_ms + HASTE_MS) {
        if (word_swap(&turn->words->next, &found, next_make(turn, turn->now_ms + HASTE_MS, 0))) {
            return;
        }
    }
}

/* ---- the row ----------------------------------------------------------------------------------------------------- */

void row_add(const struct turn *turn)
{
    uint64_t found = word_load(&turn->words->row);
    for (;;) {
        uint64_t row = tagged_value(found, turn->generation, 0);
        if (row >= 63 || word_swap(&turn->words->row, &found, tagged_make(turn->generation, row + 1))) {
            return;
        }
    }
}

void row_clear(const struct turn *turn)
{
    uint64_t found = word_load(&turn->words->row);
    while (tagged_value(found, turn->generation, 0) != 0) {
        if (word_swap(&turn->words->row, &found, tagged_make(turn->generation, 0))) {
            return;
        }
    }
}

/* ---- the score: generation 21 | a failure that was not silence 1 (bit 20) | score 20 ----------------------------- */

#define SCORE_BITS 20
#define SCORE_SEEN (UINT64_C(1) << SCORE_BITS)

uint32_t score_now(const struct turn *turn)
{
    uint64_t value = tagged_value(word_load(&turn->words->score), turn->generation, 0);
    return (uint32_t)bits_get(value, 0, SCORE_BITS);
}

bool score_seen_failure(const struct turn *turn)
{
    return (tagged_value(word_load(&turn->words->score), turn->generation, 0) & SCORE_SEEN) != 0;
}

uint32_t score_success(const struct turn *turn)
{
    uint64_t found = word_load(&turn->words->score);
    for (;;) {
        uint64_t value = tagged_value(found, turn->generation, 0);
        uint64_t score = least(bits_get(value, 0, SCORE_BITS) + 2, bits_mask(SCORE_BITS));
        uint64_t fresh = tagged_make(turn->generation, (value & SCORE_SEEN) | score);
        if (word_swap(&turn->words->score, &found, fresh)) {
            return (uint32_t)score;
        }
    }
}

void score_failure(const struct turn *turn, bool silence)
{
    uint64_t found = word_load(&turn->words->score);
    for (;;) {
        uint64_t value = tagged_value(found, turn->generation, 0);
        uint64_t score = bits_get(value, 0, SCORE_BITS);
        uint64_t fresh = (value & SCORE_SEEN) | (silence ? 0 : SCORE_SEEN) | (score > 0 ? score - 1 : 0);
        if (fresh == value || word_swap(&turn->words->score, &found, tagged_make(turn->generation, fresh))) {
            return;
        }
    }
}

/* ---- calls in flight --------------------------------------------------------------------------------------------- */

#define SILENT_NS (2 * MS_PER_S * NS_PER_MS)

uint64_t newest_ok_ms(const struct turn *turn)
{
    uint64_t newest = tagged_value(word_load(&turn->words->newest_ok), turn->generation, 0);
    return most(least(newest, turn->now_ms), turn->since_ms);
}

void newest_ok_move(const struct turn *turn, uint64_t admitted_ms)
{
    uint64_t found = word_load(&turn->words->newest_ok);
    for (;;) {
        uint64_t newest = tagged_value(found, turn->generation, 0);
        bool later = admitted_ms > newest || newest > turn->now_ms + MS_PER_S;
        if (admitted_ms < turn->since_ms || !later ||
            word_swap(&turn->words->newest_ok, &found, tagged_make(turn->generation, admitted_ms))) {
            return;
        }
    }
}

static bool counts_inflight(const struct turn *turn)
{
    return turn->b->inflight != NULL && turn->set->inflight != 0;
}

uint32_t not_overtaken(const struct turn *turn, uint64_t t)
{
    return counts_inflight(turn) ? inflight_count(turn->b->inflight, turn->b->slot, turn->now, t) : 0;
}

uint32_t overtaken(const struct turn *turn)
{
    if (!counts_inflight(turn) || turn->now < SILENT_NS) {
        return 0;
    }
    uint64_t since = turn->since_ms * NS_PER_MS;
    uint64_t newest = newest_ok_ms(turn) * NS_PER_MS;
    uint64_t before = turn->now - SILENT_NS;
    if (newest > since) {
        before = least(before, newest);
    }
    return inflight_between(turn->b->inflight, turn->b->slot, turn->now, since, before);
}
