/* SPDX-License-Identifier: MIT */
/* psup kill: the end of sessions, or of all of a scope. psup signal: a signal,
 * and nothing else. */
#include "bulk.h"

#define KILL_MS   120000 /* the longest grace, and what follows it */
#define SIGNAL_MS 30000

static struct {
	const char *signal, *scope;
	int64_t grace;
	bool no_wait;
} o = {.grace = -1};

static void
fill_kill(psup_args *a)
{
	psup_args_str(a, "signal", o.signal);
	if (o.grace >= 0)
		psup_args_int(a, "graceMs", o.grace);
	if (o.no_wait)
		psup_args_bool(a, "wait", false);
}

static int
run_kill(struct cli *c, int argc, char **argv)
{
	psup_args *a;

	if ((argc > 0) == (o.scope != NULL))
		return cli_usage(c, o.scope == NULL
			? "it needs a session id"
			: "--scope names them all: no session id beside it");
	if (o.signal != NULL && psup_signal_number(o.signal) <= 0)
		return cli_usage(c, "--signal: \"%.40s\" is no signal: INT, "
		    "HUP, USR1, 15, ...", o.signal);
	if (o.scope == NULL)
		return bulk_call(c, "kill", (const char *const *)argv,
		    (size_t)argc, fill_kill, KILL_MS);
	a = psup_args_new();
	psup_args_str(a, "scope", o.scope);
	fill_kill(a);
	return cli_simple(c, "killScope", a, KILL_MS);
}

static const struct opt kill_options[] = {
	TEXT("scope", 0, "S", "@scope", o.scope, "every session of that scope"),
	TEXT("signal", 's', "NAME", "@signal", o.signal, "the first signal, by "
	    "name or number (TERM)"),
	NUMBER("grace", 0, "MS", o.grace, 0, 60000,
	    "from the signal to SIGKILL, 0 to 60000 (5000)"),
	FLAG("no-wait", 0, o.no_wait, "do not wait until it is over"),
	OPT_END};

const struct command cmd_kill = {
	.name = "kill",
	.also = "stop",
	.args = "ID... | --scope S",
	.words = "@session...",
	.max_args = -1,
	.summary = "End running sessions: a signal, some grace, SIGKILL",
	.about = "It ends them, whatever they make of the signal: what is left "
	         "after the grace gets SIGKILL. psup signal sends a signal and "
	         "lets them run.",
	.options = kill_options,
	.run = run_kill,
};

/* ----------------------------------------------------------------- signal */

static const char *sent;

static void
fill_signal(psup_args *a)
{
	psup_args_str(a, "signal", sent);
	psup_args_bool(a, "escalate", false);
}

static int
run_signal(struct cli *c, int argc, char **argv)
{
	sent = argv[argc - 1];
	if (psup_signal_number(sent) <= 0)
		return cli_usage(c, "\"%.40s\" is no signal: INT, HUP, USR1, "
		    "15, ...; it comes last", sent);
	return bulk_call(c, "kill", (const char *const *)argv,
	    (size_t)argc - 1, fill_signal, SIGNAL_MS);
}

const struct command cmd_signal = {
	.name = "signal",
	.args = "ID... SIGNAL",
	.words = "@session... @signal",
	.min_args = 2,
	.max_args = -1,
	.wants = "it needs session ids and a signal: psup signal ID INT",
	.summary = "Send sessions a signal, and nothing else",
	.about = "Every process of the session gets it: INT, HUP, USR1, STOP, "
	         "CONT, 15, ... What they make of it is theirs; psup kill ends "
	         "them.",
	.run = run_signal,
};
