/*
 * One run: callers ask the breaker, calls go out to the provider, and their ends are told to the breaker, in order of time.
 */
#include "cli/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX /* a call of no worker's */

/* What an event is about: the kind in the high bits of `what`, an index below them. */
enum event_kind { ARRIVAL, END, WORKER, STAGE, BIN };
#define KIND_SHIFT 28
#define INDEX_MASK ((UINT32_C(1) << KIND_SHIFT) - 1)

/* A call that is out. */
struct out {
    struct breaker_call call;
    struct breaker_end end;
    uint64_t sent;
    uint32_t number;
    uint32_t worker; /* who waits for it, NOBODY */
    bool live, busy;
};

struct model {
    struct sim_run *run;
    const struct sim_scenario *scenario;
    uint64_t seed;
    struct breaker breaker;
    struct breaker_order order;
    struct sim_provider provider;
    struct sim_queue queue;
    uint64_t now;
    uint32_t stage;
    uint32_t asked;     /* calls so far: the next one's number */
    uint64_t next_slot; /* ns: when a pool may call again */
    struct out *out;
    size_t outs, out_room;
    uint32_t *vacant; /* places in `out` */
    size_t vacants, vacant_room;
    prebreak_word last_look;
    struct prebreak_breaker words;
    prebreak_word inflight[PREBREAK_INFLIGHT];
};

static uint64_t nanoseconds(double seconds)
{
    return (uint64_t)(seconds * SIM_SECOND);
}

static void at(struct model *model, uint64_t time, enum event_kind kind, uint32_t index, uint32_t number)
{
    sim_queue_push(&model->queue,
                   (struct sim_event){.time = time, .what = (uint32_t)kind << KIND_SHIFT | index, .number = number});
}

static const struct sim_stage *stage_now(const struct model *model)
{
    return &model->scenario->stage[model->stage];
}

static struct sim_bin *bin_now(struct model *model)
{
    struct sim_run *run = model->run;
    uint64_t bin = (model->now - run->begun[0]) / run->bin_width;
    return &run->bin[bin < run->bins ? bin : run->bins - 1];
}

/* ---- what a process does for all: the look at overdue calls ----------------------------------------------------- */

static struct breaker_caller caller(const struct model *model, uint64_t number, enum sim_purpose purpose)
{
    uint64_t bits = sim_bits(model->seed, number, purpose);
    return (struct breaker_caller){
        .now = model->now, .draw = (uint32_t)bits, .shard = (uint32_t)(bits >> 32), .pid = 1, .pid_ns = 1};
}

static uint64_t world_hang(void *context, uint32_t slot, bool stream)
{
    (void)stream; /* nobody streams here */
    const struct model *model = context;
    return slot == model->breaker.slot ? breaker_hang(&model->breaker) : 0;
}

static bool world_alive(void *context, uint32_t pid, uint64_t heard)
{
    (void)context, (void)pid, (void)heard;
    return true;
}

static void world_overdue(void *context, uint32_t slot, uint64_t heard, bool stream)
{
    const struct model *model = context;
    struct breaker_caller who = caller(model, heard, SIM_FOR_END);
    struct breaker_change change;
    (void)slot;
    breaker_overdue(&model->breaker, &who, heard, stream, &change);
}

static void world_lost(void *context, uint32_t slot)
{
    const struct model *model = context;
    struct breaker_caller who = caller(model, model->now, SIM_FOR_END);
    (void)slot;
    breaker_lost(&model->breaker, &who);
}

/* Only at moments that are the same in observe mode: never at the end of a call that should not have gone out. */
static void look(struct model *model, const struct breaker_caller *who)
{
    const struct inflight_world world = {model, world_hang, world_alive, world_overdue, world_lost};
    inflight_look(model->inflight, &model->last_look, who, &world);
}

/* ---- a call ----------------------------------------------------------------------------------------------------- */

static void decided(struct model *model, bool let)
{
    struct sim_run *run = model->run;
    run->decisions = sim_grow(run->decisions, run->count, &run->room, sizeof *run->decisions);
    const uint32_t lets = run->count > 0 ? run->decisions[run->count - 1].lets : 0;
    run->decisions[run->count++] = (struct sim_decision){.time = model->now, .lets = lets + let, .let = let};
    struct sim_bin *bin = bin_now(model);
    bin->offered++;
    bin->sent += let;
    bin->refused += !let;
    if (model->stage == 1 && !sim_stage_ails(stage_now(model), run->begun[1], model->now)) {
        run->good++;
    }
}

