/* SPDX-License-Identifier: MIT */
/* See call.h. Called by methods.c and resource.c, and by libpsup with what
 * comes back. */
#include "call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "arguments.h"
#include "common/clock.h"
#include "events.h"
#include "link.h"
#include "log.h"
#include "options.h"
#include "pollack.h"
#include "progress.h"
#include "resource.h"
#include "result.h"
#include "surroundings.h"
#include "tools/calls/call.h"
#include "tools/calls/json.h"

struct call {
	LIST_ENTRY(call) next;
	struct rpc_to to;
	bool cancelled;
	uint32_t id; /* of the request to the server */
	struct progress progress;
	/* a tool's */
	struct toolcall tool;
	enum tool_set set;
	char key[ARGUMENTS_KEY_SIZE]; /* of an exec: it is run once */
	/* a resource's */
	call_result_fn *fn; /* NULL: it is a tool's */
	char *uri;
};
static LIST_HEAD(, call) calls = LIST_HEAD_INITIALIZER(calls);
static size_t count;

/* ------------------------------------------------------------------- table */

struct call *
calls_find(const json_t *id)
{
	struct call *c;

	LIST_FOREACH(c, &calls, next)
		if (!c->cancelled &&
		    json_equal(c->to.id, (json_t *)(uintptr_t)id))
			return c;
	return NULL;
}

size_t
calls_count(void)
{
	return count;
}

/* NULL: no memory, and it was answered. */
static struct call *
begin(const struct rpc_request *r)
{
	struct call *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		rpc_fail(&r->to, RPC_INTERNAL, NULL, "no memory");
		return NULL;
	}
	c->to = r->to;
	json_incref(c->to.id);
	progress_begin(&c->progress,
	    json_object_get(r->meta, "progressToken"));
	LIST_INSERT_HEAD(&calls, c, next);
	count++;
	return c;
}

static void
end(struct call *c)
{
	LIST_REMOVE(c, next);
	count--;
	json_decref(c->to.id);
	progress_end(&c->progress);
	toolcall_fini(&c->tool);
	free(c->uri);
	free(c);
}

static bool
is_exec(const struct call *c)
{
	return c->fn == NULL && c->tool.method == PROTO_EXEC;
}

/* ----------------------------------------------------------------- answers */

/* Its client gets less of the output than we have, and is told how to see the
 * rest: so the session is to be kept, though it ended in the foreground. */
static void
keep_what_is_cut(const struct call *c, const json_t *answer, size_t max)
{
	const json_t *details = json_object_get(answer, "details");
	const char *session =
	    json_string_value(json_object_get(details, "sessionId"));
	psup_args *a;

	if (!is_exec(c) || session == NULL ||
	    json_object_get(details, "exitReason") == NULL ||
	    json_string_length(json_object_get(answer, "text")) <= max)
		return;
	a = psup_args_new();
	psup_args_str(a, "sessionId", session);
	link_tell("background", a);
	psup_args_free(&a);
}

/* The answer of a tool: to the client, with what happened meanwhile. */
static void
answer_tool(const struct call *c, json_t *answer)
{
	const struct result_rules rules = {
		.max_output = (size_t)mcp_options->max_output,
		.structured = mcp_options->structured,
		.links = rpc_knows_links(&c->to),
		.exec = is_exec(c),
		.set = c->set,
	};

	answer = toolcall_answer(&c->tool, answer);
	keep_what_is_cut(c, answer, rules.max_output);
	rpc_reply(&c->to, result_make(&rules, answer, events_take()));
	events_queued();
}

/* An error that a model can mend: its text names the field. */
static void
answer_tool_error(const struct call *c, const char *code, const char *field,
    const char *text)
{
	bool named = field[0] == '\0' || strstr(text, field) != NULL;
	char whole[700];

	snprintf(whole, sizeof(whole), "%s%s%s", named ? "" : field,
	    named ? "" : ": ", text);
	rpc_reply(&c->to,
	    result_make(
	        &(struct result_rules){
	            .max_output = (size_t)mcp_options->max_output,
	            .structured = mcp_options->structured,
	            .set = c->set},
	        toolcall_failure(&c->tool, surroundings_folder(), code, field,
	            whole),
	        NULL));
}

