/* SPDX-License-Identifier: MIT */
/*
 * psup exec: runs a command, in the foreground as if it were a child of this
 * terminal (run.c), or in the background.
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/host.h"
#include "exec_env.h"
#include "exec_limits.h"
#include "log.h"

#define TAGS_MAX 16

enum exec_stdin { STDIN_INHERIT, STDIN_OPEN, STDIN_CLOSED, STDIN_DEFAULT };

struct exec_options {
	struct psup_exec x;
	struct exec_env env;
	bool follow;
	struct exec_limits limits;
	const char *tags[TAGS_MAX]; /* KEY=VALUE */
	size_t tag_count;
	const char *host, *ask;
	bool elevated;
	enum exec_stdin stdin_mode;
	char key[40];  /* where the user gave none */
	char cwd[4096];
	char spill[4096]; /* absolute */
	int detach_key;
};

static struct exec_options o = {.x = PSUP_EXEC_INIT,
	.stdin_mode = STDIN_DEFAULT, .detach_key = -1};

/* --tag KEY=VALUE */
static void
take_tag(struct usage *u, const char *text)
{
	if (strchr(text, '=') == NULL || text[0] == '=')
		usage_wrong(u, "--tag: \"%.40s\" is not KEY=VALUE", text);
	else if (o.tag_count == TAGS_MAX)
		usage_wrong(u, "--tag: at most %d of them", TAGS_MAX);
	else
		o.tags[o.tag_count++] = text;
}

/* --retain HEAD,TAIL */
static void
take_retain(struct usage *u, const char *text)
{
	const char *comma = strchr(text, ',');
	char head[24];

	if (comma == NULL || (size_t)(comma - text) >= sizeof(head)) {
		usage_wrong(u, "--retain: \"%.40s\" is not HEAD,TAIL", text);
		return;
	}
	snprintf(head, sizeof(head), "%.*s", (int)(comma - text), text);
	o.x.retain_head = usage_size(u, "--retain", head, 0, 16 << 20);
	o.x.retain_tail =
	    usage_size(u, "--retain", comma + 1, 4096, 16 << 20);
}

/* --spill FILE: of our directory, not of the command's. */
static void
take_spill(struct usage *u, const char *text)
{
	char cwd[4096];
	int n;

	o.x.spill_path = text;
	if (text[0] == '/')
		return;
	o.x.spill_path = o.spill;
	if (strcmp(text, "-") == 0)
		return; /* "": a place of the server's */
	n = text[0] == '\0' || getcwd(cwd, sizeof(cwd)) == NULL
	    ? -1
	    : snprintf(o.spill, sizeof(o.spill), "%s/%s", cwd, text);
	if (n < 0 || (size_t)n >= sizeof(o.spill))
		usage_wrong(u, "--spill: \"%.40s\" is no file name", text);
}

static void
add_tags(psup_args *a)
{
	char key[1024];

	psup_args_map_begin(a, "tags");
	for (size_t i = 0; i < o.tag_count; i++) {
		snprintf(key, sizeof(key), "%.*s",
		    (int)strcspn(o.tags[i], "="), o.tags[i]);
		psup_args_str(a, key, strchr(o.tags[i], '=') + 1);
	}
	psup_args_map_end(a);
}

/* The params of the call. */
static psup_args *
exec_args(void)
{
	psup_args *a = psup_exec_args(&o.x);

	if (o.tag_count > 0)
		add_tags(a);
	psup_args_str(a, "host", o.host);
	psup_args_str(a, "ask", o.ask);
	if (o.elevated)
		psup_args_bool(a, "elevated", true);
	exec_limits_args(&o.limits, a);
	return a;
}

/* A key of our own lets a lost connection find its command again. */
static void
make_key(char *key, size_t size)
{
	unsigned char random[12] = {0};
	size_t n;

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return; /* then there is none */
	n = (size_t)snprintf(key, size, "cli-");
	for (size_t i = 0; i < sizeof(random); i++)
		n += (size_t)snprintf(key + n, size - n, "%02x", random[i]);
}

/* "exec sleep 5": the line that was meant. */
static int
say_dashes(struct cli *c, int argc, char **argv)
{
	/* options behind a shell string */
	bool late = strchr(argv[0], ' ') != NULL && argv[1][0] == '-';
	char line[200] = "";
	size_t n = 0;

	for (int k = 0; k < argc && n < sizeof(line) - 1; k++) {
		int i = late ? (k + 1) % argc : k;
		bool plain = argv[i][0] != '\0' && strspn(argv[i], "abcdefghijkl"
		    "mnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./:,"
		    "@%") == strlen(argv[i]);
		const char *quote = plain ? "" : "'";

		n += (size_t)snprintf(line + n, sizeof(line) - n, " %s%s%s",
		    quote, argv[i], quote);
	}
	return cli_usage(c, "%s: psup exec%s%s%s", late
	    ? "options come before the command" : "one shell string, or -- and "
	    "a program with its arguments", o.x.background ? " -d" : "",
	    late ? "" : " --", line);
}

