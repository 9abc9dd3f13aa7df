/* SPDX-License-Identifier: MIT */
/*
 * The one death that psup does not survive, and the place of PID 1: what is
 * left of the commands, and what the next server says of them.
 */
#include "lib_inner.h"
#include "lib_scn.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* The command, then one that hid from its session; both print their pid. */
#define HIDING \
	"echo $$; setsid sh -c 'echo $$; exec sleep 1000' & " \
	"trap '' TERM; while :; do sleep 1000; done"

/* The n-th number that a session printed. */
static pid_t
printed_pid(const char *id, int n)
{
	int64_t until = now_ms() + SCN_DEADLINE_MS;

	for (;;) {
		struct output o = read_retained(id);
		char *at = o.bytes, *end = o.bytes + o.len;

		for (int i = 0; at != NULL && i < n; i++) {
			at = memchr(at, '\n', (size_t)(end - at));
			at = at == NULL ? NULL : at + 1;
		}
		if (at != NULL && memchr(at, '\n', (size_t)(end - at)) != NULL)
			return atoi(at);
		expect(now_ms() < until, "%s printed no number %d", id, n);
	}
}

/* The session is lost: said, with its output, and with no exit status. */
static void
expect_lost(const char *id, const char *output)
{
	struct answer *a = ask("poll", STR("sessionId", id));

	expect_str(a, "status", "failed");
	expect_str(a, "exitReason", "lost");
	expect_absent(a, "exitCode");
	expect_absent(a, "exitSignal");
	expect_text(a, "unknown exit code");
	expect(strncmp(text_of(a, "output"), output, strlen(output)) == 0,
	    "%s", text_of(a, "output"));
	expect_text(ask("log", STR("sessionId", id)), output);
}

/* The row of a session in a list. */
static const psup_value *
row_of(const struct answer *list, const char *id)
{
	const psup_value *rows = psup_value_get(details(list), "sessions");

	for (size_t i = 0; i < psup_value_count(rows); i++)
		if (psup_get_is(psup_value_at(rows, i), "sessionId", id))
			return psup_value_at(rows, i);
	return NULL;
}

/* Its instance id, as list has it. */
static const char *
instance_of(const char *id)
{
	size_t len;
	const char *found = psup_get_str(row_of(ask("list"), id),
	    "instanceId", &len);

	return found != NULL ? scn_format("%.*s", (int)len, found) : "";
}

SCENARIO(keeper, killed_ends_all_commands_and_they_are_lost)
{
	const char *plain, *hiding, *done, *instance;
	struct answer *list;
	pid_t pids[3];
	int64_t began;

	psupd(.first = true);
	done = background(STR("command", "echo kept; exit 3"));
	await_end(done);
	instance = instance_of(done);
	plain = background(PUPPET("ignore 15; print before; hang"));
	await_output(plain, "before\n");
	hiding = background(STR("command", HIDING));
	pids[0] = pid_of(plain);
	pids[1] = printed_pid(hiding, 0);
	pids[2] = printed_pid(hiding, 1);

	kill_now(psupd_pid(), SIGKILL);
	began = now_ms();
	server_was_killed();
	/* nothing of it is left, though nobody took its place yet */
	for (int i = 0; i < 3; i++)
		await_gone(pids[i]);
	expect(now_ms() - began < 1000 + busy_ms(), "%lld ms",
	    (long long)(now_ms() - began));
	expect(await_former_server() == 128 + SIGKILL);

	psupd();
	expect_lost(plain, "before");
	expect_lost(hiding, "");
	list = ask("list");
	expect(psup_get_is(row_of(list, plain), "exitReason", "lost"));
	expect_int(ask("poll", STR("sessionId", done)), "exitCode", 3);
	expect_text(ask("log", STR("sessionId", done)), "kept");
	expect(strcmp(instance_of(done), instance) == 0);
	expect_int(ask("poll", STR("sessionId", instance)), "exitCode", 3);
	expect_str(ask("exec", STR("command", "echo on")), "aggregated",
	    "on\n");
}

