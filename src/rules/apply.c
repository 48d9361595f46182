#include "rules/apply.h"
#include "rules/api.h"

#include "breaker/breaker.h"
#include <string.h>

/* ---- complaints ------------------------------------------------------------------------------------------------ */

#define COMPLAINT 256

static void tell(struct complaints *complaints, const struct piece *piece, const char *at, const char *text)
{
    complaints->count++;
    if (complaints->complain != NULL) {
        struct rules_error error = {complaints->source, piece->number, (uint32_t)(at - piece->origin) + 1, text};
        complaints->complain(complaints->context, &error);
    }
}

void complaint_found(struct complaints *complaints, const struct piece *piece, struct span word, size_t offset,
                     const char *expected)
{
    char buffer[COMPLAINT];
    struct text text;
    text_begin(&text, buffer, sizeof buffer);
    text_add(&text, "found ");
    text_add_quoted(&text, word.at, word.length);
    text_add(&text, ", expected ");
    text_add(&text, expected);
    tell(complaints, piece, word.at + offset, buffer);
}

void complaint_rule(struct complaints *complaints, const struct piece *piece, const char *text)
{
    tell(complaints, piece, piece->span.at, text);
}

/* ---- one setting ----------------------------------------------------------------------------------------------- */

/* A word that stands for a setting, taken apart. */
struct assignment {
    struct span word, name, value;
    bool has_value;
};

static struct assignment take_apart(struct span word)
{
    struct assignment it = {.word = word, .name = word, .value = {word.at + word.length, 0}};
    const char *equals = memchr(word.at, '=', word.length);
    if (equals != NULL) {
        it.has_value = true;
        it.name.length = (size_t)(equals - word.at);
        it.value = span_from(word, it.name.length + 1);
    }
    return it;
}

bool apply_is_setting(struct span word)
{
    if (word.length >= 5 && memcmp(word.at, "unix:", 5) == 0) {
        return false;
    }
    bool read;
    if (memchr(word.at, '=', word.length) != NULL) {
        return true;
    }
    /* A name alone lacks its value, but `api` is rather a host: it is what people call theirs. */
    return !span_is(word, "api") && setting_find(word, PREBREAK_SRE, &read) != NULL;
}

bool apply_policy(struct span words, enum prebreak_policy *policy)
{
    struct span word;
    while (lexer_word(&words, &word)) {
        struct assignment it = take_apart(word);
        if (span_is(it.name, "policy") && it.has_value && setting_policy(it.value, policy)) {
            return true;
        }
    }
    return false;
}

bool apply_api(struct span words, enum rules_api *api)
{
    struct span word;
    while (lexer_word(&words, &word)) {
        struct assignment it = take_apart(word);
        if (span_is(it.name, "api") && it.has_value && api_named(it.value, api)) {
            return true;
        }
    }
    return false;
}

/* What is wrong with a name that no setting has. */
static void unknown(const struct assignment *it, const struct setting *like, struct text *expected)
{
    if (it->name.length == 0) {
        text_add(expected, "setting=value without blanks around '='");
        return;
    }
    text_add(expected, "a setting");
    text_add(expected, like != NULL ? ": is it '" : " (prebreak explain --help lists them)");
    text_add(expected, like != NULL ? like->name : "");
    text_add(expected, like != NULL ? "'?" : "");
}

/* Takes one setting over, or says what was expected instead. False: it was not taken. */
static bool apply_one(const struct assignment *it, const struct setting *setting, bool read, bool twice,
                      struct rules_settings *settings, struct text *expected)
{
    if (!it->has_value) {
        text_add(expected, setting->name);
        text_add(expected, "=VALUE (a host of that name is written with a dot behind it)");
    } else if (twice) {
        text_add(expected, "each setting once");
    } else if (!read) {
        text_add(expected, "a setting that policy ");
        text_add(expected, breaker_policy_name((enum prebreak_policy)settings->breaker.policy));
        text_add(expected, " reads (this one: ");
        setting_readers(setting, expected);
        text_add(expected, ")");
    } else if (!setting_set(setting, it->value, settings)) {
        setting_expected(setting, expected);
    } else {
        return true;
    }
    return false;
}

/* ---- all of them ----------------------------------------------------------------------------------------------- */

static bool is_enforce(const struct setting *setting)
{
    return setting != NULL && setting->kind == SETTING_SHARE;
}

void apply_settings(const struct piece *piece, struct span words, enum apply_strictness strictness,
                    struct complaints *complaints, struct rules_settings *settings)
{
    uint64_t given = 0;
    struct span word;
    while (lexer_word(&words, &word)) {
        if (!apply_is_setting(word)) {
            continue;
        }
        struct assignment it = take_apart(word);
        bool read;
        const struct setting *setting = setting_find(it.name, (enum prebreak_policy)settings->breaker.policy, &read);
        if (setting != NULL && !read && strictness == APPLY_DEFAULTS) {
            continue;
        }
        char buffer[200];
        struct text expected;
        text_begin(&expected, buffer, sizeof buffer);
        bool taken = false;
        bool twice = false;
        if (setting == NULL) {
            setting = setting_like(it.name);
            unknown(&it, setting, &expected);
        } else {
            uint64_t bit = UINT64_C(1) << setting_index(setting);
            twice = (given & bit) != 0;
            taken = apply_one(&it, setting, read, twice, settings, &expected);
            given |= bit;
        }
        if (!taken) {
            settings->enforce = is_enforce(setting) ? 0 : settings->enforce;
            size_t offset = it.value.length > 0 && read && !twice ? it.name.length + 1 : 0;
            complaint_found(complaints, piece, word, offset, buffer);
        }
    }
    setting_settle(settings, given);
}

/* Is it sound for any policy that reads it? Apart from its caller's frame, to keep each within bounds. */
static __attribute__((noinline)) bool sound_for_any(const struct assignment *it)
{
    for (unsigned policy = 0; policy < PREBREAK_POLICIES; policy++) {
        struct rules_settings scratch = {.enforce = 0};
        bool read;
        const struct setting *setting = setting_find(it->name, (enum prebreak_policy)policy, &read);
        if (read && setting_set(setting, it->value, &scratch)) {
            return true;
        }
    }
    return false;
}

void apply_check_defaults(const struct piece *piece, struct complaints *complaints)
{
    enum prebreak_policy policy = PREBREAK_SRE;
    (void)apply_policy(piece->span, &policy);
    struct rules_settings scratch;
    setting_defaults(policy, &scratch);
    apply_settings(piece, piece->span, APPLY_DEFAULTS, complaints, &scratch);
    struct span rest = piece->span;
    struct span word;
    while (lexer_word(&rest, &word)) {
        if (!apply_is_setting(word)) {
            complaint_found(complaints, piece, word, 0, "setting=value");
            continue;
        }
        struct assignment it = take_apart(word);
        bool read;
        const struct setting *setting = setting_find(it.name, policy, &read);
        if (setting != NULL && !read && !sound_for_any(&it)) {
            char buffer[200];
            struct text expected;
            text_begin(&expected, buffer, sizeof buffer);
            setting_expected(setting, &expected);
            complaint_found(complaints, piece, word, it.has_value ? it.name.length + 1 : 0, buffer);
        }
    }
}
