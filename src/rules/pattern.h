/*
 * One pattern of a rule, from text: host, *.suffix, *, a port behind any of them, IPv4 and [IPv6] addresses and
 * networks, unix:/path. Pure; private to src/rules.
 */
#ifndef RULES_PATTERN_H
#define RULES_PATTERN_H

#include "rules/layout.h"
#include "rules/value.h"

struct pattern_parsed {
    enum pattern_kind kind;
    uint16_t port;
    uint8_t bits;
    uint8_t address[16];
    struct span text; /* host, suffix with its dot, or path, within what was parsed; not yet folded */
};

/*
 * NULL if it could be understood, else what was expected instead; *at is then how many bytes into the span the trouble
 * begins.
 */
const char *pattern_parse(struct span span, struct pattern_parsed *parsed, size_t *at);

/* An address in figures, IPv6 with or without brackets. */
bool pattern_address(const char *host, size_t length, uint8_t address[16]);

#endif