static uint32_t out_place(struct model *model)
{
    if (model->vacants > 0) {
        return model->vacant[--model->vacants];
    }
    model->out = sim_grow(model->out, model->outs, &model->out_room, sizeof *model->out);
    return (uint32_t)model->outs++;
}

/* A worker's next call, as soon as the pool as a whole may make one. */
static void worker_goes_on(struct model *model, uint32_t worker)
{
    model->next_slot = model->next_slot > model->now ? model->next_slot : model->now;
    at(model, model->next_slot, WORKER, worker, 0);
    model->next_slot += nanoseconds(1 / stage_now(model)->rate);
}

/* Asks for a call; sends it if it may go. Its worker waits for its end, but not for one that enforcing would refuse. */
static void ask(struct model *model, uint32_t worker)
{
    const uint32_t number = model->asked++;
    const struct breaker_caller who = caller(model, number, SIM_FOR_ADMIT);
    struct breaker_call call;
    struct breaker_change change;

    look(model, &who);
    bool sent = breaker_admit(&model->breaker, &who, &model->order, &call, &change);
    bool let = sent && !call.would_refuse;
    decided(model, let);
    if (!let && worker != NOBODY) {
        worker_goes_on(model, worker);
    }
    if (!sent) {
        return;
    }
    const struct sim_answer answer = sim_provider_answer(&model->provider, stage_now(model),
                                                         model->run->begun[model->stage], number, model->now, !let);
    const uint32_t place = out_place(model);
    model->out[place] = (struct out){.call = call,
                                     .end = answer.end,
                                     .sent = model->now,
                                     .number = number,
                                     .worker = let ? worker : NOBODY,
                                     .live = true,
                                     .busy = answer.busy};
    at(model, answer.time, END, place, number);
}

/* Seconds of a span that fall into the trouble. */
static double in_trouble(const struct sim_run *run, uint64_t from, uint64_t to)
{
    from = from > run->begun[1] ? from : run->begun[1];
    to = to < run->begun[2] ? to : run->begun[2];
    return to > from ? (double)(to - from) / SIM_SECOND : 0;
}

static void end(struct model *model, uint32_t place, const struct breaker_end *how)
{
    struct out *out = &model->out[place];
    const struct breaker_caller who = caller(model, out->number, SIM_FOR_END);
    const bool shadow = out->call.would_refuse;
    const uint32_t worker = out->worker;
    struct breaker_change change;

    breaker_finish(&model->breaker, &who, &out->call, how, &change);
    if (out->busy) {
        sim_provider_done(&model->provider);
    }
    out->live = false;
    model->vacant = sim_grow(model->vacant, model->vacants, &model->vacant_room, sizeof *model->vacant);
    model->vacant[model->vacants++] = place;
    if (shadow) {
        return;
    }
    look(model, &who);
    model->run->stuck += in_trouble(model->run, out->sent, model->now);
    if (how->outcome == PREBREAK_OK) {
        model->run->ok[model->stage]++;
        bin_now(model)->ok++;
    }
    if (worker != NOBODY) {
        worker_goes_on(model, worker);
    }
}

/* ---- callers ---------------------------------------------------------------------------------------------------- */

/* When the next of independent callers comes: the same stretch of chance, walked at each stage's rate. */
static uint64_t next_arrival(const struct model *model)
{
    const struct sim_run *run = model->run;
    double stretch = -log(sim_uniform(model->seed, model->asked, SIM_FOR_GAP));
    double from = (double)(model->now - run->begun[0]);
    for (uint32_t stage = model->stage; stage < SIM_STAGES; stage++) {
        double rate = model->scenario->stage[stage].rate / SIM_SECOND;
        double left = (double)(run->begun[stage + 1] - run->begun[0]) - from;
        if (stretch <= left * rate) {
            return run->begun[0] + (uint64_t)(from + stretch / rate);
        }
        stretch -= left * rate;
        from += left;
    }
    return UINT64_MAX;
}

static void arrival(struct model *model)
{
    if (model->scenario->load == SIM_BURST) {
        for (uint32_t calls = (uint32_t)stage_now(model)->rate; calls > 0; calls--) {
            ask(model, NOBODY);
        }
        at(model, model->now + 60 * SIM_SECOND, ARRIVAL, 0, 0);
    } else {
        ask(model, NOBODY);
        at(model, next_arrival(model), ARRIVAL, 0, 0);
    }
}

