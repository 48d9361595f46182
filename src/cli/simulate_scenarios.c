/*
 * What can go wrong: one row a scenario. Unless a row says otherwise callers are independent, one call in a hundred fails
 * in good times, an answer takes 150 ms give or take 100, and a client waits for at most 10 s.
 */
#include "cli/simulate.h"

#include <string.h>

/* ---- parts of rows ---------------------------------------------------------------------------------------------- */

#define NAMED(runs_, name_, about_)      .name = (name_), .about = (about_), .runs = (runs_)
#define TAKES(kind_, a_, b_, c_)         .time = {.kind = (kind_), .a = (a_), .b = (b_), .least = (c_)}
#define USUAL                            TAKES(SIM_LOGNORMAL, .150, .100, .020), .quick = 0.3, .errors = 0.01, .timeout = 10
#define AT_ONCE                          TAKES(SIM_UNIFORM, .001, .001, 0), .quick = 1, .errors = 0.01, .timeout = 10
#define CAPACITY(kind_, limit_, status_) .capacity = (kind_), .limit = (limit_), .per_second = 100, .status = (status_)

/* Seconds of good times first. A fixed window of 10 s, as gobreaker has it, is then 0.7 s old when the trouble comes: early,
 * which flatters it; late it leaks some 3 000 calls. */
#define BEFORE 60.7

/* Before, trouble and after: seconds of each, and what the trouble is. */
#define STAGES(rate_, before_, trouble_, after_, ...)                                                                  \
    .stage = {{.seconds = (before_), .rate = (rate_)},                                                                 \
              {.seconds = (trouble_), .rate = (rate_), __VA_ARGS__},                                                   \
              {.seconds = (after_), .rate = (rate_)}}
#define SHARE(share_) .fault = SIM_FAILING, .share = (share_)
#define FAILING       SHARE(1)
#define REFUSING      .fault = SIM_REFUSING, .share = 1
#define HANGING       .fault = SIM_HANGING, .share = 1

/* 0.9 of a capacity of 100 a second, five times of it, 0.9 again. */
#define OVERLOAD .stage = {{.seconds = BEFORE, .rate = 90}, {.seconds = 60, .rate = 500}, {.seconds = 60, .rate = 90}}

#define TELLS_OUTAGE   (SIM_BIT(SIM_LEAKED) | SIM_BIT(SIM_ISOLATED) | SIM_BIT(SIM_BACK))
#define TELLS_SHARE    (SIM_BIT(SIM_REFUSED_SHARE))
#define TELLS_SPIKE    (SIM_BIT(SIM_REFUSED_SHARE) | SIM_BIT(SIM_BACK))
#define TELLS_OVERLOAD (SIM_BIT(SIM_GOODPUT) | SIM_BIT(SIM_SENT_PER_CAPACITY) | SIM_BIT(SIM_BACK))
#define TELLS_RESTART  (SIM_BIT(SIM_REFUSED))
#define TELLS_POOL     (SIM_BIT(SIM_STUCK) | SIM_BIT(SIM_LEAKED) | SIM_BIT(SIM_BACK))
#define TELLS_FLAPPING SIM_BIT(SIM_SERVED)
#define TELLS_CRON     (SIM_BIT(SIM_LEAKED) | SIM_BIT(SIM_REFUSED_AFTER))

/* ---- the table -------------------------------------------------------------------------------------------------- */

