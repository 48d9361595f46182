#include "measure.h"

#include <stdlib.h>
#include <string.h>

#define RUN   10 /* calls that settle whether a service is isolated, or back */
#define CROWD 64 /* callers of one column, at the most */

static int compare(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

static unsigned median(unsigned *values, unsigned count)
{
    qsort(values, count, sizeof *values, compare);
    return count ? values[count / 2] : 0;
}

static bool over(const struct call *call)
{
    return call->how >= ANSWERED;
}

static bool sent(const struct call *call)
{
    return call->how != WAITING && call->how != REFUSED;
}

unsigned measure(const struct service *service, unsigned ms, struct column *columns)
{
    unsigned last = act_begin(act_count) / COLUMN_MS - 1, crowd = 0, waits[CROWD];
    memset(columns, 0, COLUMNS * sizeof *columns);
    for (unsigned i = 0; i < service->calls; i++) {
        const struct call *call = &service->call[i];
        unsigned came = call->came / COLUMN_MS, began = call->began / COLUMN_MS, ended = call->ended / COLUMN_MS;
        columns[began < last ? began : last].sent += sent(call);
        columns[ended < last ? ended : last].count[call->how] += over(call);
        waits[crowd++] = (over(call) ? call->ended : ms) - call->came;
        bool next_elsewhere = i + 1 == service->calls || service->call[i + 1].came / COLUMN_MS != came;
        if (next_elsewhere || crowd == CROWD) {
            columns[came < last ? came : last].waited = median(waits, crowd);
            crowd = 0;
        }
    }
    return (ms + COLUMN_MS - 1) / COLUMN_MS;
}

struct sum measure_sum(const struct service *service)
{
    struct sum sum = {0};
    for (unsigned i = 0; i < service->calls; i++) {
        const struct call *call = &service->call[i];
        sum.sent += sent(call);
        if (over(call)) {
            long waited = (long)(call->ended - call->came);
            sum.count[call->how]++;
            sum.all += waited;
            sum.longest = waited > sum.longest ? waited : sum.longest;
        }
    }
    return sum;
}

/* When the first call came, from `from` on and before `to`, with which so many of ten fared so; ms after `from`, or -1. */
static long since(const struct service *service, unsigned from, unsigned to, enum how how, unsigned share)
{
    for (unsigned first = 0; first + RUN <= service->calls && service->call[first + RUN - 1].came < to; first++) {
        const struct call *call = &service->call[first];
        unsigned count = 0;
        for (unsigned i = 0; i < RUN; i++) {
            count += call[i].how == how;
        }
        if (call->came >= from && call->how == how && count >= share) {
            return (long)(call->came - from);
        }
    }
    return -1;
}

long measure_isolated(const struct service *service)
{
    return since(service, act_begin(1), act_begin(act_count - 1), REFUSED, RUN - 1);
}

long measure_recovered(const struct service *service)
{
    return since(service, act_begin(act_count - 1), act_begin(act_count), ANSWERED, RUN);
}
