/* SPDX-License-Identifier: MIT */
/*
 * What polls delivered counts as read once the answer was written and its
 * client did not give it up: the next poll of the session says so. Clients run
 * read-only tools side by side, and a poll that timed out comes again.
 */
#ifndef MCP_POLLACK_H
#define MCP_POLLACK_H

#include <jansson.h>
#include <psup/psup.h>

/* Adds `ack` to the params of a poll. */
void pollack_add(psup_args *a, const json_t *session);
/* The answer to a request, which is about to be queued. */
void pollack_keep(const json_t *id, const psup_value *details);
/* The client has given the request up. */
void pollack_forget(const json_t *id);

#endif