/* What waits when the keeper dies runs under the next one by its old id, and is
 * found by it from within. */
SCENARIO(keeper, ids_stay_over_its_death)
{
	const char *waits, *instance;
	struct answer *a;

	psupd(.first = true, .workers = 1);
	expect_ok(ask("lanes", STR("op", "pause"), STR("lane", "one")));
	waits = background(STR("command", "printf %s $PSUP_INSTANCE"),
	    STR("lane", "one"));
	instance = instance_of(waits);
	kill_now(psupd_pid(), SIGKILL);
	server_was_killed();
	expect(await_former_server() == 128 + SIGKILL);
	psupd();
	expect(strcmp(instance_of(waits), instance) == 0);
	expect_ok(ask("lanes", STR("op", "resume"), STR("lane", "one")));
	await_end(waits);
	a = ask("poll", STR("sessionId", instance));
	expect_str(a, "status", "completed");
	/* the mark is of the keeper under which it ran, and names it, too */
	expect(strcmp(text_of(a, "output"), instance) != 0);
	expect_str(ask("poll", STR("sessionId", text_of(a, "output"))),
	    "sessionId", waits);
	expect(strcmp(instance_of(waits), instance) == 0);
}

SCENARIO(keeper, and_everybody_killed_at_once)
{
	const char *hiding, *waits;
	pid_t pids[2], keeper, master, worker;
	struct peer *p;

	psupd(.first = true, .workers = 1,
	    .conf = "[lane \"one\"]\nwidth = 1\n");
	hiding = background(STR("command", HIDING), STR("lane", "one"));
	pids[0] = printed_pid(hiding, 0);
	pids[1] = printed_pid(hiding, 1);
	waits = background(STR("command", "echo once"), STR("lane", "one"));

	keeper = psupd_pid();
	master = master_pid();
	worker = worker_of(hiding);
	kill_now(keeper, SIGSTOP); /* so that nobody mends anything between */
	kill_now(worker, SIGKILL);
	kill_now(master, SIGKILL);
	kill_now(keeper, SIGKILL);
	server_was_killed();
	await_gone(keeper);
	await_gone(master);
	await_gone(pids[0]); /* by the kernel: its parent died */

	/* What hid is ended before anybody is answered. */
	psupd(.workers = 1, .conf = "[lane \"one\"]\nwidth = 1\n");
	expect_ok(ask("list"));
	expect(!is_alive(pids[1]), "%d lives on", pids[1]);
	expect(await_former_server() == 128 + SIGKILL);
	p = peer(NULL);
	listen_to_events(p, "gateway");
	await_events(p, 1);
	expect(strcmp(event_at(p, 0)->id, hiding) == 0);
	expect_lost(hiding, "");
	/* What waited has not run, so it does now. */
	await_end(waits);
	expect_str(ask("poll", STR("sessionId", waits)), "output", "once\n");
}

/* A worker that could go on later would make files that nobody looks for any
 * more, and read the next one's. */
SCENARIO(keeper, a_worker_of_a_dead_one_is_gone_before_the_next_answers)
{
	pid_t worker, master;

	psupd(.first = true, .workers = 1);
	worker = worker_of(background(PUPPET("print up; hang")));
	master = master_pid();
	kill_now(worker, SIGSTOP);
	kill_now(psupd_pid(), SIGKILL);
	server_was_killed();
	await_gone(master); /* with its socket */
	psupd(.workers = 1);
	expect(!is_alive(worker), "%d lives on", worker);
	expect(await_former_server() == 128 + SIGKILL);
	expect_str(ask("exec", STR("command", "echo on")), "aggregated",
	    "on\n");
}

#ifdef PSUP_FAULTS

