/* SPDX-License-Identifier: MIT */
/*
 * Tool calls as models make them: every action with its own parameters, with
 * all of the tool's, with null and with "" in all of them, with texts for
 * numbers. What comes out passes the checks of the wire.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "libpsup/internal.h"
#include "tools/calls/call.h"
#include "tools/calls/json.h"

TestSuite(call, .timeout = 20);

/* ------------------------------------------------------------------ words */

static json_t *
json_of(const char *text)
{
	json_error_t error;
	json_t *v = json_loads(text, JSON_ALLOW_NUL, &error);

	cr_assert(v != NULL, "%s: %s", text, error.text);
	return v;
}

/* Takes a call that must be one. */
static struct toolcall
taken(const char *tool, const json_t *args)
{
	struct proto_problem why;
	struct toolcall c;
	char *text = json_dumps(args, 0);

	cr_assert_eq(toolcall_take(tool, args, &c, &why), 0, "%s: %s", text,
	    why.message);
	free(text);
	return c;
}

static void
expect_params(const struct toolcall *c, const char *wanted)
{
	json_t *want = json_of(wanted);
	char *got = json_dumps(c->params, JSON_SORT_KEYS);

	cr_expect(json_equal(c->params, want), "%s %s is not %s",
	    toolcall_method(c), got, wanted);
	free(got);
	json_decref(want);
}

/* `args` gives these params, and nothing is ignored. */
static void
gives(const char *tool, const char *args, const char *params)
{
	json_t *a = json_of(args);
	struct toolcall c = taken(tool, a);

	expect_params(&c, params);
	cr_expect_eq(json_array_size(c.ignored), 0, "%s", args);
	toolcall_fini(&c);
	json_decref(a);
}

/* `args` is refused, for that field and in words that hold `part`. */
static void
refuses(const char *tool, const char *args, const char *field,
    const char *part)
{
	json_t *a = json_of(args);
	struct proto_problem why = {.message = ""};
	struct toolcall c;

	cr_expect_lt(toolcall_take(tool, a, &c, &why), 0, "%s", args);
	cr_expect_str_eq(why.field, field);
	cr_expect(strstr(why.message, part) != NULL, "%s: %s", args,
	    why.message);
	toolcall_fini(&c);
	json_decref(a);
}

/* The wire takes it. */
static void
expect_valid(const struct toolcall *c)
{
	psup_args *a = psup_args_new();
	struct enc params = ENC_INIT;
	enum proto_method m;
	const char *key;
	bool repeats;
	json_t *v;
	psup *p;

	cr_assert_eq(psup_new(&p), PSUP_OK);
	json_object_foreach(c->params, key, v)
		args_add_json(a, key, v);
	cr_assert_eq(args_finish(p, a, &params), PSUP_OK);
	cr_expect_eq(request_check(p, toolcall_method(c), &params, &m,
			 &repeats), PSUP_OK,
	    "%s: %s", toolcall_method(c), psup_error_message(p));
	enc_fini(&params);
	psup_args_free(&a);
	psup_free(&p);
}

/* ----------------------------------------------------------- every action */

/* A value that the row takes. */
static json_t *
sample(const struct proto_param *row)
{
	const char *words = proto_words(row);

	if (words != NULL)
		return json_stringn(words, strcspn(words, "|"));
	switch (row->type) {
	case PT_BOOL:
	case PT_STREAM:
		return json_true();
	case PT_INT:
	case PT_NUM:
		return json_integer(1);
	case PT_STRLIST:
		return json_pack("[s]", "up");
	case PT_STRMAP:
		return json_pack("{s:s}", "A", "b");
	case PT_OBJECT:
		return json_object();
	case PT_STR:
		return json_stringn(
		    "auto000000000000000000000000000000000000000000000000000000"
		    "0000000000", row->max < 4 ? (size_t)row->max
			: row->min > 4         ? (size_t)row->min : 4);
	case PT_DATA:
	case PT_SIGNAL:
	case PT_STDIN:
		break;
	}
	return json_string(row->type == PT_STDIN ? "open" : "TERM");
}

