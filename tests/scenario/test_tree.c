/* SPDX-License-Identifier: MIT */
/*
 * The end of a session reaches everything that it started, however hidden;
 * with a control group (where this machine and user have one) and without.
 */
#include "lib_tree.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib_inner.h"

/* Does the server have a control group to kill by? */
static bool
has_group(void)
{
	const psup_value *group = psup_value_get(
	    psup_reply_value(ask("status")->reply), "cgroup");

	return strncmp(psup_value_str(psup_value_get(group, "kill"), NULL),
	           "none", 4) != 0;
}

/* Whatever the answer had to say, nobody is left in the end. */
static void
kill_takes_decoys(void)
{
	pid_t pids[DECOYS_COUNT];
	struct answer *a;
	const char *id;

	id = background(STR("command", DECOYS "wait"));
	pids_of(id, DECOYS_COUNT, pids);
	a = ask("kill", STR("sessionId", id), INT("graceMs", 300));
	expect_ok(a);
	if (number_of(a, "remaining") == 0)
		expect_int(a, "unattributed", 0);
	await_nobody_left(a, 300);
	expect_dead(pids, DECOYS_COUNT);
}

SCENARIO(tree, kill_takes_every_descendant)
{
	psupd();
	kill_takes_decoys();
	kill_takes_decoys(); /* in a leaf that is not the first one's */
}

SCENARIO(tree, kill_takes_every_descendant_without_a_cgroup)
{
	psupd(.conf = NO_CGROUP);
	expect(!has_group());
	kill_takes_decoys();
}

/* Without a group the worker looks at /proc; one look serves all who end in
 * the same moment, and must not take one's processes for another's. */
SCENARIO(tree, killed_at_once_each_takes_its_own_without_a_cgroup)
{
	enum { KILLED = 4 };
	pid_t pids[KILLED][DECOYS_COUNT], spared[DECOYS_COUNT];
	struct question *q[KILLED];
	const char *id[KILLED], *other;
	struct answer *a;
	size_t i;

	psupd(.conf = NO_CGROUP, .workers = 1);
	other = background(STR("command", DECOYS "wait"));
	pids_of(other, DECOYS_COUNT, spared);
	for (i = 0; i < KILLED; i++) {
		id[i] = background(STR("command", DECOYS "wait"));
		pids_of(id[i], DECOYS_COUNT, pids[i]);
	}
	for (i = 0; i < KILLED; i++)
		q[i] = ask_later(NULL, "kill", STR("sessionId", id[i]),
		    INT("graceMs", 300));
	for (i = 0; i < KILLED; i++) {
		a = answer_of(q[i]);
		expect_ok(a);
		await_nobody_left(a, 300);
		expect_dead(pids[i], DECOYS_COUNT);
	}
	for (i = 0; i < DECOYS_COUNT; i++)
		expect(is_alive(spared[i]), "decoy %zu of another died", i);
	expect_ok(ask("kill", STR("sessionId", other), INT("graceMs", 0)));
	for (i = 0; i < DECOYS_COUNT; i++)
		await_gone(spared[i]);
}

SCENARIO(tree, kill_takes_every_descendant_with_version_1)
{
	psupd(.conf = V1_CGROUP);
	kill_takes_decoys();
	kill_takes_decoys();
}

/* The ladder of a time-out. */
static void
timeout_takes_decoys(void)
{
	struct answer *a;

	a = ask("exec", STR("command", DECOYS "wait"), NUM("timeout", 5));
	expect_str(a, "exitReason", "overall-timeout");
	expect_nobody_left(a, 300);
}

SCENARIO(tree, a_timeout_takes_every_descendant)
{
	psupd(.conf = "[exec]\ngrace_ms = 300\n");
	timeout_takes_decoys();
}

SCENARIO(tree, a_timeout_takes_every_descendant_without_a_cgroup)
{
	psupd(.conf = "[exec]\ngrace_ms = 300\n" NO_CGROUP);
	timeout_takes_decoys();
}

/* What a member starts in answer to the signal is let do its work. Its other
 * child says when it is one: between fork and exec it still has the handler that
 * the trap has, and would take the signal for nothing. */
static void
what_cleans_up_is_let(void)
{
	for (int i = 0; i < 8; i++) {
		const char *done = file_in_scenario(scn_format("done%d", i));
		const char *id;
		char script[400];
		pid_t one;

		snprintf(script, sizeof(script), "setsid sh -c 'trap \"(sleep "
		    "0.2; echo x >%s) & exit\" TERM; sh -c \"echo \\$PPID; "
		    "exec sleep 1000\" & wait' & wait", done);
		id = background(STR("command", script));
		pids_of(id, 1, &one);
		expect_int(ask("kill", STR("sessionId", id),
		    INT("graceMs", SCN_DEADLINE_MS)), "remaining", 0);
		expect(access(done, F_OK) == 0, "round %d", i);
	}
}

