/*
 * When a provider asks to be called again, out of the headers of an answer: Retry-After, retry-after-ms, and the reset
 * times of rate limits in the forms that OpenAI (durations: 6m0s), Anthropic (RFC 3339 times), the drafts of RateLimit-Reset
 * (seconds) and everybody else (seconds, or a unix time) give them.
 *
 * One reader for HTTP/1, HTTP/2 and libcurl: tell it the headers of a 429 or 503, in any order, then ask. The explicit ones
 * come first. Of reset times the earliest counts, and only those of limits that are said to be exhausted where any is: which
 * limit a call ran into is a guess, "reset" often means full again and not usable again, and a guess that is too early costs
 * one more refusal while one that is too late costs everything in between. A header that comes twice, is malformed, or means
 * more than a month from now is not believed.
 *
 * A struct retry is a plain value; zeroed, nothing was told. Pure and async-signal-safe.
 */
#ifndef PROTOCOL_RETRY_H
#define PROTOCOL_RETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RETRY_LIMITS 8 /* rate limits that have a reset time of their own */
#define RETRY_TIMES  (3 + RETRY_LIMITS)

struct retry {
    uint32_t seen, twice; /* fields, a bit each */
    uint16_t believed;    /* times that were understood */
    uint16_t absolute;    /* those that are since 1970, and not from now */
    uint16_t exhausted;   /* limits that are said to have nothing left */
    uint64_t ms[RETRY_TIMES];
};

/* Nothing was told yet: the times need not be cleared. */
static inline void retry_begin(struct retry *retry)
{
    retry->seen = retry->twice = 0;
    retry->believed = retry->absolute = retry->exhausted = 0;
}

/* May an answer with this status ask to be left alone? Of others, no header need be told. */
static inline bool retry_status(unsigned status)
{
    return status == 429 || status == 503;
}

/* Which of the fields is this, by its name in any case; 0: none. */
unsigned retry_field(const char *name, size_t length);
/* The names of the fields, in lower case, from 1 on; NULL: there are no more. */
const char *retry_field_name(unsigned field);
/* A field's value, blanks around it or not. */
void retry_take(struct retry *retry, unsigned field, const char *value, size_t length);

/* Retry-After from whoever has read it already, in seconds. */
void retry_take_seconds(struct retry *retry, uint64_t seconds);

/* Families of headers, a bit each. */
enum retry_by {
    RETRY_BY_RETRY_AFTER = 1, /* Retry-After, retry-after-ms */
    RETRY_BY_X_RATELIMIT = 2, /* x-ratelimit-reset and those of requests and tokens */
    RETRY_BY_RATELIMIT = 4,   /* ratelimit-reset */
    RETRY_BY_ANTHROPIC = 8,   /* anthropic-ratelimit-requests-reset and the like */
    RETRY_BY_ALL = 15
};

/*
 * How long to stay away, ns (a day at most), by headers of these families alone; 0: it did not say, or the time has passed.
 * now_ms: wall clock, ms since 1970.
 */
uint64_t retry_after(const struct retry *retry, unsigned families, int64_t now_ms);

#endif
