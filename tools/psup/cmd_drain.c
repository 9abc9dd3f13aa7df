/* SPDX-License-Identifier: MIT */
/*
 * psup drain-scope: a scope takes no new sessions, and those it has are waited
 * for. Exits 1 where anything is left.
 */
#include "cli.h"

#define LATE_MS 80000 /* the longest grace, and what follows it */

static struct {
	double timeout;
	bool kill, undo;
	int64_t grace;
} o = {.timeout = 30, .grace = -1};

static int
run(struct cli *c, int, char **argv)
{
	psup_args *a;

	if (o.timeout > 3600)
		return cli_usage(c, "--timeout is at most 3600 seconds");
	a = psup_args_new();
	psup_args_str(a, "scope", argv[0]);
	if (o.undo)
		return cli_simple(c, "undrainScope", a, 30000);
	psup_args_int(a, "timeout", (int64_t)(o.timeout * 1000));
	if (o.kill)
		psup_args_bool(a, "kill", true);
	if (o.grace >= 0)
		psup_args_int(a, "graceMs", o.grace);
	return cli_simple(c, "drainScope", a,
	    (int)(o.timeout * 1000) + LATE_MS);
}

static const struct opt options[] = {
	SECONDS("timeout", 0, o.timeout, "wait so long for its sessions (30)"),
	FLAG("kill", 0, o.kill, "then end the rest"),
	NUMBER("grace", 0, "MS", o.grace, 0, 60000, "from SIGTERM to SIGKILL"),
	FLAG("undo", 0, o.undo, "new sessions are taken again"),
	OPT_END};

const struct command cmd_drain_scope = {
	.name = "drain-scope",
	.args = "SCOPE",
	.words = "@scope",
	.min_args = 1,
	.max_args = 1,
	.wants = "it needs one scope",
	.summary = "Let a scope run out: no new sessions, wait for the rest",
	.about = "It stays so, also over a restart, until --undo.",
	.options = options,
	.run = run,
};
