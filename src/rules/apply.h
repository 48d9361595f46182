/*
 * The settings among a rule's words, applied to what the rule has so far; and complaints. Private to src/rules.
 */
#ifndef RULES_APPLY_H
#define RULES_APPLY_H

#include "rules/lexer.h"
#include "rules/setting.h"

/* Whom to tell, and of which text. */
struct complaints {
    rules_complain *complain; /* NULL: nobody */
    void *context;
    const char *source;
    uint32_t count;
};

/* Builds one complaint about a word (or its part that begins `offset` bytes in) and tells it. */
void complaint_found(struct complaints *complaints, const struct piece *piece, struct span word, size_t offset,
                     const char *expected);
/* The same without a word: about the rule as a whole. */
void complaint_rule(struct complaints *complaints, const struct piece *piece, const char *text);

/* Is this word of a rule a setting, or meant as one? */
bool apply_is_setting(struct span word);

/* The policy that the words of a piece ask for; false: none, or none that there is. */
bool apply_policy(struct span words, enum prebreak_policy *policy);

/* The preset that they ask for; false: none, or none that there is. */
bool apply_api(struct span words, enum rules_api *api);

enum apply_strictness {
    APPLY_ALL,     /* complain also of what the policy does not read */
    APPLY_DEFAULTS /* settings for every policy: take what this one reads */
};

/*
 * Applies every setting among the words. settings->breaker.policy is set already. A bad one leaves what was there, a
 * bad `enforce` becomes 0: what restrains fails towards doing less.
 */
void apply_settings(const struct piece *piece, struct span words, enum apply_strictness strictness,
                    struct complaints *complaints, struct rules_settings *settings);

/*
 * Checks PREBREAK_DEFAULTS once, for its complaints: each setting must be sound for the policy given, or else for any
 * that reads it.
 */
void apply_check_defaults(const struct piece *piece, struct complaints *complaints);

#endif
