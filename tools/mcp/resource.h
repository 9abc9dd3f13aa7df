/* SPDX-License-Identifier: MIT */
/* Sessions as resources: psup://session/ID/log and /screen. */
#ifndef MCP_RESOURCE_H
#define MCP_RESOURCE_H

#include "rpc.h"

#define RESOURCE_SESSION_SIZE 64

/* resources/list, resources/templates/list, resources/read */
void resource_list(const struct rpc_request *r);
void resource_templates(const struct rpc_request *r);
void resource_read(const struct rpc_request *r);

/* Answers that there is none of that name. */
void resource_not_found(const struct rpc_to *to, const char *uri);

/* The session and the method (static: "log" or "screen") that a URI names.
 * NULL: it is none of ours. */
const char *resource_parse(const char *uri,
    char ret_session[RESOURCE_SESSION_SIZE]);

#endif
