/* SPDX-License-Identifier: MIT */
/*
 * The end of a session reaches everything that it started, however hidden;
 * with a control group (where this machine and user have one) and without.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib_inner.h"
#include "lib_scn.h"

#define NO_CGROUP "[server]\ncgroup = off\n"
#define V1_CGROUP "[server]\ncgroup = v1\n"

/* Each says its pid: in the group; in a POSIX session of its own and deaf to
 * TERM; double-forked; behind nohup; with an empty environment. */
#define DECOYS_COUNT 5
#define DECOYS                                                              \
	"sh -c 'echo $$; exec sleep 1000' & "                               \
	"setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & "        \
	"(setsid sh -c 'echo $$; exec sleep 1000' &) ; "                    \
	"nohup sh -c 'echo $$; exec sleep 1000' 2>/dev/null & "             \
	"setsid env -i sh -c 'echo $$; exec sleep 1000' & "

/* The first n numbers that a session has printed, one a line. */
static void
pids_of(const char *id, size_t n, pid_t *ret)
{
	int64_t end = now_ms() + SCN_DEADLINE_MS;
	const char *text = "", *p;
	size_t lines = 0, i;

	while (lines < n && now_ms() < end) {
		text = text_of(ask("poll", STR("sessionId", id),
		    INT("since", 0)), "output");
		for (lines = 0, p = text; (p = strchr(p, '\n')) != NULL; p++)
			lines++;
		if (lines < n)
			ask("poll", STR("sessionId", id),
			    INT("timeout", 100));
	}
	expect(lines >= n, "%zu lines", lines);
	for (i = 0, p = text; i < n; i++, p = strchr(p, '\n') + 1) {
		ret[i] = (pid_t)atoi(p);
		expect(ret[i] > 1 && is_alive(ret[i]), "decoy %zu", i);
	}
}

/* Does the server have a control group to kill by? */
static bool
has_group(void)
{
	const psup_value *group = psup_value_get(
	    psup_reply_value(ask("status")->reply), "cgroup");

	return strncmp(psup_value_str(psup_value_get(group, "kill"), NULL),
	           "none", 4) != 0;
}

static void
expect_dead(const pid_t *pids, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		expect(!is_alive(pids[i]), "decoy %zu lives", i);
}

/* What a machine with more to run than processors may add. */
static int64_t
busy_ms(void)
{
	FILE *f = fopen("/proc/loadavg", "re");
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	double load = 0;
	int running = 0;

	expect(f != NULL && fscanf(f, "%lf %*f %*f %d", &load, &running) == 2);
	fclose(f);
	return load >= (double)cpus || running > cpus ? BUSY_MS : 0;
}

/* The worker's own clock says that the ladder was over within grace and a
 * second, whatever the machine is busy with on our side. */
static void
expect_ladder(const struct answer *a, int64_t grace_ms)
{
	const psup_value *ladder = psup_value_get(details(a), "ladder");
	int64_t ms = psup_value_int(psup_value_get(ladder, "ms"), -1);

	expect(ms >= grace_ms && ms <= grace_ms + 1000 + busy_ms(), "%lld ms",
	    (long long)ms);
	expect(psup_value_bool(psup_value_get(ladder, "killed"), false));
}

/* On its way out of the kernel: it runs nothing any more, and control groups
 * no longer list it, but its environment may still be there. */
static bool
is_exiting(const char *pid)
{
	char path[64], text[512], *p;
	unsigned flags = 0;
	bool got;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return true;
	got = fgets(text, sizeof(text), f) != NULL &&
	    (p = strrchr(text, ')')) != NULL &&
	    sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1;
	fclose(f);
	return !got || (flags & 0x4) != 0; /* PF_EXITING */
}

/* The mark of a session, which no other server's session ever has; its name
 * may come again there. */
static void
mark_of(const char *id, char *ret, size_t size)
{
	const psup_value *rows = psup_value_get(details(ask("list",
	    YES("all"))), "sessions");
	char instance[64] = "";
	size_t i;

	for (i = 0; i < psup_value_count(rows); i++)
		if (psup_get_is(psup_value_at(rows, i), "sessionId", id))
			psup_get_copy(psup_value_at(rows, i), "instanceId",
			    instance, sizeof(instance));
	expect(instance[0] != '\0', "%s is not listed", id);
	snprintf(ret, size, "PSUP_INSTANCE=%s", instance);
}

