/*
 * An event as a line of text: logfmt or JSON, the same fields in the same order. Which event has which fields is a
 * table.
 */
#include "state/event.h"
#include <string.h>

/* ---- a line that never runs over -------------------------------------------------------------------------------- */

struct line {
    char *text;
    size_t length, size;
    enum event_format format;
};

static void put(struct line *line, const char *bytes, size_t count)
{
    if (count <= line->size - line->length) {
        memcpy(line->text + line->length, bytes, count);
        line->length += count;
    }
}

static void put_text(struct line *line, const char *text)
{
    put(line, text, strlen(text));
}

/* A number, with zeros in front up to `width`. */
static void put_number(struct line *line, uint64_t number, int width)
{
    char digits[24];
    int at = sizeof digits;

    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
        width--;
    } while (number > 0 || width > 0);
    put(line, digits + at, sizeof digits - (size_t)at);
}

/* The name of the next field. */
static void put_key(struct line *line, const char *key)
{
    bool json = line->format == EVENT_JSON;

    if (line->length > 0) {
        put_text(line, json ? "," : " ");
    } else if (json) {
        put_text(line, "{");
    }
    put_text(line, json ? "\"" : "");
    put_text(line, key);
    put_text(line, json ? "\":" : "=");
}

/* ---- strings: whatever is in them, one line of plain ASCII comes out -------------------------------------------- */

static bool plain(unsigned char c)
{
    return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '=';
}

static bool all_plain(const char *text)
{
    const char *at = text;

    while (plain((unsigned char)*at)) {
        at++;
    }
    return *at == '\0' && at != text;
}

/* One byte as it stands between quotation marks; the count of bytes in out[6]. */
static size_t escape(unsigned char c, char *out)
{
    static const char hex[] = "0123456789abcdef";

    if (c == '"' || c == '\\') {
        out[0] = '\\';
        out[1] = (char)c;
        return 2;
    }
    if (c >= ' ' && c < 0x7f) {
        out[0] = (char)c;
        return 1;
    }
    out[0] = '\\';
    out[1] = 'u';
    out[2] = out[3] = '0';
    out[4] = hex[c >> 4];
    out[5] = hex[c & 15];
    return 6;
}

/* A string field of at most `room` bytes between its quotation marks: cut where it is longer. */
static void put_string(struct line *line, const char *key, const char *text, size_t room)
{
    bool quoted = line->format == EVENT_JSON || !all_plain(text);

    put_key(line, key);
    put_text(line, quoted ? "\"" : "");
    for (; *text; text++) {
        char out[6];
        size_t count = escape((unsigned char)*text, out);
        if (count > room) {
            break;
        }
        put(line, out, count);
        room -= count;
    }
    put_text(line, quoted ? "\"" : "");
}

static void put_count(struct line *line, const char *key, uint64_t count)
{
    put_key(line, key);
    put_number(line, count, 1);
}

/* ---- time ------------------------------------------------------------------------------------------------------- */

/* RFC 3339 in UTC with milliseconds. Days to a date by H. Hinnant's civil_from_days; gmtime may take a lock. */
static void put_time(struct line *line, uint64_t ns)
{
    uint64_t ms = ns / 1000000, seconds = ms / 1000, of_day = seconds % 86400;
    uint64_t days = seconds / 86400 + 719468, era = days / 146097, of_era = days % 146097;
    uint64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint64_t of_year = of_era - (365 * years + years / 4 - years / 100);
    uint64_t shifted = (5 * of_year + 2) / 153; /* months since March */
    uint64_t month = shifted < 10 ? shifted + 3 : shifted - 9;
    const struct {
        uint64_t number;
        int width;
        const char *then;
    } parts[] = {{years + era * 400 + (month <= 2), 4, "-"},
                 {month, 2, "-"},
                 {of_year - (153 * shifted + 2) / 5 + 1, 2, "T"},
                 {of_day / 3600, 2, ":"},
                 {of_day / 60 % 60, 2, ":"},
                 {of_day % 60, 2, "."},
                 {ms % 1000, 3, "Z"}};

    put_key(line, "ts");
    put_text(line, line->format == EVENT_JSON ? "\"" : "");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        put_number(line, parts[i].number, parts[i].width);
        put_text(line, parts[i].then);
    }
    put_text(line, line->format == EVENT_JSON ? "\"" : "");
}

