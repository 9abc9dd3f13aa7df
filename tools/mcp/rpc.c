/* SPDX-License-Identifier: MIT */
/* See rpc.h. Called by loop.c with lines; the answers of methods.c and call.c
 * leave by it. */
#include "rpc.h"

#include <stdarg.h>
#include <string.h>

#include "call.h"
#include "era.h"
#include "lines.h"
#include "methods.h"
#include "out.h"

/* ----------------------------------------------------------------- answers */

/* A message to a known id, or to none. */
static json_t *
message(const struct rpc_to *to)
{
	json_t *m = json_pack("{s:s}", "jsonrpc", "2.0");

	if (to != NULL && to->id != NULL)
		json_object_set(m, "id", to->id);
	return m;
}

void
rpc_reply(const struct rpc_to *to, json_t *result)
{
	json_t *m = message(to);

	if (to->modern)
		era_complete(result);
	json_object_set_new(m, "result", result);
	out_message(m);
}

void
rpc_fail(const struct rpc_to *to, enum rpc_code code, json_t *data,
    const char *fmt, ...)
{
	json_t *m = message(to), *error;
	va_list ap;

	va_start(ap, fmt);
	error = json_pack("{s:i, s:o}", "code", (int)code, "message",
	    json_vsprintf(fmt, ap));
	va_end(ap);
	if (data != NULL)
		json_object_set_new(error, "data", data);
	json_object_set_new(m, "error", error);
	out_message(m);
}

void
rpc_notify(const char *method, json_t *params)
{
	json_t *m = message(NULL);

	json_object_set_new(m, "method", json_string(method));
	json_object_set_new(m, "params", params);
	out_message(m);
}

/* ---------------------------------------------------------------- requests */

bool
rpc_is_id(const json_t *v)
{
	return json_is_string(v) || json_is_integer(v);
}

const char *
rpc_text(const struct rpc_request *r, const char *key)
{
	return json_string_value(json_object_get(r->params, key));
}

/* A notification: what we do not know is none of our business. */
static void
take_notification(const struct rpc_request *r)
{
	if (strcmp(r->method, "notifications/cancelled") == 0)
		methods_cancelled(json_object_get(r->params, "requestId"),
		    rpc_text(r, "reason"));
}

/* Its method may have it, once its shape is right. */
static void
take_request(struct rpc_request *r)
{
	if (!rpc_is_id(r->to.id)) {
		r->to.id = NULL;
		rpc_fail(&r->to, RPC_INVALID_REQUEST, NULL,
		    "Invalid request: id: expected a string or an integer");
		return;
	}
	if (calls_find(r->to.id) != NULL) {
		rpc_fail(&r->to, RPC_INVALID_REQUEST, NULL,
		    "Invalid request: id: a request of that id is under way");
		return;
	}
	if (era_take(r))
		methods_take(r);
}

/* The parts of an object that is a request or a notification. False: it was
 * answered. */
static bool
take_apart(json_t *object, struct rpc_request *ret)
{
	json_t *params = json_object_get(object, "params");
	struct rpc_to to = {.id = json_object_get(object, "id")};

	to.id = rpc_is_id(to.id) ? to.id : NULL;
	*ret = (struct rpc_request){
		.to.id = json_object_get(object, "id"),
		.method =
		    json_string_value(json_object_get(object, "method")),
		.params = params,
		.meta = json_object_get(params, "_meta"),
	};
	if (json_is_object(params) || params == NULL)
		return true;
	if (ret->to.id != NULL)
		rpc_fail(&to, RPC_INVALID_PARAMS, NULL,
		    "Invalid params: params: expected an object");
	return false;
}

static void
take_object(json_t *object)
{
	json_t *id = json_object_get(object, "id");
	const struct rpc_to to = {.id = rpc_is_id(id) ? id : NULL};
	const char *version =
	    json_string_value(json_object_get(object, "jsonrpc"));
	struct rpc_request r;

	if (version == NULL || strcmp(version, "2.0") != 0) {
		rpc_fail(&to, RPC_INVALID_REQUEST, NULL,
		    "Invalid request: jsonrpc: expected \"2.0\"");
		return;
	}
	if (!json_is_string(json_object_get(object, "method"))) {
		/* we ask nothing, so an answer answers nothing */
		if (json_object_get(object, "result") == NULL &&
		    json_object_get(object, "error") == NULL)
			rpc_fail(&to, RPC_INVALID_REQUEST, NULL,
			    "Invalid request: method: expected a string");
		return;
	}
	if (!take_apart(object, &r))
		return;
	if (id == NULL)
		take_notification(&r);
	else
		take_request(&r);
}

void
rpc_take_line(void *, char *line, size_t len)
{
	const struct rpc_to nobody = {.id = NULL};
	json_error_t why;
	json_t *v;

	if (line == NULL) {
		rpc_fail(&nobody, RPC_INVALID_REQUEST, NULL,
		    "Invalid request: a line is over %u bytes", LINE_BYTES);
		return;
	}
	if (strspn(line, " \t") == len)
		return;
	v = json_loadb(line, len,
	    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &why);
	if (v == NULL)
		rpc_fail(&nobody, RPC_PARSE_ERROR, NULL,
		    "Parse error: %s (byte %d)", why.text, why.position);
	else if (!json_is_object(v))
		rpc_fail(&nobody, RPC_INVALID_REQUEST, NULL,
		    "Invalid request: one JSON-RPC object a line (no batches)");
	else
		take_object(v);
	json_decref(v);
}
