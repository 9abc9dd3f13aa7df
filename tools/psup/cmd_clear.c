/* SPDX-License-Identifier: MIT */
/* psup clear: forgets finished sessions, by their ids or all of them. */
#include <stdlib.h>

#include "bulk.h"
#include "list_filter.h"

#define WAIT_MS 30000

static bool finished;
static struct list_filter which = {.status = "finished"};

/* All that have ended, or long enough ago. */
static int
clear_finished(struct cli *c)
{
	psup_args *a = psup_args_new();
	const psup_value *rows;
	psup_reply *reply;
	char (*names)[64];
	const char **ids;
	int code = EXIT_OK, rc;
	size_t n;

	psup_args_bool(a, "all", true);
	list_filter_args(&which, a);
	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc == PSUP_OK)
		rc = psup_call(c->p, "list", a, WAIT_MS, &reply);
	psup_args_free(&a);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	rows = psup_value_get(psup_reply_details(reply), "sessions");
	n = psup_value_count(rows);
	ids = calloc(n + 1, sizeof(*ids));
	names = calloc(n + 1, sizeof(*names));
	for (size_t i = 0; ids != NULL && names != NULL && i < n; i++) {
		psup_get_copy(psup_value_at(rows, i), "sessionId", names[i],
		    sizeof(*names));
		ids[i] = names[i];
	}
	psup_reply_free(&reply);
	if (n > 0)
		code = ids != NULL && names != NULL
		    ? bulk_call(c, "clear", ids, n, NULL, WAIT_MS)
		    : EXIT_INTERNAL;
	else if (!c->json)
		cli_putf("No finished sessions.\n");
	free(ids);
	free(names);
	return code;
}

static int
run(struct cli *c, int argc, char **argv)
{
	if ((argc > 0) == finished)
		return cli_usage(c, finished
			? "--finished names them all: no session id beside it"
			: "it needs a session id, or --finished");
	if (which.before_ms != 0 && !finished)
		return cli_usage(c, "--older needs --finished");
	return finished ? clear_finished(c)
	                  : bulk_call(c, "clear", (const char *const *)argv,
	                        (size_t)argc, NULL, WAIT_MS);
}

static const struct opt options[] = {
	FLAG("finished", 0, finished, "every session that has ended"),
	MOMENT("older", "DURATION", which.before_ms,
	    "only those that ended so long ago (90, 10m, 1h30m, 2d) or longer, "
	    "or by a time (14:30)"),
	OPT_END};

const struct command cmd_clear = {
	.name = "clear",
	.args = "ID... | --finished",
	.words = "@session...",
	.max_args = -1,
	.wants = "it needs a session id, or --finished",
	.summary = "Forget finished sessions and their output",
	.options = options,
	.run = run,
};

/* ------------------------------------------------------------------ prune */

static int
run_prune(struct cli *c, int, char **)
{
	return clear_finished(c);
}

const struct command cmd_prune = {
	.name = "prune",
	.summary = "Forget all finished sessions: clear --finished",
	.options = &options[1],
	.run = run_prune,
};
