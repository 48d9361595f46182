/*
 * What a service's calls come to, in half seconds and in all.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include "demo.h"

#define COLUMNS_A_SECOND 2
#define COLUMN_MS        (1000 / COLUMNS_A_SECOND)
#define COLUMNS          128

struct column {
    unsigned sent;        /* calls that began then and were not refused */
    unsigned count[HOWS]; /* calls that ended so then */
    unsigned waited;      /* ms: median of the callers who came then, by now */
};

/* What was up to `ms`; how many columns. What ends after the script stands in its last column. */
unsigned measure(const struct service *service, unsigned ms, struct column *columns);

struct sum {
    unsigned sent, count[HOWS];
    long longest, all; /* ms that callers waited */
};
struct sum measure_sum(const struct service *service);

/* ms after the provider went bad: the first refusal of ten calls of which nine were refused. -1: never. */
long measure_isolated(const struct service *service);
/* ms after the provider recovered: the first of ten calls that were all answered. -1: never. */
long measure_recovered(const struct service *service);

#endif
