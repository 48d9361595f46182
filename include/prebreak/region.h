/*
 * The shared region: what one user's processes know together about their providers.
 *
 * One file of fixed size, mapped by every process and by the prebreak command. Every field that changes after the
 * region was published is one 64-bit word, aligned to 8, changed by a single atomic operation: there is no lock, so no
 * process can die holding one, and 32- and 64-bit processes see the same bytes. Nothing in it is a pointer and no
 * length in it is believed: a reader checks every value before it acts on it.
 *
 * Other programs may map it read-only. They must check magic, version and size first, and must expect any field to
 * change under their eyes.
 *
 * Header and holds stand where they stand, and mean what they mean, in every version: so a library of one version takes
 * the operator's mode and holds over from a region of another.
 */
#ifndef PREBREAK_REGION_H
#define PREBREAK_REGION_H

#include <stdint.h>

#define PREBREAK_REGION_MAGIC   UINT64_C(0x316b616572626570) /* "pebreak1", little-endian */
#define PREBREAK_REGION_VERSION 2

#define PREBREAK_SLOTS          1024  /* breakers */
#define PREBREAK_SLOTS_NAMELESS 768   /* of which hosts named after themselves may take this many */
#define PREBREAK_INFLIGHT       16384 /* calls in flight */
#define PREBREAK_EVENTS         256   /* the last events */
#define PREBREAK_HOLDS          64
#define PREBREAK_PROCESSES      4096
#define PREBREAK_NAME           320 /* bytes of a provider's name with its final NUL: NAME@host:port fits */
#define PREBREAK_COMM           16

/* A word that several processes change: always by one atomic operation. */
typedef uint64_t prebreak_word __attribute__((aligned(8)));
typedef double prebreak_real __attribute__((aligned(8)));

enum prebreak_policy {
    PREBREAK_SRE,
    PREBREAK_AEGIS,
    PREBREAK_GOZERO,
    PREBREAK_GOBREAKER,
    PREBREAK_CONSECUTIVE,
    PREBREAK_POLICIES
};

/* The operator's word (header) knows ENV too: each process as its environment says. */
enum prebreak_mode {
    PREBREAK_MODE_ENV,
    PREBREAK_MODE_ENFORCE,
    PREBREAK_MODE_OBSERVE,
    PREBREAK_MODE_OFF,
    PREBREAK_MODES
};

/* In order of severity, for the worst of several. */
enum prebreak_phase {
    PREBREAK_CLOSED,
    PREBREAK_HELD_CLOSED,
    PREBREAK_THROTTLING,
    PREBREAK_RECOVERING,
    PREBREAK_PAUSED,
    PREBREAK_OPEN,
    PREBREAK_HELD_OPEN,
    PREBREAK_PHASES
};

enum prebreak_outcome { PREBREAK_OK, PREBREAK_FAILED, PREBREAK_NEUTRAL, PREBREAK_OUTCOMES };

/* Why a call failed. */
enum prebreak_kind {
    PREBREAK_KIND_CONNECT,
    PREBREAK_KIND_RESET,
    PREBREAK_KIND_TIMEOUT,
    PREBREAK_KIND_HANG,
    PREBREAK_KIND_SLOW,
    PREBREAK_KIND_TLS,
    PREBREAK_KIND_DNS,
    PREBREAK_KIND_STATUS,
    PREBREAK_KIND_STREAM,
    PREBREAK_KIND_QUOTA,
    PREBREAK_KINDS
};

/*
 * A policy and its parameters: all that a decision depends on. Times in nanoseconds. Which fields a policy reads is in
 * the rules' table of settings; the others hold their defaults. It never changes once it stands in a slot.
 */
