/*
 * Programs that are never touched, whatever the rules say: those that a machine is started, entered and repaired with, and
 * those that call nobody. A preload reaches them by itself when it stands in a service's environment or in
 * /etc/ld.so.preload. Pure.
 */
#ifndef RULES_PROGRAMS_H
#define RULES_PROGRAMS_H

/*
 * Why this program is not touched, in a few words; NULL: it is. name: as it was called or as the kernel knows it, at most
 * 15 characters long then; path: as it was executed, NULL: unknown.
 */
const char *rules_program_spared(const char *name, const char *path);

#endif
