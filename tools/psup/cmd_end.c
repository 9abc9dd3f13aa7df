/* SPDX-License-Identifier: MIT */
/* psup kill, clear and remove: the end of a session. */
#include "cli.h"

#define KILL_MS 120000 /* the longest grace, and what follows it */

/* The params that begin with the session id. */
static psup_args *
session_args(const char *id)
{
	psup_args *a = psup_args_new();

	if (a != NULL)
		psup_args_str(a, "sessionId", id);
	return a;
}

static struct {
	const char *signal, *scope;
	int64_t grace;
	bool no_wait;
} o = {.grace = -1};

static int
run_kill(struct cli *c, int argc, char **argv)
{
	psup_args *a;

	if (argc + (o.scope != NULL) != 1)
		return cli_usage(c, o.scope == NULL
			? "it needs one session id"
			: "--scope names them all: no session id beside it");
	a = o.scope == NULL ? session_args(argv[0]) : psup_args_new();
	if (o.scope != NULL)
		psup_args_str(a, "scope", o.scope);
	if (o.signal != NULL)
		psup_args_str(a, "signal", o.signal);
	if (o.grace >= 0)
		psup_args_int(a, "graceMs", o.grace);
	if (o.no_wait)
		psup_args_bool(a, "wait", false);
	return cli_simple(c, o.scope == NULL ? "kill" : "killScope", a,
	    KILL_MS);
}

/* clear and remove: the method is the command's own name. */
static int
run_forget(struct cli *c, int argc, char **argv)
{
	(void)argc;
	return cli_simple(c, c->command->name, session_args(argv[0]), KILL_MS);
}

static const struct opt kill_options[] = {
	TEXT("scope", 0, "S", "@scope", o.scope, "every session of that scope"),
	TEXT("signal", 0, "NAME", "@signal", o.signal, "the first signal, by "
	    "name or number (TERM)"),
	NUMBER("grace", 0, "MS", o.grace, 0, 60000,
	    "from the signal to SIGKILL, 0 to 60000 (5000)"),
	FLAG("no-wait", 0, o.no_wait, "do not wait until it is over"),
	OPT_END};

const struct command cmd_kill = {
	.name = "kill",
	.args = "ID | --scope S",
	.words = "@session",
	.max_args = 1,
	.wants = "it needs one session id",
	.summary = "End a running session: a signal, some grace, SIGKILL",
	.options = kill_options,
	.run = run_kill,
};

const struct command cmd_clear = {
	.name = "clear",
	.args = "ID",
	.words = "@session",
	.min_args = 1,
	.max_args = 1,
	.wants = "it needs one session id",
	.summary = "Forget a finished session and its output",
	.run = run_forget,
};

const struct command cmd_remove = {
	.name = "remove",
	.args = "ID",
	.words = "@session",
	.min_args = 1,
	.max_args = 1,
	.wants = "it needs one session id",
	.summary = "End a session if it runs, then forget it",
	.run = run_forget,
};
