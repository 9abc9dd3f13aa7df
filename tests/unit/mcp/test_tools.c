/* SPDX-License-Identifier: MIT */
/* What a model sees, against what the wire takes. */
#include <criterion/criterion.h>
#include <string.h>

#include "common/proto.h"
#include "tools/calls/call.h"
#include "tools/mcp/scope.h"
#include "tools/mcp/tools.h"

static json_t *
properties_of(const json_t *tool)
{
	return json_object_get(json_object_get(tool, "inputSchema"),
	    "properties");
}

/* What a schema shows is taken, with every action that has it: a row whose
 * parameter was renamed must not stay behind. */
Test(tools, show_only_what_is_taken, .timeout = 20)
{
	json_t *list = tools_list(TOOLS_SPLIT, 45000, false), *tool, *prop;
	const char *name;
	size_t i;

	cr_assert_eq(json_array_size(list), 4);
	json_array_foreach(list, i, tool)
	{
		const char *of = json_string_value(json_object_get(tool,
		                     "name"));

		json_object_foreach(properties_of(tool), name, prop)
		{
			struct proto_problem why;
			struct toolcall c;
			json_t *args = json_pack("{s:s, s:s, s:s}", "action",
			    "wait", "command", "true", "sessionId", "x");

			if (strcmp(name, "action") != 0)
				json_object_set_new(args, name,
				    json_string("1"));
			cr_assert_eq(toolcall_take(i == 0 ? "exec" : "process",
			                 args, &c, &why),
			    0, "%s: %s: %s", of, name, why.message);
			cr_assert_eq(json_array_size(c.ignored),
			    i == 0 ? 2u : 1u, "%s: %s", of, name);
			cr_assert(json_object_get(prop, "description") != NULL &&
			    json_object_get(prop, "type") != NULL);
			toolcall_fini(&c);
			json_decref(args);
		}
	}
	json_decref(list);
}

Test(tools, have_types_bounds_and_defaults_of_the_table, .timeout = 20)
{
	json_t *list = tools_list(TOOLS_SPLIT, 45000, false);
	json_t *exec = properties_of(json_array_get(list, 0));
	json_t *want = json_loads(
	    "{\"type\": \"integer\", \"description\": \"Wait at most this long "
	    "for the end; after that the command runs on and you get a "
	    "sessionId.\", \"default\": 10000, \"minimum\": 10, \"maximum\": "
	    "45000}", 0, NULL);

	cr_assert(json_equal(json_object_get(exec, "yieldMs"), want));
	cr_assert_str_eq(json_string_value(json_array_get(json_object_get(
	                     json_object_get(exec, "stdin"), "enum"), 1)),
	    "closed");
	json_decref(want);
	want = json_pack("[s,s,s]", "auto", "gateway", "sandbox");
	cr_assert(json_equal(json_object_get(json_object_get(exec, "host"),
	    "enum"), want));
	cr_assert(json_is_false(json_object_get(json_object_get(exec,
	    "elevated"), "default")));
	json_decref(want);
	json_decref(list);
}

Test(tools, each_action_belongs_to_one_tool_and_to_the_classic_one, .timeout = 20)
{
	static const struct {
		const char *action, *tool;
	} rows[] = {{"list", "process_read"}, {"wait", "process_read"},
	    {"submit", "process_input"}, {"killScope", "process_end"}};
	static const char *const all[] = {
	    "process_read", "process_input", "process_end"};
	char why[300];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t k = 0; k < 3; k++)
			cr_assert_eq(
			    tools_method(TOOLS_SPLIT, all[k], rows[i].action,
			        why, sizeof(why)) != NULL,
			    strcmp(all[k], rows[i].tool) == 0);
		cr_assert_str_eq(tools_method(TOOLS_CLASSIC, "process",
		                     rows[i].action, why, sizeof(why)),
		    rows[i].action);
	}
	cr_assert_null(tools_method(TOOLS_SPLIT, "process_end", "a\nb", why,
	    sizeof(why)));
	cr_assert_str_eq(why, "action: \"a\\x0ab\" is none of process_end's. "
	                      "Expected one of: kill, remove, clear, "
	                      "killScope.");
	cr_assert(!tools_have(TOOLS_SPLIT, "process"));
	cr_assert(!tools_have(TOOLS_CLASSIC, "process_end"));
}

Test(tools, tell_which_of_them_follow_a_session, .timeout = 20)
{
	json_t *actions = json_pack("[s,s,s,s]", "poll", "kill", "wait",
	    "nonsense");
	json_t *text = tools_of_actions(TOOLS_SPLIT, actions);

	cr_assert_str_eq(json_string_value(text),
	    "process_read (poll, wait), process_end (kill)");
	json_decref(text);
	text = tools_of_actions(TOOLS_CLASSIC, actions);
	cr_assert_str_eq(json_string_value(text), "process (poll, kill, wait)");
	json_decref(text);
	json_decref(actions);
	cr_assert_null(tools_of_actions(TOOLS_SPLIT, NULL));
}

Test(scope, is_the_folders, .timeout = 20)
{
	char a[SCOPE_SIZE], b[SCOPE_SIZE];

	scope_of_folder("/home/x/a project, with a very long name", a);
	cr_assert_eq(strncmp(a, "mcp:a_project__with_a_v", 20), 0, "%s", a);
	scope_of_folder("/home/y/a project, with a very long name", b);
	cr_assert_str_neq(a, b);
	scope_of_folder("/home/x/a project, with a very long name", b);
	cr_assert_str_eq(a, b);
	scope_of_folder("/\xff\xfe\n", a);
	for (const char *c = a; *c != '\0'; c++)
		cr_assert(*c > ' ' && *c < 127);
	cr_assert(!scope_is_project("/", "/home/x"));
	cr_assert(!scope_is_project("/home/x", "/home/x"));
	cr_assert(scope_is_project("/home/x/y", "/home/x"));
	cr_assert(scope_is_project("/home/x", NULL));
}
