/*
 * A policy: what it does at admission and at the end of a call. The breaker around it (breaker.c) does the rest.
 */
#ifndef BREAKER_POLICY_H
#define BREAKER_POLICY_H

#include "breaker/drop.h"
#include "breaker/phase.h"

struct policy {
    /* May a call pass? Sets turn->drop, and *probe when it goes out of turn. */
    bool (*admit)(struct turn *turn, bool *probe);
    /* Ends of calls of this generation; and late successes of any. NULL: nothing to do. */
    void (*ok)(struct turn *turn, const struct breaker_call *call);
    void (*failed)(struct turn *turn, const struct breaker_call *call, const struct breaker_end *end);
    void (*neutral)(struct turn *turn, const struct breaker_call *call);
    /* The share of calls that the window's counts alone condemn, and whether they condemn any (a share that is softened
     * to nothing still does). NULL: not by counts. */
    double (*throttle)(const struct turn *turn, bool *pressed);
    /* The drop ratio as it is, of DROP_ALL. Changes nothing. */
    uint32_t (*drop)(const struct turn *turn);
    /* When a call may next pass at the earliest, ms; 0 unknown or now. */
    uint64_t (*retry_ms)(const struct turn *turn);
    enum breaker_reason opens, closes; /* reasons of a change that nobody told in time */
};

extern const struct policy policy_sre, policy_aegis, policy_gozero, policy_gobreaker, policy_consecutive;

#endif
