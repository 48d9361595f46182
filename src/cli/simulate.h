/*
 * prebreak simulate: the breaker of src/breaker/, stepped through an hour of trouble in a second. Callers and a provider
 * are modelled; the decisions are those of the very code that the library runs, for time and draws are its arguments.
 *
 * simulate_scenarios.c is the table of what goes wrong; simulate_model.c lets it happen, with the events in order from
 * simulate_queue.c and the answers of simulate_provider.c; simulate_measure.c says what came of it; simulate_svg.c draws
 * it; simulate.c is the command. One thread; memory by malloc, abort() when there is none.
 */
#ifndef CLI_SIMULATE_H
#define CLI_SIMULATE_H

#include "breaker/inflight.h"
#include "rules/rules.h"

#define SIM_SECOND UINT64_C(1000000000)
#define SIM_STAGES 3
#define SIM_BINS   200 /* of the picture's time axis, at most */

/* ---- what goes wrong -------------------------------------------------------------------------------------------- */

/* Who calls. */
enum sim_load {
    SIM_POISSON, /* independent callers, `rate` a second */
    SIM_POOL,    /* `workers` that call one call after the other, together at most `rate` a second */
    SIM_BURST    /* `rate` calls at once, each minute */
};

/* What ails the provider during a stage. */
enum sim_fault {
    SIM_HEALTHY,
    SIM_REFUSING, /* connect is refused, after 2 ms */
    SIM_FAILING,  /* status 503, sooner than an answer would come */
    SIM_HANGING   /* no answer: the client's time-out ends the call */
};

/* How many calls the provider can take; `limit` of them, the others are turned away after 5 ms. */
enum sim_capacity {
    SIM_UNLIMITED,
    SIM_BUCKET,      /* a token bucket that holds 20, filled at `limit` a second */
    SIM_CONCURRENCY, /* so many at once */
    SIM_QUOTA        /* so many in each whole second */
};

/* How long an answer takes, seconds. */
struct sim_time {
    enum { SIM_LOGNORMAL, SIM_UNIFORM } kind;
    double a, b;  /* mean and deviation, or from and to */
    double least; /* no answer comes sooner */
};

struct sim_stage {
    double seconds;
    double rate;
    enum sim_fault fault;
    double share;        /* of the calls that the fault hits */
    double period, down; /* seconds: the fault is there for the first `down` of each period; period 0: all the time */
    bool resets;         /* when it begins, every call in flight is reset */
};

/* What is measured; the number of its row in the table of measures. */
enum sim_measure_id {
    SIM_OFFERED,
    SIM_SENT,
    SIM_OK,
    SIM_FAILED,
    SIM_REFUSED,
    SIM_WOULD_REFUSE,
    SIM_WOULD_REFUSE_OK,
    SIM_WOULD_REFUSE_FAILED,
    SIM_LEAKED,
    SIM_REFUSED_SHARE,
    SIM_GOODPUT,
    SIM_SENT_PER_CAPACITY,
    SIM_STUCK,
    SIM_SERVED,
    SIM_ISOLATED,
    SIM_BACK,
    SIM_REFUSED_AFTER,
    SIM_MEASURES
};
#define SIM_BIT(measure) (1u << (measure))

/* A provider, its callers and its trouble. The stages are before, trouble, after; the last may be missing. */
struct sim_scenario {
    const char *name, *about;
    enum sim_load load;
    uint32_t workers; /* of a pool */
    struct sim_time time;
    double quick;   /* a 503 comes after this part of such a time */
    double errors;  /* share of calls that end in a 503 in good times */
    double timeout; /* the client's, seconds; 0 none */
    enum sim_capacity capacity;
    unsigned status; /* of a call turned away */
    double limit;
    double per_second; /* what it can serve, calls a second; 0: as many as come */
    struct sim_stage stage[SIM_STAGES];
    uint32_t measures; /* SIM_BIT of those that tell the story, for the table */
    uint32_t runs;     /* with seeds of their own; the median counts */
};

/* The table; its length. */
extern const struct sim_scenario sim_scenarios[];
extern const size_t sim_scenario_count;

/* Does a name given on the command line mean this scenario: its name, or the part before a dash of it? */
bool sim_scenario_is(const struct sim_scenario *scenario, const char *name);

/* ---- chance ----------------------------------------------------------------------------------------------------- */

/* What a number is drawn for. */
enum sim_purpose {
    SIM_FOR_START,
    SIM_FOR_GAP,
    SIM_FOR_FATE,
    SIM_FOR_TIME,
    SIM_FOR_TIME_TOO,
    SIM_FOR_ADMIT,
    SIM_FOR_END
};

/*
 * Draws by number of the call and not from a stream: what one call does shifts nothing for the others, so that two runs
 * of one seed see the same callers and the same answers whatever their breakers decide.
 */
uint64_t sim_bits(uint64_t seed, uint64_t number, enum sim_purpose purpose);
double sim_uniform(uint64_t seed, uint64_t number, enum sim_purpose purpose); /* within (0, 1) */

