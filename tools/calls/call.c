/* SPDX-License-Identifier: MIT */
/*
 * From a tool's flat arguments to a call of a method, and from its answer to
 * what a model reads. Every parameter of any action is known to the tool and
 * means something only to the actions that have it.
 */
#include "tools/calls/call.h"

#include <errno.h>
#include <psup/psup.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/calls/json.h"

#define NAMES_MAX 16u /* of those ignored, that are named */

/* ------------------------------------------------------------------- rows */

/* The row of a method's parameter by the name that it has among the tool's. */
static const struct proto_param *
row_of(enum proto_method m, const char *name)
{
	for (size_t i = 0; i < proto_param_count; i++)
		if (proto_params[i].method == m &&
		    strcmp(proto_tool_name(&proto_params[i]), name) == 0)
			return &proto_params[i];
	return NULL;
}

static const struct proto_extra *
extra_of(const char *tool, const char *name)
{
	for (size_t i = 0; i < proto_extra_count; i++)
		if (strcmp(proto_extras[i].tool, tool) == 0 &&
		    strcmp(proto_extras[i].name, name) == 0)
			return &proto_extras[i];
	return NULL;
}

/* Has any action of the tool such a parameter? */
static bool
is_known(const char *tool, const char *name)
{
	for (size_t i = 0; i < proto_action_count; i++)
		if (strcmp(proto_actions[i].tool, tool) == 0 &&
		    row_of(proto_actions[i].method, name) != NULL)
			return true;
	return extra_of(tool, name) != NULL;
}

/* Has the tool more than one action, so that a call names it? */
static bool
has_actions(const char *tool)
{
	return strcmp(tool, "process") == 0;
}

/* ----------------------------------------------------------------- method */

/* A name as it came, cut and fit to be shown; "" for none. */
static const char *
shown_name(const char *name, char *ret, size_t size)
{
	ret[0] = '\0';
	if (name != NULL)
		psup_escape(name, strlen(name), false, ret, size);
	return ret;
}

/* The action that a call of the tool names. */
static int
take_action(struct toolcall *c, const json_t *action,
    struct proto_problem *ret_why)
{
	const char *name = json_string_value(action);
	char *other = NULL, shown[64], all[200] = "";
	size_t n = 0;

	for (size_t i = 0; i < proto_action_count; i++) {
		const struct proto_action *a = &proto_actions[i];
		const char *is = proto_method_name(a->method);

		if (strcmp(a->tool, c->tool) != 0)
			continue;
		if (name != NULL && toolcall_is_action(name, is)) {
			c->method = a->method;
			return 0;
		}
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s",
		    n > 0 ? ", " : "", is);
	}
	if (name == NULL && action != NULL && !json_is_null(action))
		other = json_dumps(action, JSON_ENCODE_ANY | JSON_COMPACT);
	proto_problem_set(ret_why, PROTO_E_INVALID_PARAMS, "action",
	    "%s %s action%s%s%s. Expected one of: %s.",
	    other != NULL || (name != NULL && name[0] != '\0') ? "Invalid"
								: "Missing",
	    c->tool, other != NULL ? " " : name != NULL && name[0] != '\0'
		? " \"" : "",
	    shown_name(other != NULL ? other : name, shown, sizeof(shown)),
	    name != NULL && name[0] != '\0' ? "\"" : "", all);
	free(other);
	return -EINVAL;
}

/* The tool of that name, and the method that is meant. */
static int
take_method(struct toolcall *c, const char *tool, const json_t *args,
    struct proto_problem *ret_why)
{
	char shown[64];

