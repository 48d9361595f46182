#include "rules/setting.h"

#include "breaker/breaker.h"
#include <string.h>

#define ONE        UINT64_C(1000000000) /* of a ratio, in 1e-9 */
#define TIMES_UNIT (ONE / 1000)

/* ---- values ---------------------------------------------------------------------------------------------------- */

static void store(struct rules_settings *settings, size_t offset, size_t size, const void *value)
{
    memcpy((char *)settings + offset, value, size);
}

static void store_number(const struct setting *setting, uint64_t number, struct rules_settings *settings)
{
    uint8_t byte = (uint8_t)number;
    uint32_t half = (uint32_t)number;
    const void *value = setting->size == sizeof byte   ? (const void *)&byte
                        : setting->size == sizeof half ? (const void *)&half
                                                       : (const void *)&number;
    store(settings, setting->offset, setting->size, value);
}

static bool within(const struct setting *setting, uint64_t value)
{
    return (setting->off && value == 0) || (value >= setting->least && value <= setting->most);
}

static bool word_value(const struct setting *setting, struct span name, unsigned *value)
{
    for (const struct setting_word *word = setting->words; word->name != NULL; word++) {
        if (span_is(name, word->name)) {
            *value = word->value;
            return true;
        }
    }
    return false;
}

static bool set_word(const struct setting *setting, struct span value, struct rules_settings *settings)
{
    unsigned found;
    if (!word_value(setting, value, &found)) {
        return false;
    }
    store_number(setting, found, settings);
    return true;
}

static uint64_t all_bits(const struct setting *setting)
{
    uint64_t bits = 0;
    for (const struct setting_word *word = setting->words; word->name != NULL; word++) {
        bits |= word->value;
    }
    return bits;
}

/* Words with commas between them, all or none. */
static bool set_set(const struct setting *setting, struct span value, struct rules_settings *settings)
{
    uint64_t bits = span_is(value, "all") ? all_bits(setting) : 0;
    bool whole = bits != 0 || span_is(value, "none");
    for (size_t start = 0; !whole && start <= value.length;) {
        size_t end = start;
        unsigned bit;
        while (end < value.length && value.at[end] != ',') {
            end++;
        }
        if (!word_value(setting, (struct span){value.at + start, end - start}, &bit)) {
            return false;
        }
        bits |= bit;
        start = end + 1;
    }
    store_number(setting, bits, settings);
    return true;
}

static bool set_fraction(const struct setting *setting, struct span value, struct rules_settings *settings)
{
    uint64_t billionths;
    bool understood =
        setting->kind == SETTING_REAL ? value_decimal(value, &billionths) : value_ratio(value, &billionths);
    if (!understood || !within(setting, billionths)) {
        return false;
    }
    if (setting->kind == SETTING_SHARE) {
        store_number(setting, billionths * UINT16_MAX / ONE, settings);
        return true;
    }
    double real = (double)billionths / (double)ONE;
    store(settings, setting->offset, sizeof real, &real);
    return true;
}

static bool read_duration(const struct setting *setting, struct span value, uint64_t *ns)
{
    uint64_t found = 0;
    bool off = setting->off && span_is(value, "off");
    if ((!off && !value_duration(value, &found)) || !within(setting, found)) {
        return false;
    }
    *ns = found;
    return true;
}

static bool set_range(const struct setting *setting, struct span value, struct rules_settings *settings)
{
    const char *dots = setting->kind == SETTING_RANGE ? memmem(value.at, value.length, "..", 2) : NULL;
    size_t first = dots == NULL ? value.length : (size_t)(dots - value.at);
    struct span second = dots == NULL ? value : span_from(value, first + 2);
    uint64_t from;
    uint64_t to;
    if (!read_duration(setting, (struct span){value.at, first}, &from) || !read_duration(setting, second, &to) ||
        from > to || (from == 0) != (to == 0)) {
        return false;
    }
    store(settings, setting->offset, sizeof from, &from);
    store(settings, setting->second, sizeof to, &to);
    return true;
}

/* "5x" or a duration. */
static bool set_slow(const struct setting *setting, struct span value, struct rules_settings *settings)
{
    uint64_t slow = 0;
    uint64_t billionths = 0;
    uint32_t times = 0;
    if (value.length > 1 && value.at[value.length - 1] == 'x') {
        if (!value_decimal((struct span){value.at, value.length - 1}, &billionths) ||
            billionths < SETTING_TIMES_LEAST * TIMES_UNIT || billionths > SETTING_TIMES_MOST * TIMES_UNIT) {
            return false;
        }
        times = (uint32_t)(billionths / TIMES_UNIT);
    } else if (!read_duration(setting, value, &slow)) {
        return false;
    }
    store(settings, setting->offset, sizeof slow, &slow);
    store(settings, setting->second, sizeof times, &times);
    return true;
}

