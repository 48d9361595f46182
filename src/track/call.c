/*
 * See call.h. What a breaker needs to know of the world is put together here: clock, draw, mode, holds; and what it tells
 * goes out as events.
 */
#include "track/call.h"
#include "breaker/inflight.h"
#include "real/real.h"
#include "track/process.h"
#include <errno.h>
#include <string.h>

/* ---- admission --------------------------------------------------------------------------------------------------- */

static bool admit(struct call *call, struct provider *provider, bool refusable)
{
    struct breaker_caller who;
    process_caller(&who);
    const struct state *state = provider->state;
    enum prebreak_mode mode = process_mode(state);
    memset(call, 0, sizeof *call);
    if (mode == PREBREAK_MODE_OFF) {
        return true;
    }
    const struct breaker_order order = {
        .hold = state_held(provider->state, provider->name, who.now),
        .observe = mode != PREBREAK_MODE_ENFORCE || !refusable,
        .enforce = provider->settings.enforce,
    };
    struct breaker_change change = {.from = PREBREAK_CLOSED, .to = PREBREAK_CLOSED};
    bool admitted = breaker_admit(&provider->breaker, &who, &order, &call->ticket, &change);
    if (admitted) {
        call->provider = provider;
        call->forks = process_forks();
    }
    provider_tell(provider, &change);
    if (!admitted) {
        provider_tell_refused(provider);
    }
    return admitted;
}

bool call_admit(struct call *call, struct provider *provider)
{
    return admit(call, provider, true);
}

void call_pass(struct call *call, struct provider *provider)
{
    (void)admit(call, provider, false);
}

/* ---- on its way -------------------------------------------------------------------------------------------------- */

/* Is a call under way that is this process's own? A parent's is forgotten here. */
static bool mine(struct call *call)
{
    if (call->provider != NULL && __builtin_expect(call->forks != process_forks(), 0)) {
        call->provider = NULL;
    }
    return call->provider != NULL;
}

static void heard(struct call *call)
{
    const struct breaker_caller who = {.now = process_now()}; /* all that counts here */
    breaker_heard(&call->provider->breaker, &who, &call->ticket);
}

/* A process may do nothing but read one stream, and nobody else look: what says nothing gives the time to. */
static void look_about(void)
{
    struct breaker_caller who;
    process_caller(&who);
    process_look(&who);
}

void call_heard(struct call *call)
{
    if (!mine(call)) {
        return;
    }
    if (call->event == 0) {
        heard(call);
    } else {
        look_about();
    }
}

void call_stream(struct call *call)
{
    if (mine(call)) {
        const struct breaker_caller who = {.now = process_now()};
        call->event = who.now;
        breaker_stream(&call->provider->breaker, &who, &call->ticket);
    }
}

void call_event(struct call *call)
{
    if (call->event != 0 && mine(call)) {
        call->event = process_now();
        heard(call);
    }
}

bool call_stalled(const struct call *call)
{
    if (call->event == 0 || call->provider == NULL) {
        return false;
    }
    uint64_t stall = breaker_stall(&call->provider->breaker), now = process_now();
    return stall != 0 && now > call->event && now - call->event >= stall;
}

void call_rest(struct call *call)
{
    if (!mine(call) || call->ticket.word == 0) {
        return;
    }
    /* Not there any more: it was counted as overdue, which its end has to find. */
    if (inflight_leave(call->provider->breaker.inflight, call->ticket.place, call->ticket.word)) {
        call->ticket.word = 0;
    }
}

void call_wake(struct call *call)
{
    const struct breaker_call *ticket = &call->ticket;
    if (!mine(call) || ticket->word != 0 || ticket->would_refuse || ticket->overdue ||
        call->provider->breaker.inflight == NULL) {
        return;
    }
    struct breaker_caller who;
    process_caller(&who);
    call->ticket.word =
        inflight_enter(call->provider->breaker.inflight, &who, call->provider->breaker.slot, &call->ticket.place);
}

