/*
 * State and events as people and programs read them: text tables and JSON. Used by the command only; may allocate.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "report/snapshot.h"
#include "state/event.h"
#include "state/state.h"
#include <stdio.h>

/* Is what goes to this stream to be coloured: a terminal that can, and NO_COLOR is not set? */
bool report_coloured(FILE *out);

/* A mode as it stands in variables, on the command line and in JSON. Out of range: as PREBREAK_MODE_ENV. */
const char *report_mode_name(enum prebreak_mode mode);

/*
 * Of so many first bytes, the time in ms within which the share `q` of them (0..1) came: within a bucket as if they were
 * spread evenly; beyond the last bound, that bound. NAN: there were none.
 */
double report_first_byte(const struct breaker_first_bytes *first_bytes, double q);

/* What a breaker is set to: its policy and what that policy reads, `name=value` separated by spaces. Returns buffer. */
char *report_settings(const struct prebreak_settings *settings, char *buffer, size_t size);

/*
 * `status`: one provider (name) or all (NULL), held names that have no breaker yet among them. Returns how many were
 * shown; -1 out of memory. Errors in writing stay in the stream.
 */
int report_status_text(struct state *state, const char *name, FILE *out);
int report_status_json(struct state *state, const char *name, FILE *out);

/* The file of root's by which every process of every user is switched off; NULL: there is none. */
const char *report_off_file(void);

/* `state`: where the region is, whether it is sound and how full. */
void report_state(struct state *state, FILE *out);

/* What to do about a region that cannot be used, one line; NULL: nothing needs doing. */
const char *report_remedy(enum state_trouble trouble);

#endif
