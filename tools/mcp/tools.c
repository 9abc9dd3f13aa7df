/* SPDX-License-Identifier: MIT */
/*
 * See tools.h. The words are tools.def's, everything else is what
 * common/proto.def says of the parameter. Schemas are flat and without oneOf,
 * which models and clients mishandle.
 */
#include "tools.h"

#include <psup/psup.h>
#include <stdio.h>
#include <string.h>

#include "common/proto.h"
#include "tools/calls/call.h"

enum { READS = 1, HARMS = 2, AGAIN = 4, WORLD = 8 };
enum { NEEDED = 1, BOUNDS = 2, DEFAULT = 4, CAPPED = 8, PATH = 16 };

enum tool {
#define TOOL(id, name, title, hints, about) TOOL_##id,
#include "tools.def"
	TOOL_COUNT,
	TOOL_PROCESS = TOOL_COUNT /* --classic: all but exec */
};

static const struct tool_row {
	const char *name, *title, *about;
	unsigned hints;
} tool_rows[] = {
#define TOOL(id, name, title, hints, about) {name, title, about, hints},
#include "tools.def"
	{"process", "Follow and end commands",
	    "Follows, feeds and ends commands that exec left running. Use wait "
	    "in one call instead of polling.", HARMS | WORLD},
};

static const struct action_row {
	enum tool tool;
	const char *name;
} action_rows[] = {
#define ACTION(tool, name) {TOOL_##tool, name},
#include "tools.def"
};

