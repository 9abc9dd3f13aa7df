/* SPDX-License-Identifier: MIT */
/* The params of exec, from what a program says of it. Called by psup_exec() and
 * by programs. */
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* A map of KEY=value strings. With `lax`, what is no such string, or no
 * UTF-8, is left out: nobody chose to send it. */
static void
add_env(psup_args *a, const char *key, const char *const *env, bool lax)
{
	psup_args_map_begin(a, key);
	for (; *env != NULL; env++) {
		size_t len = strcspn(*env, "=");
		char name[1024];

		if (lax && (len == 0 || (*env)[len] == '\0' ||
		               len >= sizeof(name) ||
		               !psup_is_utf8(*env, strlen(*env))))
			continue;
		if (len >= sizeof(name))
			len = sizeof(name) - 1;
		memcpy(name, *env, len);
		name[len] = '\0';
		psup_args_str(a, name,
		    *env + len + ((*env)[len] == '=' ? 1 : 0));
	}
	psup_args_map_end(a);
}

/* command, argv, stdin: the parts that have a shape of their own. */
static void
add_exec_shapes(psup_args *a, const struct psup_exec *x)
{
	if (x->argv != NULL) {
		psup_args_list_begin(a, "argv");
		for (size_t i = 0; x->argv[i] != NULL; i++)
			psup_args_str(a, NULL, x->argv[i]);
		psup_args_list_end(a);
	}
	if (x->env != NULL)
		add_env(a, "env", x->env, false);
	if (x->base_env != NULL)
		add_env(a, "baseEnv", x->base_env, true);
	if (x->stdin_text != NULL) {
		psup_args_map_begin(a, "stdin");
		psup_args_str(a, "text", x->stdin_text);
		psup_args_map_end(a);
	} else {
		psup_args_str(a, "stdin", x->stdin_mode);
	}
}

/* What is kept of the output, and the file for all of it. */
static void
add_retain(psup_args *a, const struct psup_exec *x)
{
	if (x->retain_head >= 0 || x->retain_tail >= 0) {
		psup_args_map_begin(a, "retain");
		args_add_int(a, "headBytes", x->retain_head, -1);
		args_add_int(a, "tailBytes", x->retain_tail, -1);
		psup_args_map_end(a);
	}
	if (x->spill_path != NULL) {
		psup_args_map_begin(a, "spill");
		if (x->spill_path[0] != '\0')
			psup_args_str(a, "path", x->spill_path);
		args_add_int(a, "maxBytes", x->spill_max, 0);
		psup_args_map_end(a);
	}
}

psup_args *
psup_exec_args(const struct psup_exec *x)
{
	psup_args *a = psup_args_new();
	char mask[8];

	if (a == NULL)
		return NULL;
	psup_args_str(a, "command", x->command);
	add_exec_shapes(a, x);
	psup_args_str(a, "workdir", x->workdir);
	psup_args_str(a, "baseDir", x->base_dir);
	if (x->umask >= 0) {
		snprintf(mask, sizeof(mask), "%03o",
		    (unsigned)x->umask & 0777u);
		psup_args_str(a, "umask", mask);
	}
	psup_args_str(a, "requestKey", x->request_key);
	psup_args_str(a, "lane", x->lane);
	psup_args_str(a, "scope", x->scope);
	psup_args_str(a, "sessionKey", x->session_key);
	psup_args_str(a, "label", x->label);
	args_add_int(a, "yieldMs", x->yield_ms, -1);
	if (x->yield_ms == -2)
		psup_args_nil(a, "yieldMs");
	if (x->timeout_sec >= 0)
		psup_args_num(a, "timeout", x->timeout_sec);
	if (x->no_output_timeout_sec >= 0)
		psup_args_num(a, "noOutputTimeout", x->no_output_timeout_sec);
	if (x->priority != 0)
		psup_args_int(a, "priority", x->priority);
	args_add_flag(a, "background", x->background);
	args_add_flag(a, "stream", x->stream);
	args_add_flag(a, "pty", x->pty);
	args_add_int(a, "cols", x->cols, 0);
	args_add_int(a, "rows", x->rows, 0);
	add_retain(a, x);
	return a;
}