/* Everything that the command line does not say. */
static int
complete(struct cli *c, int argc, char **argv)
{
	if (c->usage.dashes)
		o.x.argv = (const char *const *)argv;
	else if (argc == 1 && argv[0][0] == '\0')
		return cli_usage(c, "it needs a command");
	else if (argc == 1)
		o.x.command = argv[0];
	else
		return say_dashes(c, argc, argv);
	if (o.follow && (!o.x.background || c->json))
		return cli_usage(c, "--follow needs --background, and goes "
		                    "without --json");
	if (o.x.background && o.stdin_mode == STDIN_INHERIT)
		return cli_usage(c, "--stdin inherit needs the foreground");
	if (o.stdin_mode == STDIN_DEFAULT)
		o.stdin_mode = o.x.background ? STDIN_OPEN : STDIN_INHERIT;
	if (getcwd(o.cwd, sizeof(o.cwd)) != NULL &&
	    psup_is_utf8(o.cwd, strlen(o.cwd)))
		o.x.base_dir = o.cwd;
	if (!o.x.pty && (o.x.cols > 0 || o.x.rows > 0))
		return cli_usage(c, "--cols and --rows need --pty");
	if (o.detach_key >= 0 && (!o.x.pty || o.x.background))
		return cli_usage(c, "--detach-key needs --pty in the "
		                    "foreground");
	o.x.umask = cli_umask();
	o.x.stdin_mode = o.stdin_mode == STDIN_CLOSED ? "closed" : "open";
	o.x.env = o.env.count > 0 ? o.env.v : NULL;
	o.x.base_env = (const char *const *)environ;
	if (o.x.timeout_sec < 0)
		o.x.timeout_sec = 0; /* people end their commands themselves */
	if (o.x.request_key == NULL) {
		make_key(o.key, sizeof(o.key));
		o.x.request_key = o.key[0] != '\0' ? o.key : NULL;
	}
	return EXIT_OK;
}

/* --background --follow: its output, while it goes on without us. */
static int
follow(struct cli *c, const char *id)
{
	const struct log_options all = {.page = PSUP_LOG_PAGE_INIT};
	struct psup_until now = PSUP_UNTIL_INIT;
	const psup_value *rows;
	psup_reply *reply;
	int code, rc;

	cli_say("%s runs in the background; Ctrl-C ends the looking, psup kill "
	        "%s the command", id, id);
	code = log_follow(c, &all, &id, 1);
	if (code != EXIT_OK)
		return code;
	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc == PSUP_OK)
		rc = psup_wait_until(c->p, &id, 1, &now, 0, &reply);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	rows = psup_value_get(psup_reply_details(reply), "sessions");
	code = run_exit_code(psup_value_at(rows, 0));
	psup_reply_free(&reply);
	return code;
}

/* --background: the id, alone. */
static int
start_background(struct cli *c)
{
	psup_args *a = exec_args();
	psup_reply *reply;
	char id[64];
	int code, rc;

	rc = psup_call(c->p, "exec", a, -1, &reply);
	psup_args_free(&a);
	if (rc != PSUP_OK) {
		code = cli_fail(c, rc);
		return code == EXIT_FAILED || code == EXIT_NOT_FOUND
		    ? EXIT_INTERNAL
		    : code;
	}
	if (c->json || psup_reply_is_error(reply)) {
		code = psup_reply_is_error(reply)
		    ? run_spawn_failure_code(psup_reply_details(reply))
		    : EXIT_OK;
		cli_answer(c, &reply);
		return code;
	}
	run_say_warnings(psup_reply_details(reply), false);
	psup_get_copy(psup_reply_details(reply), "sessionId", id, sizeof(id));
	psup_reply_free(&reply);
	if (o.follow)
		return follow(c, id);
	puts(id);
	return EXIT_OK;
}

static int
run(struct cli *c, int argc, char **argv)
{
	struct run_options r = {0};
	int code, rc;

	code = complete(c, argc, argv);
	if (code != EXIT_OK)
		return code;
	c->resume = true;
	rc = cli_connect(c, CLI_MAY_START, 0);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	if (o.x.background) {
		code = start_background(c);
		exec_env_explain(&o.env, psup_error_field(c->p));
		return code;
	}
	if (o.x.yield_ms < 0)
		o.x.yield_ms = -2;
	o.x.stream = true;
	r.pty = o.x.pty;
	r.fixed_size = o.x.cols > 0 || o.x.rows > 0;
	if (r.pty && !r.fixed_size)
		run_tty_size(&o.x.cols, &o.x.rows);
	r.args = exec_args();
	r.forward_stdin = o.stdin_mode == STDIN_INHERIT;
	r.quiet = c->json;
	r.detach_key = o.detach_key;
	code = run_foreground(c, &r);
	exec_env_explain(&o.env, psup_error_field(c->p));
	return code;
}

