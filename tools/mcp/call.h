/* SPDX-License-Identifier: MIT */
/*
 * Calls under way: a request of the client's that the server is to answer. Once
 * a client has given one up nothing more is said of it.
 */
#ifndef MCP_CALL_H
#define MCP_CALL_H

#include <psup/psup.h>

#include "rpc.h"
#include "tools.h"

#define CALLS_MAX 4096u /* then nothing is read from the client */

/* tools/call of a tool that there is. */
void call_tool(const struct rpc_request *r, enum tool_set set,
    const char *tool, const json_t *args);

/* A request whose answer fn makes a result of; NULL: there is no such
 * resource. Takes the reference of params. */
typedef json_t *call_result_fn(const char *uri, const psup_reply *reply);
void call_resource(const struct rpc_request *r, const char *method,
    json_t *params, const char *uri, call_result_fn *fn);

/* The call of that request; NULL: none is under way. */
struct call;
struct call *calls_find(const json_t *id);
size_t calls_count(void);

/* The client gives it up, for that reason (NULL: it gave none). */
void call_cancel(const json_t *id, const char *reason);

/* A psup_note_fn: how an exec goes on. */
void call_note(void *arg, const char *name, const psup_value *params);

/* Tells those who asked for it how their calls go on, once a second each. */
void calls_tick(void);
/* ms until then; -1: nobody asked. */
int calls_wait_ms(void);

#endif