/* How many files are in that folder of the runtime directory? */
static int
files_in(const char *folder)
{
	DIR *d = opendir(scn_format("%s/%s", runtime_dir(), folder));
	struct dirent *e;
	int n = 0;

	expect(d != NULL);
	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

SCENARIO(keeper, leaves_no_input_that_was_never_committed)
{
	const char *id;
	pid_t keeper, master;

	psupd(.first = true, .env = {"PSUP_FAULTS=master.in-spool=stop"});
	id = background(STR("command", "cat"));
	(void)ask_later(peer(NULL), "write", STR("sessionId", id),
	    STR("data", "never committed"));
	keeper = psupd_pid();
	master = master_pid();
	await_stopped(master);
	kill_now(keeper, SIGKILL);
	kill_now(master, SIGKILL);
	server_was_killed();
	await_gone(master);
	expect(await_former_server() == 128 + SIGKILL);
	expect(files_in("spool") == 1, "the write came to nothing");

	psupd();
	expect_lost(id, "");
	expect_ok(ask("remove", STR("sessionId", id)));
	expect(files_in("rings") == 0 && files_in("spool") == 0,
	    "%d rings, %d spools", files_in("rings"), files_in("spool"));
}

#endif

/* A stopped one would go on some day, beside the next keeper's. */
SCENARIO(keeper, killed_ends_a_master_that_is_stopped)
{
	const char *id;
	pid_t master;

	psupd(.first = true);
	id = background(STR("command", "echo kept"));
	await_end(id);
	master = master_pid();
	kill_now(master, SIGSTOP);
	kill_now(psupd_pid(), SIGKILL);
	server_was_killed();
	await_gone(master);
	expect(await_former_server() == 128 + SIGKILL);
	psupd();
	expect_text(ask("log", STR("sessionId", id)), "kept");
}

/* Nobody opens the index beside a master that is not gone yet. */
SCENARIO(keeper, has_one_master_at_a_time)
{
	int former = open(runtime_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	expect(former >= 0 && flock(former, LOCK_EX | LOCK_NB) == 0);
	psupd(.fails = true);
	await_log("master-waits");
	close(former);
	expect_exit(cli("exec", "--", "true"), 0);
}

/* How many children of a process are zombies. */
static int
zombies_of(pid_t parent)
{
	char path[300], line[512], *end;
	DIR *d = opendir("/proc");
	struct dirent *e;
	int count = 0;

	expect(d != NULL);
	while ((e = readdir(d)) != NULL) {
		char state = 0;
		int ppid = 0;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
		if (atoi(e->d_name) <= 0 || (f = fopen(path, "re")) == NULL)
			continue;
		if (fgets(line, sizeof(line), f) != NULL &&
		    (end = strrchr(line, ')')) != NULL &&
		    sscanf(end + 1, " %c %d", &state, &ppid) == 2)
			count += ppid == parent && state == 'Z';
		fclose(f);
	}
	closedir(d);
	return count;
}

SCENARIO(keeper, works_as_the_first_process_of_a_container)
{
	const char *orphans = "for i in 1 2 3 4 5; do (true & exec true) & "
			      "done; echo made; wait";
	const char *file = file_in_scenario("ended");
	char trap[300];
	int64_t until;
	const char *id;
	pid_t keeper;

	if (geteuid() != 0)
		skip_scenario("only root makes a pid namespace");
	psupd(.wrap = {"unshare", "--pid", "--fork", "--mount-proc"});
	keeper = psupd_pid();
	expect(keeper_pid() == 1, "it is %d there", keeper_pid());
	expect_str(ask("exec", STR("command", orphans)), "status",
	    "completed");
	/* orphans of others come to it, too, and are reaped */
	until = now_ms() + SCN_DEADLINE_MS;
	while (zombies_of(keeper) > 0) {
		expect(now_ms() < until, "%d zombies", zombies_of(keeper));
		usleep(1000);
	}
	/* a signal reaches the commands, then all of it ends */
	snprintf(trap, sizeof(trap),
	    "trap 'touch %s; exit' TERM; echo up; while :; do sleep 0.05; done",
	    file);
	id = background(STR("command", trap));
	await_output(id, "up\n");
	kill_now(keeper, SIGTERM);
	await_file(file);
	await_gone(keeper);
	server_is_gone();
}

/* ------------------------------------------------------------ many at once */

#define MANY 300

/* Of the keeper's page. */
static uint64_t
known_commands(psup_view *v)
{
	struct psup_view_process p;
	size_t cursor = 0;

	expect(psup_view_next_process(v, &cursor, &p) == 1);
	return p.spawned;
}

/* Their commands are looked up all at once, and by no turn alone. */
SCENARIO(keeper, that_was_held_up_learns_of_many_commands_in_short_turns)
{
	static struct question *q[MANY];
	psup_view *v;
	char why[200];

	psupd();
	for (int i = 0; i < MANY; i++)
		q[i] = ask_later(NULL, "exec", LIST("argv", "sleep", "1000"),
		    YES("background"));
	for (int i = 0; i < MANY; i++)
		expect_ok(answer_of(q[i]));
	kill_now(keeper_pid(), SIGSTOP);
	poll(NULL, 0, 1100); /* none of them is young any more */
	kill_now(keeper_pid(), SIGCONT);
	expect(psup_view_open(runtime_dir(), &v, why, sizeof(why)) == 0);
	while (known_commands(v) < MANY)
		poll(NULL, 0, 10);
	psup_view_close(&v);
	/* each is 45 us of it */
	expect(longest_turn_ms("keeper") < 8, "%g ms", longest_turn_ms("keeper"));
}

#ifdef PSUP_FAULTS
#define WAITING 4

/* They ran once, in their order; those before `first` may have been ended
 * before they could say so. */
static void
expect_ran(const char *file, int first)
{
	FILE *f = fopen(file, "re");
	int n, next = 0;

	expect(f != NULL, "nobody ran");
	while (fscanf(f, "%d", &n) == 1) {
		expect(n >= next, "%d after %d", n, next - 1);
		expect(n == next || n <= first, "%d is missing", n - 1);
		next = n + 1;
	}
	fclose(f);
	expect(next == WAITING, "the last one was %d", next - 1);
}

/* The keeper is killed, and the next one dies at a fault point as it starts.
 * Each loses what it ran alone: of those that wait for one place the first
 * `lost` ones. */
static void
next_one_dies_at(const char *fault, int lost)
{
	const char *file = file_in_scenario("ran"), *runs, *waits[WAITING];
	char text[300];
	struct peer *p;

	psupd(.first = true, .workers = 1);
	runs = background(PUPPET("print before; hang"), STR("lane", "main"));
	await_output(runs, "before\n");
	for (int i = 0; i < WAITING; i++) {
		snprintf(text, sizeof(text), "echo %d >>%s; echo %d", i, file,
		    i);
		waits[i] = background(STR("command", text),
		    STR("lane", "main"));
	}
	kill_now(psupd_pid(), SIGKILL);
	server_was_killed();
	expect(await_former_server() == 128 + SIGKILL);
	psupd(.first = true, .fails = true, .workers = 1, .env = {fault});
	server_was_killed();
	expect(await_former_server() == 128 + SIGKILL);

	psupd(.workers = 1);
	p = peer(NULL);
	listen_to_events(p, "gateway");
	expect_lost(runs, "before");
	for (int i = 0; i < WAITING; i++) {
		if (i < lost) {
			expect_lost(waits[i], "");
			continue;
		}
		expect(psup_get_is(await_end(waits[i]), "status",
		    "completed"), "%d", i);
		snprintf(text, sizeof(text), "%d\n", i);
		expect_str(ask("poll", STR("sessionId", waits[i])), "output",
		    text);
	}
	expect_ran(file, lost);
	expect(await_events(p, WAITING + 1) == WAITING + 1);
}

SCENARIO(keeper, that_dies_before_it_has_a_master_loses_nothing_that_waits)
{
	next_one_dies_at("PSUP_FAULTS=keeper.after-board=kill", 0);
}

SCENARIO(keeper, that_dies_as_it_starts_loses_the_one_that_had_its_turn)
{
	next_one_dies_at("PSUP_FAULTS=keeper.after-hold=kill", 1);
}

SCENARIO(keeper, that_dies_as_it_starts_loses_the_one_that_ran)
{
	next_one_dies_at("PSUP_FAULTS=keeper.after-spawned=kill", 1);
}
#endif