static const struct opt options[] = {
	FLAG("background", 'd', o.x.background,
	    "print the session's id and return"),
	FLAG("detach", 0, o.x.background, "the same"),
	FLAG("follow", 'f', o.follow,
	    "with --background: show its output as it comes, until it ends; "
	    "what ends psup does not end it"),
	NUMBER("yield", 0, "MS", o.x.yield_ms, 0, 120000,
	    "go to the background after so long, 10 to 120000 (never)"),
	SECONDS("timeout", 0, o.x.timeout_sec,
	    "end the command after S seconds (0: never; tools that call psup "
	    "get 1800)"),
	SECONDS("no-output-timeout", 0, o.x.no_output_timeout_sec,
	    "end it after S seconds of silence"),
	TEXT("workdir", 'w', "DIR", "@dir", o.x.workdir, "run it there (here)"),
	INTO("env", 'e', "KEY=VALUE", NULL, exec_env_take, o.env,
	    "add a variable; may be repeated"),
	INTO("env-file", 0, "FILE", "@file", exec_env_take_file, o.env,
	    "add those of a file, KEY=VALUE in each line; may be repeated"),
	TEXT("lane", 0, "NAME", "@lane", o.x.lane,
	    "wait for a place in this lane"),
	NUMBER("priority", 0, "N", o.x.priority, -1, 1,
	    "in the lane: 1, 0, -1"),
	TEXT("stdin", 0, "MODE", "inherit|open|closed", o.stdin_mode,
	    "inherit (psup's own; foreground), open (a pipe for psup write; "
	    "background), closed"),
	FLAG("pty", 't', o.x.pty,
	    "on a terminal; in the foreground keys go through as they are, and "
	    "the size follows psup's own terminal"),
	NUMBER("cols", 0, "N", o.x.cols, 1, 1000, "its width (psup's own, else "
	    "120)"),
	NUMBER("rows", 0, "N", o.x.rows, 1, 1000, "its height (psup's own, "
	    "else 30)"),
	INTO("detach-key", 0, "KEY", NULL, cli_take_detach_key, o.detach_key,
	    "leave it to the background (see psup attach --help; none)"),
	TEXT("label", 0, "TEXT", NULL, o.x.label,
	    "shown by list; commands take it where they take an ID"),
	TEXT("name", 0, "TEXT", NULL, o.x.label, "the same"),
	CALL("tag", 0, "KEY=VALUE", NULL, take_tag,
	    "kept with it, for list --tag; may be repeated"),
	TEXT("scope", 0, "NAME", "@scope", o.x.scope, "who may see it"),
	TEXT("host", 0, "HOST", BOX_HOST_CHOICES, o.host,
	    "auto (sandbox where psup.conf covers the scope, else gateway), "
	    "gateway (this machine), sandbox (a box)"),
	FLAG("elevated", 0, o.elevated,
	    "out of the sandbox, where [elevated] of psup.conf allows it"),
	TEXT("ask", 0, "WHEN", BOX_ASK_CHOICES, o.ask,
	    "whether a person is asked before an elevated command (as "
	    "configured; nobody can be asked yet)"),
	INTO("limit", 0, "NAME=N", "?memoryBytes=|pids=|cpuSeconds=|"
	    "fileSizeBytes=|openFiles=|nice=", exec_limits_take, o.limits,
	    "memoryBytes (512M, at least 1M), pids (1 to 4194304), cpuSeconds "
	    "(10m), fileSizeBytes, openFiles (8 to 1048576), nice (-20 to 19); "
	    "may be repeated"),
	CALL("retain", 0, "HEAD,TAIL", NULL, take_retain,
	    "bytes of its output that stay in memory"),
	CALL("spill", 0, "FILE", "@file", take_spill,
	    "every byte of it into this new file (-: one in the server's "
	    "[spill] dir)"),
	SIZE("spill-max", 0, o.x.spill_max, 1, INT64_C(1) << 50,
	    "at most so many bytes (1 GiB)"),
	TEXT("key", 0, "KEY", NULL, o.x.request_key,
	    "the same key again starts nothing twice"),
	OPT_END};

const struct command cmd_exec = {
	.name = "exec",
	.also = "run",
	.args = "'SHELL STRING' | -- PROGRAM [ARG...]",
	.words = "@program @file...",
	.min_args = 1,
	.max_args = -1,
	.wants = "it needs a command",
	.summary = "Run a command; start a server where none runs",
	.about =
	    "In the foreground stdin, stdout, stderr and signals go through, "
	    "and psup ends with the command's exit code.",
	.options = options,
	.stops = true,
	.notes =
	    "Exit codes: the command's own; 128+n: ended by signal n; 124: "
	    "timed out; 125: psup failed or refused; 126, 127: it could not be "
	    "run, was not found; 141: nobody reads stdout; 2, 3 as of every "
	    "command.",
	.run = run,
};
