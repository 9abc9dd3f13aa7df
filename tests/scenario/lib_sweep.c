/* SPDX-License-Identifier: MIT */
/* Every request while a call fails; see lib_sweep.h. */
#include "lib_sweep.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

const char *sweep_cat, *sweep_terminal, *sweep_ended;

/* What fails, with which error, and how many did. */
static enum fail_call failing;
static int failing_with, failures;

enum whose { ANY, RUNNING, ENDED, FOREGROUND };

struct row {
	const char *method;
	enum whose of; /* a session of that kind, made for each attempt */
	struct arg args[10];
};

void
sweep_begin(void)
{
	failing_psupd(.workers = 1);
	sweep_cat = background(STR("command", "cat"));
	sweep_terminal = background(STR("command", "printf 'one\\ntwo\\n'; exec cat"),
	    YES("pty"));
	sweep_ended = background(STR("command", "echo one; echo two"));
	await_output(sweep_terminal, "two");
	await_end(sweep_ended);
}

/* Forgets the sessions of a row, so that memory is as before it. */
static void
forget_others(void)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	const psup_value *rows = psup_value_get(
	    details(ask("list", YES("all"))), "sessions");

	for (size_t i = 0; i < psup_value_count(rows); i++) {
		char id[64] = "";

		psup_get_copy(psup_value_at(rows, i), "sessionId", id,
		    sizeof(id));
		if (strcmp(id, sweep_cat) != 0 && strcmp(id, sweep_terminal) != 0 &&
		    strcmp(id, sweep_ended) != 0)
			ask("remove", STR("sessionId", id));
	}
	while (psup_value_count(psup_value_get(
	           details(ask("list", YES("all"))), "sessions")) > 3)
		expect(now_ms() < until, "they stay");
	/* nor do their events stay */
	expect_ok(ask("ack", INT("seq", 9007199254740991)));
}

/* The blocks that a process has in use once it has nothing to do. */
int64_t
live_when_idle(pid_t pid)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS, live;
	struct fail_process *p = fail_of(pid);

	do {
		expect(now_ms() < until, "it is never idle");
		live = atomic_load(&p->live);
		poll(NULL, 0, 3);
	} while (live != atomic_load(&p->live));
	return live;
}

/* The session whose exec has not been answered. */
static const char *
in_foreground(void)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;
	struct psup_view_session s;
	char why[200];
	psup_view *v;
	bool found = false;
	size_t at;

	expect(psup_view_open(runtime_dir(), &v, why, sizeof(why)) == 0);
	while (!found) {
		expect(now_ms() < until, "nobody runs in the foreground");
		at = 0;
		while (!found && psup_view_next_session(v, &at, &s) == 1)
			found = !s.backgrounded &&
			    strcmp(s.state, "running") == 0;
	}
	psup_view_close(&v);
	return strcpy(scn_alloc(sizeof(s.id)), s.id);
}

/* A session for one attempt. */
static const char *
made(enum whose of, struct question **ret_exec)
{
	const char *id = NULL;

	switch (of) {
	case ANY:
		break;
	case RUNNING:
		id = background(PUPPET("hang"));
		break;
	case ENDED:
		id = background(LIST("argv", "/bin/true"));
		await_end(id);
		break;
	case FOREGROUND:
		*ret_exec = ask_later(NULL, "exec", PUPPET("hang"),
		    NIL("yieldMs"));
		id = in_foreground();
		break;
	}
	return id;
}

/* One request while an allocation of the process fails; did one? */
static bool
attempt(const struct row *r, pid_t pid, int n)
{
	uint64_t before = failed(pid, failing);
	struct arg args[12] = {{0}};
	struct question *exec = NULL;
	struct answer *a;
	int64_t started;

	args[0] = (struct arg)STR("sessionId", made(r->of, &exec));
	memcpy(args + 1, r->args, sizeof(r->args));
	fail(pid, failing, n, 1, failing_with);
	started = now_ms();
	a = scn_ask(NULL, r->method, args[0].s != NULL ? args : args + 1);
	fail_none(pid, failing);
	expect(is_alive(pid), "%s: failure %d ended it", r->method, n);
	expect(a->status == PSUP_OK || a->code[0] != '\0',
	    "%s: failure %d: %d %s", r->method, n, a->status, a->message);
	expect(now_ms() - started < 5000 + busy_ms(), "%s: failure %d took long",
	    r->method, n);
	if (exec != NULL) {
		ask("kill", STR("sessionId", args[0].s), INT("graceMs", 0));
		answer_of(exec);
	}
	return failed(pid, failing) != before;
}

/* One attempt after the other, each with a later failure; how many. */
static int
sweep(const struct row *r, pid_t pid)
{
	int n = 0;

	while (attempt(r, pid, n))
		expect(++n < SWEEP_MOST, "%s makes no end of it", r->method);
	return n;
}

bool
grows(pid_t pid, int64_t before)
{
	int64_t until = now_ms() + busy_ms();

	while (live_when_idle(pid) > before)
		if (now_ms() > until)
			return true;
	return false;
}

/* Again and again: what one made room for, the next one finds. What leaks
 * grows with each. */
