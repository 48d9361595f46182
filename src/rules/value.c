#include "rules/value.h"

#include <string.h>

/* ---- spans ----------------------------------------------------------------------------------------------------- */

bool span_is(struct span span, const char *word)
{
    return span.length == strlen(word) && memcmp(span.at, word, span.length) == 0;
}

struct span span_from(struct span span, size_t start)
{
    return (struct span){span.at + start, span.length - start};
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

/* Digits from the start of a span. Returns how many there are; SIZE_MAX if they do not fit into 64 bits. */
static size_t leading_digits(struct span span, uint64_t *number)
{
    size_t i = 0;
    for (*number = 0; i < span.length && is_digit(span.at[i]); i++) {
        if (__builtin_mul_overflow(*number, 10, number) || __builtin_add_overflow(*number, span.at[i] - '0', number)) {
            return SIZE_MAX;
        }
    }
    return i;
}

bool value_count(struct span span, uint64_t *count)
{
    uint64_t value;
    if (span.length == 0 || leading_digits(span, &value) != span.length) {
        return false;
    }
    *count = value;
    return true;
}

/*
 * A decimal from the start of a span: whole part and billionths apart, so that a unit can be multiplied in without
 * overflow. Digits below a billionth are dropped. Returns how many bytes it takes, 0: there is none.
 */
static size_t leading_decimal(struct span span, uint64_t *whole, uint64_t *billionths)
{
    size_t length = leading_digits(span, whole);
    if (length == SIZE_MAX) {
        return 0;
    }
    *billionths = 0;
    if (length == span.length || span.at[length] != '.') {
        return length;
    }
    size_t point = length++;
    for (uint64_t place = 100000000; length < span.length && is_digit(span.at[length]); place /= 10) {
        *billionths += (uint64_t)(span.at[length++] - '0') * place;
    }
    return length == point + 1 ? 0 : length; /* "1." is not a number, nor is "." */
}

bool value_decimal(struct span span, uint64_t *billionths)
{
    uint64_t whole;
    uint64_t part;
    if (span.length == 0 || leading_decimal(span, &whole, &part) != span.length || whole > UINT32_MAX) {
        return false;
    }
    *billionths = whole * 1000000000 + part;
    return true;
}

bool value_ratio(struct span span, uint64_t *billionths)
{
    if (span.length == 0 || span.at[span.length - 1] != '%') {
        return value_decimal(span, billionths);
    }
    uint64_t percent;
    if (!value_decimal((struct span){span.at, span.length - 1}, &percent)) {
        return false;
    }
    *billionths = percent / 100;
    return true;
}

/* ---- durations ------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint64_t ns;
} units[] = {
    {"ns", 1},
    {"us", 1000},
    {"ms", 1000000},
    {"s", 1000000000},
    {"m", UINT64_C(60000000000)},
    {"h", UINT64_C(3600000000000)},
};

bool value_duration(struct span span, uint64_t *ns)
{
    uint64_t whole;
    uint64_t part;
    size_t length = leading_decimal(span, &whole, &part);
    if (length == 0) {
        return false;
    }
    struct span unit = span_from(span, length);
    if (unit.length == 0 && whole == 0 && part == 0) {
        *ns = 0;
        return true;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (span_is(unit, units[i].name)) {
            uint64_t value;
            uint64_t fraction = units[i].ns >= 1000000000 ? part * (units[i].ns / 1000000000)
                                                          : part * units[i].ns / 1000000000; /* neither overflows */
            if (__builtin_mul_overflow(whole, units[i].ns, &value) || __builtin_add_overflow(value, fraction, &value)) {
                return false;
            }
            *ns = value;
            return true;
        }
    }
    return false;
}

bool rules_parse_duration(const char *text, size_t length, uint64_t *ns)
{
    return value_duration((struct span){text, length}, ns);
}

