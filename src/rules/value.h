/*
 * Values as they stand in rules: numbers, durations, status lists. Each parser takes the whole text given or nothing:
 * false means not understood (or out of 64 bits), the result is untouched then. Pure.
 */
#ifndef RULES_VALUE_H
#define RULES_VALUE_H

#include "rules/rules.h"
#include "rules/text.h"

/* A piece of somebody's text; not NUL-terminated. */
struct span {
    const char *at;
    size_t length;
};

bool span_is(struct span span, const char *word);
struct span span_from(struct span span, size_t start); /* the rest */

bool value_count(struct span span, uint64_t *count);
/* 0.6 .6 12.5, in 1e-9. */
bool value_decimal(struct span span, uint64_t *billionths);
/* The same, or with a % behind it, which divides by 100. */
bool value_ratio(struct span span, uint64_t *billionths);
/* 250ms 10s 1.5s 5m 1h, us and ns too; 0 needs no unit. */
bool value_duration(struct span span, uint64_t *ns);
/*
 * 5xx,429,!501: what stands behind `!` is out wherever it stands; exclusions alone are taken from what *set holds;
 * `none` is the empty set.
 */
bool value_statuses(struct span span, struct rules_statuses *set);

void value_print_statuses(struct text *text, const struct rules_statuses *set);

#endif
