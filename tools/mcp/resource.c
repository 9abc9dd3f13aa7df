/* SPDX-License-Identifier: MIT */
/* See resource.h. Called by methods.c and subscribe.c. */
#include "resource.h"

#include <string.h>

#include "call.h"
#include "tools/calls/json.h"

#define PREFIX "psup://session/"
#define LISTED_MAX 100 /* the newest */

const char *
resource_parse(const char *uri, char ret_session[RESOURCE_SESSION_SIZE])
{
	static const char *const kinds[] = {"log", "screen"};
	const char *id = uri + strlen(PREFIX), *slash;
	size_t len;

	if (strncmp(uri, PREFIX, strlen(PREFIX)) != 0)
		return NULL;
	slash = strchr(id, '/');
	len = slash != NULL ? (size_t)(slash - id) : 0;
	if (len == 0 || len >= RESOURCE_SESSION_SIZE)
		return NULL;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(slash + 1, kinds[i]) == 0) {
			memcpy(ret_session, id, len);
			ret_session[len] = '\0';
			return kinds[i];
		}
	return NULL;
}

void
resource_not_found(const struct rpc_to *to, const char *uri)
{
	rpc_fail(to, to->modern ? RPC_INVALID_PARAMS : RPC_NO_RESOURCE,
	    json_pack("{s:s}", "uri", uri), "Resource not found");
}

/* The text of an answer, as the one content. */
static json_t *
read_result(const char *uri, const psup_reply *reply)
{
	size_t len;
	const char *text = psup_reply_text(reply, &len);

	if (psup_reply_is_error(reply))
		return NULL;
	return json_pack("{s:[{s:s, s:s, s:o}]}", "contents", "uri", uri,
	    "mimeType", "text/plain", "text",
	    json_of_text(text != NULL ? text : "", len));
}

void
resource_read(const struct rpc_request *r)
{
	const char *uri = rpc_text(r, "uri"), *method;
	char session[RESOURCE_SESSION_SIZE];
	json_t *params;

	if (uri == NULL) {
		rpc_fail(&r->to, RPC_INVALID_PARAMS, NULL,
		    "Invalid params: uri: expected a string");
		return;
	}
	method = resource_parse(uri, session);
	if (method == NULL) {
		resource_not_found(&r->to, uri);
		return;
	}
	params = json_pack("{s:s}", "sessionId", session);
	if (strcmp(method, "log") == 0)
		json_object_set_new(params, "offset", json_integer(0));
	call_resource(r, method, params, uri, read_result);
}

/* A session of the list. */
static json_t *
listed(const psup_value *row)
{
	char id[64], name[128], status[32];

	psup_get_copy(row, "sessionId", id, sizeof(id));
	psup_get_copy(row, "name", name, sizeof(name));
	psup_get_copy(row, "status", status, sizeof(status));
	return json_pack("{s:o, s:o, s:s}", "uri",
	    json_sprintf(PREFIX "%s/log", id), "name",
	    json_sprintf("%s: %s (%s)", id, name, status), "mimeType",
	    "text/plain");
}

static json_t *
list_result(const char *, const psup_reply *reply)
{
	const psup_value *rows =
	    psup_value_get(psup_reply_details(reply), "sessions");
	json_t *list = json_array(), *one;

	for (size_t i = 0; i < psup_value_count(rows); i++) {
		one = listed(psup_value_at(rows, i));
		if (one != NULL) /* its name was cut within a character */
			json_array_append_new(list, one);
	}
	return json_pack("{s:o}", "resources", list);
}

void
resource_list(const struct rpc_request *r)
{
	call_resource(r, "list", json_pack("{s:i}", "limit", LISTED_MAX), "",
	    list_result);
}

void
resource_templates(const struct rpc_request *r)
{
	json_t *result = json_pack(
	    "{s:[{s:s, s:s, s:s}, {s:s, s:s, s:s}]}", "resourceTemplates",
	    "uriTemplate", PREFIX "{sessionId}/log", "name",
	    "output of a session", "mimeType", "text/plain", "uriTemplate",
	    PREFIX "{sessionId}/screen", "name",
	    "terminal screen of a session", "mimeType", "text/plain");

	rpc_cacheable(&r->to, result, true);
	rpc_reply(&r->to, result);
}
