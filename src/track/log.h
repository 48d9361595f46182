/*
 * The log: one line an event, where PREBREAK_LOG says. Opens what it needs for each event and closes it again; never
 * blocks, never raises a signal, never writes into what has become another file. Leaves errno alone.
 */
#ifndef TRACK_LOG_H
#define TRACK_LOG_H

#include "state/event.h"

/*
 * In the constructor, after config_init(): where to, and which inode fd 2 is. From here on what config has to tell is
 * logged; a complaint goes to stderr, if that is a terminal, where there is no log.
 */
void log_init(void);

/* The region whose ring takes what config has to tell, once there is one; it stays mapped. */
void log_region(struct state *state);

/* From here on no system call is made: nothing more is logged (the ring goes on). For a seccomp filter. */
void log_stop(void);

/* Tells an event: into the log, and into the region's ring if there is one (state may be NULL). */
void log_event(struct state *state, struct event *event);

#endif
