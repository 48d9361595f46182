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
 * to be touched at all (AT_SECURE, mode off, PREBREAK_ONLY or PREBREAK_EXCEPT, or one of rules/programs.h without an
 * ONLY): nothing else here need be called.
 *
 * What restrains and cannot be read fails towards doing less: a bad PREBREAK_MODE observes, a bad PREBREAK_ONLY or
 * PREBREAK_EXCEPT is mode off. A variable that is set but empty is not one that is not set.
 */
bool config_init(void);

/* What there is to tell, as one line of text: something that was not understood, rules read again, an off file. */
enum config_news { CONFIG_COMPLAINT, CONFIG_RULES, CONFIG_OFF };
typedef void config_told(enum config_news news, const char *text);
/* Who is told, from here on. */
void config_listen(config_told *told);

/*
 * The first call of the process: parses the rules, reads the file, looks for the off files. Until it has told what it
 * has to tell, config_rules() is NULL. Idempotent.
 */
void config_start(void);

/*
 * Once a second, by one caller: has the file changed, has an off file come or gone? A file that vanishes, holds no whole
 * line any more or cannot be read leaves the rules as they were; it is complained of once, until it changes.
 */
void config_look(void);

/* The rules in force and their number, from 1, which grows with each change. NULL: none (before config_start). */
const struct rules *config_rules(uint32_t *generation);

/*
 * As the environment, the rules and the off files have it: ENFORCE, OBSERVE or OFF. The operator's word in the region
 * stands above ENFORCE and OBSERVE, and is not looked at here. Hook path: no system call.
 */
enum prebreak_mode config_mode(void);

/* The same under the operator's word, that of the region or PREBREAK_MODE_ENV: what counts in the end. */
enum prebreak_mode config_mode_under(enum prebreak_mode operators);

/* May the operator's word make this process enforce? False: something that restrains us was not understood. */
bool config_may_enforce(void);

/* PREBREAK_STATE's value, or NULL. */
const char *config_state(void);

/* Where PREBREAK_LOG points; *path is that of a file, absolute. Anything not understood is off. */
enum config_log { CONFIG_LOG_OFF, CONFIG_LOG_STDERR, CONFIG_LOG_SYSLOG, CONFIG_LOG_FILE };
enum config_log config_log(const char **path);
bool config_log_json(void);

/* The off file that stands in the way, or NULL. The file of rules as an absolute path, or NULL. */
const char *config_off(void);
const char *config_path(void);

#endif
