#include "protocol/retry.h"

#include "protocol/date.h"

#include <string.h>

#define SECOND_MS  1000
#define DAY_MS     (UINT64_C(86400) * SECOND_MS)
#define BELIEVE_MS (31 * DAY_MS) /* nobody's limit is counted over more than a month */
#define VALUE      48            /* bytes; no value that means something is longer */

/* ---- the fields --------------------------------------------------------------------------------------------------- */

enum { AFTER_MS, AFTER, DATE, LIMITS }; /* the times that are no limit's, and where those begin */
enum { RETRY_AFTER_FIELD = 2 };         /* its place among them */
enum form { FORM_MS, FORM_AFTER, FORM_DATE, FORM_RESET, FORM_RFC3339, FORM_REMAINING };

static const struct field {
    const char *name;
    uint8_t form;
    uint8_t time; /* whose time it is, or whose remainder */
} fields[] = {
    {"", 0, 0},
    {"retry-after-ms", FORM_MS, AFTER_MS},                    /* OpenAI, Azure */
    [RETRY_AFTER_FIELD] = {"retry-after", FORM_AFTER, AFTER}, /* RFC 9110 section 10.2.3 */
    {"date", FORM_DATE, DATE},                                /* the provider's own clock */
    /* what nearly everybody calls it: seconds (Cloudflare, IETF drafts before 2), or a unix time (GitHub; in
       milliseconds: OpenRouter) */
    {"x-ratelimit-reset", FORM_RESET, LIMITS},
    {"x-ratelimit-remaining", FORM_REMAINING, LIMITS},
    /* OpenAI and those that speak its language: durations; Azure: seconds */
    {"x-ratelimit-reset-requests", FORM_RESET, LIMITS + 1},
    {"x-ratelimit-remaining-requests", FORM_REMAINING, LIMITS + 1},
    {"x-ratelimit-reset-tokens", FORM_RESET, LIMITS + 2},
    {"x-ratelimit-remaining-tokens", FORM_REMAINING, LIMITS + 2},
    /* draft-ietf-httpapi-ratelimit-headers up to 7: seconds; GitLab: a unix time */
    {"ratelimit-reset", FORM_RESET, LIMITS + 3},
    {"ratelimit-remaining", FORM_REMAINING, LIMITS + 3},
    /* Anthropic */
    {"anthropic-ratelimit-requests-reset", FORM_RFC3339, LIMITS + 4},
    {"anthropic-ratelimit-requests-remaining", FORM_REMAINING, LIMITS + 4},
    {"anthropic-ratelimit-tokens-reset", FORM_RFC3339, LIMITS + 5},
    {"anthropic-ratelimit-tokens-remaining", FORM_REMAINING, LIMITS + 5},
    {"anthropic-ratelimit-input-tokens-reset", FORM_RFC3339, LIMITS + 6},
    {"anthropic-ratelimit-input-tokens-remaining", FORM_REMAINING, LIMITS + 6},
    {"anthropic-ratelimit-output-tokens-reset", FORM_RFC3339, LIMITS + 7},
    {"anthropic-ratelimit-output-tokens-remaining", FORM_REMAINING, LIMITS + 7},
};

#define FIELDS (sizeof fields / sizeof fields[0])

_Static_assert(FIELDS <= 32, "a bit each");
_Static_assert(LIMITS + RETRY_LIMITS == RETRY_TIMES && RETRY_TIMES <= 16, "a time each, and a bit");

static char fold(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter | 0x20) : letter;
}

static bool is_name(const char *known, const char *name, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (known[i] == '\0' || fold(name[i]) != known[i]) {
            return false;
        }
    }
    return known[length] == '\0';
}

unsigned retry_field(const char *name, size_t length)
{
    for (unsigned i = 1; length > 0 && i < FIELDS; i++) {
        if (is_name(fields[i].name, name, length)) {
            return i;
        }
    }
    return 0;
}

const char *retry_field_name(unsigned field)
{
    return field > 0 && field < FIELDS ? fields[field].name : NULL;
}

/* ---- values ------------------------------------------------------------------------------------------------------- */

struct value {
    const char *at, *end;
};

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

struct number {
    uint64_t whole;
    uint32_t millionths; /* rounded up: 1000000 at most */
};

#define NUMBER_MOST UINT64_C(1000000000000000)