struct prebreak_settings {
    uint32_t policy;        /* enum prebreak_policy */
    uint32_t buckets;       /* slices of the window, 1..64 */
    prebreak_word window;   /* ns */
    prebreak_real success;  /* sre, aegis: K = 1/success */
    prebreak_real k, min_k; /* gozero */
    prebreak_real ratio;    /* gobreaker: failures/requests that trips */
    prebreak_real jitter;   /* consecutive: stretch of a wait, 0..1 */
    uint32_t min;           /* calls before anything is decided */
    uint32_t trip;          /* failures in a row; 0: never open */
    uint32_t reset;         /* sre; 0: no forget and no ramp */
    uint32_t protection;    /* gozero */
    uint32_t half_open;     /* gobreaker */
    uint32_t inflight;      /* sre: 1 counts V and U, 0 takes them as 0 */
    uint32_t count_refused; /* aegis: 1 as the kratos client does */
    uint32_t spare;
    prebreak_word probe_min, probe_max; /* sre, ns; both 0: no call out of turn */
    prebreak_word ramp;                 /* sre, ns */
    prebreak_word force_pass;           /* gozero, ns */
    prebreak_word open_min, open_max;   /* gobreaker (equal), consecutive, ns */
    prebreak_word hang;                 /* every policy, ns of silence; 0 off */
    prebreak_word pause_max;            /* every policy, ns */
    prebreak_word stall;                /* every policy, ns of silence of an event stream; 0 off */
};

/* The window: three counts in at most 64 slices; fewer slices leave room for shards by thread. */
#define PREBREAK_WINDOW_WORDS 192
#define PREBREAK_SHARDS       4
#define PREBREAK_BUCKETS      64
#define PREBREAK_HISTOGRAM    20 /* first byte within 1, 2, 4 ... 2^18 ms (at most), and later */

#define PREBREAK_RECENT 8 /* words of counts that the usual time to the first byte is learnt from */

/* Counts since the slot was claimed, one set for each shard of threads, its own cache lines: words that only add. */
struct prebreak_totals {
    prebreak_word outcome[PREBREAK_OUTCOMES]; /* ok failed neutral, would-be refused calls among them */
    prebreak_word refused;
    prebreak_word would_refuse; /* begun; the next two as they ended */
    prebreak_word would_refuse_ok;
    prebreak_word would_refuse_failed;
    prebreak_word failures[PREBREAK_KINDS];
    prebreak_word slow; /* of the ok, those that came later than `slow` and were only told so */
    prebreak_word spare[6];
} __attribute__((aligned(64)));

/*
 * A breaker's words. Only src/breaker/ gives them meaning (its .c files say which bits are what); everybody else asks
 * breaker_view().
 */
struct prebreak_breaker {
    prebreak_word state;       /* generation, open or not, since when */
    prebreak_word drop;        /* cached drop ratio and when it was computed */
    prebreak_word next;        /* next probe, and callers left of a burst; consecutive: end of the wait */
    prebreak_word streak;      /* number, length and beginning of the failures in a row */
    prebreak_word last_ok;     /* the last success, ms */
    prebreak_word newest_ok;   /* t*: the latest admission of a call that succeeded, ms */
    prebreak_word score;       /* of probes while open; consecutive: how often a probe has failed */
    prebreak_word row;         /* successes one after the other while pressed */
    prebreak_word counts;      /* gobreaker, consecutive: the run of successes or failures */
    prebreak_word probes;      /* gobreaker, consecutive: half-open places taken */
    prebreak_word last_pass;   /* gozero, ns */
    prebreak_word hang;        /* learnt, ms and their complement; anything else: as configured */
    prebreak_word pause_until; /* ns; 0: none */
    prebreak_word answered;    /* nonzero once any answer has come */
    prebreak_word phase;       /* the last phase told as an event, its generation and when */
    prebreak_word pauses;
    prebreak_word last_call;     /* when a call was last asked for, ns, to the second: for take-over of idle slots */
    prebreak_word first_byte_us; /* sum of what the histogram counts, microseconds */
    prebreak_word usual;         /* median time to the first byte, learnt, us and their complement; else none */
    prebreak_word period;        /* that is being learnt from: number, full or not, begun when */
    prebreak_word recent[PREBREAK_RECENT]; /* what it has seen: counts by half octaves */
    prebreak_word spare[4];
    prebreak_word transitions[PREBREAK_PHASES][PREBREAK_PHASES]; /* [from][to], phase changes told */
    prebreak_word histogram[PREBREAK_HISTOGRAM];                 /* time to the first answer byte */
    prebreak_word window[PREBREAK_WINDOW_WORDS] __attribute__((aligned(64)));
    struct prebreak_totals totals[PREBREAK_SHARDS];
} __attribute__((aligned(64)));

/*
 * A slot belongs to the provider whose identity stands at its number in the region's table of identities, claimed there
 * by CAS. Name and settings are written after that, the same bytes by every writer; until `ready` says the same as the
 * identity the slot is not to be read.
 */