/* ---- events in order of time ------------------------------------------------------------------------------------ */

struct sim_event {
    uint64_t time;   /* ns */
    uint64_t order;  /* of two at one moment, the one entered first comes first; set by the queue */
    uint32_t what;   /* the model's own */
    uint32_t number; /* the model's own */
};

struct sim_queue {
    struct sim_event *heap;
    size_t count, room;
    uint64_t entered;
};

void sim_queue_push(struct sim_queue *queue, struct sim_event event);
bool sim_queue_pop(struct sim_queue *queue, struct sim_event *event); /* false: empty */
void sim_queue_free(struct sim_queue *queue);

/* ---- the provider ----------------------------------------------------------------------------------------------- */

struct sim_provider {
    const struct sim_scenario *scenario;
    const struct rules_settings *settings; /* how statuses are read, what is slow */
    uint64_t seed;
    double tokens;         /* of the bucket */
    uint64_t filled;       /* ns: when the bucket was last looked at */
    uint64_t second, used; /* of the quota */
    uint32_t busy;         /* calls being served */
};

/* What becomes of a call: when it ends, how, and whether it takes a place until then. */
struct sim_answer {
    uint64_t time; /* ns */
    struct breaker_end end;
    bool busy;
};

/*
 * The answer to call `number`, sent now, in a stage that began at `begun` (both ns). A `shadow` call sees what the others
 * leave free and takes nothing from them.
 */
struct sim_answer sim_provider_answer(struct sim_provider *provider, const struct sim_stage *stage, uint64_t begun,
                                      uint64_t number, uint64_t now, bool shadow);
/* An answer of a call that took a place is done. */
void sim_provider_done(struct sim_provider *provider);
/* Is the stage's fault there at this moment? */
bool sim_stage_ails(const struct sim_stage *stage, uint64_t begun, uint64_t now);

/* ---- one run ---------------------------------------------------------------------------------------------------- */

/* A call asked for, and what the policy said. In observe mode `let` is false where enforcing would have refused. */
struct sim_decision {
    uint64_t time;
    uint32_t lets; /* how many were let out up to this one, itself included */
    bool let;
};

/* One part of the time axis: calls by what happened in it, and the drop ratio at its end. */
struct sim_bin {
    uint32_t offered, sent, ok, refused;
    double drop;
};

struct sim_run {
    const struct sim_scenario *scenario;
    uint64_t begun[SIM_STAGES + 1]; /* ns: of each stage; [SIM_STAGES]: the end */
    struct sim_decision *decisions; /* in order of time */
    size_t count, room;
    uint64_t ok[SIM_STAGES]; /* ended well in that stage, would-be refused calls left out */
    uint64_t good;           /* calls of the trouble that would have ended well without a breaker, about */
    double stuck;            /* seconds that workers spent on calls of theirs in the trouble, all together */
    struct breaker_view view;
    struct sim_bin bin[SIM_BINS];
    uint32_t bins;
    uint64_t bin_width; /* ns */
};

/*
 * Lets a scenario happen once. `settings` are one rule's. With `observe` nothing is refused; calls that enforcing refuses
 * go out as well, but neither the machine nor the provider's capacity feels them, so that every decision is the same.
 */
void sim_run(struct sim_run *run, const struct sim_scenario *scenario, const struct rules_settings *settings,
             uint64_t seed, bool observe);
void sim_run_free(struct sim_run *run);

/* ---- what came of it -------------------------------------------------------------------------------------------- */

/* NaN: does not apply (nothing was ever isolated, there is no capacity). Infinity: never. Times in seconds. */
double sim_measure(const struct sim_run *run, enum sim_measure_id measure);

struct sim_measure {
    const char *name;  /* in CSV */
    const char *title; /* in the table */
    int digits;        /* of a number there, after the point */
    double scale;      /* of a number there */
};
extern const struct sim_measure sim_measures[SIM_MEASURES];

/* A scenario under one policy: medians of its runs, and the first run for the picture (decisions freed). */
struct sim_result {
    double value[SIM_MEASURES];
    struct sim_run run;
};
void sim_result(struct sim_result *result, const struct sim_scenario *scenario, const struct rules_settings *settings,
                uint64_t seed, bool observe);

/* ---- the picture ------------------------------------------------------------------------------------------------ */

/* What is drawn: rows of scenarios, columns of policies, results row by row. */
struct sim_grid {
    const struct sim_scenario *const *scenario;
    size_t rows;
    const char *const *policy;
    size_t columns;
    const struct sim_result *result;
};

/* Writes the picture; false with errno set when it cannot be written whole. */
bool sim_svg(const struct sim_grid *grid, const char *path);

/* ---- shared ----------------------------------------------------------------------------------------------------- */

/* Memory grown to hold one more of `size` bytes; never NULL. */
void *sim_grow(void *memory, size_t count, size_t *room, size_t size);

#endif
