/*
 * The log: one line an event, where PREBREAK_LOG says. Opens what it needs for each event and closes it again; never
 * blocks, never raises a signal, never writes into what has become another file. Leaves errno alone.
 */
#ifndef TRACK_LOG_H
#define TRACK_LOG_H

#include "state/event.h"

/* In the constructor, after config_init(): where to, and which inode fd 2 is. */
void log_init(void);

/* Tells an event: into the log, and into the region's ring if there is one (state may be NULL). */
void log_event(struct state *state, struct event *event);

#endif