/* What an action cannot do without. */
static json_t *
minimal(const struct proto_action *a)
{
	json_t *args = json_object();

	if (strcmp(a->tool, "process") == 0)
		json_object_set_new(args, "action",
		    json_string(proto_method_name(a->method)));
	for (size_t i = 0; i < proto_param_count; i++)
		if (proto_params[i].method == a->method &&
		    proto_params[i].required)
			json_object_set_new(args,
			    proto_tool_name(&proto_params[i]),
			    sample(&proto_params[i]));
	return args;
}

typedef json_t *value_fn(const struct proto_param *row);

/* Adds every name of the action's tool that is not there, its own action's rows
 * first, with that value; and those that no method has. */
static void
fill(json_t *args, const struct proto_action *a, value_fn *value)
{
	for (int others = 0; others < 2; others++)
		for (size_t i = 0; i < proto_param_count; i++) {
			const struct proto_param *row = &proto_params[i];
			const char *name = proto_tool_name(row);
			bool of_tool = false;

			for (size_t k = 0; k < proto_action_count; k++)
				if (strcmp(proto_actions[k].tool, a->tool) ==
					0 &&
				    proto_actions[k].method == row->method)
					of_tool = true;
			if (of_tool && (others || row->method == a->method) &&
			    json_object_get(args, name) == NULL)
				json_object_set_new(args, name, value(row));
		}
	for (size_t i = 0; i < proto_extra_count; i++)
		if (strcmp(proto_extras[i].tool, a->tool) == 0)
			json_object_set_new(args, proto_extras[i].name,
			    json_string("extra"));
}

static json_t *
null_of(const struct proto_param *row)
{
	(void)row;
	return json_null();
}

static json_t *
empty_of(const struct proto_param *row)
{
	(void)row;
	return json_string("");
}

/* Numbers, booleans and hosts as texts. */
static json_t *
text_of(const struct proto_param *row)
{
	if (row->type == PT_BOOL)
		return json_string(" True ");
	if (row->type == PT_INT || row->type == PT_NUM)
		return json_string("1 ");
	return sample(row);
}

/* Is each param a row's, of the row's type? */
static void
expect_rows(const struct toolcall *c)
{
	const char *name;
	json_t *v;

	json_object_foreach(c->params, name, v)
	{
		const struct proto_param *row = NULL;

		for (size_t i = 0; i < proto_param_count; i++)
			if (proto_params[i].method == c->method &&
			    strcmp(proto_params[i].name, name) == 0)
				row = &proto_params[i];
		cr_assert(row != NULL, "%s: %s", toolcall_method(c), name);
		if (row->type == PT_BOOL)
			cr_expect(json_is_boolean(v), "%s", name);
		if (row->type == PT_INT || row->type == PT_NUM)
			cr_expect(json_is_number(v), "%s", name);
	}
}

/* Every action with all names of its tool. */
static void
each_action(value_fn *value, void (*look)(const struct toolcall *c,
    const struct proto_action *a))
{
	for (size_t i = 0; i < proto_action_count; i++) {
		json_t *args = minimal(&proto_actions[i]);
		struct toolcall c;

		if (value != NULL)
			fill(args, &proto_actions[i], value);
		c = taken(proto_actions[i].tool, args);
		cr_expect_eq(c.method, proto_actions[i].method);
		cr_expect_eq(json_array_size(c.ignored), 0, "%s",
		    toolcall_method(&c));
		look(&c, &proto_actions[i]);
		toolcall_fini(&c);
		json_decref(args);
	}
}

static void
is_minimal(const struct toolcall *c, const struct proto_action *a)
{
	json_t *args = minimal(a), *want = json_copy(args);

	json_object_del(want, "action");
	cr_expect(json_equal(c->params, want), "%s", toolcall_method(c));
	expect_valid(c);
	json_decref(want);
	json_decref(args);
}