struct prebreak_slot {
    prebreak_word ready;        /* the identity, once name and settings are whole */
    prebreak_word flags;        /* PREBREAK_SLOT_* */
    prebreak_word refused_told; /* CLOCK_MONOTONIC ns: when a refusal was last kept as an event */
    prebreak_word quota_told;   /* the same: when a spent quota was last told as one */
    prebreak_word spare[4];
    char name[PREBREAK_NAME];
    struct prebreak_settings settings;
    struct prebreak_breaker breaker;
} __attribute__((aligned(64)));

#define PREBREAK_SLOT_NAMELESS UINT64_C(1) /* a host named after itself: may be taken over when idle */

/* An event: whole if its sequence word is even and the check fits the rest. */
struct prebreak_event {
    prebreak_word sequence; /* twice its number, written last; odd while it is being written; 0 never used */
    prebreak_word
        check;          /* hash of the sequence and of all that follows: two writers a whole ring apart may meet here */
    prebreak_word time; /* CLOCK_REALTIME, ns */
    prebreak_word what; /* from low to high a byte each: what (src/state/event.h), from, to, reason, policy, mode */
    prebreak_word drop; /* 1/65535 */
    prebreak_word ok, failed, refused;
    prebreak_word pid;
    prebreak_word spare;
    char comm[PREBREAK_COMM];
    char name[PREBREAK_NAME];
    char text[104]; /* for events that say more than numbers: NUL-terminated, never from the wire */
};

struct prebreak_hold {
    prebreak_word state; /* 0 free, else hash of the name with PREBREAK_HOLD_* in its low bits */
    prebreak_word until; /* CLOCK_MONOTONIC ns; 0: until released */
    char name[PREBREAK_NAME];
};

#define PREBREAK_HOLD_OPEN   UINT64_C(1)
#define PREBREAK_HOLD_CLOSED UINT64_C(2)
#define PREBREAK_HOLD_BUSY   UINT64_C(3) /* being written, or left so by a process that died: no hold */

struct prebreak_process {
    prebreak_word pid; /* pid in the low half, hash of the pid namespace in the high half; 0 free */
    prebreak_word
        since; /* when it enrolled, CLOCK_BOOTTIME ns: a process of this pid that started later is another one */
};

struct prebreak_header {
    prebreak_word magic;
    prebreak_word version;
    prebreak_word size; /* of the whole region, bytes */
    prebreak_word slots;
    prebreak_word boot;       /* hash of the boot id */
    prebreak_word time_ns;    /* inode of the time namespace */
    prebreak_word seed;       /* of the identities */
    prebreak_word created;    /* CLOCK_REALTIME, ns */
    prebreak_word mode;       /* enum prebreak_mode: the operator's */
    prebreak_word retired;    /* nonzero: another file has taken this one's place, map that */
    prebreak_word holds;      /* bit i: hold i may be set; 0 means that none needs looking for */
    prebreak_word last_look;  /* at overdue calls, ns, low bit: the one before only noted */
    prebreak_word next_event; /* number of the last event, from 1 */
    prebreak_word table_full; /* calls passed because no slot was left */
    prebreak_word nameless;   /* slots taken by hosts named after themselves */
    prebreak_word log_told;   /* CLOCK_MONOTONIC ns: when it was last kept as an event that a log cannot be written */
    prebreak_word spare[16];
};

struct prebreak_region {
    struct prebreak_header header;
    struct prebreak_hold hold[PREBREAK_HOLDS];
    struct prebreak_process process[PREBREAK_PROCESSES];
    struct prebreak_event event[PREBREAK_EVENTS];
    prebreak_word inflight[PREBREAK_INFLIGHT]; /* pid 22 bits, slot 10, namespace 8, stream 1, time 23; 0 free */
    prebreak_word identity[PREBREAK_SLOTS];    /* of the slots: hash of seed, name and settings; 0 free */
    struct prebreak_slot slot[PREBREAK_SLOTS];
};

_Static_assert(sizeof(struct prebreak_settings) % 8 == 0, "settings are whole words");
_Static_assert(PREBREAK_HOLDS == 64, "one bit each in a word");
_Static_assert(sizeof(struct prebreak_event) % 8 == 0, "an event is whole words");
_Static_assert(sizeof(struct prebreak_slot) % 64 == 0, "a slot is whole cache lines");
_Static_assert(sizeof(struct prebreak_region) <= 4u << 20, "the region stays within 4 MiB");

#endif
