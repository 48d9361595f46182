/*
 * `metrics`: what regions say, in Prometheus' text format. Breakers of one name, of one region or of several, are one
 * provider here: their counts are added up, and the worst phase is shown. Used by the command only; may allocate.
 */
#ifndef REPORT_METRICS_H
#define REPORT_METRICS_H

#include "report/snapshot.h"
#include <stdio.h>

/* What has been taken in so far. Zeroed, it is empty; free by metrics_free(). */
struct metrics {
    struct snapshot_provider *provider;
    size_t providers;
    uint64_t processes;
};

/* Takes a snapshot in. False: out of memory, nothing was. */
bool metrics_add(struct metrics *metrics, const struct snapshot *snapshot);

/* Writes everything. Errors in writing stay in the stream. Adds up what has one name: nothing can be taken in after. */
void metrics_print(struct metrics *metrics, FILE *out);

void metrics_free(struct metrics *metrics);

#endif
