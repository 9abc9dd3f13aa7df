/* SPDX-License-Identifier: MIT */
/*
 * A tool's arguments as a JSON schema, from the rows of proto.def: flat, since
 * models and their hosts mishandle alternatives. A parameter that several
 * actions have is one property, whose description says what it means to each.
 */
#include <string.h>

#include "tools/calls/call.h"

/* {"type": ...} and its bounds. */
static json_t *
property_of(const struct proto_param *row)
{
	switch (row->type) {
	case PT_INT:
	case PT_NUM:
		/* what is clamped may be anything */
		return row->clamp
		    ? json_pack("{s:s}", "type", row->type == PT_INT ? "integer"
		                                                     : "number")
		    : json_pack("{s:s, s:I, s:I}", "type",
			  row->type == PT_INT ? "integer" : "number", "minimum",
			  (json_int_t)row->min, "maximum",
			  (json_int_t)row->max);
	case PT_BOOL:
	case PT_STREAM:
		return json_pack("{s:s}", "type", "boolean");
	case PT_STRMAP:
		return json_pack("{s:s, s:{s:s}}", "type", "object",
		    "additionalProperties", "type", "string");
	case PT_STRLIST:
		return json_pack("{s:s, s:{s:s}}", "type", "array", "items",
		    "type", "string");
	case PT_OBJECT:
		return json_pack("{s:s}", "type", "object");
	case PT_STDIN:
		return json_pack("{s:[s,s]}", "type", "string", "object");
	case PT_STR:
	case PT_DATA:
	case PT_SIGNAL:
		break;
	}
	return json_pack("{s:s}", "type", "string");
}

/* "poll, wait: what it means to them". */
static void
add_doc(json_t *property, const char *action, const char *doc)
{
	const char *all =
	    json_string_value(json_object_get(property, "description"));
	const char *said = all != NULL ? strstr(all, doc) : NULL;

	if (said == NULL)
		json_object_set_new(property, "description",
		    json_sprintf("%s%s%s%s%s", all != NULL ? all : "",
			all != NULL ? " " : "", action,
			action[0] != '\0' ? ": " : "", doc));
	else if (action[0] != '\0' && said > all + 2)
		json_object_set_new(property, "description",
		    json_sprintf("%.*s, %s%s", (int)(said - all - 2), all,
			action, said - 2));
}

/* The rows of one action. */
static void
add_method(json_t *properties, enum proto_method m, bool named)
{
	for (size_t i = 0; i < proto_param_count; i++) {
		const struct proto_param *row = &proto_params[i];
		const char *name = proto_tool_name(row);
		json_t *property = json_object_get(properties, name);

		if (row->method != m || row->program)
			continue;
		if (property == NULL) {
			property = property_of(row);
			json_object_set_new(properties, name, property);
		}
		add_doc(property, named ? proto_method_name(m) : "", row->doc);
	}
}

json_t *
toolcall_schema(const char *tool)
{
	json_t *properties = json_object(), *actions = json_array();
	bool named = strcmp(tool, "process") == 0;

	if (named)
		json_object_set_new(properties, "action",
		    json_pack("{s:s, s:O}", "type", "string", "enum",
			actions));
	for (size_t i = 0; i < proto_action_count; i++) {
		const struct proto_action *a = &proto_actions[i];

		if (strcmp(a->tool, tool) != 0)
			continue;
		json_array_append_new(actions,
		    json_string(proto_method_name(a->method)));
		add_method(properties, a->method, named);
	}
	for (size_t i = 0; i < proto_extra_count; i++)
		if (strcmp(proto_extras[i].tool, tool) == 0)
			json_object_set_new(properties, proto_extras[i].name,
			    json_pack("{s:s, s:s}", "type", "string",
				"description", proto_extras[i].doc));
	json_decref(actions);
	return json_pack("{s:s, s:o, s:o}", "type", "object", "properties",
	    properties, "required",
	    named ? json_pack("[s]", "action") : json_array());
}