static void
is_of_rows(const struct toolcall *c, const struct proto_action *a)
{
	size_t own = 0;

	for (size_t i = 0; i < proto_param_count; i++)
		own += proto_params[i].method == a->method;
	cr_expect_eq(json_object_size(c->params), own, "%s",
	    toolcall_method(c));
	expect_rows(c);
	expect_valid(c);
}

/* Nothing but what is required, and null where that is a value. */
static void
is_without_nulls(const struct toolcall *c, const struct proto_action *a)
{
	for (size_t i = 0; i < proto_param_count; i++) {
		const struct proto_param *row = &proto_params[i];
		const json_t *v = json_object_get(c->params, row->name);

		if (row->method != a->method)
			continue;
		if (row->required)
			cr_expect(v != NULL && !json_is_null(v), "%s",
			    row->name);
		else if (row->nullable)
			cr_expect(json_is_null(v), "%s", row->name);
		else
			cr_expect(v == NULL ||
				(strcmp(row->name, "label") == 0 &&
				    a->method == PROTO_EXEC), "%s", row->name);
	}
	expect_valid(c);
}

/* The same, and data that is none. */
static void
is_without_blanks(const struct toolcall *c, const struct proto_action *a)
{
	for (size_t i = 0; i < proto_param_count; i++) {
		const struct proto_param *row = &proto_params[i];
		const json_t *v = json_object_get(c->params, row->name);

		if (row->method != a->method || row->required ||
		    strcmp(row->name, "label") == 0)
			continue;
		if (row->type == PT_DATA)
			cr_expect(json_is_string(v) &&
			    json_string_length(v) == 0, "%s", row->name);
		else
			cr_expect(v == NULL, "%s", row->name);
	}
	expect_valid(c);
}

Test(call, every_action_by_itself)
{
	each_action(NULL, is_minimal);
}

Test(call, every_action_with_all_of_its_tool)
{
	each_action(sample, is_of_rows);
}

Test(call, every_action_with_nulls)
{
	each_action(null_of, is_without_nulls);
}

Test(call, every_action_with_empty_texts)
{
	each_action(empty_of, is_without_blanks);
}

Test(call, every_action_with_texts_for_numbers)
{
	each_action(text_of, is_of_rows);
}

/* ------------------------------------------------------------- one by one */

Test(call, what_means_something_stays)
{
	gives("exec", "{\"command\":\"x\",\"yieldMs\":null,"
	    "\"env\":{\"A\":\"\",\"B\":null,\"C\":3,\"D\":true}}",
	    "{\"command\":\"x\",\"yieldMs\":null,"
	    "\"env\":{\"A\":\"\",\"C\":\"3\",\"D\":\"true\"}}");
	gives("process", "{\"action\":\"write\",\"sessionId\":\"a\","
	    "\"data\":\"\",\"eof\":\"true\"}",
	    "{\"sessionId\":\"a\",\"data\":\"\",\"eof\":true}");
	gives("process", "{\"action\":\"lanes\",\"op\":\"set-width\","
	    "\"lane\":\"l\",\"width\":null}",
	    "{\"op\":\"set-width\",\"lane\":\"l\",\"width\":null}");
	gives("exec", "{\"argv\":[\"x\"],\"env\":{}}",
	    "{\"argv\":[\"x\"],\"env\":{}}");
	gives("exec", "{\"command\":\"x\",\"argv\":[],\"stdin\":{}}",
	    "{\"command\":\"x\"}");
}

Test(call, hosts_have_neither_case_nor_blanks)
{
	gives("exec", "{\"command\":\"x\",\"host\":\" GateWay\\n\"}",
	    "{\"command\":\"x\",\"host\":\"gateway\"}");
	gives("exec", "{\"command\":\"x\",\"host\":\"  \"}",
	    "{\"command\":\"x\"}");
}

