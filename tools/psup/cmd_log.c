/* SPDX-License-Identifier: MIT */
/*
 * psup log: retained output, as lines from the server, as raw bytes from
 * shared memory (also while the master is down), or followed as it comes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define FOLLOW_WAIT_MS 20000

struct log_options {
	const char *id;
	struct psup_log_page page;
	bool follow, cast;
};

/* Were control characters asked for? */
static bool
wants_controls(const struct log_options *o)
{
	const char *rule = o->page.text;

	return o->page.raw || (rule != NULL &&
	    (strcmp(rule, "ansi") == 0 || strcmp(rule, "plain") == 0));
}

/* Are only some of the lines wanted? */
static bool
searches(const struct psup_log_page *p)
{
	return p->grep != NULL || p->regex != NULL;
}

/* One look at what is new. */
static int
follow_step(struct cli *c, const struct log_options *o, int64_t since,
    psup_reply **ret)
{
	psup_args *a = psup_args_new();
	int rc;

	if (a == NULL)
		return PSUP_ERR_NO_MEMORY;
	psup_args_str(a, "sessionId", o->id);
	psup_args_int(a, "since", since);
	psup_args_int(a, "timeout", FOLLOW_WAIT_MS);
	psup_args_int(a, "maxBytes", 262144);
	psup_args_bool(a, "raw", o->page.raw);
	if (o->page.text != NULL)
		psup_args_str(a, "text", o->page.text);
	rc = psup_call(c->p, "poll", a, 2 * FOLLOW_WAIT_MS, ret);
	psup_args_free(&a);
	return rc;
}

/* With --limit or --since: the last lines of now, as they are; *ret_next is
 * where to go on. */
static int
print_last(struct cli *c, const struct log_options *o, int64_t *ret_next)
{
	const char *data, *rule = o->page.text;
	struct psup_log_page page = o->page;
	const psup_value *details;
	psup_reply *reply;
	char *shown;
	size_t len;
	int rc;

	page.raw = true;
	page.text = NULL;
	rc = psup_log_page(c->p, o->id, &page, &reply);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	details = psup_reply_details(reply);
	data = psup_get_str(details, "output", &len);
	if (psup_reply_is_error(reply) || data == NULL)
		return cli_answer(c, &reply);
	shown = malloc(4 * len + 1);
	if (shown == NULL || o->page.raw) {
		fwrite(data, 1, len, stdout);
	} else {
		len = psup_clean(rule, data, len, false, shown);
		if (wants_controls(o))
			fwrite(shown, 1, len, stdout);
		else
			cli_put_text(shown, len);
	}
	free(shown);
	*ret_next = psup_get_int(details, "totalOutputChars", 0);
	psup_reply_free(&reply);
	return EXIT_OK;
}

/* Everything retained, or the last of it, then what comes, until the session
 * is over. */
static int
follow(struct cli *c, const struct log_options *o)
{
	const psup_value *details;
	int64_t since = 0, next, dropped;
	psup_reply *reply;
	const char *data;
	size_t len;
	int rc;

	if (o->page.limit >= 0 || o->page.since_ms > 0) {
		rc = print_last(c, o, &since);
		if (rc != EXIT_OK)
			return rc;
		fflush(stdout);
	}
	for (;;) {
		rc = follow_step(c, o, since, &reply);
		if (rc != PSUP_OK)
			return cli_fail(c, rc);
		details = psup_reply_details(reply);
		data = psup_get_str(details, "output", &len);
		if (data == NULL)
			return cli_answer(c, &reply);
		dropped = psup_get_int(details, "dropped", 0);
		if (dropped > 0)
			cli_say("%lld bytes are not retained",
			    (long long)dropped);
		if (wants_controls(o))
			fwrite(data, 1, len, stdout);
		else
			cli_put_text(data, len);
		fflush(stdout);
		next = psup_get_int(details, "next", since + (int64_t)len);
		if (next == since && !psup_get_is(details, "status", "running"))
			break;
		since = next;
		psup_reply_free(&reply);
	}
	psup_reply_free(&reply);
	return ferror(stdout) ? EXIT_INTERNAL : EXIT_OK;
}

/* Lines, from the server or, where nobody answers, from shared memory. */
static int
print_lines(struct cli *c, const struct log_options *o, int connected)
{
	psup_reply *reply;
	const char *page;
	size_t len;
	int rc = connected;

	if (rc == PSUP_OK)
		rc = psup_log_page(c->p, o->id, &o->page, &reply);
	if (rc == PSUP_OK) {
		/* the lines, without what a model is told of the session */
		page = psup_get_str(psup_reply_details(reply), "output", &len);
		if (c->json || page == NULL || psup_reply_is_error(reply))
			return cli_answer(c, &reply);
		cli_print_output(c, page, len);
		psup_reply_free(&reply);
		return EXIT_OK;
	}
	if (c->json || o->page.offset >= 0 || o->page.limit >= 0 ||
	    searches(&o->page) || o->page.timestamps || o->page.since_ms > 0 ||
	    (rc != PSUP_ERR_TIMEOUT && rc != PSUP_ERR_LOST))
		return cli_fail(c, rc);
	cli_say("the server does not answer; this is from its shared memory");
	return view_log(c, o->id, o->page.stream,
	    o->page.text != NULL ? o->page.text : "clean");
}

/* What goes together; EXIT_OK, or what is wrong has been said. */
static int
check_options(struct cli *c, const struct log_options *o)
{
	const struct psup_log_page *p = &o->page;

	if ((p->raw || o->follow) && (p->offset >= 0 || searches(p) ||
	    p->timestamps || c->json))
		return cli_usage(c, "--raw and --follow go without --offset, "
		                    "--grep, --regex, --timestamps and "
		                    "--json");
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

/* --since DURATION|TIME */
static void
take_since(struct usage *u, const char *text)
{
	cli_take_moment(u, "--since", text, &o.page.since_ms);
}

static int
run(struct cli *c, int argc, char **argv)
{
	int rc;

	(void)argc;
	if (check_options(c, &o) != EXIT_OK)
		return EXIT_USAGE;
	o.id = argv[0];
	c->as_is = wants_controls(&o);
	if (o.cast)
		return cast_log(c, o.id);
	if (o.page.raw && !o.follow)
		return view_log(c, o.id, o.page.stream, "raw");
	rc = cli_connect_briefly(c);
	if (o.follow)
		return rc == PSUP_OK ? follow(c, &o) : cli_fail(c, rc);
	return print_lines(c, &o, rc);
}

static const struct opt options[] = {
	FLAG("follow", 'f', o.follow,
	    "everything retained (or the last of it by --limit or --since), "
	    "then what comes, until it ends"),
	NUMBER("offset", 0, "N", o.page.offset, 0, 9007199254740991,
	    "from line N, counted from 0"),
	NUMBER("limit", 'n', "N", o.page.limit, 0, 9007199254740991,
	    "at most N lines; alone: the last N (neither: the last 200)"),
	CALL("since", 0, "WHEN", "?10m|1h|1d", take_since,
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
	.args = "ID",
	.words = "@session",
	.min_args = 1,
	.max_args = 1,
	.wants = "it needs one session id",
	.summary = "Print the retained output of a session",
	.options = options,
	.run = run,
};
