/* SPDX-License-Identifier: MIT */
/*
 * psup log: retained output, as lines from the server, as raw bytes from
 * shared memory (also while the master is down), or followed as it comes.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

#define FOLLOW_WAIT_MS 20000

struct log_options {
	const char *id, *stream;
	int64_t offset, limit;
	bool follow, raw;
};

/* Output of one poll: as it is, or escaped for a terminal. */
static void
print_output(const struct log_options *o, const char *data, size_t len)
{
	char shown[4 * 1024 + 1];
	size_t n;

	if (o->raw || !isatty(STDOUT_FILENO)) {
		fwrite(data, 1, len, stdout);
	} else {
		for (; len > 0; data += n, len -= n) {
			n = len < 1024 ? len : 1024;
			fwrite(shown, 1,
			    psup_escape(data, n, true, shown, sizeof(shown)),
			    stdout);
		}
	}
	fflush(stdout);
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
	psup_args_bool(a, "raw", true);
	rc = psup_call(c->p, "poll", a, 2 * FOLLOW_WAIT_MS, ret);
	psup_args_free(&a);
	return rc;
}

/* Everything retained, then what comes, until the session is over. */
static int
follow(struct cli *c, const struct log_options *o)
{
	const psup_value *details;
	int64_t since = 0, dropped;
	psup_reply *reply;
	const char *data;
	size_t len;
	int rc;

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
		print_output(o, data, len);
		since = psup_get_int(details, "next", since + (int64_t)len);
		if (len == 0 && !psup_get_is(details, "status", "running"))
			break;
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
	int rc = connected;

	if (rc == PSUP_OK)
		rc = psup_log(c->p, o->id, o->offset, o->limit, o->stream,
		    &reply);
	if (rc == PSUP_OK)
		return cli_answer(c, &reply);
	if (c->json || o->offset >= 0 || o->limit >= 0 ||
	    (rc != PSUP_ERR_TIMEOUT && rc != PSUP_ERR_LOST))
		return cli_fail(c, rc);
	cli_say("the server does not answer; this is from its shared memory");
	return view_log(c, o->id, o->stream);
}

static int
run(struct cli *c, int argc, char **argv)
{
	static const struct option own[] = {
		{"follow", no_argument, NULL, 'f'},
		{"offset", required_argument, NULL, 'o'},
		{"limit", required_argument, NULL, 'l'},
		{"stream", required_argument, NULL, 's'},
		{"raw", no_argument, NULL, 'r'}, {0}};
	struct log_options o = {.offset = -1, .limit = -1};
	int opt, rc;

	while ((opt = cli_option(c, argc, argv, own)) != -1) {
		if (opt == 'f')
			o.follow = true;
		else if (opt == 'o')
			o.offset = cli_number(c, "--offset", optarg, 0,
			    9007199254740991);
		else if (opt == 'l')
			o.limit = cli_number(c, "--limit", optarg, 0,
			    9007199254740991);
		else if (opt == 's')
			o.stream = optarg;
		else
			o.raw = true;
	}
	if (c->usage_error)
		return EXIT_USAGE;
	if (optind + 1 != argc)
		return cli_usage(c, "it needs one session id");
	if (o.stream != NULL && strcmp(o.stream, "stdout") != 0 &&
	    strcmp(o.stream, "stderr") != 0)
		return cli_usage(c, "--stream is stdout or stderr");
	if ((o.raw || o.follow) && (o.offset >= 0 || o.limit >= 0 || c->json))
		return cli_usage(c, "--raw and --follow go without --offset, "
		                    "--limit and --json");
	o.id = argv[optind];
	if (o.raw && !o.follow)
		return view_log(c, o.id, o.stream);
	if (o.follow && o.stream != NULL)
		return cli_usage(c, "--follow shows both streams");
	rc = cli_connect_briefly(c);
	if (o.follow)
		return rc == PSUP_OK ? follow(c, &o) : cli_fail(c, rc);
	return print_lines(c, &o, rc);
}

const struct command cmd_log = {
	.name = "log",
	.usage = "ID [-f] [--offset N] [--limit N] [--stream S] [--raw] "
	         "[--json]",
	.summary = "Print the retained output of a session",
	.help = "  -f, --follow       everything retained, then what comes, until "
	        "it ends\n"
	        "  --offset N         from line N, counted from 0\n"
	        "  --limit N          at most N lines; alone: the last N\n"
	        "                     (neither: the last 200)\n"
	        "  --stream S         stdout or stderr alone\n"
	        "  --raw              the bytes as they are, read from shared "
	        "memory;\n"
	        "                     works while the master is down\n",
	.run = run,
};