/* How many living processes have the session's mark in their environment. */
static size_t
marked(const char *id)
{
	char path[64], mark[80], text[65536];
	DIR *d = opendir("/proc");
	size_t count = 0, len;
	struct dirent *e;
	FILE *f;

	expect(d != NULL);
	mark_of(id, mark, sizeof(mark));
	while ((e = readdir(d)) != NULL) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/environ", e->d_name);
		f = fopen(path, "re");
		if (f == NULL)
			continue;
		len = fread(text, 1, sizeof(text), f);
		fclose(f);
		count += memmem(text, len, mark, strlen(mark) + 1) != NULL &&
		    !is_exiting(e->d_name);
	}
	closedir(d);
	return count;
}

/*
 * Nobody is left: by now, where the answer says so. An answer that counts some
 * has used the whole second, names them, and they end all the same, since the
 * worker goes on: who is killed needs a processor to die on.
 */
static void
expect_nobody_left(const struct answer *a, int64_t grace_ms)
{
	const psup_value *pids = psup_value_get(details(a), "remainingPids");
	int64_t left = number_of(a, "remaining");
	const char *id = id_of(a);
	size_t i, named = psup_value_count(pids);

	expect_ladder(a, grace_ms);
	if (left == 0) {
		expect(named == 0);
		expect(marked(id) == 0, "%zu of %s live", marked(id), id);
		return;
	}
	expect(psup_value_int(psup_value_get(psup_value_get(details(a),
	           "ladder"), "ms"), 0) >= grace_ms + 1000);
	expect((int64_t)named == (left < 16 ? left : 16), "%zu of %lld",
	    named, (long long)left);
	for (i = 0; i < named; i++)
		await_gone((pid_t)psup_value_int(psup_value_at(pids, i), 0));
}

