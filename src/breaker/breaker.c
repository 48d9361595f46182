#include "breaker/breaker.h"
#include "breaker/hang.h"
#include "breaker/inflight.h"
#include "breaker/latency.h"
#include "breaker/policy.h"
#include "breaker/streak.h"

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_US UINT64_C(1000)

/* ---- totals ------------------------------------------------------------------------------------------------------ */

static struct prebreak_totals *totals_of(const struct breaker *b, uint32_t shard)
{
    return &b->words->totals[shard & (PREBREAK_SHARDS - 1)];
}

static void totals_end(const struct breaker *b, uint32_t shard, enum prebreak_outcome outcome,
                       const struct breaker_end *end)
{
    struct prebreak_totals *totals = totals_of(b, shard);
    word_add(&totals->outcome[outcome], 1);
    if (outcome == PREBREAK_FAILED) {
        word_add(&totals->failures[end->kind], 1);
    } else if (end->slow) {
        word_add(&totals->slow, 1);
    }
}

/* ---- admission --------------------------------------------------------------------------------------------------- */

/* To the second: a busy key does not write it with every call. */
static void note_asked(struct prebreak_breaker *words, uint64_t now)
{
    uint64_t last = word_peek(&words->last_call);
    if (now - last > NS_PER_S) {
        word_store(&words->last_call, now);
    }
}

struct verdict {
    bool pass;
    bool probe;
    bool held; /* not the policy's word */
};

static struct verdict decide(struct turn *turn, enum prebreak_phase hold)
{
    struct verdict verdict = {.held = true};
    if (hold == PREBREAK_HELD_CLOSED) {
        verdict.pass = true;
    } else if (hold != PREBREAK_HELD_OPEN && pause_until(turn) == 0) {
        verdict.held = false;
        verdict.pass = turn->policy->admit(turn, &verdict.probe);
    }
    return verdict;
}

bool breaker_admit(const struct breaker *b, const struct breaker_caller *who, const struct breaker_order *order,
                   struct breaker_call *call, struct breaker_change *change)
{
    struct turn turn;
    turn_begin(&turn, b, who, change);
    note_asked(turn.words, turn.now);
    struct verdict verdict = decide(&turn, order->hold);
    phase_tell(&turn, phase_now(&turn, order->hold));
    bool out = verdict.pass || order->observe || draw_enforce(turn.draw) >= order->enforce;
    if (!out) {
        word_add(&totals_of(b, who->shard)->refused, 1);
        return false;
    }
    *call = (struct breaker_call){.admitted = turn.now,
                                  .generation = turn.generation,
                                  .streak = streak_running(&turn),
                                  .probe = verdict.probe,
                                  .would_refuse = !verdict.pass,
                                  .held = !verdict.pass && verdict.held};
    if (!verdict.pass) {
        word_add(&totals_of(b, who->shard)->would_refuse, 1);
    } else if (b->inflight != NULL) {
        call->word = inflight_enter(b->inflight, who, b->slot, &call->place);
    }
    return true;
}

/* ---- while it is out --------------------------------------------------------------------------------------------- */

void breaker_heard(const struct breaker *b, const struct breaker_caller *who, struct breaker_call *call)
{
    if (call->word == 0 || b->inflight == NULL) {
        return;
    }
    call->word = inflight_refresh(b->inflight, call->place, call->word, who->now);
    call->overdue = call->word == 0;
}

void breaker_stream(const struct breaker *b, const struct breaker_caller *who, struct breaker_call *call)
{
    call->stream = true;
    if (call->word != 0 && b->inflight != NULL) {
        call->word = inflight_stream(b->inflight, call->place, call->word, who->now);
        call->overdue = call->word == 0;
    }
}

void breaker_first_byte(const struct breaker *b, uint64_t latency)
{
    unsigned bucket = 0;
    while (bucket < PREBREAK_HISTOGRAM - 1 && latency > NS_PER_MS << bucket) {
        bucket++;
    }
    word_add(&b->words->histogram[bucket], 1);
    word_add(&b->words->first_byte_us, latency / NS_PER_US);
}

