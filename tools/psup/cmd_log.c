/* SPDX-License-Identifier: MIT */
/*
 * psup log: retained output, as lines from the server, as raw bytes from
 * shared memory (also while the master is down), or followed as it comes.
 */
#include <stdio.h>

#include "log.h"

void
log_title(const char *id, bool first)
{
	cli_putf("%s==> %s <==\n", first ? "" : "\n", id);
}

static bool titled; /* several are asked for */

/* A session is there, and shown next. */
static void
begin(const char *id)
{
	static bool behind;

	if (titled)
		log_title(id, !behind);
	behind = true;
}

/* Are only some of the lines wanted? */
static bool
searches(const struct psup_log_page *p)
{
	return p->grep != NULL || p->regex != NULL;
}

/* Lines, from the server or, where nobody answers, from shared memory. */
static int
print_lines(struct cli *c, const struct log_options *o, const char *id,
    int connected)
{
	psup_reply *reply;
	const char *page;
	size_t len;
	int rc = connected;

	if (rc == PSUP_OK)
		rc = psup_log_page(c->p, id, &o->page, &reply);
	if (rc == PSUP_OK) {
		/* the lines, without what a model is told of the session */
		page = psup_get_str(psup_reply_details(reply), "output", &len);
		if (c->json || page == NULL || psup_reply_is_error(reply))
			return cli_answer(c, &reply);
		begin(id);
		cli_print_output(c, page, len);
		psup_reply_free(&reply);
		return EXIT_OK;
	}
	if (c->json || o->page.offset >= 0 || o->page.limit >= 0 ||
	    searches(&o->page) || o->page.timestamps || o->page.since_ms > 0 ||
	    (rc != PSUP_ERR_TIMEOUT && rc != PSUP_ERR_LOST))
		return cli_fail(c, rc);
	cli_say("the server does not answer; this is from its shared memory");
	return view_log(c, id, o->page.stream, begin);
}

/* What goes together; EXIT_OK, or what is wrong has been said. */
static int
check_options(struct cli *c, const struct log_options *o)
{
	const struct psup_log_page *p = &o->page;

	if ((p->raw || o->follow) && (p->offset >= 0 || searches(p) || c->json))
		return cli_usage(c, "--raw and --follow go without --offset, "
		                    "--grep, --regex and --json");
	if (p->raw && p->timestamps)
		return cli_usage(c, "--raw goes without --timestamps");
	if (p->raw && !o->follow && (p->limit >= 0 || p->since_ms > 0))
		return cli_usage(c, "--raw goes without --limit and --since, "
		                    "but for --follow");
	if (o->cast && (p->raw || o->follow || p->offset >= 0 ||
	    p->limit >= 0 || searches(p) || p->timestamps || c->json ||
	    p->stream != NULL || p->text != NULL || p->since_ms > 0))
		return cli_usage(c, "--asciicast goes with no other option");
	if (p->raw && p->text != NULL)
		return cli_usage(c, "--raw goes without --text");
	if (p->grep != NULL && p->regex != NULL)
		return cli_usage(c, "--grep or --regex, not both");
	if (p->context > 0 && !searches(p))
		return cli_usage(c, "--context needs --grep or --regex");
	if (o->follow && p->stream != NULL)
		return cli_usage(c, "--follow shows both streams");
	return EXIT_OK;
}

static struct log_options o = {.page = PSUP_LOG_PAGE_INIT};

/* One session, not followed. */
static int
show(struct cli *c, const char *id)
{
	if (o.cast)
		return cast_log(c, id);
	if (o.page.raw)
		return view_log(c, id, o.page.stream, begin);
	return print_lines(c, &o, id, psup_is_connected(c->p) ? PSUP_OK
	                                                     : cli_connect_briefly(c));
}

static int
run(struct cli *c, int argc, char **argv)
{
	int code = EXIT_OK, one, rc;

	if (check_options(c, &o) != EXIT_OK)
		return EXIT_USAGE;
	if (argc > 1 && o.cast)
		return cli_usage(c, "--asciicast is of one session");
	if (argc > LOG_FOLLOW_MAX && o.follow)
		return cli_usage(c, "--follow takes at most %d sessions",
		    LOG_FOLLOW_MAX);
	c->rule = o.page.raw ? "raw" : o.page.text;
	if (o.follow) {
		c->resume = true;
		rc = cli_connect_briefly(c);
		return rc != PSUP_OK ? cli_fail(c, rc)
		                     : log_follow(c, &o,
		                           (const char *const *)argv,
		                           (size_t)argc);
	}
	titled = argc > 1;
	for (int i = 0; i < argc; i++) {
		one = show(c, argv[i]);
		fflush(stdout);
		if (one != EXIT_OK)
			code = argc > 1 ? EXIT_FAILED : one;
	}
	return code;
}

static const struct opt options[] = {
	FLAG("follow", 'f', o.follow,
	    "everything retained (or the last of it by --limit or --since), "
	    "then what comes, until it ends"),
	NUMBER("offset", 0, "N", o.page.offset, 0, 9007199254740991,
	    "from line N, counted from 0"),
	NUMBER("limit", 'n', "N", o.page.limit, 0, 9007199254740991,
	    "at most N lines; alone: the last N (neither: the last 200)"),
	NUMBER("tail", 0, "N", o.page.limit, 0, 9007199254740991, "the same"),
	MOMENT("since", "WHEN", o.page.since_ms,
	    "only lines that came since: a duration before now (90, 10m, "
	    "1h30m, 2d), or a time (14:30, 2026-11-21, 2026-11-21T14:30:00Z; "
	    "local without Z)"),
	TEXT("stream", 0, "S", "stdout|stderr", o.page.stream,
	    "stdout or stderr alone"),
	TEXT("grep", 'g', "TEXT", NULL, o.page.grep,
	    "only lines that hold it, with their numbers; --offset and --limit "
	    "count these"),
	TEXT("regex", 'e', "R", NULL, o.page.regex,
	    "the same by a regular expression (psup wait --help)"),
	NUMBER("context", 'C', "N", o.page.context, 0, 100,
	    "and N lines around each"),
	FLAG("timestamps", 't', o.page.timestamps,
	    "each line after the time at which it came (UTC)"),
	TEXT("text", 0, "RULE", CLI_TEXT_RULES, o.page.text,
	    CLI_TEXT_RULES_HELP),
	FLAG("raw", 0, o.page.raw,
	    "the bytes as they are, read from shared memory; works while the "
	    "master is down"),
	FLAG("asciicast", 0, o.cast,
	    "a recording that asciinema plays, of a terminal or not"),
	OPT_END};

const struct command cmd_log = {
	.name = "log",
	.also = "logs",
	.args = "ID...",
	.words = "@session...",
	.min_args = 1,
	.max_args = -1,
	.summary = "Print the retained output of sessions",
	.about = "Of several each comes under a line with its id.",
	.options = options,
	.run = run,
};
