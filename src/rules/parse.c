#include "rules/api.h"
#include "rules/apply.h"
#include "rules/pattern.h"

#include "breaker/breaker.h"
#include <string.h>

/* Rules under construction. */
struct parse {
    struct rules *rules;
    struct rule *rule;       /* room for as many as the texts hold, within RULES_MAX */
    struct pattern *pattern; /* likewise */
    uint32_t rule_room, pattern_room;
    struct complaints complaints;
    enum rules_source source;
    struct piece defaults; /* empty: none */
    bool full;             /* a limit was met: nothing further is taken */
};

/* ---- names ----------------------------------------------------------------------------------------------------- */

static bool is_letter_or_figure(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool parse_name(struct span name, struct rule *rule)
{
    if (name.length == 0 || name.length >= RULES_NAME) {
        return false;
    }
    rule->kind = span_is(name, "-") ? RULE_NEVER : span_is(name, "*") ? RULE_NAMELESS : RULE_NAMED;
    for (size_t i = 0; rule->kind != RULE_NAMELESS && i < name.length; i++) {
        char c = name.at[i];
        if (!is_letter_or_figure(c) && c != '.' && c != '_' && c != '-') {
            return false;
        }
    }
    memcpy(rule->name, name.at, name.length);
    rule->name[name.length] = '\0';
    return true;
}

/* Might this bad name have been meant for a `-`: a dash of another alphabet, "-:", "!"? */
static bool like_never(struct span name)
{
    for (size_t i = 0; i < name.length; i++) {
        if (is_letter_or_figure(name.at[i])) {
            return false;
        }
    }
    return true;
}

/* ---- the text that is kept ------------------------------------------------------------------------------------- */

/* Copies the words of a rule behind what is kept already, each ending in NUL. */
static void keep_text(struct parse *parse, struct span words, struct rule *rule)
{
    char *start = (char *)parse->rules + parse->rules->size;
    char *at = start;
    struct span word;
    while (lexer_word(&words, &word)) {
        for (size_t i = 0; i < word.length; i++) {
            *at++ = word.at[i] > ' ' && word.at[i] <= '~' ? word.at[i] : '?';
        }
        *at++ = '\0';
    }
    rule->text = parse->rules->size;
    rule->text_length = (uint32_t)(at - start);
}

/* ---- patterns -------------------------------------------------------------------------------------------------- */

/* Puts a pattern behind the others. `kept` is where its word lies in the kept text. */
static void add_pattern(struct parse *parse, const struct pattern_parsed *parsed, struct span word, uint32_t kept)
{
    struct rules *rules = parse->rules;
    struct pattern *pattern = &parse->pattern[rules->patterns++];
    memset(pattern, 0, sizeof *pattern);
    pattern->kind = (uint8_t)parsed->kind;
    pattern->bits = parsed->bits;
    pattern->port = parsed->port;
    pattern->rule = (uint16_t)rules->count;
    pattern->written = kept;
    memcpy(pattern->address, parsed->address, sizeof pattern->address);
    rules->unix_paths = rules->unix_paths || parsed->kind == PATTERN_UNIX;
    rules->addresses = rules->addresses || parsed->kind == PATTERN_ADDRESS;
    if (parsed->text.length == 0) {
        return;
    }
    pattern->text = kept + (uint32_t)(parsed->text.at - word.at);
    pattern->length = (uint16_t)parsed->text.length;
    char *text = (char *)rules + pattern->text;
    for (size_t i = 0; parsed->kind != PATTERN_UNIX && i < parsed->text.length; i++) {
        text[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
    }
}

struct patterns_seen {
    uint32_t good, bad;
};

/* All patterns among the words of a rule, whose first word is its name. */
static struct patterns_seen parse_patterns(struct parse *parse, const struct piece *piece, const struct rule *rule)
{
    struct patterns_seen seen = {0, 0};
    struct span rest = piece->span;
    struct span word;
    uint32_t kept = rule->text;
    for (bool name = true; lexer_word(&rest, &word); name = false) {
        struct pattern_parsed parsed;
        size_t at;
        uint32_t word_kept = kept;
        kept += (uint32_t)word.length + 1;
        if (name || apply_is_setting(word)) {
            continue;
        }
        const char *expected = pattern_parse(word, &parsed, &at);
        if (expected != NULL) {
            seen.bad++;
            complaint_found(&parse->complaints, piece, word, at, expected);
        } else if (parse->rules->patterns == parse->pattern_room) {
            parse->full = true;
            complaint_found(&parse->complaints, piece, word, 0, "at most 5000 patterns: the rest is left out");
            break;
        } else {
            seen.good++;
            add_pattern(parse, &parsed, word, word_kept);
        }
    }
    return seen;
}

/* ---- rules ----------------------------------------------------------------------------------------------------- */

/* Each was within its limits; the breaker knows what they may be together. */
static void check_sound(const struct piece *piece, struct complaints *complaints, struct rules_settings *settings)
{
    if (!breaker_settings_sound(&settings->breaker)) {
        enum prebreak_policy policy = (enum prebreak_policy)settings->breaker.policy;
        complaint_rule(complaints, piece, "these settings contradict each other: the policy's defaults hold");
        breaker_settings_default(policy, &settings->breaker);
        settings->breaker.policy = policy;
    }
}

static void parse_settings(struct parse *parse, const struct piece *piece, struct span words,
                           struct rules_settings *settings)
{
    enum prebreak_policy policy = PREBREAK_SRE;
    struct complaints quiet = {.complain = NULL};
    (void)(apply_policy(words, &policy) || apply_policy(parse->defaults.span, &policy));
    enum rules_api api = RULES_API_GENERIC;
    (void)(apply_api(words, &api) || apply_api(parse->defaults.span, &api));
    setting_defaults(policy, settings);
    api_apply(api, settings);
    apply_settings(&parse->defaults, parse->defaults.span, APPLY_DEFAULTS, &quiet, settings);
    apply_settings(piece, words, APPLY_ALL, &parse->complaints, settings);
    check_sound(piece, &parse->complaints, settings);
}

/*
 * What a rule that could not be read as it stands would have restrained: a `-` its targets, a smaller `enforce` the
 * refusals. Later rules may take those targets in, so then everything is only observed.
 */
static bool would_restrain(const struct rule *rule)
{
    return rule->kind == RULE_NEVER || rule->settings.enforce < UINT16_MAX;
}

static void parse_rule(struct parse *parse, const struct piece *piece)
{
    struct rules *rules = parse->rules;
    struct rule *rule = &parse->rule[rules->count];
    struct span rest = piece->span;
    struct span name;
    (void)lexer_word(&rest, &name);
    memset(rule, 0, sizeof *rule);
    rule->number = piece->number;
    rule->source = (uint8_t)parse->source;
    bool named = parse_name(name, rule);
    parse_settings(parse, piece, rest, &rule->settings);
    if (!named) {
        complaint_found(&parse->complaints, piece, name, 0, "a name of 1 to 64 letters, figures and . _ - or * or -");
        rules->restrained = rules->restrained || like_never(name) || would_restrain(rule);
        return;
    }
    keep_text(parse, piece->span, rule);
    struct patterns_seen seen = parse_patterns(parse, piece, rule);
    if (seen.good + seen.bad == 0 && !parse->full) {
        complaint_rule(&parse->complaints, piece,
                       "a rule without a pattern, expected NAME PATTERN... [setting=value...]");
        seen.bad = 1;
    }
    rules->restrained = rules->restrained || (seen.bad > 0 && would_restrain(rule));
    if (seen.good > 0) {
        rules->size += rule->text_length;
        rules->count++;
    }
}

static void parse_rules(struct parse *parse, struct span text)
{
    struct lexer lexer;
    struct piece piece;
    lexer_begin(&lexer, text, parse->source == RULES_CONFIG);
    while (!parse->full && lexer_next(&lexer, &piece)) {
        if (parse->rules->count == parse->rule_room) {
            parse->full = true;
            complaint_rule(&parse->complaints, &piece, "more than 1000 rules: this one and the rest are left out");
            return;
        }
        parse_rule(parse, &piece);
    }
}

/* ---- texts ----------------------------------------------------------------------------------------------------- */

static size_t last_end(const char *text, size_t length, bool lines)
{
    while (length > 0 && text[length - 1] != '\n' && (lines || text[length - 1] != ';')) {
        length--;
    }
    return length;
}

/*
 * As much of a text as counts. Of a file only whole lines do: a last line without its newline may be half written, and
 * a rule cut short may touch more than the whole one. A text that is too long is cut behind a whole rule for the same
 * reason. Says so if `complaints` is given.
 */
static struct span usable(struct span text, bool lines, struct complaints *complaints)
{
    bool long_text = text.length > RULES_TEXT_MAX;
    size_t length = long_text ? RULES_TEXT_MAX : text.length;
    size_t whole = long_text || lines ? last_end(text.at, length, lines) : length;
    if (complaints != NULL && whole < text.length) {
        struct lexer lexer;
        struct piece piece;
        bool left;
        lexer_begin(&lexer, text, lines);
        do {
            left = lexer_next(&lexer, &piece);
        } while (left && piece.span.at < text.at + whole);
        if (left) {
            complaint_rule(complaints, &piece,
                           long_text ? "more than 128 KiB: this rule and the rest are left out"
                                     : "the last line has no newline and does not count: it may be half written");
        }
    }
    return (struct span){text.at, whole};
}

/* How many rules and patterns a text may hold, and how much of it may be kept: to lay the memory out. */
static void count(struct span text, struct parse *parse, size_t *kept)
{
    struct lexer lexer;
    struct piece piece;
    lexer_begin(&lexer, text, false);
    while (parse->rule_room < RULES_MAX && lexer_next(&lexer, &piece)) {
        parse->rule_room++;
        *kept += piece.span.length + 1;
        struct span word;
        while (parse->pattern_room < RULES_PATTERNS_MAX && lexer_word(&piece.span, &word)) {
            parse->pattern_room++;
        }
    }
}

static struct rules *lay_out(struct parse *parse, void *memory, size_t size, size_t kept)
{
    size_t rules_at = sizeof(struct rules);
    size_t patterns_at = rules_at + parse->rule_room * sizeof(struct rule);
    size_t text_at = patterns_at + parse->pattern_room * sizeof(struct pattern);
    if (text_at + kept > size) {
        return NULL;
    }
    struct rules *rules = memory;
    memset(rules, 0, sizeof *rules);
    parse->rules = rules;
    parse->rule = (struct rule *)(void *)((char *)memory + rules_at);
    parse->pattern = (struct pattern *)(void *)((char *)memory + patterns_at);
    rules->first_pattern = (uint32_t)patterns_at;
    rules->size = (uint32_t)text_at;
    return rules;
}

static struct span given(const char *text, size_t length)
{
    return text == NULL ? (struct span){"", 0} : (struct span){text, length};
}

struct rules *rules_parse(const struct rules_text *text, void *memory, size_t size, rules_complain *complain,
                          void *context)
{
    bool any = text->providers != NULL || text->config != NULL;
    const struct {
        enum rules_source source;
        const char *name;
        struct span span;
    } sources[] = {
        {RULES_BUILTIN, "the built-in rule", given(any ? NULL : "* *", 3)},
        {RULES_PROVIDERS, "PREBREAK_PROVIDERS", given(text->providers, text->providers_length)},
        {RULES_CONFIG, text->config_path == NULL ? "PREBREAK_CONFIG" : text->config_path,
         given(text->config, text->config_length)},
    };
    struct span defaults = given(text->defaults, text->defaults_length);
    struct parse parse = {.defaults = {defaults, defaults.at, 0},
                          .complaints = {complain, context, "PREBREAK_DEFAULTS", 0}};
    size_t kept = 0;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        count(usable(sources[i].span, sources[i].source == RULES_CONFIG, NULL), &parse, &kept);
    }
    struct rules *rules = lay_out(&parse, memory, size, kept);
    if (rules == NULL) {
        return NULL;
    }
    apply_check_defaults(&parse.defaults, &parse.complaints);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        parse.source = sources[i].source;
        parse.complaints.source = sources[i].name;
        parse_rules(&parse, usable(sources[i].span, parse.source == RULES_CONFIG, &parse.complaints));
    }
    if (rules->count == 0) {
        struct piece nowhere = {given(NULL, 0), "", 0};
        nowhere.origin = nowhere.span.at;
        parse.complaints.source = sources[text->providers != NULL ? 1 : 2].name;
        complaint_rule(&parse.complaints, &nowhere, "no rule could be read: nothing is touched");
    }
    return rules;
}

bool rules_parse_settings(const char *text, size_t length, struct rules_settings *settings, rules_complain *complain,
                          void *context)
{
    struct span words = given(text, length);
    struct piece piece = {words, words.at, 0};
    struct complaints complaints = {complain, context, "settings", 0};
    enum prebreak_policy policy = PREBREAK_SRE;
    enum rules_api api = RULES_API_GENERIC;
    (void)apply_policy(words, &policy);
    (void)apply_api(words, &api);
    setting_defaults(policy, settings);
    api_apply(api, settings);
    apply_settings(&piece, words, APPLY_ALL, &complaints, settings);
    check_sound(&piece, &complaints, settings);
    struct span word;
    while (lexer_word(&words, &word)) {
        if (!apply_is_setting(word)) {
            complaint_found(&complaints, &piece, word, 0, "setting=value");
        }
    }
    return complaints.count == 0;
}
