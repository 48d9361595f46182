/*
 * The table of settings: one row for each, with the policies that read it, the kind of its value, where it is kept and
 * one sentence. Parsing, checking, messages and printing all go by it; the defaults are the breaker's. Pure; private to
 * src/rules.
 */
#ifndef RULES_SETTING_H
#define RULES_SETTING_H

#include "rules/rules.h"
#include "rules/value.h"

enum setting_kind {
    SETTING_POLICY,
    SETTING_WORD, /* one of some words, kept as their value */
    SETTING_COUNT,
    SETTING_REAL,     /* limits in 1e-9 */
    SETTING_RATIO,    /* 0.6 or 60%; limits in 1e-9 */
    SETTING_SHARE,    /* a ratio kept in 1/65535 */
    SETTING_DURATION, /* kept in ns */
    SETTING_BOTH,     /* a duration kept in two fields */
    SETTING_RANGE,    /* 1s..5s, two fields; one duration is both ends */
    SETTING_SET,      /* some of some words, kept as the bits that are their values; all, none */
    SETTING_SLOW,     /* a duration, or 5x, kept in 1/1000 in the second field; the field not in use is 0 */
    SETTING_STATUSES
};

/* Of a multiple, in thousandths. Below two, what is slow could not be told from what varies by itself. */
#define SETTING_TIMES_LEAST 2000
#define SETTING_TIMES_MOST  100000

struct setting_word {
    const char *name;
    unsigned value;
};

struct setting {
    const char *name;
    uint32_t policies; /* that read it */
    enum setting_kind kind;
    bool off;                      /* 0 and `off` too, below the limits */
    uint16_t offset, size, second; /* fields of struct rules_settings */
    uint64_t least, most;
    const struct setting_word *words;
    const char *what;
};

extern const struct setting setting_table[];
extern const size_t setting_rows;

/* A row by name, the one that this policy reads if there are several. *read says whether it does. NULL: no such name.
 */
const struct setting *setting_find(struct span name, enum prebreak_policy policy, bool *read);
/* The setting that a name was probably meant for, NULL: none is near. */
const struct setting *setting_like(struct span name);
/* A number for each row, below 64: for sets of them. */
unsigned setting_index(const struct setting *setting);

/* Takes a value over. False: not understood or out of its limits, *settings is untouched. */
bool setting_set(const struct setting *setting, struct span value, struct rules_settings *settings);
/* A setting's value as text that can be parsed again. */
void setting_print(const struct setting *setting, const struct rules_settings *settings, struct text *text);
/* What a value should have been, and which policies read the setting: for complaints. */
void setting_expected(const struct setting *setting, struct text *text);
void setting_readers(const struct setting *setting, struct text *text);

/* A policy by name. */
bool setting_policy(struct span name, enum prebreak_policy *policy);

/* Everything as it is without any setting. */
void setting_defaults(enum prebreak_policy policy, struct rules_settings *settings);
/* Settles what no single setting can: a status is in one list only. `given` is the set of those that were set. */
void setting_settle(struct rules_settings *settings, uint64_t given);

#endif
