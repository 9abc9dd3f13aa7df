/* SPDX-License-Identifier: MIT */
/*
 * Ends of background sessions, which a model is told once: with the next answer
 * of a tool, unless an answer told it already. They are acknowledged once the
 * line is written; a psup-mcp that dies before leaves them to the next one.
 */
#ifndef MCP_EVENTS_H
#define MCP_EVENTS_H

#include <jansson.h>
#include <psup/psup.h>

/* A connection subscribes: what was not acknowledged comes again. */
void events_begin(void);
/* A psup_note_fn. */
void events_note(void *arg, const char *name, const psup_value *params);

/* An answer that is being made tells that a session is over, or that it goes
 * on: its name may have been another's. */
void events_end_told(const char *session);
void events_goes_on(const char *session);
/* The text of those that were not told yet; NULL: none. A new reference. */
json_t *events_take(void);
/* The answer for which these two were called is queued. */
void events_queued(void);
/* After something was written: acknowledges what was told. */
void events_settle(void);

#endif
