/*
 * `status` as a table: the worst first, as narrow as its numbers allow. A column is a row in the table below; one whose
 * every cell is empty is left out.
 */
#include "report/report.h"
#include "report/text.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CELL TEXT_NAME

// ---- colour ---------------------------------------------------------------------------------------------------------

static const char *const phase_colour[PREBREAK_PHASES] = {
    [PREBREAK_CLOSED] = "32",      [PREBREAK_HELD_CLOSED] = "36", [PREBREAK_THROTTLING] = "33",
    [PREBREAK_RECOVERING] = "33",  [PREBREAK_PAUSED] = "35",      [PREBREAK_OPEN] = "1;31",
    [PREBREAK_HELD_OPEN] = "1;31",
};

bool report_coloured(FILE *out)
{
    const char *forbidden = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return (forbidden == NULL || forbidden[0] == '\0') && (terminal == NULL || strcmp(terminal, "dumb") != 0) &&
           isatty(fileno(out));
}

// ---- cells ----------------------------------------------------------------------------------------------------------

struct line {
    const struct snapshot *snapshot;
    const struct snapshot_provider *provider;
};

static void count(uint64_t value, char *cell)
{
    snprintf(cell, CELL, "%" PRIu64, value);
}

static void cell_name(const struct line *line, char *cell)
{
    text_printable(line->provider->name, cell, CELL);
}

static void cell_phase(const struct line *line, char *cell)
{
    const char *name = breaker_phase_name(line->provider->view.phase);
    snprintf(cell, CELL, "%s", name != NULL ? name : "?");
}

static void cell_for(const struct line *line, char *cell)
{
    text_span(line->snapshot->realtime - snapshot_since(line->snapshot, line->provider), cell, CELL);
}

/* Rounded away from 0 % and from 100 %: either says something that 0.2 % or 99.9 % does not. */
static void cell_drop(const struct line *line, char *cell)
{
    double drop = line->provider->view.drop;
    int percent = (int)(drop * 100 + 0.5);
    if (percent == 0 && drop > 0) {
        percent = 1;
    } else if (percent >= 100 && drop < 1) {
        percent = 99;
    }
    snprintf(cell, CELL, "%d%%", percent);
}

static void cell_window_ok(const struct line *line, char *cell)
{
    count(line->provider->view.ok, cell);
}

static void cell_window_failed(const struct line *line, char *cell)
{
    count(line->provider->view.failed, cell);
}

static void cell_window_refused(const struct line *line, char *cell)
{
    count(line->provider->view.refused, cell);
}

static void cell_calls(const struct line *line, char *cell)
{
    count(line->provider->calls, cell);
}

static void cell_ok(const struct line *line, char *cell)
{
    count(line->provider->view.outcome[PREBREAK_OK], cell);
}

static void cell_failed(const struct line *line, char *cell)
{
    count(line->provider->view.outcome[PREBREAK_FAILED], cell);
}

static void cell_neutral(const struct line *line, char *cell)
{
    count(line->provider->view.outcome[PREBREAK_NEUTRAL], cell);
}

static void cell_refused(const struct line *line, char *cell)
{
    count(line->provider->view.total_refused, cell);
}

static void cell_would(const struct line *line, char *cell)
{
    if (line->provider->view.would_refuse != 0) {
        count(line->provider->view.would_refuse, cell);
    }
}

static void cell_inflight(const struct line *line, char *cell)
{
    count(line->provider->view.inflight, cell);
}

/* As fine as the histogram is: 1430ms rather than 1s. */
static void cell_quantile(const struct line *line, double q, char *cell)
{
    double ms = report_first_byte(&line->provider->first_bytes, q);
    if (isnan(ms)) {
        return;
    }
    if (ms < 1) {
        snprintf(cell, CELL, "<1ms");
    } else if (ms < 10000) {
        snprintf(cell, CELL, "%.0fms", ms);
    } else {
        text_span((uint64_t)(ms * 1e6), cell, CELL);
    }
}

