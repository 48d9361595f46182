/*
 * What prebreak explain is asked about: a host and port, an address, a URL or a unix path, as a target of the rules.
 */
#ifndef CLI_EXPLAIN_TARGET_H
#define CLI_EXPLAIN_TARGET_H

#include "rules/rules.h"

#define EXPLAIN_TEXT 256

struct explain_target {
    char text[EXPLAIN_TEXT]; /* as understood: host:port */
    char host[EXPLAIN_TEXT]; /* folded; also an address in figures; empty: a unix path */
    char unix_path[EXPLAIN_TEXT];
    uint16_t port;
};

/* False: not understood. */
bool explain_target_parse(const char *text, struct explain_target *target);

/*
 * The rule of a target. A name is looked up only where an earlier rule goes by addresses; `resolved` then says what came
 * of it, else it is empty.
 */
void explain_match(const struct rules *rules, const struct explain_target *target, struct rules_match *match,
                   char *resolved, size_t size);

#endif
