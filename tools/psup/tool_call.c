/* SPDX-License-Identifier: MIT */
/*
 * Calls of psup tool: from a JSON object to a request, from its answer to a
 * line. Called by cmd_tool.c for every line that is a call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

/* One call under way. */
struct call {
	struct tool *t;
	json_t *id; /* NULL: none */
};

static const char *const actions[] = {
#define ACTION(name) name,
#include "tool_actions.def"
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

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

/* A call that failed before it reached a tool. */
static void
answer_error(struct tool *t, const json_t *id, const char *code,
    const char *field, const char *message)
{
	answer(t, id, cli_error_object(code, field, message));
}

/* Puts a call or an answer behind the calls that came before it. */
static void
enqueue(struct tool *t, json_t *request, json_t *ready)
{
	struct queued *q = calloc(1, sizeof(*q));

	if (q == NULL) {
		json_decref(request);
		json_decref(ready);
		answer_error(t, NULL, "no-memory", "", "no memory");
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

/* What libpsup says of the last failure. */
static void
answer_failure(struct tool *t, const json_t *id)
{
	answer_error(t, id, psup_error_code(t->c->p),
	    psup_error_field(t->c->p), psup_error_message(t->c->p));
}

/* The answer of a call. */
static void
on_answer(void *arg, int status, psup_reply *reply)
{
	struct call *call = arg;
	struct tool *t = call->t;

	if (status == PSUP_OK)
		answer(t, call->id, json_of_value(psup_reply_value(reply)));
	else
		answer_failure(t, call->id);
	psup_reply_free(&reply);
	if (call->id == NULL)
		t->busy = false;
	t->calls--;
	json_decref(call->id);
	free(call);
}

/* ---------------------------------------------------------------- requests */

/* A name as it came, cut and fit to be shown; "" for none. */
static const char *
shown_name(const char *name, char *ret, size_t size)
{
	ret[0] = '\0';
	if (name != NULL)
		psup_escape(name, strlen(name), false, ret, size);
	return ret;
}

/* The method of a process action; NULL: `text` says why not. */
static const char *
process_method(const json_t *request, const char **ret_code, char *text,
    size_t size)
{
	const json_t *action = json_object_get(request, "action");
	const char *name = json_string_value(action);
	char shown[64];
	int n;

	for (size_t i = 0; name != NULL && i < COUNT(actions); i++)
		if (strcmp(name, actions[i]) == 0)
			return actions[i];
	*ret_code = "invalid-params";
	if (name != NULL)
		n = snprintf(text, size, "Invalid process action \"%s\".",
		    shown_name(name, shown, sizeof(shown)));
	else
		n = snprintf(text, size, "%s process action.",
		    action == NULL ? "Missing" : "Invalid");
	for (size_t i = 0; i < COUNT(actions) && (size_t)n < size; i++)
		n += snprintf(text + n, size - (size_t)n, "%s%s",
		    i > 0 ? ", " : " Expected one of: ", actions[i]);
	if ((size_t)n < size)
		snprintf(text + n, size - (size_t)n, ".");
	return NULL;
}

/* The method that a line asks for; NULL: it was answered with an error. */
static const char *
method_of(struct tool *t, const json_t *request)
{
	const json_t *id = json_object_get(request, "id");
	const json_t *tool = json_object_get(request, "tool");
	const char *name = json_string_value(tool);
	const char *method, *code = "";
	char text[300], shown[64];

	if (name != NULL && strcmp(name, "exec") == 0)
		return "exec";
	if (name != NULL && strcmp(name, "process") == 0) {
		method = process_method(request, &code, text, sizeof(text));
		if (method == NULL)
			answer_error(t, id, code, "action", text);
		return method;
	}
	snprintf(text, sizeof(text), "%s tool%s%s%s: expected exec or "
	                             "process.",
	    tool == NULL ? "Missing" : "Unknown", name != NULL ? " \"" : "",
	    shown_name(name, shown, sizeof(shown)), name != NULL ? "\"" : "");
	answer_error(t, id, "invalid-params", "tool", text);
	return NULL;
}

/* poll's timeout may be an integer in a string; what is none counts as 0. */
static bool
add_poll_timeout(psup_args *a, const char *method, const char *key,
    const json_t *v)
{
	const char *text = json_string_value(v);
	long long ms;

	if (strcmp(method, "poll") != 0 || strcmp(key, "timeout") != 0 ||
	    text == NULL)
		return false;
	ms = strtoll(text, NULL, 10);
	psup_args_int(a, key, ms > 0 ? ms : 0);
	return true;
}

/* Our own environment and directory, where the call names none. */
static void
add_surroundings(const struct tool *t, psup_args *a, const json_t *request)
{
	char name[256], mask[8];

	if (json_object_get(request, "umask") == NULL) {
		snprintf(mask, sizeof(mask), "%03o", (unsigned)cli_umask());
		psup_args_str(a, "umask", mask);
	}
	if (json_object_get(request, "baseDir") == NULL && t->cwd[0] != '\0')
		psup_args_str(a, "baseDir", t->cwd);
	if (json_object_get(request, "baseEnv") != NULL)
		return;
	psup_args_map_begin(a, "baseEnv");
	for (char **v = environ; v != NULL && *v != NULL; v++) {
		size_t len = strcspn(*v, "=");

		/* What cannot be sent as text is left out. */
		if (len == 0 || len >= sizeof(name) || (*v)[len] == '\0' ||
		    !psup_is_utf8(*v, strlen(*v)))
			continue;
		memcpy(name, *v, len);
		name[len] = '\0';
		psup_args_str(a, name, *v + len + 1);
	}
	psup_args_map_end(a);
}

/* The members of a line that are parameters. */
static psup_args *
args_of(const struct tool *t, const char *method, const json_t *request)
{
	psup_args *a = psup_args_new();
	json_t *v, *r = json_incref((json_t *)(uintptr_t)request);
	bool exec = strcmp(method, "exec") == 0;
	const char *key;

	json_object_foreach(r, key, v)
	{
		if (strcmp(key, "id") == 0 || strcmp(key, "tool") == 0 ||
		    (!exec && strcmp(key, "action") == 0) ||
		    add_poll_timeout(a, method, key, v))
			continue;
		args_add_json(a, key, v);
	}
	json_decref(r);
	if (exec)
		add_surroundings(t, a, request);
	return a;
}

/* Connects where we are not. */
static int
ensure_connected(struct tool *t)
{
	struct psup_options o = PSUP_OPTIONS_INIT;

	if (psup_is_connected(t->c->p))
		return PSUP_OK;
	o.runtime_dir = t->c->runtime_dir;
	o.start = !t->c->no_start;
	o.client = "psup tool";
	cli_identity(t->c, &o);
	if (t->scope != NULL)
		o.scope = t->scope;
	return psup_connect(t->c->p, &o);
}

/* Sends one call; takes the reference. It is answered in any case. */
static void
start_call(struct tool *t, json_t *request)
{
	const json_t *id = json_object_get(request, "id");
	const char *method = method_of(t, request);
	struct call *call = calloc(1, sizeof(*call));
	psup_args *a;

	if (method == NULL || call == NULL) {
		if (method != NULL)
			answer_error(t, id, "no-memory", "", "no memory");
		free(call);
		json_decref(request);
		return;
	}
	call->t = t;
	call->id = json_incref((json_t *)(uintptr_t)id);
	t->calls++;
	t->busy = t->busy || id == NULL;
	a = args_of(t, method, request);
	if (ensure_connected(t) != PSUP_OK ||
	    psup_send(t->c->p, method, a, on_answer, call, NULL) != PSUP_OK)
		on_answer(call, PSUP_ERR_SYSTEM, NULL);
	psup_args_free(&a);
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

/* A valid object: runs now, or waits for those before it. */
void
tool_take_request(struct tool *t, json_t *request)
{
	const json_t *id = json_object_get(request, "id");

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
