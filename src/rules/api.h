/*
 * Presets: what the answers of a well-known API mean, so that a rule need only name it (api=openai). One table each, in
 * the rule's own words; what the rule or PREBREAK_DEFAULTS says itself wins, wherever it stands. Pure; private to
 * src/rules.
 */
#ifndef RULES_API_H
#define RULES_API_H

#include "rules/setting.h"

extern const struct setting_word api_words[];

/* A preset by name. */
bool api_named(struct span name, enum rules_api *api);
/* Takes a preset's settings over. */
void api_apply(enum rules_api api, struct rules_settings *settings);

#endif
