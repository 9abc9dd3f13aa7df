/* SPDX-License-Identifier: MIT */
/* See arguments.h. Called by call.c. */
#include "arguments.h"

#include "link.h"
#include "options.h"
#include "pollack.h"
#include "surroundings.h"
#include "tools/calls/json.h"

void
arguments_add(psup_args *a, json_t *params)
{
	const char *name;
	json_t *v;

	json_object_foreach(params, name, v)
		args_add_json(a, name, v);
}

/* The longest that a call may wait: clients give up after a minute. */
static void
cap(json_t *params, const char *name, json_int_t dflt)
{
	const json_t *v = json_object_get(params, name);
	json_int_t max = mcp_options->max_yield_ms, ms = dflt;

	if (json_is_integer(v))
		ms = json_integer_value(v);
	else if (json_is_real(v))
		ms = json_real_value(v) > (double)max ? max : dflt;
	else if (json_is_null(v))
		ms = max; /* yieldMs null: as long as it takes */
	else if (v != NULL)
		return; /* the server says what is wrong */
	if (v == NULL || json_is_null(v) || ms > max)
		json_object_set_new(params, name,
		    json_integer(ms > max ? max : ms));
}

/* What a model must not say is ours to say. */
static void
drop_program_params(struct toolcall *t)
{
	for (size_t i = 0; i < proto_param_count; i++)
		if (proto_params[i].method == t->method &&
		    proto_params[i].program)
			json_object_del(t->params, proto_params[i].name);
}

/* Those of exec: where it runs, and a key, by which it is run once. */
static psup_args *
exec_arguments(json_t *params, char key[ARGUMENTS_KEY_SIZE], bool progress)
{
	json_t *spill = json_object_get(params, "spill");
	psup_args *a;

	strcpy(key, "mcp-");
	surroundings_random(key + 4, 24);
	cap(params, "yieldMs", 10000);
	if (json_is_string(spill))
		json_object_set_new(params, "spill",
		    json_pack("{s:O}", "path", spill));
	a = psup_has_defaults(link_handle()) ? psup_args_new()
	                                     : surroundings_exec_args();
	if (a == NULL)
		return NULL;
	psup_args_str(a, "requestKey", key);
	if (progress)
		psup_args_str(a, "stream", "tail");
	arguments_add(a, params);
	return a;
}

psup_args *
arguments_of(struct toolcall *t, char key[ARGUMENTS_KEY_SIZE], bool progress)
{
	json_t *params = t->params;
	psup_args *a;

	drop_program_params(t);
	if (t->method == PROTO_EXEC)
		return exec_arguments(params, key, progress);
	if (t->method == PROTO_WAIT)
		cap(params, "timeout", 30000);
	if (t->method == PROTO_POLL)
		cap(params, "timeout", 0);
	a = psup_args_new();
	if (a != NULL && t->method == PROTO_POLL)
		pollack_add(a, json_object_get(params, "sessionId"));
	if (a != NULL)
		arguments_add(a, params);
	return a;
}