bool setting_set(const struct setting *setting, struct span value, struct rules_settings *settings)
{
    uint64_t number;
    enum prebreak_policy policy;
    switch (setting->kind) {
    case SETTING_POLICY: /* taken over before any other setting */
        return setting_policy(value, &policy);
    case SETTING_WORD:
        return set_word(setting, value, settings);
    case SETTING_SET:
        return set_set(setting, value, settings);
    case SETTING_COUNT:
        if (!value_count(value, &number) || !within(setting, number)) {
            return false;
        }
        store_number(setting, number, settings);
        return true;
    case SETTING_REAL:
    case SETTING_RATIO:
    case SETTING_SHARE:
        return set_fraction(setting, value, settings);
    case SETTING_DURATION:
        if (!read_duration(setting, value, &number)) {
            return false;
        }
        store_number(setting, number, settings);
        return true;
    case SETTING_BOTH:
    case SETTING_RANGE:
        return set_range(setting, value, settings);
    case SETTING_SLOW:
        return set_slow(setting, value, settings);
    case SETTING_STATUSES:
        return value_statuses(value, (struct rules_statuses *)(void *)((char *)settings + setting->offset));
    }
    return false;
}

/* ---- settings as text ------------------------------------------------------------------------------------------ */

static uint64_t load_number(const struct setting *setting, const struct rules_settings *settings, size_t offset)
{
    const char *field = (const char *)settings + offset;
    uint32_t half;
    uint64_t whole;
    if (setting->size == 1) {
        return (uint8_t)*field;
    }
    if (setting->size == sizeof half) {
        memcpy(&half, field, sizeof half);
        return half;
    }
    memcpy(&whole, field, sizeof whole);
    return whole;
}

static void print_fraction(const struct setting *setting, const struct rules_settings *settings, struct text *text)
{
    double real;
    memcpy(&real, (const char *)settings + setting->offset, sizeof real);
    text_add_decimal(text, (uint64_t)(real * (double)ONE + 0.5));
}

static void print_slow(const struct setting *setting, const struct rules_settings *settings, struct text *text)
{
    uint32_t times;
    memcpy(&times, (const char *)settings + setting->second, sizeof times);
    if (times == 0) {
        text_add_duration(text, load_number(setting, settings, setting->offset));
        return;
    }
    text_add_decimal(text, times * TIMES_UNIT);
    text_add(text, "x");
}

static void print_set(const struct setting *setting, uint64_t bits, struct text *text)
{
    if (bits == 0 || bits == all_bits(setting)) {
        text_add(text, bits == 0 ? "none" : "all");
        return;
    }
    const char *separator = "";
    for (const struct setting_word *word = setting->words; word->name != NULL; word++) {
        if ((bits & word->value) != 0) {
            text_add(text, separator);
            text_add(text, word->name);
            separator = ",";
        }
    }
}

void setting_print(const struct setting *setting, const struct rules_settings *settings, struct text *text)
{
    uint64_t number = load_number(setting, settings, setting->offset);
    switch (setting->kind) {
    case SETTING_POLICY:
        text_add(text, breaker_policy_name((enum prebreak_policy)number));
        return;
    case SETTING_WORD:
        for (const struct setting_word *word = setting->words; word->name != NULL; word++) {
            text_add(text, word->value == number ? word->name : "");
        }
        return;
    case SETTING_SET:
        print_set(setting, number, text);
        return;
    case SETTING_COUNT:
        text_add_number(text, number);
        return;
    case SETTING_REAL:
    case SETTING_RATIO:
        print_fraction(setting, settings, text);
        return;
    case SETTING_SHARE: /* to a hundredth of a percent: finer than it is kept */
        text_add_decimal(text, (number * 10000 + UINT16_MAX / 2) / UINT16_MAX * (ONE / 100));
        text_add(text, "%");
        return;
    case SETTING_DURATION:
    case SETTING_BOTH:
        text_add_duration(text, number);
        return;
    case SETTING_RANGE:
        text_add_duration(text, number);
        if (number != 0) {
            text_add(text, "..");
            text_add_duration(text, load_number(setting, settings, setting->second));
        }
        return;
    case SETTING_SLOW:
        print_slow(setting, settings, text);
        return;
    case SETTING_STATUSES:
        value_print_statuses(text,
                             (const struct rules_statuses *)(const void *)((const char *)settings + setting->offset));
        return;
    }
}

size_t rules_print_settings(const struct rules_settings *settings, char *buffer, size_t size)
{
    struct text text;
    text_begin(&text, buffer, size);
    for (size_t i = 0; i < setting_rows; i++) {
        if ((setting_table[i].policies >> settings->breaker.policy) & 1) {
            text_add(&text, text.length > 0 ? " " : "");
            text_add(&text, setting_table[i].name);
            text_add(&text, "=");
            setting_print(&setting_table[i], settings, &text);
        }
    }
    return text.length;
}