static void cell_median(const struct line *line, char *cell)
{
    cell_quantile(line, 0.5, cell);
}

static void cell_95th(const struct line *line, char *cell)
{
    cell_quantile(line, 0.95, cell);
}

static void cell_retry(const struct line *line, char *cell)
{
    if (line->provider->view.retry_in != 0) {
        text_span(line->provider->view.retry_in, cell, CELL);
    }
}

/* What the plain cells cannot say, on a line below: whose hold, and which of two breakers of one name this is. */
static void print_notes(const struct line *line, FILE *out)
{
    const struct snapshot_provider *provider = line->provider;
    char text[1024];
    if (provider->hold != PREBREAK_CLOSED && provider->hold_until == 0) {
        fputs("  held until released\n", out);
    } else if (provider->hold != PREBREAK_CLOSED) {
        fprintf(out, "  held for another %s\n",
                text_span(provider->hold_until - line->snapshot->now, text, sizeof(text)));
    }
    if (provider->first_bytes.slow != 0) {
        fprintf(out, "  %" PRIu64 " answers came later than `slow` and were counted ok\n", provider->first_bytes.slow);
    }
    if (provider->twin) {
        report_settings(&provider->settings, text, sizeof(text));
        fprintf(out, "  %s\n", text);
    }
}

// ---- columns --------------------------------------------------------------------------------------------------------

