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

static int
run_kill(struct cli *c, int argc, char **argv)
{
	static const struct option own[] = {
		{"signal", required_argument, NULL, 's'},
		{"grace", required_argument, NULL, 'g'},
		{"no-wait", no_argument, NULL, 'w'},
		{"scope", required_argument, NULL, 'S'}, {0}};
	const char *signal = NULL, *scope = NULL;
	int64_t grace = -1;
	bool wait = true;
	psup_args *a;
	int opt;

	while ((opt = cli_option(c, argc, argv, own)) != -1) {
		if (opt == 's')
			signal = optarg;
		else if (opt == 'S')
			scope = optarg;
		else if (opt == 'g')
			grace = cli_number(c, "--grace", optarg, 0, 60000);
		else
			wait = false;
	}
	if (c->usage_error)
		return EXIT_USAGE;
	if (optind + (scope == NULL) != argc)
		return cli_usage(c, scope == NULL
			? "it needs one session id"
			: "--scope names them all: no session id beside it");
	a = scope == NULL ? session_args(argv[optind]) : psup_args_new();
	if (scope != NULL)
		psup_args_str(a, "scope", scope);
	if (signal != NULL)
		psup_args_str(a, "signal", signal);
	if (grace >= 0)
		psup_args_int(a, "graceMs", grace);
	if (!wait)
		psup_args_bool(a, "wait", false);
	return cli_simple(c, scope == NULL ? "kill" : "killScope", a, KILL_MS);
}

/* clear and remove: the method is the command's own name. */
static int
run_forget(struct cli *c, int argc, char **argv)
{
	while (cli_option(c, argc, argv, NULL) != -1)
		continue;
	if (c->usage_error)
		return EXIT_USAGE;
	if (optind + 1 != argc)
		return cli_usage(c, "it needs one session id");
	return cli_simple(c, c->command->name, session_args(argv[optind]),
	    KILL_MS);
}

const struct command cmd_kill = {
	.name = "kill",
	.usage = "ID|--scope S [--signal NAME] [--grace MS] [--no-wait] "
	         "[--json]",
	.summary = "End a running session: a signal, some grace, SIGKILL",
	.help = "  --scope S          every session of that scope\n"
	        "  --signal NAME      the first signal (TERM)\n"
	        "  --grace MS         from the signal to SIGKILL, 0 to 60000 "
	        "(5000)\n"
	        "  --no-wait          do not wait until it is over\n",
	.run = run_kill,
};

const struct command cmd_clear = {
	.name = "clear",
	.usage = "ID [--json]",
	.summary = "Forget a finished session and its output",
	.help = "",
	.run = run_forget,
};

const struct command cmd_remove = {
	.name = "remove",
	.usage = "ID [--json]",
	.summary = "End a session if it runs, then forget it",
	.help = "",
	.run = run_forget,
};
