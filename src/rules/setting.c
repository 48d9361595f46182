#include "rules/setting.h"
#include "rules/api.h"

#include "breaker/breaker.h"
#include <errno.h>
#include <string.h>

/* ---- the table ------------------------------------------------------------------------------------------------- */

#define ALL         ((1u << PREBREAK_POLICIES) - 1)
#define SRE         (1u << PREBREAK_SRE)
#define AEGIS       (1u << PREBREAK_AEGIS)
#define GOZERO      (1u << PREBREAK_GOZERO)
#define GOBREAKER   (1u << PREBREAK_GOBREAKER)
#define CONSECUTIVE (1u << PREBREAK_CONSECUTIVE)
#define FIELD(field)                                                                                                   \
    .offset = offsetof(struct rules_settings, field), .size = sizeof(((struct rules_settings *)0)->field)
#define SECOND(field) .second = offsetof(struct rules_settings, field)
#define LIMITS(a, b)  .least = (a), .most = (b)
#define TIMES         LIMITS(BREAKER_TIME_MIN, BREAKER_TIME_MAX)
#define FACTORS       LIMITS(ONE, (uint64_t)(BREAKER_K_MAX * 1e9))
#define SHARES        LIMITS((uint64_t)(BREAKER_SHARE_MIN * 1e9), ONE)

#define ONE       UINT64_C(1000000000) /* of a ratio, in 1e-9 */
#define SECOND_NS UINT64_C(1000000000)

static const struct setting_word switch_words[] = {{"on", 1}, {"off", 0}, {NULL, 0}};
static const struct setting_word scope_words[] = {{"provider", 0}, {"host", 1}, {NULL, 0}};
static const struct setting_word words_429[] = {{"auto", RULES_429_AUTO},
                                                {"pause", RULES_429_PAUSE},
                                                {"fail", RULES_429_FAIL},
                                                {"neutral", RULES_429_NEUTRAL},
                                                {NULL, 0}};
static const struct setting_word slow_words[] = {
    {"auto", RULES_SLOW_AUTO}, {"on", RULES_SLOW_ON}, {"off", RULES_SLOW_OFF}, {NULL, 0}};
static const struct setting_word pause_words[] = {{"retry-after", RULES_PAUSE_RETRY_AFTER},
                                                  {"x-ratelimit", RULES_PAUSE_X_RATELIMIT},
                                                  {"ratelimit", RULES_PAUSE_RATELIMIT},
                                                  {"anthropic-ratelimit", RULES_PAUSE_ANTHROPIC},
                                                  {NULL, 0}};
static const struct setting_word errno_words[] = {{"ECONNREFUSED", ECONNREFUSED}, {"ETIMEDOUT", ETIMEDOUT},
                                                  {"EHOSTUNREACH", EHOSTUNREACH}, {"ENETUNREACH", ENETUNREACH},
                                                  {"ECONNRESET", ECONNRESET},     {NULL, 0}};

