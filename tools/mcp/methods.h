/* SPDX-License-Identifier: MIT */
/* The methods of MCP that we have: a row each. */
#ifndef MCP_METHODS_H
#define MCP_METHODS_H

#include "rpc.h"

/* Answers a request, at once or later. */
void methods_take(const struct rpc_request *r);
/* The client gives a request of ours up; NULL, NULL: it said not which. */
void methods_cancelled(const json_t *id, const char *reason);

#endif