/* The server did not answer it. `reached`: the request came to it, perhaps. */
static void
answer_failure(const struct call *c, int status, bool reached)
{
	const psup *p = link_handle();
	const char *code = psup_error_code(p), *text = psup_error_message(p);
	char said[600];

	if (c->fn != NULL) {
		if (status == PSUP_ERR_REFUSED)
			resource_not_found(&c->to, c->uri);
		else
			rpc_fail(&c->to, RPC_INTERNAL, NULL, "%s", text);
		return;
	}
	if (!reached)
		snprintf(said, sizeof(said), "%s; nothing was run", text);
	else if (status == PSUP_ERR_LOST && is_exec(c))
		snprintf(said, sizeof(said),
		    "The connection to the psup server is lost (%s); what the "
		    "command did is unknown.", text);
	else
		snprintf(said, sizeof(said), "%s", text);
	answer_tool_error(c, code, psup_error_field(p), said);
}

/* Which sessions an answer says are over, or go on. */
static void
note_ends(const psup_value *details)
{
	const psup_value *rows = psup_value_get(details, "sessions"), *row;
	char session[64];

	for (size_t i = 0; i <= psup_value_count(rows); i++) {
		row = i < psup_value_count(rows) ? psup_value_at(rows, i)
		                                 : details;
		psup_get_copy(row, "sessionId", session, sizeof(session));
		if (psup_get_str(row, "exitReason", NULL) != NULL)
			events_end_told(session);
		else if (session[0] != '\0' &&
		    psup_get_is(row, "status", "running"))
			events_goes_on(session);
	}
}

static void
on_answer(void *arg, int status, psup_reply *reply)
{
	const psup_value *details = psup_reply_details(reply);
	struct call *c = arg;
	json_t *result;

	if (c->cancelled)
		; /* nothing more is said of it */
	else if (status != PSUP_OK)
		answer_failure(c, status, true);
	else if (c->fn == NULL) {
		if (c->tool.method != PROTO_LIST)
			note_ends(details);
		if (c->tool.method == PROTO_POLL)
			pollack_keep(c->to.id, details);
		answer_tool(c, json_of_value(psup_reply_value(reply)));
	} else if ((result = c->fn(c->uri, reply)) != NULL) {
		rpc_cacheable(&c->to, result, false);
		rpc_reply(&c->to, result);
	} else
		resource_not_found(&c->to, c->uri);
	psup_reply_free(&reply);
	end(c);
}

/* ---------------------------------------------------------------- requests */

/* Sends it; takes the arguments. It is answered in any case. */
static void
send_call(struct call *c, const char *method, psup_args *a)
{
	bool reached = true;
	int rc = PSUP_ERR_NO_MEMORY;

	if (a != NULL)
		rc = link_send(method, a, on_answer, c, &c->id, &reached);
	psup_args_free(&a);
	if (rc == PSUP_OK)
		return;
	answer_failure(c, rc, reached);
	end(c);
}

void
call_resource(const struct rpc_request *r, const char *method, json_t *params,
    const char *uri, call_result_fn *fn)
{
	struct call *c = begin(r);
	psup_args *a = psup_args_new();

	if (c == NULL || a == NULL) {
		psup_args_free(&a);
		json_decref(params);
		if (c != NULL)
			end(c);
		return;
	}
	c->fn = fn;
	c->uri = strdup(uri);
	arguments_add(a, params);
	json_decref(params);
	send_call(c, method, a);
}

/* Makes the method and its params of what the model wrote. false: it was
 * answered. */
