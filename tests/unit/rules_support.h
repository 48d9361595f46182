/*
 * For tests of the rules: parses texts into static memory, keeps what was complained of, matches by words.
 */
#ifndef UNIT_RULES_SUPPORT_H
#define UNIT_RULES_SUPPORT_H

#include "rules/rules.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <string.h>

#define COMPLAINTS_MAX 16

/* What was complained of, as "source rule:column text". */
static struct {
    unsigned count;
    char text[COMPLAINTS_MAX][512];
} complaints;

static inline void note_complaint(void *context, const struct rules_error *error)
{
    (void)context;
    if (complaints.count < COMPLAINTS_MAX) {
        snprintf(complaints.text[complaints.count], sizeof complaints.text[0], "%s %u:%u %s", error->source,
                 error->rule, error->column, error->text);
    }
    complaints.count++;
}

static inline struct rules *parse_text(const struct rules_text *text)
{
    static char memory[RULES_MEMORY] __attribute__((aligned(16)));
    complaints.count = 0;
    struct rules *rules = rules_parse(text, memory, sizeof memory, note_complaint, NULL);
    ck_assert_ptr_nonnull(rules);
    return rules;
}

/* NULL: the variable is not set. */
static inline struct rules *parse_all(const char *providers, const char *config, const char *defaults)
{
    struct rules_text text = {.providers = providers, .config = config, .defaults = defaults};
    text.providers_length = providers == NULL ? 0 : strlen(providers);
    text.config_length = config == NULL ? 0 : strlen(config);
    text.defaults_length = defaults == NULL ? 0 : strlen(defaults);
    text.config_path = "/etc/rules";
    return parse_text(&text);
}

static inline struct rules *parse(const char *providers)
{
    return parse_all(providers, NULL, NULL);
}

/* The same, and nothing may be complained of. */
static inline struct rules *parse_clean(const char *providers)
{
    struct rules *rules = parse(providers);
    ck_assert_msg(complaints.count == 0, "'%s': %s", providers, complaints.text[0]);
    return rules;
}

static inline struct rules_match match_host(const struct rules *rules, const char *host, uint16_t port)
{
    struct rules_target target = {.host = host, .port = port};
    struct rules_match match;
    (void)rules_match(rules, &target, &match);
    return match;
}

/* An address in figures, IPv4 or IPv6, as 16 bytes. */
struct address {
    uint8_t bytes[16];
};
static inline struct address address_of(const char *figures)
{
    struct address address = {{0}};
    if (strchr(figures, ':') != NULL) {
        ck_assert_int_eq(inet_pton(AF_INET6, figures, address.bytes), 1);
    } else {
        address.bytes[10] = address.bytes[11] = 0xff;
        ck_assert_int_eq(inet_pton(AF_INET, figures, address.bytes + 12), 1);
    }
    return address;
}

static inline struct rules_match match_address(const struct rules *rules, const char *host, const char *figures,
                                               uint16_t port)
{
    struct address address = address_of(figures);
    struct rules_target target = {.host = host, .address = address.bytes, .port = port};
    struct rules_match match;
    (void)rules_match(rules, &target, &match);
    return match;
}

/* The settings of the first rule. */
static inline const struct rules_settings *first_settings(const struct rules *rules)
{
    static struct rules_match match;
    match = match_host(rules, "h", 443);
    ck_assert_int_eq(match.rule, 0);
    return match.settings;
}

#endif
