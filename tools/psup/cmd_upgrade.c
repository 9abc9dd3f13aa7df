/* SPDX-License-Identifier: MIT */
/*
 * psup upgrade: other programs take over a server that runs. Asks for it, then
 * asks how it goes on until it is over: the process that was asked is one of
 * those that are replaced.
 */
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define ASK_MS   120000 /* three programs that take their time to answer */
#define LOOK_MS    20    /* between two looks */
#define LOOKS_MS   120000 /* many workers, each at its slowest */
#define KNOWN_MS   3000  /* a new master hears of it right after its start */
#define CONNECT_MS 10000 /* a new master reads its index first */
#define STATUS_TRIES 3

/* A member of an object of the status, or NULL. */
static json_t *
part(const json_t *status, const char *a, const char *b)
{
	return json_object_get(json_object_get(status, a), b);
}

/* A master may have died since the last answer: then the next one is asked. */
static int
reach(struct cli *c)
{
	return psup_is_connected(c->p)
	    ? PSUP_OK
	    : cli_connect(c, CLI_NEVER_START, CONNECT_MS);
}

/* The server's state, or NULL: not now. */
static json_t *
status_now(struct cli *c)
{
	psup_reply *reply;
	json_t *status;

	if (reach(c) != PSUP_OK || psup_status(c->p, &reply) != PSUP_OK)
		return NULL;
	status = json_of_value(psup_reply_value(reply));
	psup_reply_free(&reply);
	return status;
}

/* Is the upgrade of that id the one that the server knows? */
static bool
is_known(const json_t *status, const char *id)
{
	const char *its = json_string_value(part(status, "upgrade", "id"));

	return its != NULL && strcmp(its, id) == 0;
}

/* Is the upgrade of that id over? */
static bool
is_over(const json_t *status, const char *id)
{
	static const char *const ends[] = {"done", "undone", "refused"};
	const char *phase =
	    json_string_value(part(status, "upgrade", "phase"));

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (is_known(status, id) && phase != NULL &&
		    strcmp(phase, ends[i]) == 0)
			return true;
	return false;
}

/* Looks until it is over, over a new master too. NULL: it never was. Where the
 * answer was lost it may be that nobody has heard of it. */
static json_t *
await_end(struct cli *c, const char *id, bool known)
{
	json_t *status;

	for (int ms = 0; ms < (known ? LOOKS_MS : KNOWN_MS); ms += LOOK_MS) {
		status = status_now(c);
		if (status != NULL && is_over(status, id))
			return status;
		known = known || (status != NULL && is_known(status, id));
		json_decref(status);
		(void)poll(NULL, 0, LOOK_MS);
	}
	return NULL;
}

/* One process, as it was and as it is. */
static void
print_process(const char *name, const json_t *before, const json_t *after)
{
	cli_putf("%s: pid %lld -> %lld, %s -> %s\n", name,
	    (long long)json_integer_value(json_object_get(before, "pid")),
	    (long long)json_integer_value(json_object_get(after, "pid")),
	    json_string_value(json_object_get(before, "build")),
	    json_string_value(json_object_get(after, "build")));
}

/* How it went. */
static void
print_report(const json_t *before, const json_t *after)
{
	const json_t *u = json_object_get(after, "upgrade");
	const json_t *was = json_object_get(before, "workers");
	const json_t *is = json_object_get(after, "workers");
	char name[40];

	print_process("keeper", json_object_get(before, "keeper"),
	    json_object_get(after, "keeper"));
	print_process("master", json_object_get(before, "master"),
	    json_object_get(after, "master"));
	for (size_t i = 0; i < json_array_size(is) && i < json_array_size(was);
	     i++) {
		snprintf(name, sizeof(name), "worker %zu", i);
		print_process(name, json_array_get(was, i),
		    json_array_get(is, i));
	}
	cli_putf("%s -> %s in %lld ms: %lld sessions were kept.\n",
	    json_string_value(json_object_get(u, "from")),
	    json_string_value(json_object_get(u, "to")),
	    (long long)json_integer_value(json_object_get(u, "ms")),
	    (long long)json_integer_value(json_object_get(u, "sessions")));
}

