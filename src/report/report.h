/*
 * State and events as people and programs read them: text tables and JSON. Used by the command only; may allocate.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "state/event.h"
#include "state/state.h"
#include <stdio.h>

/* `status`: one provider (name) or all (NULL). Returns how many were shown; -1 out of memory. */
int report_status_text(struct state *state, const char *name, FILE *out);
int report_status_json(struct state *state, const char *name, FILE *out);

#endif
