#include "breaker/breaker.h"
#include "breaker/inflight.h"
#include "breaker/latency.h"
#include "breaker/policy.h"

static void view_totals(const struct prebreak_breaker *words, struct breaker_view *view)
{
    for (unsigned i = 0; i < PREBREAK_SHARDS; i++) {
        const struct prebreak_totals *totals = &words->totals[i];
        for (unsigned j = 0; j < PREBREAK_OUTCOMES; j++) {
            view->outcome[j] += word_load(&totals->outcome[j]);
        }
        for (unsigned j = 0; j < PREBREAK_KINDS; j++) {
            view->failures[j] += word_load(&totals->failures[j]);
        }
        view->total_refused += word_load(&totals->refused);
        view->would_refuse += word_load(&totals->would_refuse);
        view->would_refuse_ok += word_load(&totals->would_refuse_ok);
        view->would_refuse_failed += word_load(&totals->would_refuse_failed);
    }
    for (unsigned from = 0; from < PREBREAK_PHASES; from++) {
        for (unsigned to = 0; to < PREBREAK_PHASES; to++) {
            view->transitions += word_load(&words->transitions[from][to]);
        }
    }
    view->pauses = word_load(&words->pauses);
}

/* Until when nothing passes, ns; 0 where that is now or unknown. */
static uint64_t retry_at(const struct turn *turn, enum prebreak_phase phase)
{
    if (phase == PREBREAK_PAUSED) {
        return pause_until(turn);
    }
    if (phase == PREBREAK_OPEN && turn->policy->retry_ms != NULL) {
        return turn->policy->retry_ms(turn) * NS_PER_MS;
    }
    return 0;
}

static double drop_shown(const struct turn *turn, enum prebreak_phase phase)
{
    if (phase == PREBREAK_HELD_OPEN || phase == PREBREAK_PAUSED) {
        return 1;
    }
    return phase == PREBREAK_HELD_CLOSED ? 0 : (double)turn->drop / DROP_ALL;
}

void breaker_transitions(const struct breaker *b, uint64_t transitions[PREBREAK_PHASES][PREBREAK_PHASES])
{
    for (unsigned from = 0; from < PREBREAK_PHASES; from++) {
        for (unsigned to = 0; to < PREBREAK_PHASES; to++) {
            transitions[from][to] = word_load(&b->words->transitions[from][to]);
        }
    }
}

void breaker_first_bytes(const struct breaker *b, struct breaker_first_bytes *first_bytes)
{
    for (unsigned i = 0; i < PREBREAK_HISTOGRAM; i++) {
        first_bytes->count[i] = word_load(&b->words->histogram[i]);
    }
    first_bytes->sum = word_load(&b->words->first_byte_us);
    first_bytes->usual = latency_usual(b->words);
    first_bytes->slow = 0;
    for (unsigned i = 0; i < PREBREAK_SHARDS; i++) {
        first_bytes->slow += word_load(&b->words->totals[i].slow);
    }
}

void breaker_view(const struct breaker *b, uint64_t now, enum prebreak_phase hold, struct breaker_view *view)
{
    struct turn turn;
    struct breaker_caller who = {.now = now};
    turn_begin(&turn, b, &who, NULL);
    turn.drop = turn.policy->drop(&turn);
    struct window_sum sum = turn_sum(&turn);
    *view = (struct breaker_view){.phase = phase_now(&turn, hold),
                                  .generation = turn.generation,
                                  .ok = sum.ok,
                                  .failed = sum.failed,
                                  .refused = sum.refused,
                                  .hang = breaker_hang(b)};
    view->since = phase_since_ms(&turn, view->phase) * NS_PER_MS;
    view->drop = drop_shown(&turn, view->phase);
    view_totals(b->words, view);
    if (b->inflight != NULL) {
        view->inflight = inflight_count(b->inflight, b->slot, turn.now, 0);
    }
    uint64_t retry = retry_at(&turn, view->phase);
    view->retry_in = retry > turn.now ? retry - turn.now : 0;
}