void call_first_byte(struct call *call, uint64_t latency)
{
    if (mine(call) && call->first_byte == 0) {
        call->first_byte = latency != 0 ? latency : 1;
        breaker_first_byte(&call->provider->breaker, latency);
    }
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

void call_end(struct call *call, const struct breaker_end *end)
{
    if (!mine(call)) {
        return;
    }
    struct provider *provider = call->provider;
    struct breaker_caller who;
    process_caller(&who);
    struct breaker_change change = {.from = PREBREAK_CLOSED, .to = PREBREAK_CLOSED};
    call->provider = NULL;
    call->event = 0;
    breaker_finish(&provider->breaker, &who, &call->ticket, end, &change);
    provider_tell(provider, &change);
    process_look(&who);
}

void call_neutral(struct call *call)
{
    call_end(call, &(struct breaker_end){.outcome = PREBREAK_NEUTRAL});
}

void call_failed(struct call *call, enum prebreak_kind kind)
{
    call_end(call, &(struct breaker_end){.outcome = PREBREAK_FAILED, .kind = kind});
}

/* A good answer may have come too late. Only good ones teach what is usual: an outage's errors are quick. */
static void judge_time(const struct call *call, struct breaker_end *end)
{
    const struct provider *provider = call->provider;
    const struct rules_settings *settings = &provider->settings;
    if (end->outcome != PREBREAK_OK || call->first_byte == 0) {
        return;
    }
    end->slow = settings->slow_times != 0
                    ? breaker_slow(&provider->breaker, process_now(), call->first_byte, settings->slow_times)
                    : settings->slow != 0 && call->first_byte > settings->slow;
    if (end->slow && rules_slow_enforced(settings)) {
        end->outcome = PREBREAK_FAILED;
        end->kind = PREBREAK_KIND_SLOW;
    }
}

void call_ok(struct call *call)
{
    struct breaker_end end = {.outcome = PREBREAK_OK, .answered = true};
    if (mine(call)) {
        judge_time(call, &end);
        call_end(call, &end);
    }
}

/* ---- by HTTP status ---------------------------------------------------------------------------------------------- */

static enum prebreak_kind kind_of_status(unsigned status)
{
    return status == 408 || status == 425 || status == 504 ? PREBREAK_KIND_TIMEOUT : PREBREAK_KIND_STATUS;
}

bool call_status_decides(const struct call *call, unsigned status)
{
    if (call->provider == NULL) {
        return true;
    }
    const struct rules_settings *settings = &call->provider->settings;
    return status == 429 || rules_status_in(&settings->fail, status) || rules_status_in(&settings->neutral, status);
}

/* What a status means apart from 429, and a 503's Retry-After. */
static void judge(const struct rules_settings *settings, unsigned status, struct breaker_end *end)
{
    if (rules_status_in(&settings->neutral, status)) {
        end->outcome = PREBREAK_NEUTRAL;
    } else if (rules_status_in(&settings->fail, status)) {
        end->outcome = PREBREAK_FAILED;
        end->kind = kind_of_status(status);
        end->retry = status == 503 ? BREAKER_RETRY_AUTO : BREAKER_RETRY_IGNORE;
    }
}

/* 429 is the provider's word that it is alive and busy: soft evidence, or a pause. */
static void judge_429(const struct rules_settings *settings, struct breaker_end *end)
{
    judge(settings, 429, end);
    end->soft = true;
    switch (settings->status_429) {
    case RULES_429_NEUTRAL:
        end->outcome = PREBREAK_NEUTRAL;
        break;
    case RULES_429_FAIL:
        break;
    case RULES_429_PAUSE:
        end->retry = BREAKER_RETRY_OBEY;
        break;
    case RULES_429_AUTO:
        end->retry = BREAKER_RETRY_AUTO;
        break;
    }
}

_Static_assert((int)RULES_PAUSE_RETRY_AFTER == (int)RETRY_BY_RETRY_AFTER &&
                   (int)RULES_PAUSE_X_RATELIMIT == (int)RETRY_BY_X_RATELIMIT &&
                   (int)RULES_PAUSE_RATELIMIT == (int)RETRY_BY_RATELIMIT &&
                   (int)RULES_PAUSE_ANTHROPIC == (int)RETRY_BY_ANTHROPIC,
               "what a rule believes is what the reader is asked for");

/* Until when the provider asks to be left alone, ns; 0: it does not. */
static uint64_t retry_at(const struct rules_settings *settings, const struct retry *retry)
{
    struct timespec now;
    if (retry == NULL || retry->seen == 0) {
        return 0;
    }
    real_clock_gettime(CLOCK_REALTIME_COARSE, &now);
    uint64_t wait = retry_after(retry, settings->pause_by, (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    return wait != 0 ? process_now() + wait : 0;
}

/* quota: a failure is the account's, which is out of it. */
static void end_by_status(struct call *call, unsigned status, const struct retry *retry, bool quota)
{
    const struct rules_settings *settings = &call->provider->settings;
    struct breaker_end end = {.outcome = PREBREAK_OK, .answered = true, .retry = BREAKER_RETRY_IGNORE};
    if (status == 429) {
        judge_429(settings, &end);
    } else {
        judge(settings, status, &end);
    }
    judge_time(call, &end);
    if (end.retry != BREAKER_RETRY_IGNORE) {
        end.retry_at = retry_at(settings, retry);
    }
    if (quota && end.outcome == PREBREAK_FAILED) {
        end.kind = PREBREAK_KIND_QUOTA;
    }
    call_end(call, &end);
}

void call_status(struct call *call, unsigned status, const struct retry *retry)
{
    if (mine(call)) {
        end_by_status(call, status, retry, false);
    }
}

void call_quota(struct call *call, unsigned status, const struct retry *retry)
{
    if (mine(call)) {
        provider_tell_quota(call->provider);
        end_by_status(call, status, retry, true);
    }
}

/* ---- by gRPC's status -------------------------------------------------------------------------------------------- */

enum { GRPC_DEADLINE_EXCEEDED = 4, GRPC_RESOURCE_EXHAUSTED = 8, GRPC_INTERNAL = 13, GRPC_UNAVAILABLE, GRPC_DATA_LOSS };

void call_grpc(struct call *call, unsigned grpc_status)
{
    struct breaker_end end = {.outcome = PREBREAK_OK, .answered = true};
    if (!mine(call)) {
        return;
    }
    switch (grpc_status) {
    case GRPC_DEADLINE_EXCEEDED:
        end.outcome = PREBREAK_FAILED;
        end.kind = PREBREAK_KIND_TIMEOUT;
        break;
    case GRPC_RESOURCE_EXHAUSTED:
        end.outcome = call->provider->settings.status_429 == RULES_429_NEUTRAL ? PREBREAK_NEUTRAL : PREBREAK_FAILED;
        end.kind = PREBREAK_KIND_STATUS;
        end.soft = true;
        break;
    case GRPC_INTERNAL:
    case GRPC_UNAVAILABLE:
    case GRPC_DATA_LOSS:
        end.outcome = PREBREAK_FAILED;
        end.kind = PREBREAK_KIND_STATUS;
        break;
    default:
        break;
    }
    judge_time(call, &end);
    call_end(call, &end);
}

/* ---- words for a refusal ----------------------------------------------------------------------------------------- */

struct text {
    char *buffer;
    unsigned long size, at;
};

static void put(struct text *text, const char *words)
{
    while (*words != '\0' && text->at + 1 < text->size) {
        text->buffer[text->at++] = *words++;
    }
}

static void put_number(struct text *text, uint64_t number)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    put(text, digits + at);
}

/* Seconds, rounded up; below one, milliseconds. */
static void put_wait(struct text *text, uint64_t ns)
{
    if (ns < SECOND_NS) {
        put_number(text, (ns + 999999) / 1000000);
        put(text, "ms");
    } else {
        put_number(text, (ns + SECOND_NS - 1) / SECOND_NS);
        put(text, "s");
    }
}

void call_refusal_text(const struct provider *provider, char *buffer, unsigned long size)
{
    if (size == 0) {
        return;
    }
    uint64_t now = process_now();
    struct breaker_view view;
    breaker_view(&provider->breaker, now, state_held(provider->state, provider->name, now), &view);
    struct text text = {buffer, size, 0};
    const char *phase = breaker_phase_name(view.phase);
    put(&text, "prebreak: ");
    put(&text, provider->name);
    put(&text, " is ");
    put(&text, phase != NULL ? phase : "open");
    put(&text, " (drop ");
    put_number(&text, (uint64_t)(view.drop * 100 + 0.5));
    put(&text, "%");
    if (view.retry_in != 0) {
        put(&text, ", retry in ");
        put_wait(&text, view.retry_in);
    }
    put(&text, ")");
    buffer[text.at] = '\0';
}
