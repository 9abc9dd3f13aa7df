/* SPDX-License-Identifier: MIT */
/*
 * psup exec: runs a command, in the foreground as if it were a child of this
 * terminal (run.c), or in the background.
 */
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli.h"

#define ENV_MAX    1024
#define LIMITS_MAX 8

enum exec_stdin { STDIN_INHERIT, STDIN_OPEN, STDIN_CLOSED, STDIN_DEFAULT };

struct exec_options {
	struct psup_exec x;
	const char *env[ENV_MAX + 1];
	size_t env_count;
	struct {
		char name[24];
		int64_t value;
	} limits[LIMITS_MAX];
	size_t limit_count;
	enum exec_stdin stdin_mode;
	char key[40];  /* where the user gave none */
	char cwd[4096];
	char spill[4096]; /* absolute */
	int detach_key;
};

enum {
	OPT_BACKGROUND = 1,
	OPT_YIELD,
	OPT_TIMEOUT,
	OPT_NO_OUTPUT,
	OPT_WORKDIR,
	OPT_ENV,
	OPT_LANE,
	OPT_PRIORITY,
	OPT_STDIN,
	OPT_LABEL,
	OPT_SCOPE,
	OPT_KEY,
	OPT_LIMIT,
	OPT_PTY,
	OPT_COLS,
	OPT_ROWS,
	OPT_RETAIN,
	OPT_SPILL,
	OPT_SPILL_MAX,
	OPT_DETACH_KEY
};

static const struct option options[] = {
	{"background", no_argument, NULL, OPT_BACKGROUND},
	{"yield", required_argument, NULL, OPT_YIELD},
	{"timeout", required_argument, NULL, OPT_TIMEOUT},
	{"no-output-timeout", required_argument, NULL, OPT_NO_OUTPUT},
	{"workdir", required_argument, NULL, OPT_WORKDIR},
	{"env", required_argument, NULL, OPT_ENV},
	{"lane", required_argument, NULL, OPT_LANE},
	{"priority", required_argument, NULL, OPT_PRIORITY},
	{"stdin", required_argument, NULL, OPT_STDIN},
	{"label", required_argument, NULL, OPT_LABEL},
	{"scope", required_argument, NULL, OPT_SCOPE},
	{"limit", required_argument, NULL, OPT_LIMIT},
	{"key", required_argument, NULL, OPT_KEY},
	{"pty", no_argument, NULL, OPT_PTY},
	{"cols", required_argument, NULL, OPT_COLS},
	{"rows", required_argument, NULL, OPT_ROWS},
	{"retain", required_argument, NULL, OPT_RETAIN},
	{"spill", required_argument, NULL, OPT_SPILL},
	{"spill-max", required_argument, NULL, OPT_SPILL_MAX},
	{"detach-key", required_argument, NULL, OPT_DETACH_KEY}, {0}};

/* --stdin open|closed|inherit */
static enum exec_stdin
parse_stdin(struct cli *c, const char *text)
{
	if (strcmp(text, "open") == 0)
		return STDIN_OPEN;
	if (strcmp(text, "closed") == 0)
		return STDIN_CLOSED;
	if (strcmp(text, "inherit") != 0)
		cli_usage(c, "--stdin is open, closed or inherit");
	return STDIN_INHERIT;
}

/* --env KEY=VALUE */
static void
add_env(struct cli *c, struct exec_options *o, const char *text)
{
	if (strchr(text, '=') == NULL || text[0] == '=')
		cli_usage(c, "--env: \"%.40s\" is not KEY=VALUE", text);
	else if (o->env_count == ENV_MAX)
		cli_usage(c, "--env: at most %d variables", ENV_MAX);
	else
		o->env[o->env_count++] = text;
}

/* --limit NAME=N; the server knows which there are. */
static void
add_limit(struct cli *c, struct exec_options *o, const char *text)
{
	const char *eq = strchr(text, '=');
	size_t n = eq != NULL ? (size_t)(eq - text) : 0;

	if (n == 0 || n >= sizeof(o->limits[0].name)) {
		cli_usage(c, "--limit: \"%.40s\" is not NAME=NUMBER", text);
	} else if (o->limit_count == LIMITS_MAX) {
		cli_usage(c, "--limit: at most %d of them", LIMITS_MAX);
	} else {
		memcpy(o->limits[o->limit_count].name, text, n);
		o->limits[o->limit_count++].value = cli_number(c, "--limit",
		    eq + 1, -20, INT64_C(1) << 50);
	}
}