const struct setting setting_table[] = {
    {"policy", ALL, SETTING_POLICY, FIELD(breaker.policy), .what = "Which algorithm decides."},
    {"api", ALL, SETTING_WORD, FIELD(api), .words = api_words,
     .what = "Whose answers these are: settings that fit them, below all that is said here."},
    {"scope", ALL, SETTING_WORD, FIELD(per_host), .words = scope_words,
     .what = "One breaker for the rule, or one for each host under it."},
    {"enforce", ALL, SETTING_SHARE, FIELD(enforce), LIMITS(0, ONE),
     .what = "The share of the refusals that are really refused; the rest go out and are counted."},
    {"hang", ALL, SETTING_DURATION, FIELD(breaker.hang), .off = true, TIMES,
     .what = "Silence after which a call counts as failed."},
    {"slow", ALL, SETTING_SLOW, FIELD(slow), SECOND(slow_times), .off = true, TIMES,
     .what = "Time to the first answer byte beyond which a good answer is slow; 5x: five times the usual one."},
    {"slow_enforce", ALL, SETTING_WORD, FIELD(slow_enforce), .words = slow_words,
     .what = "Whether what is slow counts as failed or is only told; auto: beyond a time, not beyond a multiple."},
    {"stall", ALL, SETTING_DURATION, FIELD(breaker.stall), .off = true, TIMES,
     .what = "Silence within an event stream after which it counts as failed."},
    {"fail", ALL, SETTING_STATUSES, FIELD(fail), .what = "HTTP statuses that count as failed."},
    {"neutral", ALL, SETTING_STATUSES, FIELD(neutral), .what = "HTTP statuses that say nothing about the provider."},
    {"429", ALL, SETTING_WORD, FIELD(status_429), .words = words_429,
     .what = "What a 429 with a time to come back means: a pause when nothing else passes, always, never, or nothing."},
    {"pause_by", ALL, SETTING_SET, FIELD(pause_by), .words = pause_words,
     .what = "The headers by which a provider may ask for a pause."},
    {"pause_max", ALL, SETTING_DURATION, FIELD(breaker.pause_max), .off = true, TIMES,
     .what = "The longest pause that a provider may ask for."},
    {"errno", ALL, SETTING_WORD, FIELD(refuse_errno), .words = errno_words, .what = "How a refused connect fails."},
    {"success", SRE | AEGIS, SETTING_RATIO, FIELD(breaker.success), SHARES,
     .what = "The share of calls that must succeed for none to be refused."},
    {"window", SRE | AEGIS | GOZERO | GOBREAKER, SETTING_DURATION, FIELD(breaker.window), TIMES,
     .what = "How far back calls count."},
    {"buckets", SRE | AEGIS | GOZERO, SETTING_COUNT, FIELD(breaker.buckets), LIMITS(1, PREBREAK_BUCKETS),
     .what = "Slices of the window."},
    {"min", SRE | AEGIS | GOBREAKER, SETTING_COUNT, FIELD(breaker.min), LIMITS(0, BREAKER_MIN_MAX),
     .what = "Calls in the window before anything is refused."},
    {"trip", SRE | CONSECUTIVE, SETTING_COUNT, FIELD(breaker.trip), LIMITS(0, BREAKER_TRIP_MAX),
     .what = "Failures in a row that open; 0 for never."},
    {"reset", SRE, SETTING_COUNT, FIELD(breaker.reset), LIMITS(0, BREAKER_RESET_MAX),
     .what = "Successes while open that close; 0 for neither ramp nor forgetting."},
    {"probe", SRE, SETTING_RANGE, FIELD(breaker.probe_min), SECOND(breaker.probe_max), .off = true, TIMES,
     .what = "Time between probes, from the shortest to the longest."},
    {"ramp", SRE, SETTING_DURATION, FIELD(breaker.ramp), .off = true, TIMES,
     .what = "Time over which traffic comes back after closing."},
    {"inflight", SRE, SETTING_WORD, FIELD(breaker.inflight), .words = switch_words,
     .what = "Whether calls still out count in the provider's favour."},
    {"count_refused", AEGIS, SETTING_WORD, FIELD(breaker.count_refused), .words = switch_words,
     .what = "Whether refused calls count as failed, as the kratos client has it."},
    {"k", GOZERO, SETTING_REAL, FIELD(breaker.k), FACTORS, .what = "Calls allowed for each success."},
    {"min_k", GOZERO, SETTING_REAL, FIELD(breaker.min_k), FACTORS,
     .what = "What k falls to while slices fail one after the other."},
    {"protection", GOZERO, SETTING_COUNT, FIELD(breaker.protection), LIMITS(0, BREAKER_MIN_MAX),
     .what = "Calls that are never held against the provider."},
    {"force_pass", GOZERO, SETTING_DURATION, FIELD(breaker.force_pass), TIMES,
     .what = "Time after which one call passes whatever the counts."},
    {"ratio", GOBREAKER, SETTING_RATIO, FIELD(breaker.ratio), SHARES, .what = "The share of failed calls that opens."},
    {"open", GOBREAKER, SETTING_BOTH, FIELD(breaker.open_min), SECOND(breaker.open_max), TIMES,
     .what = "How long it stays open before a probe."},
    {"open", CONSECUTIVE, SETTING_RANGE, FIELD(breaker.open_min), SECOND(breaker.open_max), TIMES,
     .what = "How long it stays open before a probe, from the first time to the longest."},
    {"half_open", GOBREAKER, SETTING_COUNT, FIELD(breaker.half_open), LIMITS(1, BREAKER_RESET_MAX),
     .what = "Probes let out, and successes needed to close."},
    {"jitter", CONSECUTIVE, SETTING_RATIO, FIELD(breaker.jitter), LIMITS(0, ONE),
     .what = "By how much of itself a wait is stretched at random."},
};

