/* SPDX-License-Identifier: MIT */
/*
 * Calls of psup tool: from a line to a request, from its answer to a line.
 * Called by cmd_tool.c for every line that is a call. What a call means is
 * tools/calls' to say.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tool.h"
#include "tools/calls/call.h"

/* One call under way. */
struct call {
	struct tool *t;
	json_t *id; /* NULL: none */
	struct toolcall of;
	uint32_t request;
	struct call *next, **where; /* among those under way */
};

/* ----------------------------------------------------------------- answers */

/* Prints one answer line; takes the reference of `answer`. */
static void
answer(struct tool *t, const json_t *id, json_t *object)
{
	json_t *line = json_object();

	if (id != NULL)
		json_object_set(line, "id", (json_t *)(uintptr_t)id);
	json_object_update(line, object);
	json_decref(object);
	cli_print_json(line);
	if (ferror(stdout))
		t->out_broken = true;
}

/* Puts a call or an answer behind the calls that came before it. */
static void
enqueue(struct tool *t, json_t *request, json_t *ready)
{
	struct queued *q = calloc(1, sizeof(*q));

	if (q == NULL) {
		json_decref(request);
		json_decref(ready);
		answer(t, NULL, cli_error_object("no-memory", "", "no memory"));
		return;
	}
	q->request = request;
	q->answer = ready;
	*t->last = q;
	t->last = &q->next;
	t->calls++;
	tool_start_queued(t);
}

/* A line that is no call: answered at once by its id, else in its turn. */
void
tool_refuse_line(struct tool *t, const json_t *id, const char *code,
    const char *field, const char *message)
{
	json_t *object = cli_error_object(code, field, message);

	if (id != NULL && !json_is_null(id))
		answer(t, id, object);
	else
		enqueue(t, NULL, object);
}

/* Answers a call that is over, and forgets it. */
static void
end_call(struct call *call, json_t *object)
{
	struct tool *t = call->t;

	answer(t, call->id, object);
	if (call->id == NULL)
		t->busy = false;
	t->calls--;
	*call->where = call->next;
	if (call->next != NULL)
		call->next->where = call->where;
	json_decref(call->id);
	toolcall_fini(&call->of);
	free(call);
}

/* The answer of a call. */
static void
on_answer(void *arg, int status, psup_reply *reply)
{
	struct call *call = arg;
	psup *p = call->t->c->p;

	end_call(call, status == PSUP_OK
	    ? toolcall_answer(&call->of, json_of_value(psup_reply_value(reply)))
	    : toolcall_failure(&call->of, call->t->cwd, psup_error_code(p),
		  psup_error_field(p), psup_error_message(p)));
	psup_reply_free(&reply);
}

/* ---------------------------------------------------------------- requests */

/* Our own environment, directory and mask, for calls that name none. */
static psup_args *
surroundings(const struct tool *t)
{
	struct psup_exec x = PSUP_EXEC_INIT;

	x.base_dir = t->cwd[0] != '\0' ? t->cwd : NULL;
	x.base_env = (const char *const *)environ;
	x.umask = cli_umask();
	return psup_exec_args(&x);
}

/* What goes over the wire. */
static psup_args *
args_of(const struct call *call)
{
	bool whole = call->of.method == PROTO_EXEC &&
	    !psup_has_defaults(call->t->c->p);
	psup_args *a = whole ? surroundings(call->t) : psup_args_new();
	const char *key;
	json_t *v;

	json_object_foreach(call->of.params, key, v)
		args_add_json(a, key, v);
	return a;
}

/* Connects where we are not. */
static int
ensure_connected(struct tool *t)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	psup_args *own;
	int rc;

	if (psup_is_connected(t->c->p))
		return PSUP_OK;
	own = surroundings(t);
	o.runtime_dir = t->c->runtime_dir;
	o.start = !t->c->no_start;
	o.client = "psup tool";
	cli_identity(t->c, &o);
	if (t->scope != NULL)
		o.scope = t->scope;
	o.defaults = own;
	rc = psup_connect(t->c->p, &o);
	psup_args_free(&own);
	return rc;
}

/* Sends a call that is one. */
static void
send_call(struct call *call)
{
	struct tool *t = call->t;
	psup_args *a = NULL;

	if (ensure_connected(t) != PSUP_OK || (a = args_of(call)) == NULL ||
	    psup_send(t->c->p, toolcall_method(&call->of), a, on_answer, call,
		&call->request) != PSUP_OK)
		on_answer(call, PSUP_ERR_SYSTEM, NULL);
	psup_args_free(&a);
}

/* Takes a call's own members out of its line; a new one among those under
 * way, or NULL. */
static struct call *
new_call(struct tool *t, json_t *request)
{
	struct call *call = calloc(1, sizeof(*call));

	if (call == NULL)
		return NULL;
	call->t = t;
	call->id = json_incref(json_object_get(request, "id"));
	json_object_del(request, "id");
	call->next = t->under_way;
	call->where = &t->under_way;
	if (call->next != NULL)
		call->next->where = &call->next;
	t->under_way = call;
	t->calls++;
	t->busy = t->busy || call->id == NULL;
	return call;
}

/* Sends one call; takes the reference. It is answered in any case. */
static void
start_call(struct tool *t, json_t *request)
{
	json_t *tool = json_incref(json_object_get(request, "tool"));
	struct call *call = new_call(t, request);
	struct proto_problem why;

	json_object_del(request, "tool");
	if (call == NULL)
		answer(t, json_object_get(request, "id"),
		    cli_error_object("no-memory", "", "no memory"));
	else if (toolcall_take(json_string_value(tool), request, &call->of,
		     &why) < 0)
		end_call(call, toolcall_failure(&call->of, t->cwd,
		    proto_error_name(why.code), why.field, why.message));
	else
		send_call(call);
	json_decref(tool);
	json_decref(request);
}

/* Calls without an id whose turn has come. */
void
tool_start_queued(struct tool *t)
{
	struct queued *q;

	while (!t->busy && (q = t->first) != NULL) {
		t->first = q->next;
		if (t->first == NULL)
			t->last = &t->first;
		t->calls--;
		if (q->answer != NULL)
			answer(t, NULL, q->answer);
		else
			start_call(t, q->request);
		free(q);
	}
}

/* Gives up the call of that id, which is answered by that; one that is over
 * already stays as it was. */
static void
cancel(struct tool *t, const json_t *id)
{
	struct call *call;

	for (call = t->under_way; call != NULL; call = call->next)
		if (call->id != NULL && json_equal(call->id, id))
			psup_cancel(t->c->p, call->request);
}

/* A valid object: runs now, or waits for those before it. */
void
tool_take_request(struct tool *t, json_t *request)
{
	const json_t *id = json_object_get(request, "id");
	const json_t *cancelled = json_object_get(request, "cancel");

	if (cancelled != NULL && json_object_get(request, "tool") == NULL) {
		cancel(t, cancelled);
		json_decref(request);
		return;
	}
	if (id != NULL && json_is_null(id)) {
		json_object_del(request, "id");
		id = NULL;
	}
	if (id != NULL) {
		start_call(t, request);
		return;
	}
	enqueue(t, request, NULL);
}
