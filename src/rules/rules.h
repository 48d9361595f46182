/*
 * The rules: which host is which provider, and with which settings. Parsed from PREBREAK_PROVIDERS, PREBREAK_CONFIG and
 * PREBREAK_DEFAULTS into memory of the caller's, matched without allocation. Pure: no file is opened here.
 */
#ifndef RULES_RULES_H
#define RULES_RULES_H

#include <prebreak/region.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RULES_NAME 65           /* of a rule, with NUL */
#define RULES_MEMORY (1u << 20) /* bytes that rules of any acceptable size fit into; most need a few KiB */

enum rules_429 { RULES_429_AUTO, RULES_429_PAUSE, RULES_429_FAIL, RULES_429_NEUTRAL };

/* A set of HTTP statuses 100..599 (above: as 599), one bit each. */
struct rules_statuses {
    uint64_t bit[8];
};

/* All settings of one rule. What a breaker's decision depends on is in `breaker`; the rest is how calls are read. */
struct rules_settings {
    struct prebreak_settings breaker;
    struct rules_statuses fail, neutral;
    enum rules_429 status_429;
    uint64_t slow, stall; /* ns, 0 off */
    int refuse_errno;     /* what a refused connect returns: ECONNREFUSED ... */
    uint32_t enforce;     /* of 65535 */
    bool per_host;        /* scope=host */
};

struct rules; /* opaque; lies in the caller's memory, holds offsets and no pointers into it that move */

/* One complaint: where (source and rule counted from 1, column from 1 in that rule) and what was expected. */
struct rules_error {
    const char *source; /* "PREBREAK_PROVIDERS", "PREBREAK_DEFAULTS", or the path */
    uint32_t rule;      /* number of the rule (PROVIDERS) or of the line (a file) */
    uint32_t column;    /* bytes, from 1 */
    const char *text;   /* the complaint, one line: names what was found and what was expected */
};
typedef void rules_complain(void *context, const struct rules_error *error);

/* What to parse. NULL: not set. Texts need not end in NUL. */
struct rules_text {
    const char *providers, *config, *defaults;
    size_t providers_length, config_length, defaults_length;
    const char *config_path; /* for messages */
};

/*
 * Parses into memory of `size` bytes, aligned to 16. Never fails as a whole: what cannot be understood is complained of
 * and the rest works (see rules_restrained). Without providers and config the one rule is `* *`. NULL: memory too small.
 */
struct rules *rules_parse(const struct rules_text *text, void *memory, size_t size, rules_complain *complain, void *context);

/* Bytes that the parsed rules occupy in their memory. */
size_t rules_size(const struct rules *rules);

/* True if something that restrains us could not be understood (a bad `-` rule): the process must only observe. */
bool rules_restrained(const struct rules *rules);

/* Where a call goes. Addresses are 16 bytes, IPv4 as ::ffff:a.b.c.d. */
struct rules_target {
    const char *host;       /* lower case, no trailing dot, NUL-terminated; NULL: no name is known */
    const uint8_t *address; /* NULL: not known (a name not resolved yet) */
    uint16_t port;          /* host order; 0: not known */
    const char *unix_path;  /* of a unix socket, NULL: it is none */
};

/* What a target belongs to. */
struct rules_match {
    int rule;                              /* index from 0; -1: none matches, do not touch */
    bool never;                            /* the rule's name is `-`: do not touch */
    bool nameless;                         /* the provider is named after the host itself (rule `*`) */
    const char *pattern;                   /* that matched, as written; within rules */
    const struct rules_settings *settings; /* within rules */
    char name[PREBREAK_NAME];              /* of the provider: NAME, NAME@host, host or host:port */
};

/* Which rule, which provider. True if the target belongs to a provider (a rule matches and does not say never). */
bool rules_match(const struct rules *rules, const struct rules_target *target, struct rules_match *match);

/* Does any rule name this unix path? (AF_UNIX is looked at only then.) Does any rule match by address? */
bool rules_has_unix(const struct rules *rules);

uint32_t rules_count(const struct rules *rules);

/* One rule as text, settings that differ from the defaults included: for explain. Returns the length as snprintf does. */
size_t rules_print(const struct rules *rules, int rule, char *buffer, size_t size);
/* The settings of one rule, all that its policy reads, `name=value` separated by spaces. */
size_t rules_print_settings(const struct rules_settings *settings, char *buffer, size_t size);

bool rules_status_in(const struct rules_statuses *set, unsigned status);

/* Folds a name to lower case without trailing dot into buffer; false: too long or not [a-z0-9._-] after folding. */
bool rules_fold_host(const char *host, size_t length, char *buffer, size_t size);

/* Values as they stand in variables and on the command line. False: not understood, *value untouched. */
bool rules_parse_duration(const char *text, size_t length, uint64_t *ns);
bool rules_parse_mode(const char *text, size_t length, enum prebreak_mode *mode); /* enforce observe off */

/* Does one of the globs (separated by spaces, commas or colons) match the program's name? */
bool rules_globs_match(const char *globs, const char *program);
/* Are they well formed (non-empty, no unclosed bracket)? */
bool rules_globs_sound(const char *globs);

#endif
