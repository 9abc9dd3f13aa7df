/* SPDX-License-Identifier: MIT */
/*
 * JSON-RPC as MCP has it, in both eras: a request is modern (2026-07-28) where
 * its params._meta names a protocol version; else it belongs to the handshake
 * of the versions before, legacy.
 */
#ifndef MCP_RPC_H
#define MCP_RPC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_NO_METHOD = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_NO_RESOURCE = -32002, /* legacy */
	RPC_VERSION = -32022      /* modern */
};

/* Whom an answer is for. */
struct rpc_to {
	json_t *id; /* a string or an integer; NULL: not known */
	bool modern;
};

/* A request under its method. */
struct rpc_request {
	struct rpc_to to;
	const char *method;
	json_t *params;     /* an object, or NULL */
	const json_t *meta; /* params._meta; an object, or NULL */
};

/* Answers. Each takes the reference of what is its last json_t. */
void rpc_reply(const struct rpc_to *to, json_t *result);
void rpc_fail(const struct rpc_to *to, enum rpc_code code, json_t *data,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void rpc_notify(const char *method, json_t *params);

/* Takes a line apart, and answers it or hands it on to its method. A line_fn
 * (lines.h). */
void rpc_take_line(void *arg, char *line, size_t len);

/* Has a client of the handshake heard of resource_link (2025-06-18)? */
bool rpc_knows_links(const struct rpc_to *to);
/* What a client may keep (modern): adds ttlMs and cacheScope. */
void rpc_cacheable(const struct rpc_to *to, json_t *result, bool for_all);

/* A member of params as text; NULL: there is none, or it is none. */
const char *rpc_text(const struct rpc_request *r, const char *key);
/* A member that is a string or an integer: an id, or a progressToken. */
bool rpc_is_id(const json_t *v);

#endif