/* clang-format off */
const struct sim_scenario sim_scenarios[] = {
    {NAMED(7, "outage-20s", "500 calls/s, answers in 1 ms: 503 for 20 s"),
     AT_ONCE, STAGES(500, BEFORE, 20, 60, FAILING), .measures = TELLS_OUTAGE},
    {NAMED(7, "outage-120s", "500 calls/s, answers in 1 ms: 503 for 120 s"),
     AT_ONCE, STAGES(500, BEFORE, 120, 60, FAILING), .measures = TELLS_OUTAGE},
    {NAMED(7, "outage-refused", "500 calls/s: calls in flight reset, then connects refused for 20 s"),
     USUAL, STAGES(500, BEFORE, 20, 60, REFUSING, .resets = true), .measures = TELLS_OUTAGE},
    {NAMED(15, "outage-503", "500 calls/s: 503 after about 50 ms for 20 s"),
     USUAL, STAGES(500, BEFORE, 20, 60, FAILING), .measures = TELLS_OUTAGE},

    {NAMED(1, "spike-20", "500 calls/s: 20 % of them fail for 10 s"),
     USUAL, STAGES(500, BEFORE, 10, 60, SHARE(.2)), .measures = TELLS_SPIKE},
    {NAMED(3, "spike-60", "500 calls/s: 60 % of them fail for 10 s"),
     USUAL, STAGES(500, BEFORE, 10, 60, SHARE(.6)), .measures = TELLS_SPIKE},
    {NAMED(3, "spike-100", "500 calls/s: all of them fail for 10 s"),
     USUAL, STAGES(500, BEFORE, 10, 60, SHARE(1)), .measures = TELLS_SPIKE},

    {NAMED(3, "partial-20", "500 calls/s: 20 % of them fail for 120 s"),
     USUAL, STAGES(500, BEFORE, 120, 0, SHARE(.2)), .measures = TELLS_SHARE},
    {NAMED(3, "partial-30", "500 calls/s: 30 % of them fail for 120 s"),
     USUAL, STAGES(500, BEFORE, 120, 0, SHARE(.3)), .measures = TELLS_SHARE},
    {NAMED(7, "partial-40", "500 calls/s: 40 % of them fail for 120 s"),
     USUAL, STAGES(500, BEFORE, 120, 0, SHARE(.4)), .measures = TELLS_SHARE},

    {NAMED(3, "overload-bucket", "500 calls/s on 100/s from a token bucket; the others get 503"),
     USUAL, CAPACITY(SIM_BUCKET, 100, 503), OVERLOAD, .measures = TELLS_OVERLOAD},
    {NAMED(3, "overload-429", "500 calls/s on 100/s from a token bucket; the others get 429"),
     USUAL, CAPACITY(SIM_BUCKET, 100, 429), OVERLOAD, .measures = TELLS_OVERLOAD},
    {NAMED(3, "overload-concurrency", "500 calls/s on 15 at once, about 100/s; the others get 503"),
     USUAL, CAPACITY(SIM_CONCURRENCY, 15, 503), OVERLOAD, .measures = TELLS_OVERLOAD},
    {NAMED(3, "overload-quota", "500 calls/s on 100 in each whole second; the others get 429"),
     USUAL, CAPACITY(SIM_QUOTA, 100, 429), OVERLOAD, .measures = TELLS_OVERLOAD},

    {NAMED(5, "restart", "500 calls/s: every call in flight is reset, once"),
     USUAL, STAGES(500, BEFORE, 1, 59, .resets = true), .measures = TELLS_RESTART},

    {NAMED(15, "slow-traffic-0.2", "a call in 5 s: connects refused for 120 s"),
     USUAL, STAGES(.2, 300, 120, 300, REFUSING), .measures = TELLS_OUTAGE},
    {NAMED(15, "slow-traffic-1", "a call a second: connects refused for 120 s"),
     USUAL, STAGES(1, BEFORE, 120, 120, REFUSING), .measures = TELLS_OUTAGE},
    {NAMED(15, "slow-traffic-5", "5 calls/s: connects refused for 120 s"),
     USUAL, STAGES(5, BEFORE, 120, 60, REFUSING), .measures = TELLS_OUTAGE},

    {NAMED(5, "pool-hang", "60 workers, at most 1000 calls/s: no answer for 180 s, their time-out is 10 s"),
     USUAL, .load = SIM_POOL, .workers = 60, STAGES(1000, BEFORE, 180, 120, HANGING), .measures = TELLS_POOL},

    {NAMED(5, "flapping", "500 calls/s: connects refused for 5 s, then well for 5 s, for 120 s"),
     USUAL, STAGES(500, BEFORE, 120, 0, REFUSING, .period = 10, .down = 5), .measures = TELLS_FLAPPING},

    {NAMED(3, "healthy-slow", "500 calls/s from a cold start: answers after 20 s, 5 % quick errors"),
     TAKES(SIM_UNIFORM, 20, 20, 0), .quick = .045 / 20, .errors = .05, STAGES(500, 0, 120, 0),
     .measures = TELLS_SHARE},
    {NAMED(1, "slow-hang", "20 calls/s for an hour, answers after 60 to 120 s: longer than hang=30s"),
     TAKES(SIM_UNIFORM, 60, 120, 0), STAGES(20, 0, 3600, 0), .measures = TELLS_SHARE},

    {NAMED(3, "cron", "200 calls at once each minute: connects refused for 10 minutes"),
     USUAL, .load = SIM_BURST, STAGES(200, 300, 600, 300, REFUSING), .measures = TELLS_CRON},
};
/* clang-format on */

const size_t sim_scenario_count = sizeof sim_scenarios / sizeof *sim_scenarios;

bool sim_scenario_is(const struct sim_scenario *scenario, const char *name)
{
    size_t length = strlen(name);
    return length > 0 && strncmp(scenario->name, name, length) == 0 &&
           (scenario->name[length] == '\0' || scenario->name[length] == '-');
}