Test(call, texts_become_numbers)
{
	gives("exec", "{\"command\":\"x\",\"timeout\":\"1.25\","
	    "\"yieldMs\":\"+50\",\"pty\":\"FALSE\",\"priority\":\"-1\"}",
	    "{\"command\":\"x\",\"timeout\":1.25,\"yieldMs\":50,"
	    "\"pty\":false,\"priority\":-1}");
	gives("process", "{\"action\":\"kill\",\"sessionId\":\"a\","
	    "\"signal\":\"9\",\"graceMs\":1500.5}",
	    "{\"sessionId\":\"a\",\"signal\":9,\"graceMs\":1500}");
	gives("process", "{\"action\":\"poll\",\"sessionId\":\"a\","
	    "\"timeout\":\" \"}", "{\"sessionId\":\"a\"}");
}

/* As who fills a flat schema, or writes all in quotes, has them. */
Test(call, what_is_written_as_text_is_read)
{
	gives("exec", "{\"command\":\"x\",\"env\":\"{\\\"A\\\":1}\","
	    "\"stdin\":\" {\\\"text\\\":\\\"y\\\"}\",\"argv\":\"[]\"}",
	    "{\"command\":\"x\",\"env\":{\"A\":\"1\"},"
	    "\"stdin\":{\"text\":\"y\"}}");
	gives("process", "{\"action\":\"send-keys\",\"sessionId\":\"a\","
	    "\"keys\":\"[\\\"C-c\\\"]\"}",
	    "{\"sessionId\":\"a\",\"keys\":[\"C-c\"]}");
	gives("process", "{\"action\":\"send-keys\",\"sessionId\":\"a\","
	    "\"keys\":\"[\"}", "{\"sessionId\":\"a\",\"keys\":[\"[\"]}");
	gives("process", "{\"action\":\"wait\",\"sessionIds\":\"a\"}",
	    "{\"sessionIds\":[\"a\"]}");
	/* and what would be a guess is not */
	gives("exec", "{\"argv\":\"ls -l\",\"env\":\"A=1\"}",
	    "{\"argv\":\"ls -l\",\"env\":\"A=1\"}");
	gives("process", "{\"action\":\"send-keys\",\"sessionId\":\"a\","
	    "\"keys\":\"C-c Enter\"}",
	    "{\"sessionId\":\"a\",\"keys\":\"C-c Enter\"}");
}

Test(call, what_cannot_be_0_is_absent)
{
	gives("exec", "{\"command\":\"x\",\"cols\":0,\"rows\":\"0\","
	    "\"timeout\":0}", "{\"command\":\"x\",\"timeout\":0}");
	gives("process", "{\"action\":\"wait\",\"sessionId\":\"a\","
	    "\"idleMs\":0,\"timeout\":0}",
	    "{\"sessionId\":\"a\",\"timeout\":0}");
	gives("process", "{\"action\":\"resize\",\"sessionId\":\"a\","
	    "\"cols\":0,\"rows\":2}",
	    "{\"sessionId\":\"a\",\"cols\":0,\"rows\":2}");
}

Test(call, actions_have_neither_case_nor_hyphens)
{
	gives("process", "{\"action\":\"sendKeys\",\"sessionId\":\"a\"}",
	    "{\"sessionId\":\"a\"}");
	gives("process", "{\"action\":\"Kill_Scope\"}", "{}");
	refuses("process", "{\"action\":\"kil\"}", "action", "\"kil\"");
	refuses("process", "{\"action\":[\"list\"]}", "action",
	    "Invalid process action [\"list\"].");
}

