#include "rules/layout.h"
#include "rules/pattern.h"
#include "rules/text.h"

#include <arpa/inet.h>
#include <string.h>

/* ---- one pattern ----------------------------------------------------------------------------------------------- */

/* A target, looked at once. */
struct looked {
    const char *host; /* NULL: none */
    size_t length;
    const uint8_t *address; /* NULL: none */
    uint16_t port;
    const char *unix_path; /* NULL: none */
    size_t unix_length;
};

static bool is_v4(const uint8_t *address)
{
    static const uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return memcmp(address, prefix, sizeof prefix) == 0;
}

static bool in_network(const struct pattern *pattern, const uint8_t *address)
{
    unsigned whole = pattern->bits / 8;
    unsigned rest = pattern->bits % 8;
    if (memcmp(pattern->address, address, whole) != 0 ||
        (rest > 0 && ((pattern->address[whole] ^ address[whole]) & (0xff00u >> rest) & 0xff) != 0)) {
        return false;
    }
    return pattern->bits >= 96 || !is_v4(address); /* [::/0] is not all of IPv4 too */
}

static bool matches(const struct rules *rules, const struct pattern *pattern, const struct looked *target)
{
    if (pattern->port != 0 && pattern->port != target->port) {
        return false;
    }
    const char *text = rules_string(rules, pattern->text);
    switch (pattern->kind) {
    case PATTERN_ANY:
        return target->unix_path == NULL;
    case PATTERN_HOST:
        return target->host != NULL && target->length == pattern->length &&
               memcmp(target->host, text, pattern->length) == 0;
    case PATTERN_SUFFIX:
        return target->host != NULL && target->length > pattern->length &&
               memcmp(target->host + target->length - pattern->length, text, pattern->length) == 0;
    case PATTERN_ADDRESS:
        return target->address != NULL && in_network(pattern, target->address);
    case PATTERN_UNIX:
        return target->unix_path != NULL && target->unix_length == pattern->length &&
               memcmp(target->unix_path, text, pattern->length) == 0;
    }
    return false;
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* The host itself, with its port unless that is one of the web's: what a provider is called that has no other name. */
static void add_host_name(struct text *text, const struct looked *target)
{
    char address[INET6_ADDRSTRLEN];
    if (target->unix_path != NULL) {
        text_add(text, "unix:");
        text_add(text, target->unix_path);
        return;
    }
    if (target->host != NULL) {
        text_add_bytes(text, target->host, target->length);
    } else if (target->address == NULL) {
        text_add(text, "unknown");
    } else if (is_v4(target->address)) {
        text_add(text, inet_ntop(AF_INET, target->address + 12, address, sizeof address));
    } else {
        text_add(text, "[");
        text_add(text, inet_ntop(AF_INET6, target->address, address, sizeof address));
        text_add(text, "]");
    }
    if (target->port != 0 && target->port != 80 && target->port != 443) {
        text_add(text, ":");
        text_add_number(text, target->port);
    }
}

static void name_provider(const struct rule *rule, const struct looked *target, struct rules_match *match)
{
    struct text text;
    text_begin(&text, match->name, sizeof match->name);
    match->nameless = rule->kind == RULE_NAMELESS || rule->settings.per_host;
    if (rule->kind != RULE_NAMELESS) {
        text_add(&text, rule->name);
        text_add(&text, rule->settings.per_host ? "@" : "");
    }
    if (match->nameless) {
        add_host_name(&text, target);
    }
    if (text.length >=
        sizeof match->name) { /* a name cut short could be another's: such a host goes by the rule's name */
        text_begin(&text, match->name, sizeof match->name);
        text_add(&text, rule->name);
        match->nameless = false;
    }
}

/* ---- matching -------------------------------------------------------------------------------------------------- */

bool rules_match(const struct rules *rules, const struct rules_target *target, struct rules_match *match)
{
    uint8_t figures[16];
    struct looked looked = {.host = target->host, .address = target->address, .port = target->port};
    looked.length = target->host == NULL ? 0 : strlen(target->host);
    looked.unix_path = target->unix_path;
    looked.unix_length = target->unix_path == NULL ? 0 : strlen(target->unix_path);
    if (target->host != NULL && pattern_address(target->host, looked.length, figures)) {
        looked.host = NULL;
        looked.address = target->address == NULL ? figures : target->address;
    }
    match->rule = -1;
    match->never = match->nameless = match->undecided = false;
    match->pattern = NULL;
    match->settings = NULL;
    match->name[0] = '\0';
    const struct pattern *pattern = rules_patterns(rules);
    for (const struct pattern *end = pattern + rules->patterns; pattern < end; pattern++) {
        if (matches(rules, pattern, &looked)) {
            const struct rule *rule = rules_rule(rules, pattern->rule);
            match->rule = pattern->rule;
            match->never = rule->kind == RULE_NEVER;
            match->pattern = rules_string(rules, pattern->written);
            match->settings = &rule->settings;
            name_provider(rule, &looked, match);
            return !match->never;
        }
        match->undecided = match->undecided ||
                           (pattern->kind == PATTERN_ADDRESS && looked.address == NULL && looked.unix_path == NULL &&
                            (pattern->port == 0 || looked.port == 0 || pattern->port == looked.port));
    }
    return false;
}

/* ---- questions ------------------------------------------------------------------------------------------------- */

size_t rules_size(const struct rules *rules)
{
    return rules->size;
}

bool rules_restrained(const struct rules *rules)
{
    return rules->restrained;
}

bool rules_has_unix(const struct rules *rules)
{
    return rules->unix_paths;
}

bool rules_has_address(const struct rules *rules)
{
    return rules->addresses;
}

uint32_t rules_count(const struct rules *rules)
{
    return rules->count;
}

enum rules_source rules_where(const struct rules *rules, int rule, uint32_t *number)
{
    const struct rule *found = rules_rule(rules, (uint32_t)rule);
    *number = found->number;
    return (enum rules_source)found->source;
}

size_t rules_print(const struct rules *rules, int rule, char *buffer, size_t size)
{
    const struct rule *found = rules_rule(rules, (uint32_t)rule);
    struct text text;
    text_begin(&text, buffer, size);
    for (uint32_t at = 0; at < found->text_length;) {
        const char *word = rules_string(rules, found->text + at);
        text_add(&text, at > 0 ? " " : "");
        text_add(&text, word);
        at += (uint32_t)strlen(word) + 1;
    }
    return text.length;
}