static void
survives(const struct row *r, pid_t pid)
{
	int64_t live;
	int n, tries = 0;

	sweep(r, pid);
	do {
		expect(tries++ < 4, "%s leaks", r->method);
		forget_others();
		live = live_when_idle(pid);
		n = sweep(r, pid);
		forget_others();
	} while (grows(pid, live));
	failures += n;
}

/* Every method of the table has a row, or is one of `others`. */
static void
expect_complete(const struct row *rows, size_t count,
    const char *const *others)
{
	static const char *const methods[] = {
#define METHOD(id, name, kind, repeat, doc) name,
#include "common/proto.def"
#undef METHOD
	};

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		bool found = false;

		for (size_t k = 0; k < count; k++)
			found |= strcmp(rows[k].method, methods[i]) == 0;
		for (size_t k = 0; others[k] != NULL; k++)
			found |= strcmp(others[k], methods[i]) == 0;
		expect(found, "no row for %s", methods[i]);
	}
}

void
sweep_requests(pid_t pid, enum fail_call call, int with)
{
	static const char *const others[] = {"exec", "hello", "subscribe",
	    "shutdown", NULL};
	const struct row rows[] = {
	    {"status", ANY, {{0}}},
	    {"defaults", ANY, {MAP("baseEnv", "PATH", "/usr/bin:/bin"),
	        STR("baseDir", "/"), STR("umask", "022")}},
	    {"list", ANY, {YES("all"), YES("usage")}},
	    {"poll", ANY, {STR("sessionId", sweep_ended)}},
	    {"poll", ANY, {STR("sessionId", sweep_cat), INT("since", 0), YES("raw"),
	        YES("usage")}},
	    {"log", ANY, {STR("sessionId", sweep_ended)}},
	    {"log", ANY, {STR("sessionId", sweep_ended), STR("grep", "two"),
	        YES("timestamps")}},
	    {"log", ANY, {STR("sessionId", sweep_ended), STR("regex", "t[wx]o")}},
	    {"wait", ANY, {STR("sessionId", sweep_ended), STR("text", "two")}},
	    {"wait", ANY, {STR("sessionId", sweep_terminal),
	        STR("regex", "t[wx]o")}},
	    {"write", ANY, {STR("sessionId", sweep_cat), STR("data", "x\n")}},
	    {"send-keys", ANY, {STR("sessionId", sweep_terminal),
	        LIST("keys", "a", "b"), STR("literal", "c"),
	        LIST("hex", "61")}},
	    {"submit", ANY, {STR("sessionId", sweep_terminal), STR("data", "x")}},
	    {"paste", ANY, {STR("sessionId", sweep_terminal), STR("text", "x\n")}},
	    {"resize", ANY, {STR("sessionId", sweep_terminal), INT("cols", 80),
	        INT("rows", 24)}},
	    {"background", FOREGROUND, {{0}}},
	    {"screen", ANY, {STR("sessionId", sweep_terminal), YES("cells")}},
	    {"kill", RUNNING, {INT("graceMs", 0)}},
	    {"killScope", ANY, {STR("scope", "nobody")}},
	    {"clear", ENDED, {{0}}},
	    {"remove", RUNNING, {{0}}},
	    {"events", ANY, {{0}}},
	    {"ack", ANY, {INT("seq", 0)}},
	    {"lanes", ANY, {{0}}},
	    {"lanes", ANY, {STR("op", "set-width"), STR("lane", "one"),
	        INT("width", 2)}},
	    {"drainScope", ANY, {STR("scope", "drained"), INT("timeout", 0)}},
	    {"undrainScope", ANY, {STR("scope", "drained")}},
	    {"sandboxes", ANY, {{0}}},
	    {"pruneSandboxes", ANY, {{0}}},
	    {"explainSandbox", ANY, {STR("scope", "drained")}},
	    {"mintToken", ANY, {STR("scope", "other"), STR("label", "l")}},
	    {"listTokens", ANY, {{0}}},
	    {"revokeToken", ANY, {STR("scope", "other")}},
	    /* one that is done would end the process that is looked at */
	    {"upgrade", ANY, {STR("binaryDir", "/nonexistent")}},
	};

	expect_complete(rows, sizeof(rows) / sizeof(rows[0]), others);
	failing = call;
	failing_with = with;
	failures = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		survives(&rows[i], pid);
	expect(failures > 0, "nothing failed: is it counted?");
}

static const struct row execs[] = {
    {"exec", ANY, {LIST("argv", "/bin/echo", "on")}},
    {"exec", ANY, {STR("command", "echo on; exit 3"), STR("lane", "one"),
        STR("label", "l"), MAP("tags", "a", "b"), MAP("env", "A", "b"),
        STDIN_TEXT("x"), NUM("timeout", 50), YES("stream"),
        INT("priority", 1)}},
    {"exec", ANY, {STR("command", "tty"), YES("pty")}},
    {"exec", ANY, {STR("command", "sleep 0.01"), YES("background")}},
};

void
sweep_execs(pid_t pid, enum fail_call call, int with)
{
	failing = call;
	failing_with = with;
	failures = 0;
	for (size_t i = 0; i < sizeof(execs) / sizeof(execs[0]); i++)
		survives(&execs[i], pid);
	expect(failures > 0, "nothing failed: is it counted?");
}
