/*
 * What this process was told: the PREBREAK_* variables, read once in the constructor and copied (a program may overwrite
 * its environment), the file of rules, followed as it changes, and the off files.
 *
 * Everything leaves errno alone, allocates nothing and takes no lock. Rules are parsed into a mapping of their own and
 * published by pointer; old ones are never freed, so whoever holds a pointer may keep it.
 */
#ifndef TRACK_CONFIG_H
#define TRACK_CONFIG_H

#include "rules/rules.h"
#include <prebreak/region.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * In the constructor: reads and copies the variables. No file is opened, nothing is mapped. False: this process is not
 * to be touched at all (AT_SECURE, mode off, PREBREAK_ONLY or PREBREAK_EXCEPT): nothing else here is to be called.
 */
bool config_init(void);

/* The first call of the process: parses the rules, reads the file, looks for the off files. Idempotent. */
void config_start(void);

/* Once a second, by one caller: has the file changed, has an off file come or gone? Tells what it finds as events. */
void config_look(void);

/* The rules in force and their number, from 1, which grows with each change. NULL: none (before config_start). */
const struct rules *config_rules(uint32_t *generation);

/*
 * As the environment, the rules and the off files have it: ENFORCE, OBSERVE or OFF. The operator's word in the region
 * stands above ENFORCE and OBSERVE, and is not looked at here. Hook path: no system call.
 */
enum prebreak_mode config_mode(void);

/* May the operator's word make this process enforce? False: something that restrains us was not understood. */
bool config_may_enforce(void);

/* PREBREAK_STATE's value, or NULL. */
const char *config_state(void);

#endif
