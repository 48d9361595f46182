/*
 * A provider's breaker: may a call go out, and what is learnt from how it ended.
 *
 * Around one of five policies (sre.c, aegis.c, gozero.c, gobreaker.c, consecutive.c; the rolling window they count in is
 * window.c) stand the things that all of them share: calls in flight (inflight.h), overdue calls, holds, pauses, observe
 * mode, the share that is enforced, totals and phases. Everything here is pure: no clock, no randomness, no system call,
 * no allocation, no lock. The clock, the draw and who calls come in as arguments; the words may lie in shared memory, are
 * changed only by atomic operations on single words, and may hold anything at all when they are first seen.
 *
 * All functions are async-signal-safe and may be called by any number of threads and processes at once on the same words.
 */
#ifndef BREAKER_BREAKER_H
#define BREAKER_BREAKER_H

#include <prebreak/region.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One breaker: where its words and its settings are. A view; owns nothing. */
struct breaker {
    struct prebreak_breaker *words;
    const struct prebreak_settings *settings; /* the caller's own, checked ones: never read from an unchecked region */
    prebreak_word *inflight;                  /* PREBREAK_INFLIGHT words shared by all slots, or NULL: none are kept */
    uint32_t slot;                            /* this breaker's number in those words */
};

/* Who calls, and when: all that is impure. */
struct breaker_caller {
    uint64_t now;    /* CLOCK_MONOTONIC, ns; may be as coarse as 4 ms */
    uint32_t draw;   /* uniform over 32 bits, fresh for each call of a function here */
    uint32_t shard;  /* any number that tends to differ between threads */
    uint32_t pid;    /* in its own pid namespace */
    uint32_t pid_ns; /* hash of the pid namespace; 8 bits are used */
};

/* What stands above the policy's decision. */
struct breaker_order {
    enum prebreak_phase hold; /* PREBREAK_HELD_OPEN, PREBREAK_HELD_CLOSED, or PREBREAK_CLOSED for none */
    bool observe;             /* decide and count, refuse nothing */
    uint32_t enforce;         /* of the refusals, this share of 65535 is really refused (65535: all) */
};

/* What an admitted call carries until its end. The caller's memory; fields are the breaker's own but for these notes. */
struct breaker_call {
    uint64_t admitted;   /* ns */
    uint64_t word;       /* its in-flight word as last written; 0 none */
    uint32_t place;      /* of that word */
    uint32_t generation; /* it was admitted under */
    uint32_t streak;     /* number of the streak running then; 0 none */
    bool probe;          /* a call out of turn */
    bool would_refuse;   /* out against the policy's will: observe mode, or beyond the enforced share */
    bool held;           /* of those, refused by a hold or a pause and not by the policy */
    bool stream;         /* an event stream */
    bool overdue;        /* counted as failed while it hung, or had stalled */
};

/* How a call ended. */
struct breaker_end {
    enum prebreak_outcome outcome;
    enum prebreak_kind kind; /* of a failure */
    bool soft;               /* a 429: evidence that the provider is alive and busy */
    bool answered;           /* an answer came from the provider (ok, or failed with a status) */
    bool slow;               /* ok, but later than its rule's `slow`: counted as such too */
    uint64_t retry_at;       /* ns, 0 none: the provider asked to be left alone until then */
    enum {
        BREAKER_RETRY_IGNORE,
        BREAKER_RETRY_AUTO, /* pause only when nothing gets through any more */
        BREAKER_RETRY_OBEY
    } retry;
};

enum breaker_reason {
    BREAKER_REASON_NONE,
    BREAKER_REASON_STREAK, /* failures in a row */
    BREAKER_REASON_RATIO,  /* the counts of the window */
    BREAKER_REASON_PROBE,  /* a probe's result */
    BREAKER_REASON_SCORE,  /* enough successes while open */
    BREAKER_REASON_FORGET, /* the last two seconds were good */
    BREAKER_REASON_TIME,   /* a wait, a ramp or a pause ran out */
    BREAKER_REASON_RETRY_AFTER,
    BREAKER_REASON_HOLD,
    BREAKER_REASON_RELEASE,
    BREAKER_REASON_OPERATOR, /* reset by hand */
    BREAKER_REASON_REPAIR,   /* words that made no sense */
    BREAKER_REASONS
};

/* A change of phase that this caller won, to be told as an event; from == to: there is nothing to tell. */
struct breaker_change {
    enum prebreak_phase from, to;
    enum breaker_reason reason;
    uint32_t ok, failed, refused; /* the window's counts that caused it */
    uint32_t drop;                /* of 65535 */
};

/*
 * May a call go out? True: it may, *call is filled and must come back to breaker_end() exactly once (unless its process
 * dies). False: it is refused and counted; *call is not to be used.
 */
bool breaker_admit(const struct breaker *b, const struct breaker_caller *who, const struct breaker_order *order,
                   struct breaker_call *call, struct breaker_change *change);

/* A byte of the call moved in either direction: refreshes its in-flight word, at most once a second. */
void breaker_heard(const struct breaker *b, const struct breaker_caller *who, struct breaker_call *call);

