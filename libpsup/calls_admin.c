/* SPDX-License-Identifier: MIT */
/*
 * As calls.c, of what administrators ask for: scopes, tokens, lanes, the server.
 */
#include <string.h>

#include "internal.h"

int
psup_drain_scope(struct psup *p, const char *scope, int64_t wait_ms, bool kill,
    int grace_ms, psup_reply **ret)
{
	psup_args *a = text_args("scope", scope, NULL, NULL);

	if (wait_ms < 0)
		wait_ms = 0;
	psup_args_int(a, "timeout", wait_ms);
	args_add_flag(a, "kill", kill);
	args_add_int(a, "graceMs", grace_ms, -1);
	return call_args(p, "drainScope", a, wait_ms + 75000, ret);
}

int
psup_undrain_scope(struct psup *p, const char *scope, psup_reply **ret)
{
	return call_args(p, "undrainScope", text_args("scope", scope, NULL, NULL),
	    0, ret);
}

int
psup_mint_token(struct psup *p, const char *scope, const char *label,
    psup_reply **ret)
{
	return call_args(p, "mintToken",
	    text_args("scope", scope, "label", label), 0, ret);
}

int
psup_list_tokens(struct psup *p, const char *scope, psup_reply **ret)
{
	return call_args(p, "listTokens", text_args("scope", scope, NULL, NULL),
	    0, ret);
}

int
psup_revoke_token(struct psup *p, const char *id, const char *scope,
    psup_reply **ret)
{
	return call_args(p, "revokeToken", text_args("id", id, "scope", scope), 0,
	    ret);
}

int
psup_lanes(struct psup *p, const struct psup_lane_op *op, psup_reply **ret)
{
	const char *name = op->op != NULL ? op->op : "list";
	psup_args *a = text_args("op", name, "lane", op->lane);
	int64_t wait_ms = strcmp(name, "drain") != 0 ? 0
	    : op->wait_ms < 0			     ? 30000
						     : op->wait_ms;

	if (strcmp(name, "set-width") == 0 && op->width < 0)
		psup_args_nil(a, "width");
	else if (strcmp(name, "set-width") == 0)
		psup_args_int(a, "width", op->width);
	if (strcmp(name, "drain") == 0)
		psup_args_int(a, "timeout", wait_ms);
	return call_args(p, "lanes", a, wait_ms, ret);
}

int
psup_status(struct psup *p, psup_reply **ret)
{
	return call_args(p, "status", psup_args_new(), 0, ret);
}

int
psup_shutdown(struct psup *p, int grace_ms, psup_reply **ret)
{
	psup_args *a = psup_args_new();

	args_add_int(a, "graceMs", grace_ms, -1);
	return call_args(p, "shutdown", a, 60000, ret);
}