Test(call, what_cannot_be_bent_is_left_to_the_wire)
{
	gives("exec", "{\"command\":\"x\",\"yieldMs\":\"soon\",\"pty\":\"yes\","
	    "\"timeout\":\"1e3\",\"cols\":\"1234567890123456\","
	    "\"rows\":\"1.5\",\"host\":\"an island in the sun, far from all\"}",
	    "{\"command\":\"x\",\"yieldMs\":\"soon\",\"pty\":\"yes\","
	    "\"timeout\":\"1e3\",\"cols\":\"1234567890123456\","
	    "\"rows\":\"1.5\",\"host\":\"an island in the sun, far from all\"}");
	gives("process", "{\"action\":\"log\",\"sessionId\":[1],"
	    "\"offset\":{},\"grep\":5}",
	    "{\"sessionId\":[1],\"offset\":{},\"grep\":5}");
}

Test(call, one_name_means_one_thing)
{
	gives("process", "{\"action\":\"poll\",\"sessionId\":\"a\","
	    "\"text\":\"pasted\",\"display\":\"ansi\"}",
	    "{\"sessionId\":\"a\",\"text\":\"ansi\"}");
	gives("process", "{\"action\":\"wait\",\"sessionId\":\"a\","
	    "\"text\":\"ready\"}", "{\"sessionId\":\"a\",\"text\":\"ready\"}");
	gives("process", "{\"action\":\"list\",\"limit\":200,\"rows\":\"3\"}",
	    "{\"limit\":3}");
	gives("exec", "{\"command\":\"x\",\"display\":\"plain\"}",
	    "{\"command\":\"x\",\"text\":\"plain\"}");
}

Test(call, a_title_is_a_label)
{
	gives("exec", "{\"command\":\"x\",\"title\":\"Build\\n it\"}",
	    "{\"command\":\"x\",\"label\":\"Build\\\\x0a it\"}");
	gives("exec", "{\"command\":\"x\",\"title\":\"Build\","
	    "\"label\":\"mine\",\"node\":null}",
	    "{\"command\":\"x\",\"label\":\"mine\"}");
	gives("exec", "{\"command\":\"x\",\"title\":"
	    "\"1234567890123456789012345678901234567890123456\\u00e9\"}",
	    "{\"command\":\"x\",\"label\":"
	    "\"1234567890123456789012345678901234567890123456\"}");
}

Test(call, what_nobody_knows_is_ignored_and_said)
{
	json_t *args = json_of("{\"command\":\"x\",\"text\":\"ansi\","
	    "\"wibble\\u001b\":1,\"bg\":true,\"nothing\":null,\"none\":\"\"}");
	struct toolcall c = taken("exec", args);
	json_t *answer;

	expect_params(&c, "{\"command\":\"x\"}");
	answer = toolcall_answer(&c,
	    json_of("{\"text\":\"hi\\n\",\"details\":{\"status\":\"completed\"},"
		"\"isError\":false}"));
	cr_expect_str_eq(json_string_value(json_object_get(answer, "text")),
	    "hi\n\nIgnored, not known to exec: text, wibble\\x1b, bg.");
	cr_expect_eq(json_array_size(json_object_get(
			 json_object_get(answer, "details"), "ignored")), 3);
	json_decref(answer);
	toolcall_fini(&c);
	json_decref(args);
}

Test(call, what_would_do_the_wrong_thing_is_refused)
{
	refuses("exec", "{\"command\":\"x\",\"cwd\":\"/tmp\"}", "cwd",
	    "\"workdir\"");
	refuses("exec", "{\"command\":\"x\",\"WorkDir\":\"/tmp\"}", "WorkDir",
	    "\"workdir\"");
	refuses("exec", "{\"cmd\":\"x\"}", "cmd", "\"command\"");
	refuses("exec", "{\"command\":\"x\",\"timeoutMs\":5}", "timeoutMs",
	    "\"timeout\"");
	refuses("process", "{\"action\":\"poll\",\"id\":\"a\"}", "id",
	    "\"sessionId\"");
	/* bytes that would go nowhere */
	refuses("process", "{\"action\":\"paste\",\"sessionId\":\"a\","
	    "\"data\":\"x\"}", "data", "\"text\"");
	refuses("process", "{\"action\":\"write\",\"sessionId\":\"a\","
	    "\"text\":\"x\"}", "text", "\"data\"");
	gives("process", "{\"action\":\"write\",\"sessionId\":\"a\","
	    "\"data\":\"y\",\"text\":\"x\",\"input\":true}",
	    "{\"sessionId\":\"a\",\"data\":\"y\"}");
	gives("exec", "{\"command\":\"x\",\"cwd\":\"\"}",
	    "{\"command\":\"x\"}");
}