SCENARIO(tree, what_cleans_up_is_let)
{
	psupd(.workers = 1);
	what_cleans_up_is_let();
}

SCENARIO(tree, what_cleans_up_is_let_without_a_cgroup)
{
	psupd(.workers = 1, .conf = NO_CGROUP);
	what_cleans_up_is_let();
}

#ifdef PSUP_FAULTS

/* While the first signal is on its way a member of another POSIX session forks,
 * then it ends: the child is told as well, not killed a grace later. `trap`: how
 * that member takes the signal; "": it is gone before. */
static void
the_signal_reaches_what_was_forked_under_it(const char *trap)
{
	const char *cue = file_in_scenario("cue"), *id;
	const char *late = file_in_scenario("late");
	struct question *q;
	struct answer *a;
	char script[500];
	pid_t one, worker;
	int orphan = 0;
	FILE *f;

	expect(mkfifo(cue, 0600) == 0);
	snprintf(script, sizeof(script), "setsid sh -c '%s echo $$; "
	    "read x <%s; sleep 1000 & echo $! >%s.new; mv %s.new %s%s' & wait",
	    trap, cue, late, late, late, trap[0] != '\0' ? "; wait" : "");
	id = background(STR("command", script));
	pids_of(id, 1, &one);
	worker = worker_of(id);
	q = ask_later(peer(NULL), "kill", STR("sessionId", id),
	    INT("graceMs", 600000));
	await_stopped(worker);
	f = fopen(cue, "we");
	expect(f != NULL && fputs("go\n", f) >= 0 && fclose(f) == 0);
	await_file(late);
	if (trap[0] == '\0')
		await_gone(one);
	kill_now(worker, SIGCONT);
	a = answer_of(q);
	expect_int(a, "remaining", 0);
	f = fopen(late, "re");
	expect(f != NULL && fscanf(f, "%d", &orphan) == 1 && fclose(f) == 0);
	expect(!is_alive(orphan));
	expect(!psup_get_bool(psup_value_get(details(a), "ladder"), "killed",
	    true), "%s", words_of(a));
}

SCENARIO(tree, what_is_forked_under_a_signal_gets_it)
{
	psupd(.workers = 1, .env = {"PSUP_FAULTS=stop.amid-signal=stop"});
	the_signal_reaches_what_was_forked_under_it("");
}

SCENARIO(tree, what_is_forked_under_a_signal_gets_it_without_a_cgroup)
{
	psupd(.workers = 1, .conf = NO_CGROUP,
	    .env = {"PSUP_FAULTS=stop.amid-signal=stop"});
	the_signal_reaches_what_was_forked_under_it("");
}

/* It is nobody's orphan when the worker first looks for such. */
#define SLOW_TO_DIE "trap \"sleep 0.3; exit\" TERM;"

SCENARIO(tree, what_is_forked_under_a_signal_gets_it_when_it_is_an_orphan)
{
	psupd(.workers = 1, .env = {"PSUP_FAULTS=stop.amid-signal=stop"});
	the_signal_reaches_what_was_forked_under_it(SLOW_TO_DIE);
}

SCENARIO(tree, what_is_forked_under_a_signal_gets_it_later_without_a_cgroup)
{
	psupd(.workers = 1, .conf = NO_CGROUP,
	    .env = {"PSUP_FAULTS=stop.amid-signal=stop"});
	the_signal_reaches_what_was_forked_under_it(SLOW_TO_DIE);
}

/* What the last rung has stopped it also kills, though the second that it has is
 * over when its worker gets on. */
SCENARIO(tree, what_is_stopped_is_killed_however_late_without_a_cgroup)
{
	const char *id;
	const psup_value *row;
	pid_t worker, pid;
	int64_t until;

	psupd(.workers = 1, .conf = NO_CGROUP,
	    .env = {"PSUP_FAULTS=stop.after-kill=stop"});
	id = background(STR("command", "exec sleep 1000"));
	pid = pid_of(id);
	worker = worker_of(id);
	(void)ask_later(peer(NULL), "kill", STR("sessionId", id),
	    INT("graceMs", 0));
	await_stopped(worker);
	for (until = now_ms() + 1200; now_ms() < until;)
		usleep(10000);
	kill_now(worker, SIGCONT);
	row = await_end(id);
	expect(psup_get_is(row, "exitSignal", "SIGKILL"));
	expect(!is_alive(pid));
}

#endif

SCENARIO(tree, a_successor_kills_to_the_last_descendant)
{
	pid_t pids[DECOYS_COUNT];
	struct answer *a;
	const char *id;

	psupd();
	id = background(STR("command", DECOYS "wait"));
	pids_of(id, DECOYS_COUNT, pids);
	kill_worker_of(id);
	a = ask("kill", STR("sessionId", id), INT("graceMs", 200));
	await_nobody_left(a, 200);
	expect_dead(pids, DECOYS_COUNT);
}

