/* SPDX-License-Identifier: MIT */
/*
 * psup list: the sessions, newest first. Where a server is there but its
 * socket does not answer, the rows come from shared memory.
 */
#include <string.h>

#include "cli.h"

#define CALL_MS 30000

/* "12 ms cpu, 3 MiB, 2 processes, 40 KiB io" */
static void
put_usage(const psup_value *row)
{
	const psup_value *u = psup_value_get(row, "usage");
	int64_t rss = psup_get_int(u, "rssBytes",
	    psup_get_int(u, "maxRssBytes", 0));

	if (u == NULL)
		return;
	cli_putf("  %lld ms cpu, %lld KiB, %lld KiB io",
	    (long long)psup_get_int(u, "cpuMs", 0), (long long)rss / 1024,
	    (long long)psup_get_int(u, "ioBytes", 0) / 1024);
	if (psup_value_get(u, "pids") != NULL)
		cli_putf(", %lld processes",
		    (long long)psup_get_int(u, "pids", 0));
}

/* The server's lines, which are in the order of its rows, each with what the
 * session uses. */
static int
print_usage(psup_reply **reply)
{
	const psup_value *rows =
	    psup_value_get(psup_reply_details(*reply), "sessions");
	const char *text, *lf;
	size_t len, n;

	text = psup_reply_text(*reply, &len);
	for (size_t i = 0; len > 0; i++) {
		lf = memchr(text, '\n', len);
		n = lf != NULL ? (size_t)(lf - text) : len;
		cli_put_text(text, n);
		put_usage(psup_value_at(rows, i));
		cli_putf("\n");
		text += lf != NULL ? n + 1 : n;
		len -= lf != NULL ? n + 1 : n;
	}
	psup_reply_free(reply);
	return EXIT_OK;
}

static bool all, usage;

static int
run(struct cli *c, int argc, char **argv)
{
	psup_reply *reply;
	psup_args *a;
	int rc;

	(void)argc;
	(void)argv;
	a = psup_args_new();
	if (a == NULL)
		return EXIT_INTERNAL;
	psup_args_bool(a, "all", all);
	psup_args_bool(a, "usage", usage);
	rc = cli_connect_briefly(c);
	if (rc == PSUP_OK)
		rc = psup_call(c->p, "list", a, CALL_MS, &reply);
	psup_args_free(&a);
	if (rc == PSUP_ERR_TIMEOUT || rc == PSUP_ERR_LOST)
		return view_list(c, all);
	if (rc == PSUP_OK && usage && !c->json && !psup_reply_is_error(reply))
		return print_usage(&reply);
	return rc == PSUP_OK ? cli_answer(c, &reply) : cli_fail(c, rc);
}

static const struct opt options[] = {
	FLAG("all", 'a', all, "foreground sessions too"),
	FLAG("usage", 'u', usage,
	    "with what each uses now: cpu, memory, io, processes"),
	OPT_END};

const struct command cmd_list = {
	.name = "list",
	.wants = "it takes no argument",
	.summary = "List the backgrounded sessions, running and finished",
	.options = options,
	.run = run,
};