/* --retain HEAD,TAIL */
static void
add_retain(struct cli *c, struct exec_options *o, const char *text)
{
	const char *comma = strchr(text, ',');
	char head[24];

	if (comma == NULL || (size_t)(comma - text) >= sizeof(head)) {
		cli_usage(c, "--retain: \"%.40s\" is not HEAD,TAIL", text);
		return;
	}
	snprintf(head, sizeof(head), "%.*s", (int)(comma - text), text);
	o->x.retain_head = cli_number(c, "--retain", head, 0, 16 << 20);
	o->x.retain_tail =
	    cli_number(c, "--retain", comma + 1, 4096, 16 << 20);
}

/* --spill FILE: of our directory, not of the command's. */
static void
add_spill(struct cli *c, struct exec_options *o, const char *text)
{
	char cwd[4096];
	int n;

	o->x.spill_path = text;
	if (text[0] == '/')
		return;
	o->x.spill_path = o->spill;
	if (strcmp(text, "-") == 0)
		return; /* "": a place of the server's */
	n = text[0] == '\0' || getcwd(cwd, sizeof(cwd)) == NULL
	    ? -1
	    : snprintf(o->spill, sizeof(o->spill), "%s/%s", cwd, text);
	if (n < 0 || (size_t)n >= sizeof(o->spill))
		cli_usage(c, "--spill: \"%.40s\" is no file name", text);
}

/* The params of the call. */
static psup_args *
exec_args(const struct exec_options *o)
{
	psup_args *a = psup_exec_args(&o->x);
	size_t i;

	if (a == NULL || o->limit_count == 0)
		return a;
	psup_args_map_begin(a, "limits");
	for (i = 0; i < o->limit_count; i++)
		psup_args_int(a, o->limits[i].name, o->limits[i].value);
	psup_args_map_end(a);
	return a;
}

