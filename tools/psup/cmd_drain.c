/* SPDX-License-Identifier: MIT */
/*
 * psup drain-scope: a scope takes no new sessions, and those it has are waited
 * for. Exits 1 where anything is left.
 */
#include "cli.h"

#define LATE_MS 80000 /* the longest grace, and what follows it */

static int
run(struct cli *c, int argc, char **argv)
{
	static const struct option own[] = {
		{"timeout", required_argument, NULL, 't'},
		{"kill", no_argument, NULL, 'k'},
		{"grace", required_argument, NULL, 'g'},
		{"undo", no_argument, NULL, 'u'}, {0}};
	double timeout = 30;
	bool kill = false, undo = false;
	int64_t grace = -1;
	psup_args *a;
	int opt;

	while ((opt = cli_option(c, argc, argv, own)) != -1) {
		if (opt == 't')
			timeout = cli_seconds(c, "--timeout", optarg);
		else if (opt == 'g')
			grace = cli_number(c, "--grace", optarg, 0, 60000);
		else if (opt == 'k')
			kill = true;
		else
			undo = true;
	}
	if (c->usage_error)
		return EXIT_USAGE;
	if (optind + 1 != argc)
		return cli_usage(c, "it needs one scope");
	if (timeout > 3600)
		return cli_usage(c, "--timeout is at most 3600 seconds");
	a = psup_args_new();
	psup_args_str(a, "scope", argv[optind]);
	if (undo)
		return cli_simple(c, "undrainScope", a, 30000);
	psup_args_int(a, "timeout", (int64_t)(timeout * 1000));
	if (kill)
		psup_args_bool(a, "kill", true);
	if (grace >= 0)
		psup_args_int(a, "graceMs", grace);
	return cli_simple(c, "drainScope", a, (int)(timeout * 1000) + LATE_MS);
}

const struct command cmd_drain_scope = {
	.name = "drain-scope",
	.usage = "SCOPE [--timeout SECONDS] [--kill] [--grace MS] | SCOPE "
	         "--undo [--json]",
	.summary = "Let a scope run out: no new sessions, wait for the rest",
	.help = "It stays so, also over a restart, until --undo.\n\n"
	        "  --timeout SECONDS  wait so long for its sessions (30)\n"
	        "  --kill             then end the rest\n"
	        "  --grace MS         from SIGTERM to SIGKILL\n"
	        "  --undo             new sessions are taken again\n",
	.run = run,
};