static const struct column {
    const char *group; /* heading above the titles, of this and the following columns with none */
    const char *title;
    bool right;
    void (*cell)(const struct line *line, char *cell);
} columns[] = {
    {"", "PROVIDER", false, cell_name},
    {"", "PHASE", false, cell_phase},
    {"", "FOR", true, cell_for},
    {"", "DROP", true, cell_drop},
    {"window", "OK", true, cell_window_ok},
    {NULL, "FAILED", true, cell_window_failed},
    {NULL, "REFUSED", true, cell_window_refused},
    {"total", "CALLS", true, cell_calls},
    {NULL, "OK", true, cell_ok},
    {NULL, "FAILED", true, cell_failed},
    {NULL, "NEUTRAL", true, cell_neutral},
    {NULL, "REFUSED", true, cell_refused},
    {NULL, "WOULD", true, cell_would},
    {"first byte", "P50", true, cell_median},
    {NULL, "P95", true, cell_95th},
    {"", "OUT", true, cell_inflight},
    {"", "RETRY IN", true, cell_retry},
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* The width of every column: 0 leaves it out. */
static void measure(const struct snapshot *snapshot, int *width)
{
    char cell[CELL];
    for (size_t c = 0; c < COLUMNS; c++) {
        int widest = 0;
        for (int i = 0; i < snapshot->providers; i++) {
            struct line line = {snapshot, &snapshot->provider[i]};
            cell[0] = '\0';
            columns[c].cell(&line, cell);
            int length = (int)strlen(cell);
            widest = length > widest ? length : widest;
        }
        int title = (int)strlen(columns[c].title);
        width[c] = widest == 0 ? 0 : (title > widest ? title : widest);
    }
}

// ---- lines ----------------------------------------------------------------------------------------------------------

/* A line being written: blanks are owed until something follows them, so that no line ends in any. */
struct pen {
    FILE *out;
    int owed;
};

/* Columns of a group stand closer to each other than to the rest. */
static void put_gap(struct pen *pen, size_t column)
{
    pen->owed += column == 0 ? 0 : columns[column].group != NULL ? 2 : 1;
}

/* colour: an SGR parameter, or NULL. A text wider than its column takes from what is owed next. */
static void put(struct pen *pen, const char *text, int width, bool right, const char *colour)
{
    int blanks = width - (int)strlen(text);
    if (text[0] == '\0') {
        pen->owed += width;
        return;
    }
    pen->owed += right ? blanks : 0;
    fprintf(pen->out, "%*s", pen->owed > 0 ? pen->owed : 0, "");
    if (colour != NULL) {
        fprintf(pen->out, "\033[%sm%s\033[0m", colour, text);
    } else {
        fputs(text, pen->out);
    }
    pen->owed = right ? 0 : blanks;
}

static void print_titles(const int *width, FILE *out)
{
    struct pen groups = {out, 0};
    struct pen titles = {out, 0};
    for (size_t c = 0; c < COLUMNS; c++) {
        if (width[c] > 0) {
            put_gap(&groups, c);
            put(&groups, columns[c].group != NULL ? columns[c].group : "", width[c], false, NULL);
        }
    }
    fputc('\n', out);
    for (size_t c = 0; c < COLUMNS; c++) {
        if (width[c] > 0) {
            put_gap(&titles, c);
            put(&titles, columns[c].title, width[c], columns[c].right, NULL);
        }
    }
    fputc('\n', out);
}

static void print_line(const struct line *line, const int *width, bool coloured, FILE *out)
{
    struct pen pen = {out, 0};
    char cell[CELL];
    for (size_t c = 0; c < COLUMNS; c++) {
        if (width[c] == 0) {
            continue;
        }
        bool colour = coloured && columns[c].cell == cell_phase;
        cell[0] = '\0';
        columns[c].cell(line, cell);
        put_gap(&pen, c);
        put(&pen, cell, width[c], columns[c].right, colour ? phase_colour[line->provider->view.phase] : NULL);
    }
    fputc('\n', out);
    print_notes(line, out);
}

// ---- the whole ------------------------------------------------------------------------------------------------------

static void print_head(const struct state *state, const struct snapshot *snapshot, FILE *out)
{
    char path[TEXT_NAME];
    fprintf(out, "%s: mode %s, %u process%s\n", text_printable(state->path, path, sizeof(path)),
            report_mode_name(snapshot->mode), snapshot->processes, snapshot->processes == 1 ? "" : "es");
    if (report_off_file() != NULL) {
        fprintf(out, "every process is switched off: %s exists\n", report_off_file());
    }
}

/* Holds that nobody has met yet. Returns how many. */
static int print_breakerless(const struct snapshot *snapshot, FILE *out)
{
    int shown = 0;
    for (int i = 0; i < snapshot->holds; i++) {
        const struct snapshot_hold *hold = &snapshot->hold[i];
        char name[TEXT_NAME];
        char span[TEXT_TIME];
        if (!hold->breakerless) {
            continue;
        }
        fprintf(out, "%s: %s, no call yet, held ", text_printable(hold->name, name, sizeof(name)),
                breaker_phase_name(hold->phase));
        if (hold->until == 0) {
            fputs("until released\n", out);
        } else {
            fprintf(out, "for another %s\n", text_span(hold->until - snapshot->now, span, sizeof(span)));
        }
        shown++;
    }
    return shown;
}

int report_status_text(struct state *state, const char *name, FILE *out)
{
    struct snapshot snapshot;
    if (!snapshot_take(state, name, &snapshot)) {
        return -1;
    }
    bool coloured = report_coloured(out);
    int width[COLUMNS];
    print_head(state, &snapshot, out);
    qsort(snapshot.provider, (size_t)snapshot.providers, sizeof(*snapshot.provider), snapshot_by_severity);
    if (snapshot.providers > 0) {
        measure(&snapshot, width);
        print_titles(width, out);
    } else if (name == NULL) {
        fputs("no provider has been called yet\n", out);
    }
    for (int i = 0; i < snapshot.providers; i++) {
        struct line line = {&snapshot, &snapshot.provider[i]};
        print_line(&line, width, coloured, out);
    }
    int shown = snapshot.providers + print_breakerless(&snapshot, out);
    snapshot_free(&snapshot);
    return shown;
}
