/*
 * How parsed rules lie in memory: the header, the rules, all patterns in the order in which they are tried, the text of
 * the rules. Offsets from the header, no pointers. Private to src/rules.
 */
#ifndef RULES_LAYOUT_H
#define RULES_LAYOUT_H

#include "rules/rules.h"

struct rules {
    uint32_t size; /* bytes, all of it */
    uint32_t count, patterns;
    uint32_t first_pattern; /* offset; the rules stand right behind this header */
    bool restrained, unix_paths, addresses;
    uint8_t spare[5];
};

enum rule_kind {
    RULE_NAMED,
    RULE_NEVER,   /* `-` */
    RULE_NAMELESS /* `*` */
};

struct rule {
    struct rules_settings settings;
    uint32_t number;            /* of the rule or of the line, as in struct rules_error */
    uint32_t text, text_length; /* as written, each word ending in NUL; offset from the header */
    uint8_t source;             /* enum rules_source */
    uint8_t kind;               /* enum rule_kind */
    char name[RULES_NAME];
};

enum pattern_kind {
    PATTERN_ANY,     /* * */
    PATTERN_HOST,    /* the whole name */
    PATTERN_SUFFIX,  /* *.suffix: `text` is the suffix with its dot */
    PATTERN_ADDRESS, /* an address, or as many leading bits of it */
    PATTERN_UNIX     /* unix:/path: `text` is the path */
};

struct pattern {
    uint8_t kind;        /* enum pattern_kind */
    uint8_t bits;        /* of an address, 0..128 */
    uint16_t port;       /* 0: any */
    uint16_t rule;       /* index */
    uint16_t length;     /* of text */
    uint32_t text;       /* offset from the header: lower case, no port */
    uint32_t written;    /* offset from the header: as written, NUL-terminated */
    uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d */
};

static inline const struct rule *rules_rule(const struct rules *rules, uint32_t index)
{
    return (const struct rule *)(const void *)((const char *)rules + sizeof *rules) + index;
}

static inline const struct pattern *rules_patterns(const struct rules *rules)
{
    return (const struct pattern *)(const void *)((const char *)rules + rules->first_pattern);
}

static inline const char *rules_string(const struct rules *rules, uint32_t offset)
{
    return (const char *)rules + offset;
}

_Static_assert(sizeof(struct rules) % 8 == 0, "the rules behind the header are aligned");
_Static_assert(sizeof(struct rules) + RULES_MAX * sizeof(struct rule) + RULES_PATTERNS_MAX * sizeof(struct pattern) +
                       2 * (RULES_TEXT_MAX + RULES_MAX) <=
                   RULES_MEMORY,
               "rules of any acceptable size fit");
_Static_assert(RULES_MAX <= UINT16_MAX, "a pattern can name its rule");

#endif
