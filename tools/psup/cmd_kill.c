/* SPDX-License-Identifier: MIT */
/* psup kill: the end of a session, or of all of a scope. */
#include "cli.h"

#define KILL_MS 120000 /* the longest grace, and what follows it */

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
	a = psup_args_new();
	if (o.scope != NULL)
		psup_args_str(a, "scope", o.scope);
	else
		psup_args_str(a, "sessionId", argv[0]);
	if (o.signal != NULL)
		psup_args_str(a, "signal", o.signal);
	if (o.grace >= 0)
		psup_args_int(a, "graceMs", o.grace);
	if (o.no_wait)
		psup_args_bool(a, "wait", false);
	return cli_simple(c, o.scope == NULL ? "kill" : "killScope", a,
	    KILL_MS);
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