static bool
take_arguments(struct call *c, enum tool_set set, const char *tool,
    const json_t *args)
{
	json_t *given = json_is_object(args)
	    ? json_incref((json_t *)(uintptr_t)args)
	    : json_object();
	struct proto_problem why;
	char text[300];
	bool ok = tools_method(set, tool,
	    json_string_value(json_object_get(given, "action")), text,
	    sizeof(text)) != NULL;

	if (!ok)
		answer_tool_error(c, "invalid-params", "action", text);
	else if (toolcall_take(strcmp(tool, "exec") == 0 ? tool : "process",
	             given, &c->tool, &why) < 0) {
		ok = false;
		answer_tool_error(c, proto_error_name(why.code), why.field,
		    why.message);
	}
	json_decref(given);
	return ok;
}

/* What goes along depends on what the server has already. */
static void
send_tool(struct call *c)
{
	int rc = link_reach();

	if (rc != PSUP_OK) {
		answer_failure(c, rc, false);
		end(c);
		return;
	}
	send_call(c, proto_method_name(c->tool.method),
	    arguments_of(&c->tool, c->key, c->progress.token != NULL));
}

void
call_tool(const struct rpc_request *r, enum tool_set set, const char *tool,
    const json_t *args)
{
	struct call *c = begin(r);

	if (c == NULL)
		return;
	c->tool.method = PROTO_METHOD_COUNT;
	c->set = set;
	if (take_arguments(c, set, tool, args))
		send_tool(c);
	else
		end(c);
}

/* ------------------------------------------------------------------ cancel */

/* The session of an exec goes to the background: the key is known, so that
 * nothing is begun. */
static void
send_to_background(const struct call *c)
{
	psup_args *a = psup_args_new();

	psup_args_str(a, "requestKey", c->key);
	psup_args_bool(a, "background", true);
	link_tell("exec", a);
	psup_args_free(&a);
}

/* Both SDKs say so where it was their clock, not their user. */
static bool
timed_out(const char *reason)
{
	return reason != NULL && (strcasestr(reason, "timed out") != NULL ||
	                             strcasestr(reason, "timeout") != NULL);
}

void
call_cancel(const json_t *id, const char *reason)
{
	struct call *c = calls_find(id);
	bool stays;

	pollack_forget(id);
	if (c == NULL)
		return;
	c->cancelled = true;
	stays = is_exec(c) && (timed_out(reason) ||
	    strcmp(mcp_options->on_cancel, "background") == 0);
	if (stays)
		send_to_background(c);
	mcp_log("request cancelled (%.100s): %s",
	    reason != NULL ? reason : "no reason given",
	    stays            ? "the command goes to the background"
	        : is_exec(c) ? "the command is ended"
	                     : "the wait is given up");
	link_cancel(c->id);
}

/* ---------------------------------------------------------------- progress */

void
call_note(void *, const char *name, const psup_value *params)
{
	uint32_t id = (uint32_t)psup_get_int(params, "msgid", -1);
	struct call *c;

	LIST_FOREACH(c, &calls, next)
		if (c->id == id && c->progress.token != NULL) {
			progress_note(&c->progress, name, params);
			return;
		}
}

static bool
tells(const struct call *c)
{
	return c->progress.token != NULL && !c->cancelled;
}

void
calls_tick(void)
{
	uint64_t now = clock_boot_ms();
	struct call *c;

	LIST_FOREACH(c, &calls, next)
		if (tells(c) && progress_wait_ms(&c->progress, now) == 0)
			progress_say(&c->progress, now);
}

int
calls_wait_ms(void)
{
	uint64_t now = clock_boot_ms();
	const struct call *c;
	int least = -1, ms;

	LIST_FOREACH(c, &calls, next) {
		ms = tells(c) ? progress_wait_ms(&c->progress, now) : -1;
		if (ms >= 0 && (least < 0 || ms < least))
			least = ms;
	}
	return least;
}
