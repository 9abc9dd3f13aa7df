/* SPDX-License-Identifier: MIT */
/* The two eras of MCP: which versions there are, and what a modern request must
 * and a modern result does have. */
#ifndef MCP_ERA_H
#define MCP_ERA_H

#include "rpc.h"

/* Finds out which era a request is of. False: it was refused. */
bool era_take(struct rpc_request *r);
/* A modern result is complete, and says whose it is. */
void era_complete(json_t *result);

/* The methods that are the era itself. */
void era_initialize(const struct rpc_request *r);
void era_discover(const struct rpc_request *r);

#endif