static const struct arg_row {
	enum tool tool;
	enum proto_method method;
	const char *name;
	unsigned show;
	const char *words, *doc;
} arg_rows[] = {
#define ARG(tool, method, name, show, words, doc)                              \
	{TOOL_##tool, PROTO_##method, name, show, words, doc},
#include "tools.def"
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const char tools_instructions[] =
    "psup runs shell commands outside this client: background ones go on when "
    "the client or this server ends, and a later client of the same project "
    "finds them (process_read list).\n"
    "Use exec for every command. It answers at the end of the command, or "
    "after yieldMs with a sessionId while the command runs on; nothing is lost "
    "by that. Then use process_read wait, once, with the exit or the text you "
    "need: never sleep, never poll in a loop. Start servers and watchers with "
    "background true and wait for the line that says they are ready.\n"
    "Ends of background commands are told as 'Meanwhile:' in later answers. "
    "Kill what you started and no longer need. Each exec is a new shell: cd "
    "and export do not last; use workdir and env. Long output is cut in the "
    "middle: process_read log with grep, or offset and limit, shows the rest.";

/* Which of tool_rows a set shows. */
static bool
shown(enum tool_set set, enum tool tool)
{
	if (tool == TOOL_EXEC)
		return true;
	return (tool == TOOL_PROCESS) == (set == TOOLS_CLASSIC);
}

/* Does a row of this tool belong to `shown`, which may stand for several? */
static bool
belongs(enum tool of, enum tool shown)
{
	return of == shown || (shown == TOOL_PROCESS && of != TOOL_EXEC);
}

/* The tool of that name; TOOL_PROCESS + 1: none. */
static enum tool
find(enum tool_set set, const char *name)
{
	enum tool t;

	for (t = 0; t <= TOOL_PROCESS; t++)
		if (shown(set, t) && strcmp(tool_rows[t].name, name) == 0)
			break;
	return t;
}

/* ----------------------------------------------------------------- schemas */

/* What proto.def says of it; NULL: "action", which is ours. */
static const struct proto_param *
param_of(const struct arg_row *a)
{
	for (size_t i = 0; i < proto_param_count; i++)
		if (proto_params[i].method == a->method &&
		    strcmp(proto_params[i].name, a->name) == 0)
			return &proto_params[i];
	return NULL;
}

static json_t *
of_words(const char *words)
{
	json_t *list = json_array();
	size_t len;

	for (; *words != '\0'; words += len + (words[len] == '|')) {
		len = strcspn(words, "|");
		json_array_append_new(list, json_stringn(words, len));
	}
	return list;
}

/* Its type in JSON. */
static const char *
type_name(const struct arg_row *a, const struct proto_param *p)
{
	if (a->words != NULL || p == NULL || (a->show & PATH) != 0)
		return "string";
	switch (p->type) {
	case PT_INT:
		return "integer";
	case PT_NUM:
		return "number";
	case PT_BOOL:
		return "boolean";
	case PT_STRLIST:
		return "array";
	case PT_STRMAP:
	case PT_OBJECT:
		return "object";
	default:
		return "string";
	}
}

/* default: what proto.def has, where it is a value. */
static void
add_default(json_t *schema, const struct proto_param *p)
{
	json_t *v = json_loads(p->dflt, JSON_DECODE_ANY, NULL);

	if (v == NULL)
		v = json_string(p->dflt);
	json_object_set_new(schema, "default", v);
}

/* minimum and maximum, or maxLength. */
static void
add_bounds(json_t *schema, const struct arg_row *a,
    const struct proto_param *p, int cap_ms)
{
	double max = (a->show & CAPPED) != 0 ? cap_ms : p->max;

	if (p->type == PT_STR) {
		json_object_set_new(schema, "maxLength",
		    json_integer((json_int_t)p->max));
		return;
	}
	json_object_set_new(schema, "minimum",
	    json_integer((json_int_t)p->min));
	json_object_set_new(schema, "maximum", json_integer((json_int_t)max));
}

static json_t *
arg_schema(const struct arg_row *a, int cap_ms)
{
	const struct proto_param *p = param_of(a);
	json_t *schema = json_pack("{s:s, s:s}", "type", type_name(a, p),
	    "description", a->doc);

	if (a->words != NULL)
		json_object_set_new(schema, "enum", of_words(a->words));
	if (p == NULL)
		return schema;
	if (p->type == PT_STRLIST)
		json_object_set_new(schema, "items",
		    json_pack("{s:s}", "type", "string"));
	if (p->type == PT_STRMAP)
		json_object_set_new(schema, "additionalProperties",
		    json_pack("{s:s}", "type", "string"));
	if ((a->show & DEFAULT) != 0)
		add_default(schema, p);
	if ((a->show & BOUNDS) != 0)
		add_bounds(schema, a, p, cap_ms);
	return schema;
}

/* A parameter that two actions have under one name: both docs. */
static void
add_doc(json_t *schema, const char *doc)
{
	const char *has = json_string_value(
	    json_object_get(schema, "description"));

	if (has == NULL || strcmp(has, doc) == 0)
		return;
	json_object_set_new(schema, "description",
	    json_sprintf("%s %s", has, doc));
}

/* The actions of a tool, in order. */
static json_t *
actions_of(enum tool tool)
{
	json_t *names = json_array();

	for (size_t i = 0; i < COUNT(action_rows); i++)
		if (belongs(action_rows[i].tool, tool))
			json_array_append_new(names,
			    json_string(action_rows[i].name));
	return names;
}

static json_t *
input_schema(enum tool tool, int cap_ms)
{
	json_t *props = json_object(), *needed = json_array(), *names, *has;

	for (size_t i = 0; i < COUNT(arg_rows); i++) {
		const struct arg_row *a = &arg_rows[i];

		if (!belongs(a->tool, tool))
			continue;
		has = json_object_get(props, a->name);
		if (has != NULL) {
			add_doc(has, a->doc);
			continue;
		}
		json_object_set_new(props, a->name, arg_schema(a, cap_ms));
		/* what only some of several tools need, this one does not */
		if ((a->show & NEEDED) != 0 &&
		    (tool != TOOL_PROCESS || param_of(a) == NULL))
			json_array_append_new(needed, json_string(a->name));
	}
	names = actions_of(tool);
	if (json_array_size(names) > 0)
		json_object_set(json_object_get(props, "action"), "enum",
		    names);
	json_decref(names);
	return json_pack("{s:s, s:o, s:o, s:b}", "type", "object",
	    "properties", props, "required", needed, "additionalProperties",
	    0);
}

/* Programs find what docs/protocol.md says of details. */
static json_t *
output_schema(void)
{
	return json_pack("{s:s, s:{s:{s:s}, s:{s:s}, s:{s:s}}, s:[s,s]}",
	    "type", "object", "properties", "status", "type", "string", "text",
	    "type", "string", "sessionId", "type", "string", "required",
	    "status", "text");
}

static json_t *
annotations(const struct tool_row *row)
{
	return json_pack("{s:s, s:b, s:b, s:b, s:b}", "title", row->title,
	    "readOnlyHint", (row->hints & READS) != 0, "destructiveHint",
	    (row->hints & HARMS) != 0, "idempotentHint",
	    (row->hints & AGAIN) != 0, "openWorldHint",
	    (row->hints & WORLD) != 0);
}

json_t *
tools_list(enum tool_set set, int cap_ms, bool structured)
{
	json_t *list = json_array(), *tool;

	for (enum tool t = 0; t <= TOOL_PROCESS; t++) {
		const struct tool_row *row = &tool_rows[t];

		if (!shown(set, t))
			continue;
		tool = json_pack("{s:s, s:s, s:s, s:o, s:o}", "name",
		    row->name, "title", row->title, "description", row->about,
		    "inputSchema", input_schema(t, cap_ms), "annotations",
		    annotations(row));
		if (structured)
			json_object_set_new(tool, "outputSchema",
			    output_schema());
		json_array_append_new(list, tool);
	}
	return list;
}

/* ------------------------------------------------------------------- calls */

bool
tools_have(enum tool_set set, const char *tool)
{
	return find(set, tool) <= TOOL_PROCESS;
}

/* Says which actions there are. */
static void
say_actions(enum tool tool, const char *action, char *why, size_t size)
{
	char shown_action[64] = "";
	const char *sep = "";
	int n;

	if (action != NULL)
		psup_escape(action, strlen(action), false, shown_action,
		    sizeof(shown_action));
	n = action == NULL
	    ? snprintf(why, size, "action: it is missing, or no string.")
	    : snprintf(why, size, "action: \"%s\" is none of %s's.",
	          shown_action, tool_rows[tool].name);
	n += snprintf(why + n, size - (size_t)n, " Expected one of: ");
	for (size_t i = 0; i < COUNT(action_rows) && (size_t)n < size; i++)
		if (belongs(action_rows[i].tool, tool)) {
			n += snprintf(why + n, size - (size_t)n, "%s%s", sep,
			    action_rows[i].name);
			sep = ", ";
		}
	if ((size_t)n < size)
		snprintf(why + n, size - (size_t)n, ".");
}

const char *
tools_method(enum tool_set set, const char *tool, const char *action,
    char *why, size_t size)
{
	enum tool t = find(set, tool);

	if (t == TOOL_EXEC)
		return "exec";
	for (size_t i = 0; action != NULL && i < COUNT(action_rows); i++)
		if (belongs(action_rows[i].tool, t) &&
		    toolcall_is_action(action, action_rows[i].name))
			return action_rows[i].name;
	say_actions(t, action, why, size);
	return NULL;
}

/* Is it among them, and one of the tool's? */
static bool
names_action(enum tool tool, const json_t *name)
{
	const char *s = json_string_value(name);

	for (size_t i = 0; s != NULL && i < COUNT(action_rows); i++)
		if (belongs(action_rows[i].tool, tool) &&
		    strcmp(action_rows[i].name, s) == 0)
			return true;
	return false;
}

/* Appends "sep text" to *s; takes and gives a reference. */
static void
join(json_t **s, const char *sep, const char *text)
{
	json_t *longer = *s == NULL
	    ? json_string(text)
	    : json_sprintf("%s%s%s", json_string_value(*s), sep, text);

	json_decref(*s);
	*s = longer;
}

json_t *
tools_of_actions(enum tool_set set, const json_t *actions)
{
	json_t *all = NULL, *own;

	for (enum tool t = 0; t <= TOOL_PROCESS; t++) {
		own = NULL;
		for (size_t i = 0; shown(set, t) && i < json_array_size(actions);
		     i++)
			if (names_action(t, json_array_get(actions, i)))
				join(&own, ", ",
				    json_string_value(
				        json_array_get(actions, i)));
		if (own == NULL)
			continue;
		join(&all, ", ", tool_rows[t].name);
		join(&all, " (", json_string_value(own));
		join(&all, ")", "");
		json_decref(own);
	}
	return all;
}