bool breaker_slow(const struct breaker *b, uint64_t now, uint64_t latency, uint32_t times)
{
    return latency_slow(b->words, b->settings->window, now, latency, times);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Out of the table. A word that is not there any more was found overdue by somebody, who counted the call. */
static void leave(const struct breaker *b, struct breaker_call *call)
{
    if (call->word != 0 && b->inflight != NULL && !inflight_leave(b->inflight, call->place, call->word)) {
        call->overdue = true;
    }
    call->word = 0;
}

/* A call that the policy would have refused: what it taught must not reach the policy, or it would not be its shadow.
 */
static void end_shadow(const struct breaker *b, uint32_t shard, const struct breaker_end *end)
{
    totals_end(b, shard, end->outcome, end);
    struct prebreak_totals *totals = totals_of(b, shard);
    if (end->outcome == PREBREAK_OK) {
        word_add(&totals->would_refuse_ok, 1);
    } else if (end->outcome == PREBREAK_FAILED) {
        word_add(&totals->would_refuse_failed, 1);
    }
}

static void end_policy(struct turn *turn, const struct breaker_call *call, const struct breaker_end *end,
                       enum prebreak_outcome outcome)
{
    if (outcome == PREBREAK_OK) {
        turn->policy->ok(turn, call);
    } else if (outcome == PREBREAK_FAILED) {
        turn->policy->failed(turn, call, end);
    } else if (turn->policy->neutral != NULL) {
        turn->policy->neutral(turn, call);
    }
}

void breaker_finish(const struct breaker *b, const struct breaker_caller *who, struct breaker_call *call,
                    const struct breaker_end *end, struct breaker_change *change)
{
    struct turn turn;
    turn_begin(&turn, b, who, change);
    uint32_t generation = call->generation;
    if (generation == 0) {
        return;
    }
    leave(b, call);
    call->generation = 0;
    if (call->would_refuse) {
        end_shadow(b, who->shard, end);
        return;
    }
    if (end->answered && word_peek(&turn.words->answered) == 0) {
        word_store(&turn.words->answered, 1);
    }
    enum prebreak_outcome outcome = end->outcome;
    if (call->overdue) {
        /* Counted already; of what comes after, only an answer is news. */
        if (outcome == PREBREAK_OK) {
            end_policy(&turn, call, end, outcome);
        }
        return;
    }
    bool current = generation == turn.generation;
    if (end->retry_at != 0 && current && pause_wanted(&turn, end)) {
        pause_begin(&turn, end->retry_at);
        if (!phase_told_hold(&turn)) {
            phase_tell(&turn, PREBREAK_PAUSED);
        }
        outcome = PREBREAK_NEUTRAL;
    }
    totals_end(b, who->shard, outcome, end);
    if (current) {
        end_policy(&turn, call, end, outcome);
    }
}

void breaker_overdue(const struct breaker *b, const struct breaker_caller *who, uint64_t heard, bool stream,
                     struct breaker_change *change)
{
    struct turn turn;
    turn_begin(&turn, b, who, change);
    const struct breaker_end end = {.outcome = PREBREAK_FAILED,
                                    .kind = stream ? PREBREAK_KIND_STREAM : PREBREAK_KIND_HANG};
    totals_end(b, who->shard, PREBREAK_FAILED, &end);
    if (heard / INFLIGHT_TICK_NS >= turn.since_ms * NS_PER_MS / INFLIGHT_TICK_NS) {
        const struct breaker_call silent = {.admitted = heard, .generation = turn.generation};
        turn.policy->failed(&turn, &silent, &end);
    }
}

void breaker_lost(const struct breaker *b, const struct breaker_caller *who)
{
    word_add(&totals_of(b, who->shard)->outcome[PREBREAK_NEUTRAL], 1);
}

uint64_t breaker_hang(const struct breaker *b)
{
    return word_peek(&b->words->answered) != 0 ? hang_now(b->words, b->settings) : 0;
}

uint64_t breaker_stall(const struct breaker *b)
{
    return b->settings->stall;
}

/* ---- the operator ------------------------------------------------------------------------------------------------ */

#define RESET_TRIES 64

void breaker_reset(const struct breaker *b, const struct breaker_caller *who, struct breaker_change *change)
{
    struct turn turn;
    turn_begin(&turn, b, who, change);
    pause_end(&turn);
    hang_forget(turn.words);
    latency_forget(turn.words);
    for (unsigned i = 0; i < RESET_TRIES; i++) {
        if (phase_change(&turn, KIND_CLOSED, BREAKER_REASON_OPERATOR, turn_sum(&turn))) {
            return;
        }
        turn_begin(&turn, b, who, change);
    }
}
