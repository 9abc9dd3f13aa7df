/* SPDX-License-Identifier: MIT */
/*
 * Flat arguments of a tool call: any JSON. What comes out is what the wire's
 * rows name, stays the same when it is taken again, and an answer about it is
 * whole.
 */
#include <psup/psup.h>

#include "fuzz.h"
#include "tools/calls/call.h"

/* The row of a parameter of the wire. */
static const struct proto_param *
row_of(enum proto_method m, const char *name)
{
	for (size_t i = 0; i < proto_param_count; i++)
		if (proto_params[i].method == m &&
		    strcmp(proto_params[i].name, name) == 0)
			return &proto_params[i];
	return NULL;
}

/* The params as arguments again, by the names that the tool has for them. */
static json_t *
args_again(const struct toolcall *c)
{
	json_t *args = json_object(), *v;
	const struct proto_param *row;
	const char *name;

	json_object_foreach(c->params, name, v)
	{
		row = row_of(c->method, name);
		EXPECT(row != NULL);
		EXPECT(!json_is_null(v) || row->nullable);
		json_object_set(args, proto_tool_name(row), v);
	}
	if (strcmp(c->tool, "process") == 0)
		json_object_set_new(args, "action",
		    json_string(toolcall_method(c)));
	return args;
}

static void
expect_stable(const struct toolcall *c)
{
	json_t *args = args_again(c);
	struct proto_problem why;
	struct toolcall again;

	EXPECT(toolcall_take(c->tool, args, &again, &why) == 0);
	EXPECT(again.method == c->method);
	EXPECT(json_equal(again.params, c->params));
	EXPECT(json_array_size(again.ignored) == 0);
	toolcall_fini(&again);
	json_decref(args);
}

/* Names as they came are not in it as they came. */
static void
expect_whole(const struct toolcall *c, json_t *answer)
{
	json_t *details = json_object_get(answer, "details");

	EXPECT(json_is_string(json_object_get(answer, "text")));
	EXPECT(json_is_object(details));
	for (size_t i = 0; i < json_array_size(c->ignored); i++) {
		const char *name =
		    json_string_value(json_array_get(c->ignored, i));

		EXPECT(name != NULL);
		for (; *name != '\0'; name++)
			EXPECT((unsigned char)*name >= ' ');
	}
	EXPECT(json_array_size(c->ignored) ==
	    json_array_size(json_object_get(details, "ignored")));
	json_decref(answer);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *tool = take_byte(&data, &size) & 1 ? "process" : "exec";
	json_t *args = json_loadb((const char *)data, size,
	    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	struct proto_problem why = {.message = ""};
	struct toolcall c;
	int error;

	if (!json_is_object(args)) {
		json_decref(args);
		return 0;
	}
	error = toolcall_take(tool, args, &c, &why);
	EXPECT(error == 0 || why.message[0] != '\0');
	if (error == 0)
		expect_stable(&c);
	expect_whole(&c, toolcall_failure(&c, "/", "busy", why.field,
	    why.message));
	toolcall_fini(&c);
	json_decref(args);
	return 0;
}