	for (size_t i = 0; i < proto_action_count && tool != NULL; i++) {
		if (strcmp(proto_actions[i].tool, tool) != 0)
			continue;
		c->tool = proto_actions[i].tool;
		if (has_actions(c->tool))
			return take_action(c, json_object_get(args, "action"),
			    ret_why);
		c->method = proto_actions[i].method;
		return 0;
	}
	proto_problem_set(ret_why, PROTO_E_INVALID_PARAMS, "tool",
	    "%s tool%s%s%s: expected exec or process.",
	    tool == NULL ? "Missing" : "Unknown", tool != NULL ? " \"" : "",
	    shown_name(tool, shown, sizeof(shown)), tool != NULL ? "\"" : "");
	return -EINVAL;
}

/* ----------------------------------------------------------------- params */

/* The parameter that was meant, where the call would do the wrong thing without
 * it; else NULL. A name that another action has means that, unless it is bytes
 * that this one would drop. */
static const struct proto_param *
meant_by(const struct toolcall *c, const char *name, const json_t *v)
{
	const struct proto_param *row;
	bool wrong;

	row = proto_hint(c->method, name, &wrong);
	if (row == NULL || !wrong ||
	    strcmp(proto_tool_name(row), row->name) != 0 ||
	    json_object_get(c->params, row->name) != NULL)
		return NULL;
	if (is_known(c->tool, name) &&
	    (row->type != PT_DATA || !json_is_string(v)))
		return NULL;
	return row;
}

/* A name that the method does not have. */
static int
take_foreign(struct toolcall *c, const char *name, const json_t *v,
    struct proto_problem *ret_why)
{
	const struct proto_param *row = meant_by(c, name, v);
	char shown[64];

	shown_name(name, shown, sizeof(shown));
	if (row != NULL) {
		proto_problem_set(ret_why, PROTO_E_INVALID_PARAMS, name,
		    "%s has no parameter \"%s\", did you mean \"%s\"?",
		    toolcall_method(c), shown, row->name);
		(void)snprintf(ret_why->expected, sizeof(ret_why->expected),
		    "%s", row->name);
		return -EINVAL;
	}
	if (!is_known(c->tool, name) &&
	    json_array_size(c->ignored) < NAMES_MAX)
		json_array_append_new(c->ignored, json_string(shown));
	return 0;
}

/* A text that stands for a parameter of its own: cut to what that takes. */
static void
take_extra(struct toolcall *c, const struct proto_extra *extra,
    const json_t *v)
{
	const struct proto_param *row = row_of(c->method, extra->as);
	const char *s = json_string_value(v);
	char text[128];
	size_t n;

	if (row == NULL || s == NULL || s[0] == '\0' ||
	    json_object_get(c->params, row->name) != NULL)
		return;
	n = psup_escape(s, strlen(s), false, text,
	    row->max + 1 < sizeof(text) ? (size_t)row->max + 1 : sizeof(text));
	json_object_set_new(c->params, row->name, json_stringn(text, n));
}

/* What the method has. */
static void
take_own(struct toolcall *c, json_t *args)
{
	const struct proto_param *row;
	const char *name;
	json_t *v;

	json_object_foreach(args, name, v)
	{
		row = row_of(c->method, name);
		v = row != NULL ? toolcall_bend(row, v) : NULL;
		if (v != NULL)
			json_object_set_new(c->params, row->name, v);
	}
}

/* And the others, which may depend on that. */
static int
take_others(struct toolcall *c, json_t *args, struct proto_problem *ret_why)
{
	const char *name;
	json_t *v;

	json_object_foreach(args, name, v)
	{
		const struct proto_extra *extra = extra_of(c->tool, name);

		if (json_is_null(v) ||
		    (json_is_string(v) && json_string_length(v) == 0) ||
		    row_of(c->method, name) != NULL ||
		    (has_actions(c->tool) && strcmp(name, "action") == 0))
			continue;
		if (extra != NULL)
			take_extra(c, extra, v);
		else if (take_foreign(c, name, v, ret_why) < 0)
			return -EINVAL;
	}
	return 0;
}

