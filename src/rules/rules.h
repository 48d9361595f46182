/*
 * The rules: which host is which provider, and with which settings. Parsed from PREBREAK_PROVIDERS, PREBREAK_CONFIG and
 * PREBREAK_DEFAULTS into memory of the caller's, matched without allocation. Pure: no file is opened here, no clock
 * read, no system call made; every function is async-signal-safe and leaves errno alone. Parsed rules never change, so
 * any number of threads may match against them.
 *
 *   NAME PATTERN... [setting=value...]      separated by `;` or newline; `#` after a blank begins a comment
 *
 * First match wins, so a list of rules cut short anywhere between two rules only touches less. A line of a file counts
 * only with its newline: a half-written last one could touch more than was meant (`*.example.com` cut to `*`,
 * `enforce=10%` to `enforce=1`).
 */
#ifndef RULES_RULES_H
#define RULES_RULES_H

#include <prebreak/region.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RULES_NAME   65         /* of a rule, with NUL */
#define RULES_MEMORY (1u << 20) /* bytes that rules of any acceptable size fit into; most need a few KiB */

/* Limits. What goes beyond them is complained of and left out, with everything that follows. */
#define RULES_MAX          1000         /* rules */
#define RULES_PATTERNS_MAX 5000         /* patterns, of all rules */
#define RULES_TEXT_MAX     (128u << 10) /* bytes of each of PROVIDERS and CONFIG */

enum rules_429 { RULES_429_AUTO, RULES_429_PAUSE, RULES_429_FAIL, RULES_429_NEUTRAL };

/* Does a slow answer count as failed? AUTO: beyond a time it does, beyond a multiple of what is usual it does not. */
enum rules_slow { RULES_SLOW_AUTO, RULES_SLOW_ON, RULES_SLOW_OFF };

/* Presets, by the provider whose answers they fit; their tables are in api.c. */
enum rules_api {
    RULES_API_GENERIC,
    RULES_API_OPENAI,
    RULES_API_ANTHROPIC,
    RULES_API_AZURE_OPENAI,
    RULES_API_GEMINI,
    RULES_API_BEDROCK,
    RULES_APIS
};

/* By which headers a provider may ask for a pause: a bit for each family. */
enum rules_pause_by {
    RULES_PAUSE_RETRY_AFTER = 1, /* Retry-After, retry-after-ms */
    RULES_PAUSE_X_RATELIMIT = 2, /* x-ratelimit-reset, x-ratelimit-reset-requests ... */
    RULES_PAUSE_RATELIMIT = 4,   /* ratelimit-reset */
    RULES_PAUSE_ANTHROPIC = 8,   /* anthropic-ratelimit-requests-reset ... */
    RULES_PAUSE_ALL = 15
};

/* A set of HTTP statuses 100..599 (above: as 599), one bit each. */
struct rules_statuses {
    uint64_t bit[8];
};

/* All settings of one rule. What a breaker's decision depends on is in `breaker`; the rest is how calls are read. */
struct rules_settings {
    struct prebreak_settings breaker;
    struct rules_statuses fail, neutral;
    enum rules_429 status_429;
    uint64_t slow;       /* ns, 0 off */
    uint32_t slow_times; /* the other form of slow: thousandths of the key's own usual time; 0 it is not in use */
    enum rules_slow slow_enforce;
    enum rules_api api;
    uint32_t pause_by; /* of enum rules_pause_by */
    int refuse_errno;  /* what a refused connect returns: ECONNREFUSED ... */
    uint32_t enforce;  /* of 65535 */
    bool per_host;     /* scope=host */
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
 * and the rest works (see rules_restrained). Without providers and config the one rule is `* *`. NULL: memory too
 * small.
 */
struct rules *rules_parse(const struct rules_text *text, void *memory, size_t size, rules_complain *complain,
                          void *context);

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
    bool nameless;                         /* the provider is named after the host (rule `*`, or scope=host) */
    const char *pattern;                   /* that matched, as written; within rules */
    bool undecided;                        /* the address is not known and an earlier rule goes by addresses */
    const struct rules_settings *settings; /* within rules */
    char name[PREBREAK_NAME];              /* of the provider: NAME, NAME@host, host or host:port */
};

/*
 * Which rule, which provider. True if the target belongs to a provider (a rule matches and does not say never).
 *
 * `*.suffix` matches every name below the suffix, at any depth, and not the suffix itself. `*` matches every name and
 * address but no unix path: those only by their own. An IPv6 network takes in no IPv4 address. A host that is an
 * address in figures counts as that address. A pattern with a port matches no target whose port is not known.
 *
 * `undecided`: asked again with the address, the answer may differ (`- 10.0.0.0/8; * *`, asked by name alone). Whoever
 * cannot find the address out leaves the call to a layer that knows it.
 */
bool rules_match(const struct rules *rules, const struct rules_target *target, struct rules_match *match);

/* Does any rule name a unix path (AF_UNIX is looked at only then)? Does any go by addresses? */
bool rules_has_unix(const struct rules *rules);
bool rules_has_address(const struct rules *rules);

uint32_t rules_count(const struct rules *rules);

/* Where a rule stands. */
enum rules_source { RULES_BUILTIN, RULES_PROVIDERS, RULES_CONFIG };
enum rules_source rules_where(const struct rules *rules, int rule, uint32_t *number); /* as in struct rules_error */

/* One rule as it was written, blanks folded, hosts in lower case: for explain. Returns the length as snprintf does. */
size_t rules_print(const struct rules *rules, int rule, char *buffer, size_t size);
/* Settings as text that can be parsed again: all that their policy reads, `name=value` separated by spaces. */
size_t rules_print_settings(const struct rules_settings *settings, char *buffer, size_t size);

/* What holds of the preset that they name, in the same form. */
size_t rules_print_api(const struct rules_settings *settings, char *buffer, size_t size);
const char *rules_api_name(enum rules_api api);

/* Settings alone, as PREBREAK_DEFAULTS holds them, over the defaults of their policy. False: something was complained
 * of. */
bool rules_parse_settings(const char *text, size_t length, struct rules_settings *settings, rules_complain *complain,
                          void *context);

/* One row of the table of settings, for help texts and completion. False: there are no more. */
struct rules_setting {
    const char *name;
    const char *what;  /* one sentence */
    uint32_t policies; /* one bit for each enum prebreak_policy that reads it */
};
bool rules_setting_at(unsigned index, struct rules_setting *setting);

/* Does an answer beyond `slow` count as failed, or is it only told? */
bool rules_slow_enforced(const struct rules_settings *settings);

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