/* The same for a session that can be polled: the last word is 0, and true. */
static void
await_nobody_left(const struct answer *a, int64_t grace_ms)
{
	int64_t end = now_ms() + SCN_DEADLINE_MS, left;
	const char *id = id_of(a);

	expect_nobody_left(a, grace_ms);
	while ((left = number_of(ask("poll", STR("sessionId", id)),
	            "remaining")) > 0) {
		expect(now_ms() < end, "%lld remain", (long long)left);
		usleep(1000);
	}
	expect(left == 0 && marked(id) == 0, "%zu of %s live", marked(id),
	    id);
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

	a = ask("exec", STR("command", DECOYS "wait"), NUM("timeout", 0.5));
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

/* What a member starts in answer to the signal is let do its work. */
static void
what_cleans_up_is_let(void)
{
	for (int i = 0; i < 8; i++) {
		const char *done = file_in_scenario(scn_format("done%d", i));
		const char *id;
		char script[400];
		pid_t one;

		snprintf(script, sizeof(script), "setsid sh -c 'trap \"(sleep "
		    "0.2; echo x >%s) & exit\" TERM; echo $$; sleep 1000 & "
		    "wait' & wait", done);
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

#endif

SCENARIO(tree, what_outlives_its_command_is_left_alone)
{
	struct answer *a;
	pid_t daemon;
	const char *id;

	psupd(.workers = 1);
	a = ask("exec", STR("command",
	    "setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo $!"));
	expect_str(a, "status", "completed");
	daemon = (pid_t)atoi(text_of(a, "aggregated"));
	expect(is_alive(daemon));
	/* nor does the end of another session reach it */
	id = background(STR("command", "echo up; sleep 1000"));
	await_output(id, "up\n");
	expect_ok(ask("kill", STR("sessionId", id), INT("graceMs", 0)));
	expect(is_alive(daemon));
	expect_ok(ask("shutdown", INT("graceMs", 100)));
	await_gone(daemon);
}

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

/* The numbers of a list, as text; those processes end. */
static void
await_gone_listed(const char *list)
{
	char *end;
	long pid;

	for (;; list = end + (*end == ',')) {
		pid = strtol(list, &end, 10);
		if (end == list)
			return;
		await_gone((pid_t)pid);
	}
}

/* The text after a word of it, which must be there. */
static const char *
after(const char *text, const char *word)
{
	const char *p = strstr(text, word);

	expect(p != NULL, "no %s in %s", word, text);
	return p + strlen(word);
}

/* What people type: deaf to TERM in a session of its own, double-forked, behind
 * nohup. psup says that nothing of it remains; or, where the second was not
 * enough to die in, who. */
static void
exec_says_that_nothing_remains(void)
{
	static const char *const line =
	    "setsid sh -c 'trap \"\" TERM; sleep 1000' & (sleep 1000 &) ; "
	    "nohup sleep 1000 & wait";
	static const char nothing[] =
	    "timed out; its processes were ended, 0 remain";
	struct run *r;
	bool some;
	long ms;

	r = cli("exec", "--timeout", "0.5", "--", "sh", "-c", line);
	expect_exit(r, 124);
	if (strstr(r->err, nothing) == NULL)
		await_gone_listed(after(r->err, "of its processes remain:"));
	r = cli("exec", "--json", "--timeout", "0.5", "--", "sh", "-c", line);
	expect_exit(r, 124);
	ms = atol(after(r->out, "\"ladder\":{\"ms\":"));
	expect(ms >= 300 && ms <= 300 + 1000 + busy_ms(), "%ld ms", ms);
	some = atol(after(r->out, "\"remaining\":")) > 0;
	expect(!some || ms >= 300 + 1000, "%s", r->out);
	await_gone_listed(after(r->out, "\"remainingPids\":["));
}

SCENARIO(tree, exec_leaves_nothing_and_says_so)
{
	psupd(.conf = "[exec]\ngrace_ms = 300\n");
	exec_says_that_nothing_remains();
}

SCENARIO(tree, exec_leaves_nothing_and_says_so_with_version_1)
{
	psupd(.conf = "[exec]\ngrace_ms = 300\n" V1_CGROUP);
	exec_says_that_nothing_remains();
}

SCENARIO(tree, exec_leaves_nothing_and_says_so_without_a_cgroup)
{
	psupd(.conf = "[exec]\ngrace_ms = 300\n" NO_CGROUP);
	exec_says_that_nothing_remains();
}

/* The holder with this pid, as a poll names it. */
static const psup_value *
holder_of(const struct answer *a, pid_t pid)
{
	const psup_value *list = psup_value_get(details(a), "holderList");
	size_t i;

	for (i = 0; i < psup_value_count(list); i++)
		if (psup_value_int(psup_value_get(psup_value_at(list, i),
		        "pid"), 0) == pid)
			return psup_value_at(list, i);
	return NULL;
}

/* The shell is gone, two hold its output: the answer comes, names them, and
 * they can still be killed. */
static void
survivors_are_named_and_killable(void)
{
	const psup_value *h;
	struct answer *a;
	const char *id;
	size_t len;
	pid_t pids[2];

	id = background(STR("command",
	    "sh -c 'echo $$; exec nohup sleep 600 2>/dev/null' & "
	    "setsid sh -c 'echo $$; exec sleep 601' & read x"));
	pids_of(id, 2, pids);
	expect_ok(ask("write", STR("sessionId", id), STR("data", "\n")));
	await_end(id);
	a = ask("poll", STR("sessionId", id));
	expect_str(a, "status", "completed");
	expect_str(a, "exitReason", "exit");
	expect_flag(a, "exited", true);
	expect_int(a, "holders", 2);
	h = holder_of(a, pids[0]);
	expect(h != NULL && psup_value_str(psup_value_get(h, "name"), &len) !=
	        NULL && len > 0);
	expect(holder_of(a, pids[1]) != NULL);
	expect_absent(a, "ladder");
	a = ask("kill", STR("sessionId", id), INT("graceMs", 300));
	expect_ok(a);
	expect_int(a, "holders", 0);
	expect_int(a, "remaining", 0);
	expect_str(a, "exitReason", "exit");
	expect_dead(pids, 2);
	expect_refused(ask("kill", STR("sessionId", id)), "not-running");
}

SCENARIO(tree, survivors_are_named_and_killable)
{
	psupd();
	survivors_are_named_and_killable();
}

SCENARIO(tree, survivors_are_named_and_killable_without_a_cgroup)
{
	psupd(.conf = NO_CGROUP);
	survivors_are_named_and_killable();
}

SCENARIO(tree, survivors_of_a_scope_are_killable)
{
	struct answer *a;
	pid_t pid;

	psupd();
	a = ask("exec", STR("command", "sleep 600 & echo $!"),
	    STR("scope", "s"));
	expect_int(a, "holders", 1);
	pid = (pid_t)atoi(text_of(a, "aggregated"));
	expect(is_alive(pid));
	a = ask("killScope", STR("scope", "s"), INT("graceMs", 300));
	expect_int(a, "sessions", 0);
	expect_int(a, "remaining", 0);
	expect(!is_alive(pid));
}

SCENARIO(tree, what_holds_the_output_does_not_hold_the_answer)
{
	struct answer *a;

	psupd();
	a = ask("exec", STR("command", "nohup sleep 600 2>/dev/null | cat &"));
	expect_str(a, "status", "completed");
	expect(number_of(a, "endedAt") - number_of(a, "startedAt") <= 1000);
	expect(number_of(a, "durationMs") <= 1000);
	expect_int(a, "holders", 1); /* cat; sleep writes to cat */
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