const size_t setting_rows = sizeof setting_table / sizeof *setting_table;
_Static_assert(sizeof setting_table / sizeof *setting_table <= 64, "a set of settings is one word");

/* ---- finding --------------------------------------------------------------------------------------------------- */

const struct setting *setting_find(struct span name, enum prebreak_policy policy, bool *read)
{
    const struct setting *found = NULL;
    *read = false;
    for (size_t i = 0; i < setting_rows && !*read; i++) {
        if (span_is(name, setting_table[i].name)) {
            found = &setting_table[i];
            *read = (found->policies >> policy) & 1;
        }
    }
    return found;
}

/* Is one name the other with at most two letters put in, left out, or exchanged? Both short. */
static bool is_near(struct span a, const char *name)
{
    size_t length = strlen(name);
    unsigned char row[24]; /* distances of the first i letters of a to each beginning of the name */
    if (length >= sizeof row || a.length > length + 2 || a.length + 2 < length || length < 4) {
        return false;
    }
    for (size_t j = 0; j <= length; j++) {
        row[j] = (unsigned char)j;
    }
    for (size_t i = 1; i <= a.length; i++) {
        unsigned char diagonal = row[0];
        row[0] = (unsigned char)i;
        for (size_t j = 1; j <= length; j++) {
            unsigned char best = (unsigned char)(diagonal + (a.at[i - 1] != name[j - 1]));
            best = row[j] + 1 < best ? (unsigned char)(row[j] + 1) : best;
            best = row[j - 1] + 1 < best ? (unsigned char)(row[j - 1] + 1) : best;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[length] <= 2;
}

const struct setting *setting_like(struct span name)
{
    for (size_t i = 0; i < setting_rows; i++) {
        if (is_near(name, setting_table[i].name)) {
            return &setting_table[i];
        }
    }
    return NULL;
}

unsigned setting_index(const struct setting *setting)
{
    return (unsigned)(setting - setting_table);
}

bool rules_setting_at(unsigned index, struct rules_setting *setting)
{
    if (index >= setting_rows) {
        return false;
    }
    *setting =
        (struct rules_setting){setting_table[index].name, setting_table[index].what, setting_table[index].policies};
    return true;
}

bool setting_policy(struct span name, enum prebreak_policy *policy)
{
    for (unsigned i = 0; i < PREBREAK_POLICIES; i++) {
        if (span_is(name, breaker_policy_name((enum prebreak_policy)i))) {
            *policy = (enum prebreak_policy)i;
            return true;
        }
    }
    return false;
}

/* ---- defaults -------------------------------------------------------------------------------------------------- */

static void default_statuses(const char *list, struct rules_statuses *set)
{
    (void)value_statuses((struct span){list, strlen(list)}, set);
}

void setting_defaults(enum prebreak_policy policy, struct rules_settings *settings)
{
    memset(settings, 0, sizeof *settings);
    breaker_settings_default(policy, &settings->breaker);
    settings->breaker.policy = policy;
    default_statuses("5xx,408,425,429,!501,!505", &settings->fail);
    default_statuses("409,499", &settings->neutral);
    settings->status_429 = RULES_429_AUTO;
    settings->pause_by = RULES_PAUSE_ALL;
    settings->refuse_errno = ECONNREFUSED;
    settings->enforce = UINT16_MAX;
}

/*
 * Without probes an open breaker would never learn that its provider is back, so it does not open.
 * A status in both lists is what was asked for last, the default or the rule; where both were asked for it is neutral,
 * which restrains more.
 */
void setting_settle(struct rules_settings *settings, uint64_t given)
{
    if (settings->breaker.policy == PREBREAK_SRE && settings->breaker.probe_max == 0) {
        settings->breaker.trip = 0;
    }
    bool ignored;
    const struct setting *fail = setting_find((struct span){"fail", 4}, PREBREAK_SRE, &ignored);
    const struct setting *neutral = setting_find((struct span){"neutral", 7}, PREBREAK_SRE, &ignored);
    bool fail_wins = ((given >> setting_index(fail)) & 1) && !((given >> setting_index(neutral)) & 1);
    for (size_t i = 0; i < sizeof settings->fail.bit / sizeof *settings->fail.bit; i++) {
        if (fail_wins) {
            settings->neutral.bit[i] &= ~settings->fail.bit[i];
        } else {
            settings->fail.bit[i] &= ~settings->neutral.bit[i];
        }
    }
}

bool rules_slow_enforced(const struct rules_settings *settings)
{
    return settings->slow_enforce == RULES_SLOW_ON ||
           (settings->slow_enforce == RULES_SLOW_AUTO && settings->slow_times == 0);
}

/* ---- words for people ------------------------------------------------------------------------------------------ */

static void add_policies(struct text *text, uint32_t policies)
{
    const char *separator = "";
    for (unsigned i = 0; i < PREBREAK_POLICIES; i++) {
        if ((policies >> i) & 1) {
            text_add(text, separator);
            text_add(text, breaker_policy_name((enum prebreak_policy)i));
            separator = ", ";
        }
    }
}

void setting_readers(const struct setting *setting, struct text *text)
{
    uint32_t policies = 0;
    for (size_t i = 0; i < setting_rows; i++) {
        policies |= strcmp(setting_table[i].name, setting->name) == 0 ? setting_table[i].policies : 0;
    }
    add_policies(text, policies);
}

static void add_limits(const struct setting *setting, struct text *text,
                       void (*add)(struct text *text, uint64_t number))
{
    text_add(text, " from ");
    add(text, setting->least);
    text_add(text, " to ");
    add(text, setting->most);
    text_add(text, setting->off ? ", or off" : "");
}

void setting_expected(const struct setting *setting, struct text *text)
{
    const char *separator = setting->kind == SETTING_SET ? "all, none, or some of " : "one of ";
    switch (setting->kind) {
    case SETTING_POLICY:
        text_add(text, separator);
        add_policies(text, ALL);
        return;
    case SETTING_WORD:
    case SETTING_SET:
        for (const struct setting_word *word = setting->words; word->name != NULL; word++) {
            text_add(text, separator);
            text_add(text, word->name);
            separator = setting->kind == SETTING_SET ? "," : ", ";
        }
        return;
    case SETTING_COUNT:
        text_add(text, "a whole number");
        add_limits(setting, text, text_add_number);
        return;
    case SETTING_REAL:
        text_add(text, "a number");
        add_limits(setting, text, text_add_decimal);
        return;
    case SETTING_RATIO:
    case SETTING_SHARE:
        text_add(text, "a ratio (0.6 or 60%)");
        add_limits(setting, text, text_add_decimal);
        return;
    case SETTING_DURATION:
    case SETTING_BOTH:
        text_add(text, "a duration (250ms, 10s, 5m)");
        add_limits(setting, text, text_add_duration);
        return;
    case SETTING_RANGE:
        text_add(text, "a range (1s..5s)");
        add_limits(setting, text, text_add_duration);
        return;
    case SETTING_SLOW:
        text_add(text, "a duration (250ms, 10s, 5m)");
        add_limits(setting, text, text_add_duration);
        text_add(text, ", or 2x to 100x what is usual");
        return;
    case SETTING_STATUSES:
        text_add(text, "statuses (5xx,429,!501) or none");
        return;
    }
}
