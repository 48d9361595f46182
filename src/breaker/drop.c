#include "breaker/drop.h"
#include "breaker/policy.h"

uint32_t drop_of(double p)
{
    if (!(p > 0)) {
        return 0;
    }
    uint32_t drop = p < 1 ? (uint32_t)(p * DROP_ALL + 0.5) : DROP_MOST;
    return (uint32_t)most(1, least(drop, DROP_MOST));
}

uint64_t drop_renew(const struct turn *turn)
{
    bool pressed;
    double p = turn->policy->throttle(turn, &pressed);
    uint64_t word = bits_put(turn->generation, DROP_TAG_SHIFT, DROP_TAG_BITS) |
                    bits_put(pressed, DROP_PRESSED_SHIFT, 1) | bits_put(drop_of(p), DROP_RATIO_SHIFT, DROP_RATIO_BITS) |
                    bits_put(turn->now_ms, 0, DROP_TIME_BITS);
    word_store(&turn->words->drop, word);
    return word;
}