/* It is over; takes both. Returns the exit code. */
static int
report(struct cli *c, json_t *before, json_t *after)
{
	json_t *u = json_object_get(after, "upgrade");
	bool done = strcmp(json_string_value(json_object_get(u, "phase")),
			"done") == 0;

	if (c->json) {
		json_object_set(u, "keeper", json_object_get(after, "keeper"));
		json_object_set(u, "master", json_object_get(after, "master"));
		json_object_set(u, "workers",
		    json_object_get(after, "workers"));
		cli_print_json(json_incref(u));
	} else if (done) {
		print_report(before, after);
	}
	if (!done)
		cli_say("the server did not change to %s: %s",
		    json_string_value(json_object_get(u, "to")),
		    json_string_value(json_object_get(u, "why")));
	json_decref(before);
	json_decref(after);
	return done ? EXIT_OK : EXIT_FAILED;
}

/* Where the programs are; relative paths are ours. */
static int
add_dir(struct cli *c, psup_args *a, const char *dir)
{
	char path[PATH_MAX];

	if (realpath(dir, path) == NULL)
		return cli_usage(c, "%s: no such directory", dir);
	psup_args_str(a, "binaryDir", path);
	return EXIT_OK;
}

/* Asks for it. */
static int
ask(struct cli *c, const psup_args *a)
{
	psup_reply *reply;
	int rc = reach(c);

	if (rc == PSUP_OK)
		rc = psup_call(c->p, "upgrade", a, ASK_MS, &reply);
	if (rc == PSUP_OK)
		psup_reply_free(&reply);
	return rc;
}

static struct {
	const char *dir;
	int64_t ready;
} o = {.ready = -1};

static int
run(struct cli *c, int argc, char **argv)
{
	const char *dir = argc > 0 ? argv[0] : o.dir;
	json_t *before = NULL, *after;
	psup_args *a;
	uint64_t number;
	char id[24];
	int rc;

	a = psup_args_new();
	rc = dir != NULL ? add_dir(c, a, dir) : EXIT_OK;
	if (rc != EXIT_OK) {
		psup_args_free(&a);
		return rc;
	}
	do {
		arc4random_buf(&number, sizeof(number));
	} while (number == 0);
	snprintf(id, sizeof(id), "%016" PRIx64, number);
	psup_args_str(a, "id", id);
	if (o.ready >= 0)
		psup_args_int(a, "readyMs", o.ready);
	rc = cli_connect(c, CLI_NEVER_START, 0);
	/* the master may die under it: the next one is asked */
	for (int i = 0; rc == PSUP_OK && before == NULL && i < STATUS_TRIES; i++)
		before = status_now(c);
	if (rc == PSUP_OK)
		rc = before != NULL ? ask(c, a) : PSUP_ERR_LOST;
	psup_args_free(&a);
	if (before == NULL || (rc != PSUP_OK && rc != PSUP_ERR_LOST)) {
		json_decref(before);
		return cli_fail(c, rc);
	}
	after = await_end(c, id, rc == PSUP_OK);
	if (after == NULL) {
		json_decref(before);
		if (rc != PSUP_OK)
			return cli_fail(c, rc);
		cli_say("the upgrade does not come to an end; see psup status");
		return EXIT_FAILED;
	}
	return report(c, before, after);
}

static const struct opt options[] = {
	TEXT("binary-dir", 0, "DIR", "@dir", o.dir,
	    "holds psupd, psup-master and psup-worker; the same as DIR"),
	NUMBER("ready", 0, "MS", o.ready, 100, 60000,
	    "a new process may take so long, 100 to 60000 (10000)"),
	OPT_END};

const struct command cmd_upgrade = {
	.name = "upgrade",
	.args = "[DIR]",
	.words = "@dir",
	.max_args = 1,
	.wants = "it takes one directory at most",
	.summary = "Let other programs take over the server; sessions run on",
	.about = "DIR is where the new psupd is, or its path. Without it: "
	         "whatever lies where\nthe running programs were found, as "
	         "after a package was installed. Nothing is\nchanged unless the "
	         "new programs can read what is there, and the old ones what\n"
	         "they write; where one does not come up the old ones come "
	         "back.",
	.options = options,
	.run = run,
};