bool rules_parse_mode(const char *text, size_t length, enum prebreak_mode *mode)
{
    static const char *const names[PREBREAK_MODES] = {
        [PREBREAK_MODE_ENFORCE] = "enforce", [PREBREAK_MODE_OBSERVE] = "observe", [PREBREAK_MODE_OFF] = "off"};
    for (unsigned i = PREBREAK_MODE_ENFORCE; i < PREBREAK_MODES; i++) {
        if (span_is((struct span){text, length}, names[i])) {
            *mode = (enum prebreak_mode)i;
            return true;
        }
    }
    return false;
}

/* ---- status lists ---------------------------------------------------------------------------------------------- */

#define STATUS_FIRST 100
#define STATUS_LAST  599

bool rules_status_in(const struct rules_statuses *set, unsigned status)
{
    if (status < STATUS_FIRST) {
        return false;
    }
    unsigned bit = status > STATUS_LAST ? STATUS_LAST - STATUS_FIRST : status - STATUS_FIRST;
    return (set->bit[bit / 64] >> (bit % 64)) & 1;
}

static void add_status(struct rules_statuses *set, unsigned status)
{
    unsigned bit = status - STATUS_FIRST;
    set->bit[bit / 64] |= UINT64_C(1) << (bit % 64);
}

/* "503" or "5xx", added to a set. */
static bool add_statuses(struct span item, struct rules_statuses *set)
{
    if (item.length != 3 || item.at[0] < '1' || item.at[0] > '5') {
        return false;
    }
    unsigned first = (unsigned)(item.at[0] - '0') * 100;
    if (span_is(span_from(item, 1), "xx")) {
        for (unsigned status = first; status < first + 100; status++) {
            add_status(set, status);
        }
        return true;
    }
    if (!is_digit(item.at[1]) || !is_digit(item.at[2])) {
        return false;
    }
    add_status(set, first + (unsigned)(item.at[1] - '0') * 10 + (unsigned)(item.at[2] - '0'));
    return true;
}

bool value_statuses(struct span span, struct rules_statuses *set)
{
    struct rules_statuses in = {{0}};
    struct rules_statuses out = {{0}};
    bool any_in = false;
    if (span_is(span, "none")) {
        *set = in;
        return true;
    }
    for (size_t start = 0; start <= span.length;) {
        size_t end = start;
        while (end < span.length && span.at[end] != ',') {
            end++;
        }
        struct span item = {span.at + start, end - start};
        bool excluded = item.length > 0 && item.at[0] == '!';
        if (!add_statuses(excluded ? span_from(item, 1) : item, excluded ? &out : &in)) {
            return false;
        }
        any_in = any_in || !excluded;
        start = end + 1;
    }
    for (size_t i = 0; i < sizeof set->bit / sizeof *set->bit; i++) {
        set->bit[i] = (any_in ? in.bit[i] : set->bit[i]) & ~out.bit[i];
    }
    return true;
}

/* One class: as Nxx and its exceptions if that is the shorter way, else one by one. */
static void print_class(struct text *text, const struct rules_statuses *set, unsigned first, size_t begin)
{
    unsigned count = 0;
    for (unsigned status = first; status < first + 100; status++) {
        count += rules_status_in(set, status);
    }
    bool whole = count > 50;
    if (whole) {
        text_add(text, text->length > begin ? "," : "");
        text_add_number(text, first / 100);
        text_add(text, "xx");
    }
    for (unsigned status = first; status < first + 100; status++) {
        if (rules_status_in(set, status) != whole) {
            text_add(text, text->length > begin ? "," : "");
            text_add(text, whole ? "!" : "");
            text_add_number(text, status);
        }
    }
}

void value_print_statuses(struct text *text, const struct rules_statuses *set)
{
    size_t begin = text->length;
    for (unsigned first = 100; first <= 500; first += 100) {
        print_class(text, set, first, begin);
    }
    if (text->length == begin) {
        text_add(text, "none");
    }
}
