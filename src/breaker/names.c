#include "breaker/breaker.h"

static const char *const policy_names[PREBREAK_POLICIES] = {
    [PREBREAK_SRE] = "sre",
    [PREBREAK_AEGIS] = "aegis",
    [PREBREAK_GOZERO] = "gozero",
    [PREBREAK_GOBREAKER] = "gobreaker",
    [PREBREAK_CONSECUTIVE] = "consecutive",
};

static const char *const phase_names[PREBREAK_PHASES] = {
    [PREBREAK_CLOSED] = "closed",         [PREBREAK_HELD_CLOSED] = "held-closed", [PREBREAK_THROTTLING] = "throttling",
    [PREBREAK_RECOVERING] = "recovering", [PREBREAK_PAUSED] = "paused",           [PREBREAK_OPEN] = "open",
    [PREBREAK_HELD_OPEN] = "held-open",
};

static const char *const kind_names[PREBREAK_KINDS] = {
    [PREBREAK_KIND_CONNECT] = "connect", [PREBREAK_KIND_RESET] = "reset",   [PREBREAK_KIND_TIMEOUT] = "timeout",
    [PREBREAK_KIND_HANG] = "hang",       [PREBREAK_KIND_SLOW] = "slow",     [PREBREAK_KIND_TLS] = "tls",
    [PREBREAK_KIND_DNS] = "dns",         [PREBREAK_KIND_STATUS] = "status", [PREBREAK_KIND_STREAM] = "stream",
    [PREBREAK_KIND_QUOTA] = "quota",
};

static const char *const reason_names[BREAKER_REASONS] = {
    [BREAKER_REASON_NONE] = "none",         [BREAKER_REASON_STREAK] = "streak",
    [BREAKER_REASON_RATIO] = "ratio",       [BREAKER_REASON_PROBE] = "probe",
    [BREAKER_REASON_SCORE] = "score",       [BREAKER_REASON_FORGET] = "forget",
    [BREAKER_REASON_TIME] = "time",         [BREAKER_REASON_RETRY_AFTER] = "retry-after",
    [BREAKER_REASON_HOLD] = "hold",         [BREAKER_REASON_RELEASE] = "release",
    [BREAKER_REASON_OPERATOR] = "operator", [BREAKER_REASON_REPAIR] = "repair",
};

static const char *name_at(const char *const *names, unsigned count, unsigned index)
{
    return index < count ? names[index] : NULL;
}

const char *breaker_policy_name(enum prebreak_policy policy)
{
    return name_at(policy_names, PREBREAK_POLICIES, policy);
}

const char *breaker_phase_name(enum prebreak_phase phase)
{
    return name_at(phase_names, PREBREAK_PHASES, phase);
}

const char *breaker_kind_name(enum prebreak_kind kind)
{
    return name_at(kind_names, PREBREAK_KINDS, kind);
}

const char *breaker_reason_name(enum breaker_reason reason)
{
    return name_at(reason_names, BREAKER_REASONS, reason);
}