/* Two of itself, each in a session of its own, up to a generation, which then
 * forks for ever. */
static void
kill_takes_forkers(void)
{
	const char *hop = file_in_scenario("hop");
	struct answer *a;
	const char *id;
	FILE *f;

	f = fopen(hop, "w");
	expect(f != NULL);
	fputs("#!/bin/sh\n"
	      "[ $1 -lt 5 ] || { while :; do setsid sleep 0.05 & wait; done; }\n"
	      "setsid $0 $(($1 + 1)) &\nsetsid $0 $(($1 + 1)) &\nwait\n", f);
	fclose(f);
	expect(chmod(hop, 0755) == 0);
	id = background(LIST("argv", hop, "0"));
	ask("poll", STR("sessionId", id), INT("timeout", 300));
	a = ask("kill", STR("sessionId", id), INT("graceMs", 0));
	await_nobody_left(a, 0);
	unlink(hop);
}

SCENARIO(tree, what_forks_without_end_is_ended)
{
	psupd();
	kill_takes_forkers();
}

SCENARIO(tree, what_forks_without_end_is_ended_with_version_1)
{
	psupd(.conf = V1_CGROUP);
	kill_takes_forkers();
}

SCENARIO(tree, what_forks_without_end_is_ended_without_a_cgroup)
{
	psupd(.conf = NO_CGROUP);
	kill_takes_forkers();
}

/* Until a process has become the program of that name. */
static void
await_program(pid_t pid, const char *want)
{
	int64_t end = now_ms() + SCN_DEADLINE_MS;
	char path[64], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	for (;;) {
		f = fopen(path, "re");
		expect(f != NULL && fgets(name, sizeof(name), f) != NULL);
		fclose(f);
		name[strcspn(name, "\n")] = '\0';
		if (strcmp(name, want) == 0)
			return;
		expect(now_ms() < end, "it is %s", name);
		usleep(1000);
	}
}

SCENARIO(tree, what_hid_from_everything_is_counted)
{
	struct answer *a;
	const char *id;
	pid_t pid;

	psupd(.conf = NO_CGROUP);
	id = background(STR("command",
	    "setsid env -i sh -c 'setsid sleep 1000 >/dev/null 2>&1 & echo "
	    "$!'; echo up; sleep 1000"));
	await_output(id, "up\n");
	pids_of(id, 1, &pid);
	await_program(pid, "sleep"); /* only now has it let go of all */
	a = ask("kill", STR("sessionId", id), INT("graceMs", 100));
	expect_int(a, "unattributed", 1);
	expect_ok(ask("shutdown", INT("graceMs", 100)));
	server_ends();
	await_gone(pid);
}

SCENARIO(tree, what_hid_but_holds_the_output_is_ended)
{
	struct answer *a;
	const char *id;
	pid_t pid;

	psupd(.conf = NO_CGROUP);
	id = background(STR("command",
	    "setsid env -i sh -c 'setsid sleep 1000 & echo $!'; echo up; "
	    "sleep 1000"));
	await_output(id, "up\n");
	pids_of(id, 1, &pid);
	a = ask("kill", STR("sessionId", id), INT("graceMs", 100));
	expect_int(a, "remaining", 0);
	expect_int(a, "unattributed", 0);
	expect(!is_alive(pid));
}

SCENARIO(tree, kill_scope_ends_one_scope)
{
	struct peer *b;
	struct answer *a;
	const char *mine, *other;

	psupd(.conf = "[lane \"one\"]\nwidth = 1\n");
	b = peer("b");
	mine = background(STR("command", "sleep 1000"), STR("scope", "a"),
	    STR("lane", "one"));
	background(STR("command", "sleep 1000"), STR("scope", "a"),
	    STR("lane", "one"));
	other = background(STR("command", "echo up; sleep 1000"),
	    STR("scope", "b"));
	await_output(other, "up\n");
	expect_int(ask_as(b, "killScope", STR("scope", "a")), "sessions", 0);
	expect_int(ask_as(b, "killScope", STR("scope", "c")), "sessions", 0);
	expect_str(ask("poll", STR("sessionId", mine)), "status", "running");
	expect_refused_for(ask("killScope"), "invalid-params", "scope");
	a = ask("killScope", STR("scope", "a"), INT("graceMs", 100));
	expect_int(a, "sessions", 2);
	expect_int(a, "ended", 2);
	expect_int(a, "remaining", 0);
	expect_str(ask("poll", STR("sessionId", mine)), "exitReason",
	    "manual-cancel");
	expect_str(ask("poll", STR("sessionId", other)), "status", "running");
	expect_int(ask_as(b, "killScope", INT("graceMs", 0)), "ended", 1);
}
