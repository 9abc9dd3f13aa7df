/* SPDX-License-Identifier: MIT */
/* How a call goes on, for a client that asked to be told. */
#ifndef MCP_PROGRESS_H
#define MCP_PROGRESS_H

#include <jansson.h>
#include <psup/psup.h>
#include <stdint.h>

#define PROGRESS_MS 1000 /* at most one a second */

struct progress {
	json_t *token;        /* NULL: nobody asked */
	uint64_t began_ms, said_ms; /* since boot */
	uint64_t bytes;       /* of output so far */
	char session[64];     /* "": not known yet */
	char line[160];       /* the last one, fit to be shown */
};

void progress_begin(struct progress *p, json_t *token);
void progress_end(struct progress *p);
/* A notification of the server's about an exec. */
void progress_note(struct progress *p, const char *name,
    const psup_value *params);
/* ms until the next one is due; 0: it is. */
int progress_wait_ms(const struct progress *p, uint64_t now_ms);
void progress_say(struct progress *p, uint64_t now_ms);

#endif
