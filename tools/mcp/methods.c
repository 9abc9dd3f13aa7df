/* SPDX-License-Identifier: MIT */
/* See methods.h. Called by rpc.c. */
#include "methods.h"

#include <psup/psup.h>
#include <string.h>

#include "call.h"
#include "era.h"
#include "options.h"
#include "resource.h"
#include "subscribe.h"
#include "tools.h"

static void
on_ping(const struct rpc_request *r)
{
	rpc_reply(&r->to, json_object());
}

static enum tool_set
tool_set(void)
{
	return mcp_options->classic ? TOOLS_CLASSIC : TOOLS_SPLIT;
}

static void
on_tools_list(const struct rpc_request *r)
{
	json_t *result = json_pack("{s:o}", "tools",
	    tools_list(tool_set(), (int)mcp_options->max_yield_ms,
	        mcp_options->structured));

	rpc_cacheable(&r->to, result, true);
	rpc_reply(&r->to, result);
}

static void
on_tools_call(const struct rpc_request *r)
{
	const char *name = rpc_text(r, "name");
	const json_t *args = json_object_get(r->params, "arguments");
	char shown[128] = "(none)";

	if (name == NULL || !tools_have(tool_set(), name)) {
		if (name != NULL)
			psup_escape(name, strlen(name), false, shown,
			    sizeof(shown));
		rpc_fail(&r->to, RPC_INVALID_PARAMS, NULL, "Unknown tool: %s",
		    shown);
	} else if (args != NULL && !json_is_object(args) &&
	    !json_is_null(args)) {
		rpc_fail(&r->to, RPC_INVALID_PARAMS, NULL,
		    "Invalid params: arguments: expected an object");
	} else {
		call_tool(r, tool_set(), name, args);
	}
}

enum { LEGACY = 1, MODERN = 2, BOTH = 3 };

static const struct row {
	const char *name;
	unsigned eras;
	void (*fn)(const struct rpc_request *r);
} rows[] = {
	{"initialize", LEGACY, era_initialize},
	{"ping", LEGACY, on_ping},
	{"server/discover", MODERN, era_discover},
	{"tools/list", BOTH, on_tools_list},
	{"tools/call", BOTH, on_tools_call},
	{"resources/list", BOTH, resource_list},
	{"resources/templates/list", BOTH, resource_templates},
	{"resources/read", BOTH, resource_read},
	{"resources/subscribe", LEGACY, subscribe_uri},
	{"resources/unsubscribe", LEGACY, subscribe_no_more},
	{"subscriptions/listen", MODERN, subscribe_listen},
};

void
methods_take(const struct rpc_request *r)
{
	char shown[128];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((rows[i].eras & (r->to.modern ? MODERN : LEGACY)) != 0 &&
		    strcmp(rows[i].name, r->method) == 0) {
			rows[i].fn(r);
			return;
		}
	psup_escape(r->method, strlen(r->method), false, shown, sizeof(shown));
	rpc_fail(&r->to, RPC_NO_METHOD, NULL, "Method not found: %s", shown);
}

void
methods_cancelled(const json_t *id, const char *reason)
{
	if (id == NULL || subscribe_cancel(id))
		return;
	call_cancel(id, reason);
}