/* What the method cannot do without. */
static int
check_required(const struct toolcall *c, struct proto_problem *ret_why)
{
	for (size_t i = 0; i < proto_param_count; i++) {
		const struct proto_param *row = &proto_params[i];

		if (row->method != c->method || !row->required ||
		    json_object_get(c->params, row->name) != NULL)
			continue;
		proto_problem_set(ret_why, PROTO_E_INVALID_PARAMS, row->name,
		    "%s is required for this action.", proto_tool_name(row));
		return -EINVAL;
	}
	return 0;
}

int
toolcall_take(const char *tool, const json_t *args, struct toolcall *ret,
    struct proto_problem *ret_why)
{
	/* jansson's iterators take no const; nothing is changed */
	json_t *a = json_incref((json_t *)(uintptr_t)args);
	int error;

	*ret = (struct toolcall){.method = PROTO_METHOD_COUNT,
	    .params = json_object(), .ignored = json_array()};
	error = take_method(ret, tool, args, ret_why);
	if (error == 0) {
		take_own(ret, a);
		error = take_others(ret, a, ret_why);
	}
	json_decref(a);
	return error < 0 ? error : check_required(ret, ret_why);
}

void
toolcall_fini(struct toolcall *c)
{
	json_decref(c->params);
	json_decref(c->ignored);
	*c = (struct toolcall){.method = PROTO_METHOD_COUNT};
}

/* ---------------------------------------------------------------- answers */

/* The names, as a line of the text. */
static json_t *
text_with_ignored(const struct toolcall *c, const json_t *text)
{
	const char *s = json_string_value(text);
	char names[NAMES_MAX * 68] = "";
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(c->ignored); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s",
		    i > 0 ? ", " : "",
		    json_string_value(json_array_get(c->ignored, i)));
	return json_sprintf("%s%sIgnored, not known to %s: %s.",
	    s != NULL ? s : "",
	    s == NULL || s[0] == '\0'                     ? ""
		: s[json_string_length(text) - 1] == '\n' ? "\n"
							  : "\n\n",
	    c->tool, names);
}

json_t *
toolcall_answer(const struct toolcall *c, json_t *answer)
{
	json_t *details = json_object_get(answer, "details");

	if (json_array_size(c->ignored) == 0)
		return answer;
	json_object_set_new(answer, "text",
	    text_with_ignored(c, json_object_get(answer, "text")));
	if (json_is_object(details))
		json_object_set(details, "ignored", c->ignored);
	return answer;
}

/* What every answer of exec has. */
static void
add_exec_shape(json_t *details, const struct toolcall *c, const char *cwd,
    bool aborted)
{
	json_t *workdir = json_object_get(c->params, "workdir");

	json_object_set_new(details, "failureKind",
	    json_string(aborted ? "aborted" : "runtime-error"));
	json_object_set_new(details, "exitCode", json_null());
	json_object_set_new(details, "exitSignal", json_null());
	json_object_set_new(details, "durationMs", json_integer(0));
	json_object_set_new(details, "aggregated", json_string(""));
	json_object_set_new(details, "timedOut", json_false());
	json_object_set_new(details, "noOutputTimedOut", json_false());
	if (json_is_string(workdir))
		json_object_set(details, "cwd", workdir);
	else if (cwd[0] != '\0')
		json_object_set_new(details, "cwd", json_string(cwd));
}

json_t *
toolcall_failure(const struct toolcall *c, const char *cwd, const char *code,
    const char *field, const char *message)
{
	json_t *details = json_object();
	json_t *text = json_of_text(message, strlen(message));

	json_object_set_new(details, "status", json_string("failed"));
	json_object_set(details, "error", text);
	json_object_set_new(details, "code", json_string(code));
	if (field[0] != '\0')
		json_object_set_new(details, "field",
		    json_of_text(field, strlen(field)));
	if (c->tool != NULL && !has_actions(c->tool))
		add_exec_shape(details, c, cwd,
		    strcmp(code, "cancelled") == 0);
	return toolcall_answer(c, json_pack("{s:o, s:o, s:b}", "text", text,
	    "details", details, "isError", 1));
}
