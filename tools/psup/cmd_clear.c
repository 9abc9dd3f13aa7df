/* SPDX-License-Identifier: MIT */
/* psup clear: forgets finished sessions, by their ids or all of them. */
#include <stdlib.h>
#include <string.h>

#include "bulk.h"

#define WAIT_MS 30000

static struct {
	bool finished;
	int64_t before_ms; /* only what ended by then; 0: all */
} o;

/* --older DURATION */
static void
take_older(struct usage *u, const char *text)
{
	cli_take_moment(u, "--older", text, &o.before_ms);
}

/* Has it ended, and long enough ago? */
static bool
is_meant(const psup_value *row)
{
	return psup_get_is(row, "state", "ended") &&
	    (o.before_ms == 0 ||
	        psup_get_int(row, "endedAt", 0) <= o.before_ms);
}

/* All that have ended. */
static int
clear_finished(struct cli *c)
{
	const psup_value *rows;
	psup_reply *reply;
	char (*names)[64];
	const char **ids;
	size_t n = 0, count;
	int code = EXIT_OK, rc;

	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc == PSUP_OK)
		rc = psup_list(c->p, true, &reply);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	rows = psup_value_get(psup_reply_details(reply), "sessions");
	count = psup_value_count(rows);
	ids = calloc(count + 1, sizeof(*ids));
	names = calloc(count + 1, sizeof(*names));
	for (size_t i = 0; ids != NULL && names != NULL && i < count; i++) {
		const psup_value *row = psup_value_at(rows, i);

		if (!is_meant(row))
			continue;
		psup_get_copy(row, "sessionId", names[n], sizeof(*names));
		ids[n] = names[n];
		n++;
	}
	psup_reply_free(&reply);
	if (n > 0)
		code = bulk_call(c, "clear", ids, n, NULL, WAIT_MS);
	else if (!c->json)
		cli_putf("No finished sessions.\n");
	free(ids);
	free(names);
	return code;
}

static int
run(struct cli *c, int argc, char **argv)
{
	if ((argc > 0) == o.finished)
		return cli_usage(c, o.finished
			? "--finished names them all: no session id beside it"
			: "it needs a session id, or --finished");
	if (o.before_ms != 0 && !o.finished)
		return cli_usage(c, "--older needs --finished");
	return o.finished ? clear_finished(c)
	                  : bulk_call(c, "clear", (const char *const *)argv,
	                        (size_t)argc, NULL, WAIT_MS);
}

static const struct opt options[] = {
	FLAG("finished", 0, o.finished, "every session that has ended"),
	CALL("older", 0, "DURATION", "?10m|1h|1d", take_older,
	    "of these, those that ended so long ago (90, 10m, 1h30m, 2d) or "
	    "longer, or by a time (14:30)"),
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
run_prune(struct cli *c, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return clear_finished(c);
}

static const struct opt prune_options[] = {
	CALL("older", 0, "DURATION", "?10m|1h|1d", take_older,
	    "those that ended so long ago (90, 10m, 1h30m, 2d) or longer, or "
	    "by a time (14:30)"),
	OPT_END};

const struct command cmd_prune = {
	.name = "prune",
	.wants = "it takes no argument",
	.summary = "Forget all finished sessions: clear --finished",
	.options = prune_options,
	.run = run_prune,
};
