/*
 * `status --json`: for programs. The order of the keys is part of the contract, so that two outputs can be compared.
 */
#include "report/report.h"
#include "report/text.h"
#include <jansson.h>
#include <math.h>
#include <prebreak/version.h>

/* Set when any piece could not be had: the whole is then not printed. */
static bool failed;

static void put(json_t *object, const char *key, json_t *value)
{
    if (value == NULL || json_object_set_new(object, key, value) != 0) {
        failed = true;
    }
}

static void append(json_t *array, json_t *value)
{
    if (value == NULL || json_array_append_new(array, value) != 0) {
        failed = true;
    }
}

static json_t *count_of(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static void put_count(json_t *object, const char *key, uint64_t value)
{
    put(object, key, count_of(value));
}

/* NAN, there were none, is null. */
static void put_quantile(json_t *object, const char *key, double value)
{
    put(object, key, isnan(value) ? json_null() : json_real(value));
}

static void put_text(json_t *object, const char *key, const char *text)
{
    char printable[TEXT_NAME];
    put(object, key, json_string(text_printable(text != NULL ? text : "?", printable, sizeof(printable))));
}

static void put_time(json_t *object, const char *key, uint64_t realtime)
{
    char text[TEXT_TIME];
    put(object, key, json_string(text_time(realtime, text, sizeof(text))));
}

// ---- the parts ------------------------------------------------------------------------------------------------------

static json_t *window_of(const struct breaker_view *view)
{
    json_t *object = json_object();
    put_count(object, "ok", view->ok);
    put_count(object, "failed", view->failed);
    put_count(object, "refused", view->refused);
    return object;
}

static json_t *total_of(const struct snapshot_provider *provider)
{
    const struct breaker_view *view = &provider->view;
    json_t *object = json_object();
    put_count(object, "calls", provider->calls);
    put_count(object, "ok", view->outcome[PREBREAK_OK]);
    put_count(object, "failed", view->outcome[PREBREAK_FAILED]);
    put_count(object, "neutral", view->outcome[PREBREAK_NEUTRAL]);
    put_count(object, "refused", view->total_refused);
    put_count(object, "would_refuse", view->would_refuse);
    put_count(object, "would_refuse_ok", view->would_refuse_ok);
    put_count(object, "would_refuse_failed", view->would_refuse_failed);
    return object;
}

static json_t *failures_of(const struct breaker_view *view)
{
    json_t *object = json_object();
    for (int kind = 0; kind < PREBREAK_KINDS; kind++) {
        put_count(object, breaker_kind_name((enum prebreak_kind)kind), view->failures[kind]);
    }
    return object;
}

/* The bounds are the greatest time that a bucket takes in; the last has none. */
static json_t *first_byte_of(const struct breaker_first_bytes *first_bytes)
{
    json_t *object = json_object();
    json_t *bounds = json_array();
    json_t *counts = json_array();
    for (int i = 0; i < PREBREAK_HISTOGRAM; i++) {
        json_t *bound = i < PREBREAK_HISTOGRAM - 1 ? json_integer((json_int_t)1 << i) : json_null();
        append(bounds, bound);
        append(counts, count_of(first_bytes->count[i]));
    }
    put(object, "le", bounds);
    put(object, "counts", counts);
    put_count(object, "sum", first_bytes->sum / 1000);
    put_quantile(object, "p50", report_first_byte(first_bytes, 0.5));
    put_quantile(object, "p95", report_first_byte(first_bytes, 0.95));
    put_quantile(object, "usual", first_bytes->usual != 0 ? (double)first_bytes->usual / 1e6 : NAN);
    put_count(object, "slow", first_bytes->slow);
    return object;
}

static json_t *provider_of_snapshot(const struct snapshot *snapshot, const struct snapshot_provider *provider)
{
    const struct breaker_view *view = &provider->view;
    char settings[1024];
    json_t *object = json_object();
    put_text(object, "name", provider->name);
    put_text(object, "policy", breaker_policy_name((enum prebreak_policy)provider->settings.policy));
    put_text(object, "mode", report_mode_name(provider->mode));
    put_text(object, "phase", breaker_phase_name(view->phase));
    put_time(object, "since", snapshot_since(snapshot, provider));
    put(object, "drop_ratio", json_real(view->drop));
    put(object, "window", window_of(view));
    put(object, "total", total_of(provider));
    put(object, "failures", failures_of(view));
    put_count(object, "inflight", view->inflight);
    put_count(object, "transitions", view->transitions);
    put_count(object, "pauses", view->pauses);
    report_settings(&provider->settings, settings, sizeof(settings));
    put_text(object, "settings", settings);
    put(object, "first_byte_ms", first_byte_of(&provider->first_bytes));
    return object;
}

static json_t *hold_of(const struct snapshot *snapshot, const struct snapshot_hold *hold)
{
    json_t *object = json_object();
    put_text(object, "name", hold->name);
    put_text(object, "phase", breaker_phase_name(hold->phase));
    if (hold->until == 0) {
        put(object, "until", json_null());
    } else {
        put_time(object, "until", snapshot->realtime + (hold->until - snapshot->now));
    }
    return object;
}

// ---- the whole ------------------------------------------------------------------------------------------------------

static json_t *status_of(const struct state *state, const struct snapshot *snapshot)
{
    json_t *root = json_object();
    json_t *providers = json_array();
    json_t *holds = json_array();
    for (int i = 0; i < snapshot->providers; i++) {
        append(providers, provider_of_snapshot(snapshot, &snapshot->provider[i]));
    }
    for (int i = 0; i < snapshot->holds; i++) {
        append(holds, hold_of(snapshot, &snapshot->hold[i]));
    }
    put_text(root, "version", PREBREAK_VERSION);
    put_text(root, "state", state->path);
    put_text(root, "mode", report_mode_name(snapshot->mode));
    put(root, "providers", providers);
    put(root, "holds", holds);
    return root;
}

int report_status_json(struct state *state, const char *name, FILE *out)
{
    struct snapshot snapshot;
    if (!snapshot_take(state, name, &snapshot)) {
        return -1;
    }
    failed = false;
    json_t *root = status_of(state, &snapshot);
    int shown = snapshot.providers;
    for (int i = 0; i < snapshot.holds; i++) {
        shown += snapshot.hold[i].breakerless;
    }
    snapshot_free(&snapshot);
    if (!failed) {
        json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
        fputc('\n', out);
    }
    json_decref(root);
    return failed ? -1 : shown;
}