/* "1", "0.5". False: none, or an absurd one. */
static bool take_number(struct value *value, struct number *number)
{
    uint32_t unit = 100000;

    *number = (struct number){0, 0};
    if (value->at == value->end || !is_digit(*value->at)) {
        return false;
    }
    for (; value->at < value->end && is_digit(*value->at); value->at++) {
        number->whole = number->whole * 10 + (uint64_t)(*value->at - '0');
        if (number->whole > NUMBER_MOST) {
            return false;
        }
    }
    if (value->at == value->end || *value->at != '.') {
        return true;
    }
    bool more = false;

    for (value->at++; value->at < value->end && is_digit(*value->at); value->at++, unit /= 10) {
        number->millionths += (uint32_t)(*value->at - '0') * unit;
        more = more || (unit == 0 && *value->at != '0');
    }
    number->millionths += more ? 1 : 0;
    return true;
}

/* In ms, rounded up; `unit`: ms that one is. False: too many. */
static bool in_ms(const struct number *number, uint32_t unit, uint64_t *ms)
{
    uint64_t part = ((uint64_t)number->millionths * unit + 999999) / 1000000;

    return !__builtin_mul_overflow(number->whole, unit, ms) && !__builtin_add_overflow(*ms, part, ms);
}

/* A number and nothing else. */
static bool take_all(struct value value, uint32_t unit, uint64_t *ms)
{
    struct number number;

    return take_number(&value, &number) && value.at == value.end && in_ms(&number, unit, ms);
}

/* The units of Go's durations; longer names before their beginnings. Microseconds have two spellings of mu. */
static const struct unit {
    char name[4];
    uint32_t ms; /* 0: less than one */
} units[] = {{"ms", 1},   {"us", 0},    {"\xc2\xb5s", 0}, {"\xce\xbcs", 0}, {"ns", 0},
             {"s", 1000}, {"m", 60000}, {"h", 3600000},   {"d", 86400000}};

static const struct unit *take_unit(struct value *value)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t length = strlen(units[i].name);

        if ((size_t)(value->end - value->at) >= length && memcmp(value->at, units[i].name, length) == 0) {
            value->at += length;
            return &units[i];
        }
    }
    return NULL;
}

/* "6m0s", "1h2m3.5s", "17ms". */
static bool take_duration(struct value value, uint64_t *ms)
{
    *ms = 0;
    while (value.at < value.end) {
        struct number number;
        const struct unit *unit = take_number(&value, &number) ? take_unit(&value) : NULL;
        uint64_t part = number.whole + number.millionths > 0 ? 1 : 0;

        if (unit == NULL || (unit->ms != 0 && !in_ms(&number, unit->ms, &part)) ||
            __builtin_add_overflow(*ms, part, ms)) {
            return false;
        }
    }
    return true;
}

/* What a bare number means that may be seconds from now, or a unix time in seconds or milliseconds. */
#define UNIX_TIME_MS    UINT64_C(100000000000)    /* seconds in 1973 */
#define UNIX_TIME_MS_MS UINT64_C(100000000000000) /* milliseconds in 1973, taken for seconds */

static bool take_reset(struct value value, uint64_t *ms, bool *absolute)
{
    if (!take_all(value, SECOND_MS, ms)) {
        return take_duration(value, ms);
    }
    *absolute = *ms >= UNIX_TIME_MS;
    if (*ms >= UNIX_TIME_MS_MS) {
        *ms /= SECOND_MS;
    }
    return true;
}

static bool take_date(struct value value, uint64_t *ms)
{
    int64_t seconds;
    bool good = date_http(value.at, (size_t)(value.end - value.at), &seconds);

    *ms = good ? (uint64_t)seconds * SECOND_MS : 0;
    return good;
}

static bool take_rfc3339(struct value value, uint64_t *ms)
{
    int64_t seconds;
    uint32_t more;
    bool good = date_rfc3339(value.at, (size_t)(value.end - value.at), &seconds, &more) && seconds >= 0;

    *ms = good ? (uint64_t)seconds * SECOND_MS + more : 0;
    return good;
}

