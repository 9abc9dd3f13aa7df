/* SPDX-License-Identifier: MIT */
/* psup wait: until sessions end. */
#include "cli.h"

#define DAY_MS 86400000

static int
run(struct cli *c, int argc, char **argv)
{
	static const struct option own[] = {
		{"any", no_argument, NULL, 'a'},
		{"timeout", required_argument, NULL, 't'}, {0}};
	int64_t timeout = DAY_MS;
	psup_reply *reply;
	bool any = false, met;
	int opt, code, rc;

	while ((opt = cli_option(c, argc, argv, own)) != -1) {
		if (opt == 'a')
			any = true;
		else
			timeout = cli_number(c, "--timeout", optarg, 0, DAY_MS);
	}
	if (c->usage_error)
		return EXIT_USAGE;
	if (optind == argc)
		return cli_usage(c, "it needs a session id");
	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc == PSUP_OK)
		rc = psup_wait(c->p, (const char *const *)(argv + optind),
		    (size_t)(argc - optind), any, timeout, &reply);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	met = !psup_get_is(psup_reply_details(reply), "met", "timeout");
	code = cli_answer(c, &reply);
	return code == EXIT_OK && !met ? EXIT_TIMED_OUT : code;
}

const struct command cmd_wait = {
	.name = "wait",
	.usage = "ID... [--any] [--timeout MS] [--json]",
	.summary = "Wait until sessions end",
	.help = "  --any              until one of them ends\n"
	        "  --timeout MS       at most so long (a day); exit code 124 "
	        "then\n",
	.run = run,
};
