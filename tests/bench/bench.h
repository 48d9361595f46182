/*
 * What the benchmarks share: a clock and order statistics. Rounds take turns between what is compared, so that a machine
 * whose speed drifts does not favour one side.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The value below which a share of num/den of them lie.
static inline double bench_rank(double *values, int count, int num, int den)
{
    qsort(values, (size_t)count, sizeof *values, bench_compare);
    return values[count * num / den];
}

static inline double bench_median(double *values, int count)
{
    return bench_rank(values, count, 1, 2);
}

static inline double bench_quartile(double *values, int count)
{
    return bench_rank(values, count, 1, 4);
}

#endif
