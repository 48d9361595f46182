/* See metrics.h. A metric is a row of the table at the end. */
#include "report/metrics.h"
#include "report/text.h"
#include <inttypes.h>
#include <math.h>
#include <prebreak/version.h>
#include <stdlib.h>
#include <string.h>

// ---- adding up ------------------------------------------------------------------------------------------------------

bool metrics_add(struct metrics *metrics, const struct snapshot *snapshot)
{
    size_t count = metrics->providers + (size_t)snapshot->providers;
    struct snapshot_provider *grown = realloc(metrics->provider, (count + 1) * sizeof(*grown));
    if (grown == NULL) {
        return false;
    }
    memcpy(grown + metrics->providers, snapshot->provider, (size_t)snapshot->providers * sizeof(*grown));
    metrics->provider = grown;
    metrics->providers = count;
    metrics->processes += snapshot->processes;
    return true;
}

void metrics_free(struct metrics *metrics)
{
    free(metrics->provider);
    *metrics = (struct metrics){0};
}

/* Counts come from a region, where anything may stand: they stay at the greatest rather than begin anew. */
static void add(uint64_t *sum, uint64_t count)
{
    if (__builtin_add_overflow(*sum, count, sum)) {
        *sum = UINT64_MAX;
    }
}

static void add_each(uint64_t *sums, const uint64_t *counts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add(&sums[i], counts[i]);
    }
}

static void join(struct snapshot_provider *provider, const struct snapshot_provider *other)
{
    struct breaker_view *view = &provider->view;
    view->phase = other->view.phase > view->phase ? other->view.phase : view->phase;
    view->drop = fmax(view->drop, other->view.drop);
    add_each(view->outcome, other->view.outcome, PREBREAK_OUTCOMES);
    add_each(view->failures, other->view.failures, PREBREAK_KINDS);
    add(&view->total_refused, other->view.total_refused);
    add(&view->would_refuse, other->view.would_refuse);
    add(&view->inflight, other->view.inflight);
    add(&view->pauses, other->view.pauses);
    add_each(&provider->transitions[0][0], &other->transitions[0][0], (size_t)PREBREAK_PHASES * PREBREAK_PHASES);
    add_each(provider->first_bytes.count, other->first_bytes.count, PREBREAK_HISTOGRAM);
    add(&provider->first_bytes.sum, other->first_bytes.sum);
    add(&provider->first_bytes.slow, other->first_bytes.slow);
}

static int by_name(const void *left, const void *right)
{
    const struct snapshot_provider *a = left;
    const struct snapshot_provider *b = right;
    return strcmp(a->name, b->name);
}

/* One of each name, in their order. */
static void join_names(struct metrics *metrics)
{
    size_t kept = 0;
    if (metrics->providers == 0) {
        return;
    }
    qsort(metrics->provider, metrics->providers, sizeof(*metrics->provider), by_name);
    for (size_t i = 1; i < metrics->providers; i++) {
        if (strcmp(metrics->provider[kept].name, metrics->provider[i].name) == 0) {
            join(&metrics->provider[kept], &metrics->provider[i]);
        } else if (++kept != i) {
            metrics->provider[kept] = metrics->provider[i];
        }
    }
    metrics->providers = kept + 1;
}

// ---- lines ----------------------------------------------------------------------------------------------------------

/* One metric being written. */
struct sheet {
    FILE *out;
    const char *name;
    const char *provider; /* a label's value, escaped */
};

#define LABEL (2 * TEXT_NAME) /* every byte escaped twice */

/* Nothing but printable ASCII, and of that neither quote nor backslash alone: what the format asks for. */
static char *label_of(const char *name, char *label)
{
    char printable[TEXT_NAME];
    char *to = label;
    text_printable(name, printable, sizeof(printable));
    for (const char *from = printable; *from != '\0'; from++) {
        if (*from == '\\' || *from == '"') {
            *to++ = '\\';
        }
        *to++ = *from;
    }
    *to = '\0';
    return label;
}

static void count(const struct sheet *sheet, const char *label, const char *value, uint64_t number)
{
    fprintf(sheet->out, "%s{provider=\"%s\"", sheet->name, sheet->provider);
    if (label != NULL) {
        fprintf(sheet->out, ",%s=\"%s\"", label, value);
    }
    fprintf(sheet->out, "} %" PRIu64 "\n", number);
}

// ---- the metrics of a provider --------------------------------------------------------------------------------------

static void calls(const struct sheet *sheet, const struct snapshot_provider *provider)
{
    static const char *const names[PREBREAK_OUTCOMES] = {
        [PREBREAK_OK] = "ok", [PREBREAK_FAILED] = "failed", [PREBREAK_NEUTRAL] = "neutral"};
    for (int outcome = 0; outcome < PREBREAK_OUTCOMES; outcome++) {
        count(sheet, "outcome", names[outcome], provider->view.outcome[outcome]);
    }
    count(sheet, "outcome", "refused", provider->view.total_refused);
}

static void failures(const struct sheet *sheet, const struct snapshot_provider *provider)
{
    for (int kind = 0; kind < PREBREAK_KINDS; kind++) {
        count(sheet, "kind", breaker_kind_name((enum prebreak_kind)kind), provider->view.failures[kind]);
    }
}