/* A ratio of 65535 with two digits. What is not quite none or all does not look so. */
static void put_drop(struct line *line, uint32_t drop)
{
    uint32_t hundredths = (drop > UINT16_MAX ? UINT16_MAX : drop) * 100 / UINT16_MAX;

    hundredths = drop > 0 && hundredths == 0 ? 1 : hundredths;
    put_key(line, "drop");
    put_number(line, hundredths / 100, 1);
    put_text(line, ".");
    put_number(line, hundredths % 100, 2);
}

/* ---- which event has which fields ------------------------------------------------------------------------------- */

enum {
    FIELD_PROVIDER = 1,
    FIELD_FROM = 2,
    FIELD_TO = 4,
    FIELD_REASON = 8,
    FIELD_POLICY = 16,
    FIELD_MODE = 32,
    FIELD_COUNTS = 64, /* and the drop ratio */
};

static const struct {
    unsigned fields;
    bool warn;
} layouts[EVENT_WHATS] = {
    [EVENT_PHASE] = {FIELD_PROVIDER | FIELD_FROM | FIELD_TO | FIELD_REASON | FIELD_POLICY | FIELD_MODE | FIELD_COUNTS,
                     false}, /* a warning by its phase */
    [EVENT_REFUSED] = {FIELD_PROVIDER | FIELD_TO | FIELD_POLICY | FIELD_MODE | FIELD_COUNTS, true},
    [EVENT_HOLD] = {FIELD_PROVIDER | FIELD_TO, true},
    [EVENT_RELEASE] = {FIELD_PROVIDER, false},
    [EVENT_RESET] = {FIELD_PROVIDER | FIELD_FROM | FIELD_TO, false},
    [EVENT_MODE] = {FIELD_MODE, true},
    [EVENT_CONFIG] = {0, true},
    [EVENT_STATE] = {0, true},
    [EVENT_QUOTA] = {FIELD_PROVIDER, true},
    [EVENT_OFF] = {0, true},
};

static const char *const modes[PREBREAK_MODES] = {
    [PREBREAK_MODE_ENV] = "env",
    [PREBREAK_MODE_ENFORCE] = "enforce",
    [PREBREAK_MODE_OBSERVE] = "observe",
    [PREBREAK_MODE_OFF] = "off",
};

static const char *known(const char *name)
{
    return name ? name : "unknown";
}

bool event_is_warning(const struct event *event)
{
    enum prebreak_phase to = event->change.to;

    if (event->what == EVENT_PHASE) {
        return to != PREBREAK_CLOSED && to != PREBREAK_RECOVERING;
    }
    return layouts[event->what].warn;
}

size_t event_format(const struct event *event, enum event_format format, char *line, size_t size)
{
    struct line to = {line, 0, size, format};
    const struct breaker_change *change = &event->change;
    unsigned fields;

    if (size < EVENT_LINE || (unsigned)event->what >= EVENT_WHATS) {
        return 0;
    }
    fields = layouts[event->what].fields;
    put_time(&to, event->time);
    put_string(&to, "level", event_is_warning(event) ? "warn" : "info", 8);
    put_string(&to, "event", event_what_name(event->what), 16);
    if (fields & FIELD_PROVIDER) {
        put_string(&to, "provider", event->name, PREBREAK_NAME);
    }
    if (fields & FIELD_FROM) {
        put_string(&to, "from", known(breaker_phase_name(change->from)), 16);
    }
    if (fields & FIELD_TO) {
        put_string(&to, "to", known(breaker_phase_name(change->to)), 16);
    }
    if (fields & FIELD_REASON) {
        put_string(&to, "reason", known(breaker_reason_name(change->reason)), 16);
    }
    if (fields & FIELD_POLICY) {
        put_string(&to, "policy", known(breaker_policy_name(event->policy)), 16);
    }
    if (fields & FIELD_MODE) {
        put_string(&to, "mode", (unsigned)event->mode < PREBREAK_MODES ? modes[event->mode] : "unknown", 16);
    }
    if (fields & FIELD_COUNTS) {
        put_count(&to, "ok", change->ok);
        put_count(&to, "failed", change->failed);
        put_count(&to, "refused", change->refused);
        put_drop(&to, change->drop);
    }
    put_count(&to, "pid", event->pid);
    put_string(&to, "comm", event->comm, 32);
    if (event->text[0]) {
        /* Last, so that what is left of the line is its room: quotation marks, a brace and the newline go off. */
        put_string(&to, "text", event->text, EVENT_LINE - 16 - to.length);
    }
    put_text(&to, format == EVENT_JSON ? "}\n" : "\n");
    return to.length;
}