/* One option. */
static void
take_option(struct cli *c, struct exec_options *o, int opt)
{
	switch (opt) {
	case OPT_BACKGROUND:
		o->x.background = true;
		break;
	case OPT_YIELD:
		o->x.yield_ms = cli_number(c, "--yield", optarg, 0, 120000);
		break;
	case OPT_TIMEOUT:
		o->x.timeout_sec = cli_seconds(c, "--timeout", optarg);
		break;
	case OPT_NO_OUTPUT:
		o->x.no_output_timeout_sec =
		    cli_seconds(c, "--no-output-timeout", optarg);
		break;
	case OPT_WORKDIR:
		o->x.workdir = optarg;
		break;
	case OPT_ENV:
		add_env(c, o, optarg);
		break;
	case OPT_LANE:
		o->x.lane = optarg;
		break;
	case OPT_PRIORITY:
		o->x.priority =
		    (int)cli_number(c, "--priority", optarg, -1, 1);
		break;
	case OPT_STDIN:
		o->stdin_mode = parse_stdin(c, optarg);
		break;
	case OPT_LABEL:
		o->x.label = optarg;
		break;
	case OPT_SCOPE:
		o->x.scope = optarg;
		break;
	case OPT_LIMIT:
		add_limit(c, o, optarg);
		break;
	case OPT_KEY:
		o->x.request_key = optarg;
		break;
	case OPT_RETAIN:
		add_retain(c, o, optarg);
		break;
	case OPT_SPILL:
		add_spill(c, o, optarg);
		break;
	case OPT_SPILL_MAX:
		o->x.spill_max = cli_number(c, "--spill-max", optarg, 1,
		    INT64_C(1) << 50);
		break;
	case OPT_PTY:
		o->x.pty = true;
		break;
	case OPT_COLS:
		o->x.cols = (int)cli_number(c, "--cols", optarg, 1, 1000);
		break;
	case OPT_ROWS:
		o->x.rows = (int)cli_number(c, "--rows", optarg, 1, 1000);
		break;
	case OPT_DETACH_KEY:
		o->detach_key = cli_detach_key(c, optarg);
		break;
	}
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

/* Everything that the command line does not say. */
static int
complete(struct cli *c, struct exec_options *o, int argc, char **argv)
{
	bool dashes = optind > 1 && strcmp(argv[optind - 1], "--") == 0;

	if (optind == argc)
		return cli_usage(c, "it needs a command");
	if (dashes)
		o->x.argv = (const char *const *)(argv + optind);
	else if (optind + 1 == argc)
		o->x.command = argv[optind];
	else
		return cli_usage(c, "one shell string, or -- and a program with "
		                    "its arguments");
	if (o->x.background && o->stdin_mode == STDIN_INHERIT)
		return cli_usage(c, "--stdin inherit needs the foreground");
	if (o->stdin_mode == STDIN_DEFAULT)
		o->stdin_mode = o->x.background ? STDIN_OPEN : STDIN_INHERIT;
	if (getcwd(o->cwd, sizeof(o->cwd)) != NULL &&
	    psup_is_utf8(o->cwd, strlen(o->cwd)))
		o->x.base_dir = o->cwd;
	if (!o->x.pty && (o->x.cols > 0 || o->x.rows > 0))
		return cli_usage(c, "--cols and --rows need --pty");
	if (o->detach_key >= 0 && (!o->x.pty || o->x.background))
		return cli_usage(c, "--detach-key needs --pty in the "
		                    "foreground");
	o->x.umask = cli_umask();
	o->x.stdin_mode = o->stdin_mode == STDIN_CLOSED ? "closed" : "open";
	o->x.env = o->env_count > 0 ? o->env : NULL;
	o->x.base_env = (const char *const *)environ;
	if (o->x.timeout_sec < 0)
		o->x.timeout_sec = 0; /* people end their commands themselves */
	if (o->x.request_key == NULL) {
		make_key(o->key, sizeof(o->key));
		o->x.request_key = o->key[0] != '\0' ? o->key : NULL;
	}
	return EXIT_OK;
}

/* --background: the id, alone. */
static int
start_background(struct cli *c, const struct exec_options *o)
{
	psup_args *a = exec_args(o);
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
	psup_get_copy(psup_reply_details(reply), "sessionId", id, sizeof(id));
	puts(id);
	psup_reply_free(&reply);
	return EXIT_OK;
}

static int
run(struct cli *c, int argc, char **argv)
{
	static struct exec_options o = {
		.x = PSUP_EXEC_INIT, .stdin_mode = STDIN_DEFAULT,
		.detach_key = -1};
	struct run_options r = {0};
	int opt, code, rc;

	while ((opt = cli_option(c, argc, argv, options)) != -1)
		take_option(c, &o, opt);
	if (c->usage_error)
		return EXIT_USAGE;
	code = complete(c, &o, argc, argv);
	if (code != EXIT_OK)
		return code;
	rc = cli_connect(c, CLI_MAY_START, 0);
	if (rc != PSUP_OK)
		return cli_fail(c, rc);
	if (o.x.background)
		return start_background(c, &o);
	if (o.x.yield_ms < 0)
		o.x.yield_ms = -2;
	o.x.stream = true;
	r.pty = o.x.pty;
	r.fixed_size = o.x.cols > 0 || o.x.rows > 0;
	if (r.pty && !r.fixed_size)
		run_tty_size(&o.x.cols, &o.x.rows);
	r.args = exec_args(&o);
	r.forward_stdin = o.stdin_mode == STDIN_INHERIT;
	r.quiet = c->json;
	r.detach_key = o.detach_key;
	return run_foreground(c, &r);
}

const struct command cmd_exec = {
	.name = "exec",
	.usage = "[OPTIONS] 'SHELL STRING' | [OPTIONS] -- PROGRAM [ARG...]",
	.summary = "Run a command; start a server where none runs",
	.help =
	    "In the foreground stdin, stdout, stderr and signals go through, "
	    "and psup ends\nwith the command's exit code.\n\n"
	    "  --background       print the session's id and return\n"
	    "  --yield MS         go to the background after so long, 10 to "
	    "120000\n"
	    "                     (never)\n"
	    "  --timeout S        end the command after S seconds (0: never; "
	    "tools that\n"
	    "                     call psup get 1800)\n"
	    "  --no-output-timeout S  end it after S seconds of silence\n"
	    "  --workdir DIR      run it there (here)\n"
	    "  --env KEY=VALUE    add a variable; may be repeated\n"
	    "  --lane NAME        wait for a place in this lane\n"
	    "  --priority N       in the lane: 1, 0, -1\n"
	    "  --stdin MODE       inherit (psup's own; foreground), open (a "
	    "pipe for\n"
	    "                     psup write; background), closed\n"
	    "  --pty              on a terminal; in the foreground keys go "
	    "through as they\n"
	    "                     are, and the size follows psup's own "
	    "terminal\n"
	    "  --cols N, --rows N its size (psup's own, else 120 x 30)\n"
	    "  --detach-key KEY   leave it to the background (see psup attach "
	    "--help; none)\n"
	    "  --label TEXT       shown by list\n"
	    "  --scope NAME       who may see it\n"
	    "  --limit NAME=N     memoryBytes, pids, cpuSeconds, "
	    "fileSizeBytes,\n"
	    "                     openFiles, nice; may be repeated\n"
	    "  --retain HEAD,TAIL bytes of its output that stay in memory\n"
	    "  --spill FILE       every byte of it into this new file (-: one "
	    "in the\n"
	    "                     server's [spill] dir)\n"
	    "  --spill-max N      at most so many bytes (1 GiB)\n"
	    "  --key KEY          the same key again starts nothing twice\n"
	    "  --no-start         start no server\n\n"
	    "Exit codes: the command's own; 128+n: ended by signal n; 124: timed "
	    "out;\n"
	    "125: psup failed or refused; 126, 127: it could not be run, was not "
	    "found;\n141: nobody reads stdout; 2, 3 as of every command.\n\n",
	.run = run,
};