/*
 * Its answer has begun and is an event stream: from now on only breaker_heard() of an event is a sign of life, and `stall`
 * and not `hang` the silence that is too long.
 */
void breaker_stream(const struct breaker *b, const struct breaker_caller *who, struct breaker_call *call);

/* The call is over. Later calls with the same *call do nothing. */
void breaker_finish(const struct breaker *b, const struct breaker_caller *who, struct breaker_call *call,
                    const struct breaker_end *end, struct breaker_change *change);

/* The first answer byte of a call came `latency` ns after its request: counted in the histogram. */
void breaker_first_byte(const struct breaker *b, uint64_t latency);

/* That histogram: answers since the slot was claimed, by the time to their first byte. */
struct breaker_first_bytes {
    uint64_t count[PREBREAK_HISTOGRAM]; /* within 2^i ms and not within the one before; the last: later than all */
    uint64_t sum;                       /* of all those times, microseconds */
    uint64_t usual;                     /* ns, as breaker_slow() has learnt it; 0 not known */
    uint64_t slow;                      /* calls that ended ok and slow */
};
void breaker_first_bytes(const struct breaker *b, struct breaker_first_bytes *first_bytes);

/*
 * The first byte of a good answer took `latency` ns: was that beyond `times` thousandths of what is usual for this key?
 * Learns from it: what is usual is the median of the key's last `window` with enough such answers, but rises only slowly
 * (latency.h). False while nothing is usual yet.
 */
bool breaker_slow(const struct breaker *b, uint64_t now, uint64_t latency, uint32_t times);

/*
 * A call of this breaker was found overdue, last heard of at `heard` (ns), and its in-flight word was cleared by this
 * caller's CAS: it counts as failed, kind hang, or stream if it is an event stream.
 */
void breaker_overdue(const struct breaker *b, const struct breaker_caller *who, uint64_t heard, bool stream,
                     struct breaker_change *change);

/* A call of this breaker was lost with its process: counts as neutral. */
void breaker_lost(const struct breaker *b, const struct breaker_caller *who);

/*
 * The silence after which a call is overdue: as configured, or as learnt; ns, 0 off or no answer has ever come. And that
 * after which an event stream has stalled; ns, 0 off.
 */
uint64_t breaker_hang(const struct breaker *b);
uint64_t breaker_stall(const struct breaker *b);

/*
 * An operator's reset: a new generation, closed, without a ramp; ends a pause, sets hang back, forgets what is usual.
 * Totals stay.
 */
void breaker_reset(const struct breaker *b, const struct breaker_caller *who, struct breaker_change *change);

/* What a breaker looks like at a moment. Changes nothing. */
struct breaker_view {
    enum prebreak_phase phase;
    uint32_t generation;
    uint64_t since;               /* ns, of this generation or pause */
    double drop;                  /* 0..1 */
    uint64_t ok, failed, refused; /* in the window */
    uint64_t outcome[PREBREAK_OUTCOMES];
    uint64_t total_refused, would_refuse, would_refuse_ok, would_refuse_failed;
    uint64_t failures[PREBREAK_KINDS];
    uint64_t inflight;
    uint64_t transitions, pauses;
    uint64_t retry_in; /* ns until the next call may pass; 0 now or unknown */
    uint64_t hang;     /* as breaker_hang() */
};
void breaker_view(const struct breaker *b, uint64_t now, enum prebreak_phase hold, struct breaker_view *view);

/* How often each change of phase was told, [from][to]. */
void breaker_transitions(const struct breaker *b, uint64_t transitions[PREBREAK_PHASES][PREBREAK_PHASES]);

/* Limits of settings: rules complain beyond them. Durations that may be off may be 0. */
#define BREAKER_TIME_MIN  UINT64_C(1000000)        /* ns, of any duration */
#define BREAKER_TIME_MAX  UINT64_C(86400000000000) /* ns: a day */
#define BREAKER_SLICE_MIN UINT64_C(1000000)        /* ns, of window/buckets */
#define BREAKER_SHARE_MIN 0.001                    /* of success and ratio; at most 1 */
#define BREAKER_K_MAX     1000.0                   /* of k >= min_k >= 1 */
#define BREAKER_MIN_MAX   1000000                  /* of min and protection */
#define BREAKER_TRIP_MAX  800                      /* of trip; 0 is off for sre and consecutive */
#define BREAKER_RESET_MAX 1000                     /* of reset (0 is off) and half_open (at least 1) */

/*
 * Are these settings within their limits, so that no arithmetic on them can overflow or divide by zero? For settings that
 * come out of a region. Rules check theirs as they parse.
 */
bool breaker_settings_sound(const struct prebreak_settings *settings);

/* The defaults of a policy. */
void breaker_settings_default(enum prebreak_policy policy, struct prebreak_settings *settings);

/* Names as they stand in rules, JSON and events; NULL out of range. */
const char *breaker_policy_name(enum prebreak_policy policy);
const char *breaker_phase_name(enum prebreak_phase phase);
const char *breaker_kind_name(enum prebreak_kind kind);
const char *breaker_reason_name(enum breaker_reason reason);

#endif