static void start_callers(struct model *model)
{
    switch (model->scenario->load) {
    case SIM_POISSON:
        at(model, next_arrival(model), ARRIVAL, 0, 0);
        break;
    case SIM_BURST: /* half a minute before and after each change of stage */
        at(model, model->now + 30 * SIM_SECOND, ARRIVAL, 0, 0);
        break;
    case SIM_POOL:
        for (uint32_t worker = 0; worker < model->scenario->workers; worker++) {
            worker_goes_on(model, worker);
        }
        break;
    }
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

static void enter_stage(struct model *model, uint32_t stage)
{
    static const struct breaker_end reset = {.outcome = PREBREAK_FAILED, .kind = PREBREAK_KIND_RESET};
    model->stage = stage;
    for (uint32_t place = 0; stage_now(model)->resets && place < model->outs; place++) {
        if (model->out[place].live) {
            end(model, place, &reset);
        }
    }
}

/* The drop ratio at the end of each part of the time axis. */
static void close_bin(struct model *model, uint32_t bin)
{
    struct breaker_view view;
    breaker_view(&model->breaker, model->now, PREBREAK_CLOSED, &view);
    model->run->bin[bin].drop = view.drop;
    if (bin + 1 < model->run->bins) {
        at(model, model->now + model->run->bin_width, BIN, bin + 1, 0);
    }
}

static void happens(struct model *model, const struct sim_event *event)
{
    const uint32_t index = event->what & INDEX_MASK;
    model->now = event->time;
    switch ((enum event_kind)(event->what >> KIND_SHIFT)) {
    case ARRIVAL:
        arrival(model);
        break;
    case END: /* unless a reset was faster, and the place perhaps another call's by now */
        if (model->out[index].live && model->out[index].number == event->number) {
            const struct breaker_end how = model->out[index].end;
            end(model, index, &how);
        }
        break;
    case WORKER:
        ask(model, index);
        break;
    case STAGE:
        enter_stage(model, index);
        break;
    case BIN:
        close_bin(model, index);
        break;
    }
}

/* ---- one run ---------------------------------------------------------------------------------------------------- */

/*
 * When each stage begins. The trouble comes with a whole second, as do slices of one second and quotas by the second; which
 * second that is, and with it the phase of all other slices, differs from run to run.
 */
static void lay_time(struct model *model)
{
    struct sim_run *run = model->run;
    const uint64_t whole = 1000 + sim_bits(model->seed, 0, SIM_FOR_START) % 60;
    run->begun[0] = whole * SIM_SECOND - nanoseconds(model->scenario->stage[0].seconds) % SIM_SECOND;
    for (uint32_t stage = 0; stage < SIM_STAGES; stage++) {
        run->begun[stage + 1] = run->begun[stage] + nanoseconds(model->scenario->stage[stage].seconds);
        if (stage > 0 && model->scenario->stage[stage].seconds > 0) {
            at(model, run->begun[stage], STAGE, stage, 0);
        }
    }
    run->bins = SIM_BINS;
    run->bin_width = (run->begun[SIM_STAGES] - run->begun[0]) / SIM_BINS + 1;
    at(model, run->begun[0] + run->bin_width, BIN, 0, 0);
    model->now = run->begun[0];
}

/* Workers still out at the end of the trouble were stuck until then. */
static void count_stuck(struct model *model)
{
    for (size_t place = 0; place < model->outs; place++) {
        const struct out *out = &model->out[place];
        if (out->live && !out->call.would_refuse) {
            model->run->stuck += in_trouble(model->run, out->sent, model->now);
        }
    }
}

void sim_run(struct sim_run *run, const struct sim_scenario *scenario, const struct rules_settings *settings,
             uint64_t seed, bool observe)
{
    struct model *model = aligned_alloc(_Alignof(struct model), sizeof *model);
    struct sim_event event;
    if (model == NULL) {
        abort();
    }
    memset(model, 0, sizeof *model);
    *run = (struct sim_run){.scenario = scenario};
    model->run = run;
    model->scenario = scenario;
    model->seed = seed;
    model->breaker = (struct breaker){&model->words, &settings->breaker, model->inflight, 0};
    model->order = (struct breaker_order){.hold = PREBREAK_CLOSED, .observe = observe, .enforce = settings->enforce};
    lay_time(model);
    model->provider = (struct sim_provider){
        .scenario = scenario, .settings = settings, .seed = seed, .tokens = 1, .filled = model->now};
    start_callers(model);
    while (sim_queue_pop(&model->queue, &event) && event.time < run->begun[SIM_STAGES]) {
        happens(model, &event);
    }
    model->now = run->begun[SIM_STAGES];
    count_stuck(model);
    breaker_view(&model->breaker, model->now, PREBREAK_CLOSED, &run->view);
    sim_queue_free(&model->queue);
    free(model->out);
    free(model->vacant);
    free(model);
}

void sim_run_free(struct sim_run *run)
{
    free(run->decisions);
    run->decisions = NULL;
    run->count = run->room = 0;
}
