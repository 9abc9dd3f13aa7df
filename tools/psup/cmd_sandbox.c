/* SPDX-License-Identifier: MIT */
/* psup sandbox: which host a call gets and why, and the boxes that there are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "common/host.h"
#include "tools/lib/remove_tree.h"

#define ANSWER_MS 30000
#define VERBS	  "list|inspect|prune|explain"

static struct {
	const char *host;
	bool elevated;
} o;

/* Where nobody listens: a server of our own, which has the same psup.conf, and
 * ends with its answer. */
static int
explain_alone(struct cli *c, psup_args *a)
{
	char dir[] = "/dev/shm/psup-explain-XXXXXX";
	psup_reply *reply;
	sigset_t ends, before;
	int64_t pid;
	int rc, end, left;

	/* by which directory the server would judge that nobody listens in */
	(void)setenv("PSUP_EXPLAINS_FOR", psup_runtime_dir(c->p), 1);
	if (mkdtemp(dir) == NULL) {
		cli_say("%s: %s", dir, strerror(errno));
		return EXIT_INTERNAL;
	}
	/* whoever ends us waits until nothing of it is left */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, &before);
	c->runtime_dir = dir;
	rc = cli_connect(c, CLI_MAY_START, 0);
	if (rc == PSUP_OK)
		rc = psup_call(c->p, "explainSandbox", a, ANSWER_MS, &reply);
	rc = rc == PSUP_OK ? cli_answer(c, &reply) : cli_fail(c, rc);
	end = psup_is_connected(c->p) ? cli_stop_server(c, 0, &pid) : EXIT_OK;
	left = remove_tree(dir);
	if (left < 0)
		cli_say("%s: %s", dir, strerror(-left));
	sigprocmask(SIG_SETMASK, &before, NULL);
	return rc == EXIT_OK ? end : rc;
}

/* psup sandbox explain [SCOPE] */
static int
run_explain(struct cli *c, int argc, char **argv)
{
	psup_args *a;
	psup_reply *reply;
	int rc;

	if (argc > 1)
		return cli_usage(c, "explain takes one scope");
	a = psup_args_new();

	if (argc == 1)
		psup_args_str(a, "scope", argv[0]);
	psup_args_str(a, "host", o.host);
	if (o.elevated)
		psup_args_bool(a, "elevated", true);
	rc = cli_connect(c, CLI_NEVER_START, 0);
	if (rc == PSUP_OK)
		rc = psup_call(c->p, "explainSandbox", a, ANSWER_MS, &reply);
	if (rc == PSUP_ERR_NO_SERVER && !c->no_start)
		rc = explain_alone(c, a);
	else
		rc = rc == PSUP_OK ? cli_answer(c, &reply) : cli_fail(c, rc);
	psup_args_free(&a);
	return rc;
}

/* Of all boxes, or of one: agent SCOPE, session NUMBER or shared, as one word or
 * two. */
static int
ask_boxes(struct cli *c, const char *method, int argc, char **argv)
{
	psup_args *a = psup_args_new();
	char name[200];

	(void)snprintf(name, sizeof(name), "%s%s%s", argc > 0 ? argv[0] : "",
	    argc > 1 ? " " : "", argc > 1 ? argv[1] : "");
	if (argc > 0)
		psup_args_str(a, "box", name);
	return cli_simple(c, method, a, ANSWER_MS);
}

/* psup sandbox list */
static int
run_list(struct cli *c, int argc, char **argv)
{
	if (argc != 0)
		return cli_usage(c, "list takes no argument");
	return ask_boxes(c, "sandboxes", argc, argv);
}

/* psup sandbox inspect BOX: all that is known of it, as JSON */
static int
run_inspect(struct cli *c, int argc, char **argv)
{
	if (argc < 1)
		return cli_usage(c, "inspect needs one box, as list names it");
	c->json = true;
	return ask_boxes(c, "sandboxes", argc, argv);
}

/* psup sandbox prune [BOX] */
static int
run_prune(struct cli *c, int argc, char **argv)
{
	return ask_boxes(c, "pruneSandboxes", argc, argv);
}

static const struct {
	const char *name;
	int (*run)(struct cli *c, int argc, char **argv);
} verbs[] = {
    {"list", run_list},
    {"inspect", run_inspect},
    {"prune", run_prune},
    {"explain", run_explain},
};

static int
run(struct cli *c, int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].name, argv[0]) == 0)
			return verbs[i].run(c, argc - 1, argv + 1);
	return usage_no_word(&c->usage, "a thing to do", argv[0], VERBS);
}

static const struct opt options[] = {
    TEXT("host", 0, "HOST", BOX_HOST_CHOICES, o.host,
	"explain a call that asks for this host (auto)"),
    FLAG("elevated", 0, o.elevated, "explain one that says elevated"),
    OPT_END};

const struct command cmd_sandbox = {
    .name = "sandbox",
    .args = "list | inspect BOX | prune [BOX] | explain [SCOPE]",
    .words = VERBS " @scope",
    .min_args = 1,
    .max_args = 3,
    .wants = "expected list, inspect, prune or explain",
    .summary = "Show and end boxes; say where a scope's commands run, and why",
    .about = "list and inspect show the boxes; a name is \"agent SCOPE\", "
	     "\"session NUMBER\" or \"shared\". prune has them take nobody "
	     "in any more and end once they are empty; workspaces stay. "
	     "explain asks the server which host a call of the scope would get by "
	     "psup.conf and by what this machine can do, and what its box would "
	     "be made of, down to the command line of bubblewrap. No box is made. "
	     "Where no server runs it asks one of its own, which ends with the "
	     "answer (not with --no-start).",
    .options = options,
    .run = run,
};
