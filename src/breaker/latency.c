#include "breaker/latency.h"

#define NS_PER_US  UINT64_C(1000)
#define SLOW_LEAST (20 * NS_PER_MS)

/* ---- what is usual: microseconds and their complement, so that random bits are not taken for something learnt ---- */

static uint64_t usual_us(uint64_t word)
{
    uint32_t us = (uint32_t)word;
    return (uint32_t)(word >> 32) == ~us ? us : 0;
}

static uint64_t usual_word(uint64_t us)
{
    uint32_t kept = (uint32_t)least(us, UINT32_MAX);
    return kept != 0 ? (uint64_t)~kept << 32 | kept : 0;
}

uint64_t latency_usual(const struct prebreak_breaker *words)
{
    return usual_us(word_load(&words->usual)) * NS_PER_US;
}

void latency_forget(struct prebreak_breaker *words)
{
    word_store(&words->period, 0);
    word_store(&words->usual, 0);
}

/* ---- buckets: half octaves of a millisecond ------------------------------------------------------------------------ */

#define COUNTS  5 /* in a word */
#define BUCKETS (PREBREAK_RECENT * COUNTS)

/* Where a bucket begins, microseconds; bucket 0 takes in all that is below a millisecond. */
static uint64_t bucket_begin(unsigned bucket)
{
    unsigned halves = bucket - 1;
    return bucket == 0 ? 0 : (halves % 2 == 0 ? UINT64_C(1000) : UINT64_C(1414)) << halves / 2;
}

static unsigned bucket_of(uint64_t ns)
{
    unsigned bucket = 0;
    while (bucket < BUCKETS - 1 && ns / NS_PER_US >= bucket_begin(bucket + 1)) {
        bucket++;
    }
    return bucket;
}

/*
 * ---- the counts of a period: a word holds the period's number 14 | five counts of 10 ------------------------------
 *
 * A word with another number is empty. One of exactly 2^14 periods ago is taken for this period's: the few counts of a
 * bucket that was met so seldom move no median.
 */

#define COUNT_BITS   10
#define NUMBER_BITS  14
#define NUMBER_SHIFT (COUNTS * COUNT_BITS)

_Static_assert(NUMBER_BITS + NUMBER_SHIFT == 64, "a word");

static uint64_t counts_of(const struct prebreak_breaker *words, unsigned index, uint64_t number)
{
    uint64_t word = word_load(&words->recent[index]);
    return word >> NUMBER_SHIFT == number ? word : number << NUMBER_SHIFT;
}

static uint64_t count_in(const struct prebreak_breaker *words, unsigned bucket, uint64_t number)
{
    return bits_get(counts_of(words, bucket / COUNTS, number), bucket % COUNTS * COUNT_BITS, COUNT_BITS);
}

/* False: the bucket is full. A word that is of the next period already is not emptied again. */
static bool count(struct prebreak_breaker *words, unsigned bucket, uint64_t number)
{
    prebreak_word *word = &words->recent[bucket / COUNTS];
    unsigned shift = bucket % COUNTS * COUNT_BITS;
    uint64_t found = word_load(word);
    uint64_t value;
    do {
        if (found >> NUMBER_SHIFT == ((number + 1) & bits_mask(NUMBER_BITS))) {
            return true;
        }
        value = found >> NUMBER_SHIFT == number ? found : number << NUMBER_SHIFT;
        if (bits_get(value, shift, COUNT_BITS) == bits_mask(COUNT_BITS)) {
            return false;
        }
        value += UINT64_C(1) << shift;
    } while (!word_swap(word, &found, value));
    return true;
}

/*
 * The error of a median of twenty, for times that spread as those of providers do (lognormal, deviation 0.6), is one
 * sixth: no more than half a bucket, which is all that the counts can tell.
 */
#define ENOUGH 20

/* The median, microseconds, as if a bucket's answers were spread evenly; 0: there are not enough. */
static uint64_t median_us(const struct prebreak_breaker *words, uint64_t number)
{
    uint64_t counted[BUCKETS];
    uint64_t total = 0;
    for (unsigned i = 0; i < BUCKETS; i++) {
        counted[i] = count_in(words, i, number);
        total += counted[i];
    }
    if (total < ENOUGH) {
        return 0;
    }
    uint64_t below = 0;
    unsigned i = 0;
    while ((below + counted[i]) * 2 < total) {
        below += counted[i++];
    }
    uint64_t width = bucket_begin(i + 1) - bucket_begin(i);
    return bucket_begin(i) + width * (total - 2 * below) / (2 * counted[i]);
}

/*
 * ---- periods: number 14 | full 1 | begun 49 (ms) --------------------------------------------------------------------
 *
 * Once a bucket is full a period counts no more, lest the others catch up with it: a thousand answers say it all.
 */

#define FULL_SHIFT     49
#define FULL           (UINT64_C(1) << FULL_SHIFT)
#define PERIOD_SHIFT   50
#define BEGUN_AHEAD_MS MS_PER_S /* begun further ahead of now than this is garbage */
#define PATIENCE       10       /* windows that a period may take to see enough */
#define FORGET         64       /* windows after which nothing is usual any more */
#define RISE           16       /* in a window, what is usual rises by at most the 16th part of itself */

static uint64_t period_number(uint64_t period)
{
    return period >> PERIOD_SHIFT;
}

static uint64_t period_begun(uint64_t period)
{
    return bits_get(period, 0, FULL_SHIFT);
}

/* So doubling takes eleven windows, and ten times as much is usual after 38. */
static uint64_t risen(uint64_t us, uint64_t windows)
{
    for (uint64_t i = 0; i < windows; i++) {
        us += us / RISE + 1;
    }
    return us;
}

/* What is usual after a period of so many windows with this median (0: none). */
static uint64_t usual_after(uint64_t before_us, uint64_t windows, uint64_t median)
{
    if (before_us == 0 || windows >= FORGET) {
        return median;
    }
    uint64_t most_us = risen(before_us, windows);
    return median != 0 ? least(median, most_us) : most_us;
}

/* The period that now lies in: whoever ends the one before has learnt from it. */
static uint64_t period_now(struct prebreak_breaker *words, uint64_t window, uint64_t now)
{
    uint64_t now_ms = now / NS_PER_MS;
    uint64_t found = word_load(&words->period);
    uint64_t begun = period_begun(found);
    bool garbage = begun > now_ms + BEGUN_AHEAD_MS;
    uint64_t windows = garbage ? FORGET : begun > now_ms ? 0 : (now_ms - begun) * NS_PER_MS / window;
    if (windows == 0) {
        return found;
    }
    uint64_t median = median_us(words, period_number(found));
    if (median == 0 && windows < PATIENCE) {
        return found;
    }
    uint64_t before = word_load(&words->usual);
    uint64_t next = bits_put(period_number(found) + 1, PERIOD_SHIFT, NUMBER_BITS) | bits_put(now_ms, 0, FULL_SHIFT);
    if (!word_swap(&words->period, &found, next)) {
        return found;
    }
    word_store(&words->usual, usual_word(usual_after(usual_us(before), windows, median)));
    return next;
}

bool latency_slow(struct prebreak_breaker *words, uint64_t window, uint64_t now, uint64_t latency, uint32_t times)
{
    uint64_t period = period_now(words, window, now);
    uint64_t usual = latency_usual(words);
    if ((period & FULL) == 0 && !count(words, bucket_of(latency), period_number(period))) {
        (void)word_swap(&words->period, &period, period | FULL);
    }
    return usual != 0 && latency > most(SLOW_LEAST, usual * times / 1000);
}