Test(call, what_is_no_call_is_refused)
{
	refuses("fly", "{}", "tool", "Unknown tool \"fly\"");
	refuses(NULL, "{}", "tool", "Missing tool");
	refuses("process", "{}", "action", "Missing process action");
	refuses("process", "{\"action\":\"\"}", "action", "Missing");
	refuses("process", "{\"action\":3}", "action", "Invalid");
	refuses("process", "{\"action\":\"fly\\u0007\"}", "action",
	    "\"fly\\x07\". Expected one of: list, poll, ");
	refuses("process", "{\"action\":\"poll\",\"sessionId\":\"\"}",
	    "sessionId", "sessionId is required for this action.");
	refuses("process", "{\"action\":\"resize\",\"sessionId\":\"a\","
	    "\"cols\":1,\"rows\":null}", "rows", "rows is required");
}

/* -------------------------------------------------------------- what comes */

Test(call, a_failure_has_the_shape_of_the_tool)
{
	json_t *args = json_of("{\"command\":\"x\",\"workdir\":\"/w\"}");
	struct toolcall c = taken("exec", args);
	json_t *answer = toolcall_failure(&c, "/here", "busy", "command",
	    "no room");
	json_t *want = json_of("{\"text\":\"no room\",\"details\":{"
	    "\"status\":\"failed\",\"error\":\"no room\",\"code\":\"busy\","
	    "\"field\":\"command\",\"failureKind\":\"runtime-error\","
	    "\"exitCode\":null,\"exitSignal\":null,\"durationMs\":0,"
	    "\"aggregated\":\"\",\"timedOut\":false,"
	    "\"noOutputTimedOut\":false,\"cwd\":\"/w\"},\"isError\":true}");

	cr_expect(json_equal(answer, want));
	json_decref(answer);
	json_decref(want);
	toolcall_fini(&c);
	json_decref(args);
	args = json_of("{\"action\":\"list\"}");
	c = taken("process", args);
	answer = toolcall_failure(&c, "/here", "busy", "", "no room");
	want = json_of("{\"text\":\"no room\",\"details\":{"
	    "\"status\":\"failed\",\"error\":\"no room\",\"code\":\"busy\"},"
	    "\"isError\":true}");
	cr_expect(json_equal(answer, want));
	json_decref(answer);
	json_decref(want);
	toolcall_fini(&c);
	json_decref(args);
}

/* The property of a tool's schema, or NULL. */
static const json_t *
property(const json_t *schema, const char *name)
{
	return json_object_get(json_object_get(schema, "properties"), name);
}

Test(call, schemas_are_flat_and_show_models_what_is_theirs)
{
	json_t *exec = toolcall_schema("exec");
	json_t *process = toolcall_schema("process");
	const char *doc = json_string_value(json_object_get(
	    property(process, "display"), "description"));

	cr_expect(property(exec, "command") != NULL);
	cr_expect(property(exec, "title") != NULL);
	cr_expect(property(exec, "baseEnv") == NULL);
	cr_expect(property(exec, "text") == NULL);
	cr_expect_eq(json_array_size(json_object_get(
			 property(process, "action"), "enum")), 16);
	cr_expect_str_eq(json_string_value(json_object_get(
			     property(process, "timeout"), "type")),
	    "integer");
	cr_assert(doc != NULL);
	cr_expect(strncmp(doc, "poll, log: ", 11) == 0, "%s", doc);
	json_decref(exec);
	json_decref(process);
}