static void refused(const struct sheet *sheet, const struct snapshot_provider *provider)
{
    count(sheet, "mode", "enforce", provider->view.total_refused);
    count(sheet, "mode", "observe", provider->view.would_refuse);
}

static void slow(const struct sheet *sheet, const struct snapshot_provider *provider)
{
    count(sheet, NULL, NULL, provider->first_bytes.slow);
}

static void pauses(const struct sheet *sheet, const struct snapshot_provider *provider)
{
    count(sheet, NULL, NULL, provider->view.pauses);
}

static void phase(const struct sheet *sheet, const struct snapshot_provider *provider)
{
    for (int each = 0; each < PREBREAK_PHASES; each++) {
        count(sheet, "phase", breaker_phase_name((enum prebreak_phase)each), (int)provider->view.phase == each);
    }
}

static void drop(const struct sheet *sheet, const struct snapshot_provider *provider)
{
    fprintf(sheet->out, "%s{provider=\"%s\"} %.6g\n", sheet->name, sheet->provider, provider->view.drop);
}

static void inflight(const struct sheet *sheet, const struct snapshot_provider *provider)
{
    count(sheet, NULL, NULL, provider->view.inflight);
}

/* Of the changes that have been: most of all pairs never will. */
static void transitions(const struct sheet *sheet, const struct snapshot_provider *provider)
{
    for (int from = 0; from < PREBREAK_PHASES; from++) {
        for (int to = 0; to < PREBREAK_PHASES; to++) {
            if (provider->transitions[from][to] != 0) {
                fprintf(sheet->out, "%s{provider=\"%s\",from=\"%s\",to=\"%s\"} %" PRIu64 "\n", sheet->name,
                        sheet->provider, breaker_phase_name((enum prebreak_phase)from),
                        breaker_phase_name((enum prebreak_phase)to), provider->transitions[from][to]);
            }
        }
    }
}

static void first_byte(const struct sheet *sheet, const struct snapshot_provider *provider)
{
    const struct breaker_first_bytes *first_bytes = &provider->first_bytes;
    uint64_t within = 0;
    for (int i = 0; i < PREBREAK_HISTOGRAM; i++) {
        char bound[TEXT_TIME] = "+Inf";
        if (i < PREBREAK_HISTOGRAM - 1) {
            snprintf(bound, sizeof(bound), "%g", ldexp(1, i) / 1000);
        }
        add(&within, first_bytes->count[i]);
        fprintf(sheet->out, "%s_bucket{provider=\"%s\",le=\"%s\"} %" PRIu64 "\n", sheet->name, sheet->provider, bound,
                within);
    }
    fprintf(sheet->out, "%s_sum{provider=\"%s\"} %.6f\n", sheet->name, sheet->provider, (double)first_bytes->sum / 1e6);
    fprintf(sheet->out, "%s_count{provider=\"%s\"} %" PRIu64 "\n", sheet->name, sheet->provider, within);
}

// ---- all of them ----------------------------------------------------------------------------------------------------

static const struct metric {
    const char *name;
    const char *type;
    const char *help;
    void (*print)(const struct sheet *sheet, const struct snapshot_provider *provider);
} metrics_table[] = {
    {"prebreak_calls_total", "counter", "Calls that ended, by how they ended; refused ones never went out.", calls},
    {"prebreak_failures_total", "counter", "Calls that failed, by why.", failures},
    {"prebreak_refused_total", "counter", "Calls that were refused, or that observe mode let out all the same.",
     refused},
    {"prebreak_slow_total", "counter", "Calls that ended ok, but later than their rule's slow.", slow},
    {"prebreak_pauses_total", "counter", "Pauses that the provider asked for.", pauses},
    {"prebreak_phase", "gauge", "1 for the phase that the breaker is in.", phase},
    {"prebreak_drop_ratio", "gauge", "The share of calls that is refused now.", drop},
    {"prebreak_inflight", "gauge", "Calls that are out.", inflight},
    {"prebreak_transitions_total", "counter", "Changes of phase.", transitions},
    {"prebreak_first_byte_seconds", "histogram", "From the request to the first byte of its answer.", first_byte},
};

static void print_head(const char *name, const char *type, const char *help, FILE *out)
{
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_print(struct metrics *metrics, FILE *out)
{
    join_names(metrics);
    for (size_t i = 0; i < sizeof(metrics_table) / sizeof(metrics_table[0]); i++) {
        const struct metric *metric = &metrics_table[i];
        print_head(metric->name, metric->type, metric->help, out);
        for (size_t p = 0; p < metrics->providers; p++) {
            char label[LABEL];
            struct sheet sheet = {out, metric->name, label_of(metrics->provider[p].name, label)};
            metric->print(&sheet, &metrics->provider[p]);
        }
    }
    print_head("prebreak_processes", "gauge", "Processes that share the state.", out);
    fprintf(out, "prebreak_processes %" PRIu64 "\n", metrics->processes);
    print_head("prebreak_build_info", "gauge", "The version of the command.", out);
    fprintf(out, "prebreak_build_info{version=\"%s\"} 1\n", PREBREAK_VERSION);
}