/* False: not understood. */
static bool take_time(struct value value, enum form form, uint64_t *ms, bool *absolute)
{
    *absolute = form == FORM_DATE || form == FORM_RFC3339;
    switch (form) {
    case FORM_MS:
        return take_all(value, 1, ms);
    case FORM_AFTER:
        *absolute = !take_all(value, SECOND_MS, ms);
        return !*absolute || take_date(value, ms);
    case FORM_DATE:
        return take_date(value, ms);
    case FORM_RFC3339:
        return take_rfc3339(value, ms);
    default:
        return take_reset(value, ms, absolute);
    }
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

void retry_take(struct retry *retry, unsigned field, const char *value, size_t length)
{
    char text[VALUE];

    if (field == 0 || field >= FIELDS) {
        return;
    }
    uint32_t bit = UINT32_C(1) << field;

    retry->twice |= retry->seen & bit;
    retry->seen |= bit;
    for (; length > 0 && is_blank(*value); value++) {
        length--;
    }
    while (length > 0 && is_blank(value[length - 1])) {
        length--;
    }
    if ((retry->twice & bit) != 0 || length == 0 || length > sizeof text) {
        return;
    }
    for (size_t i = 0; i < length; i++) {
        text[i] = fold(value[i]);
    }
    unsigned time = fields[field].time;
    struct value words = {text, text + length};
    uint64_t ms;
    bool absolute;

    if (fields[field].form == FORM_REMAINING) {
        retry->exhausted |= (uint16_t)(take_all(words, 1, &ms) && ms == 0 ? 1u << time : 0);
    } else if (take_time(words, (enum form)fields[field].form, &ms, &absolute)) {
        retry->believed |= (uint16_t)(1u << time);
        retry->absolute |= (uint16_t)(absolute ? 1u << time : 0);
        retry->ms[time] = ms;
    }
}

void retry_take_seconds(struct retry *retry, uint64_t seconds)
{
    retry->seen |= UINT32_C(1) << RETRY_AFTER_FIELD;
    retry->believed |= 1u << AFTER;
    retry->ms[AFTER] = seconds < NUMBER_MOST ? seconds * SECOND_MS : UINT64_MAX;
}

/* ---- the answer --------------------------------------------------------------------------------------------------- */

/* Whose field came once, a bit for each time: its remainder, or the time itself. */
static uint16_t told_once(const struct retry *retry, bool remaining)
{
    uint32_t once = retry->seen & ~retry->twice;
    uint16_t times = 0;

    for (unsigned i = 1; once != 0 && i < FIELDS; i++) {
        if ((once & UINT32_C(1) << i) != 0 && (fields[i].form == FORM_REMAINING) == remaining) {
            times |= (uint16_t)(1u << fields[i].time);
        }
    }
    return times;
}

static bool has(uint16_t times, unsigned time)
{
    return (times & 1u << time) != 0;
}

/* The shortest of these waits, ms; UINT64_MAX: none is to be believed. */
static uint64_t shortest(const struct retry *retry, uint16_t times, uint64_t now)
{
    uint64_t wait = UINT64_MAX;

    for (unsigned time = 0; time < RETRY_TIMES; time++) {
        uint64_t ms = retry->ms[time];

        if (!has(times, time)) {
            continue;
        }
        if (has(retry->absolute, time)) {
            ms = ms > now ? ms - now : 0;
        }
        wait = ms <= BELIEVE_MS && ms < wait ? ms : wait;
    }
    return wait;
}

/* The times that headers of these families tell, a bit each. */
static uint16_t times_of(unsigned families)
{
    static const uint16_t times[] = {
        1u << AFTER_MS | 1u << AFTER,
        1u << LIMITS | 1u << (LIMITS + 1) | 1u << (LIMITS + 2),
        1u << (LIMITS + 3),
        15u << (LIMITS + 4),
    };
    uint16_t all = 1u << DATE;

    for (unsigned i = 0; i < sizeof times / sizeof times[0]; i++) {
        all |= (families & 1u << i) != 0 ? times[i] : 0;
    }
    return all;
}

uint64_t retry_after(const struct retry *retry, unsigned families, int64_t now_ms)
{
    uint16_t times = retry->believed & told_once(retry, false) & times_of(families);
    uint16_t exhausted = retry->exhausted & told_once(retry, true) & times;
    uint16_t limits = times & (uint16_t) ~((1u << LIMITS) - 1);
    uint64_t now = now_ms > 0 ? (uint64_t)now_ms : 0;

    /* A time on a clock, by the later of ours and the provider's own: one may be wrong, or the answer may be old. */
    if (has(times, DATE) && retry->ms[DATE] > now) {
        now = retry->ms[DATE];
    }
    uint64_t wait = shortest(retry, times & 1u << AFTER_MS, now);

    wait = wait != UINT64_MAX ? wait : shortest(retry, times & 1u << AFTER, now);
    wait = wait != UINT64_MAX ? wait : shortest(retry, exhausted != 0 ? exhausted : limits, now);
    if (wait == UINT64_MAX) {
        return 0;
    }
    return (wait < DAY_MS ? wait : DAY_MS) * UINT64_C(1000000);
}
