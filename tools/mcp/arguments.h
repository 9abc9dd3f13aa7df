/* SPDX-License-Identifier: MIT */
/* From what a model wrote (tools/calls) to the params of a request. */
#ifndef MCP_ARGUMENTS_H
#define MCP_ARGUMENTS_H

#include <psup/psup.h>
#include <stdbool.h>

#include "tools/calls/call.h"

#define ARGUMENTS_KEY_SIZE 32

/* With what this client adds, and no longer a wait than --max-yield. Of an exec
 * `key` gets its requestKey; progress: it is to be told how that goes on. NULL:
 * no memory. */
psup_args *arguments_of(struct toolcall *t, char key[ARGUMENTS_KEY_SIZE],
    bool progress);

/* The members of an object. */
void arguments_add(psup_args *a, json_t *params);

#endif
