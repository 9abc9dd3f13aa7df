/* SPDX-License-Identifier: MIT */
/* What can only be met by chance, made to happen: needs a build with fault
 * points. */
#include "lib_inner.h"
#include "lib_scn.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MANY_SAID 120 /* sessions: a message or two of each, 16 are read at a turn */

/* Each process finds, at its n-th message with descriptors, that too many are
 * on their way: nothing is lost, it goes a moment later. */
static void
too_many_refs(const char *fault)
{
	char big[150000];
	const char *id;
	struct answer *a;

	needs_faults();
	psupd(.workers = 1, .env = {fault});
	for (int i = 0; i < 4; i++)
		expect_str(ask("exec", STR("command", "echo on")),
		    "aggregated", "on\n");
	memset(big, 'x', 70000);
	big[70000] = '\0';
	a = ask("exec", LIST("argv", "/bin/echo", big, big));
	expect_int(a, "totalOutputChars", 140002);
	id = background(PUPPET("print up; cat; exit 4"));
	await_output(id, "up\n");
	kill_worker_of(id);
	expect_ok(ask("write", STR("sessionId", id), STR("data", "on\n"),
	    YES("eof")));
	await_output(id, "on\n");
	await_end(id);
	expect_int(ask("poll", STR("sessionId", id)), "exitCode", 4);
	kill_master();
	expect_str(ask("exec", STR("command", "echo on")), "aggregated",
	    "on\n");
}

SCENARIO(faults, too_many_descriptors_on_their_way_at_first)
{
	too_many_refs("PSUP_FAULTS=ctl.too-many-refs=once@1");
}

SCENARIO(faults, too_many_descriptors_on_their_way_at_second)
{
	too_many_refs("PSUP_FAULTS=ctl.too-many-refs=once@2");
}

SCENARIO(faults, too_many_descriptors_on_their_way_at_fifth)
{
	too_many_refs("PSUP_FAULTS=ctl.too-many-refs=once@5");
}

/* Each master dies of what it reads in the index: the fourth goes without. */
SCENARIO(faults, an_index_that_masters_die_of_is_set_aside)
{
	const char *id;

	needs_faults();
	psupd(.workers = 1, .env = {"PSUP_FAULTS=master.in-recover=abort"});
	id = background(PUPPET("print up; cat; exit 4"));
	await_output(id, "up\n");
	kill_now(master_pid(), SIGKILL);
	await_log("event=index-set-aside ");
	await_output(id, "up\n");
	expect_ok(ask("write", STR("sessionId", id), STR("data", "on\n"),
	    YES("eof")));
	await_output(id, "on\n");
	await_end(id);
	expect_int(ask("poll", STR("sessionId", id)), "exitCode", 4);
}

/* What is made in a turn that finds the index full never was; what ran before
 * runs on, ends, and is told. */
SCENARIO(faults, a_full_index_takes_back_what_it_could_not_write)
{
	const char *id, *file = file_in_scenario("ran");
	char script[300];
	struct peer *p;
	struct answer *a;
	int before;

	needs_faults();
	psupd(.workers = 1, .env = {"PSUP_FAULTS=index.full=fail@60"});
	p = peer(NULL);
	listen_to_events(p, "gateway");
	id = background(PUPPET("print up; cat; exit 4"), STR("lane", "one"));
	await_output(id, "up\n");
	for (before = 0; before < 60; before++) {
		a = ask("exec", STR("command", "true"));
		if (a->status != PSUP_OK)
			break;
	}
	expect_refused(a, "no-space");
	expect(before > 3 && before < 60, "%d", before);
	/* a running and a waiting one: no trace of either */
	snprintf(script, sizeof(script), "echo ran > %s", file);
	expect_refused(ask("exec", STR("command", script)), "no-space");
	expect_refused(ask("exec", STR("command", script),
	    STR("lane", "one")), "no-space");
	expect(psup_value_count(psup_value_get(
	           details(ask("list", YES("all"))), "sessions")) ==
	    (size_t)before + 1, "%d: %s", before,
	    words_of(ask("list", YES("all"))));
	expect_ok(ask("write", STR("sessionId", id), YES("eof")));
	await_end(id);
	await_events(p, 1);
	expect(strcmp(event_at(p, 0)->id, id) == 0);
	expect_int(ask("poll", STR("sessionId", id)), "exitCode", 4);
	kill_master(); /* its successor has room */
	expect_str(ask("exec", STR("command", "echo on"), STR("lane", "one")),
	    "aggregated", "on\n");
	expect(cli("exec", "--", "test", "-e", file)->code == 1,
	    "it ran, though it was refused");
}

/* Each worker dies when it has cloned, and each heir when it has told the
 * keeper, and not yet the master, that nothing of the command runs. */
SCENARIO(faults, a_failed_start_ends_though_each_worker_dies_unheard)
{
	needs_faults();
	psupd(.workers = 2,
	    .env = {"PSUP_FAULTS=spawn.after-clone=kill,end.after-closed=kill"});
	expect_str(ask("exec", LIST("argv", "/nowhere/at-all")), "status",
	    "failed");
}

/* Masters die in the middle of their recovery, one after the other. */
SCENARIO(faults, heirs_killed_in_recovery_lose_nothing)
{
	const char *ended, *runs, *waits;
	pid_t old;
	struct peer *p;

	needs_faults();
	psupd(.workers = 1, .conf = "[lane \"one\"]\nwidth = 1\n",
	    .env = {"PSUP_FAULTS=master.in-recover=stop"});
	ended = background(STR("command", "echo kept; exit 3"));
	await_end(ended);
	runs = background(PUPPET("print up; cat; exit 4"), STR("lane", "one"));
	await_output(runs, "up\n");
	waits = background(STR("command", "echo once"), STR("lane", "one"));
	old = master_pid();
	kill_now(old, SIGKILL);
	kill_heirs(old);
	scn_ask_again();
	p = peer(NULL);
	listen_to_events(p, "all");
	(void)await_events(p, 1); /* of what ended before */
	expect_text(ask("log", STR("sessionId", ended)), "kept");
	expect_int(ask("poll", STR("sessionId", ended)), "exitCode", 3);
	expect_text(ask("poll", STR("sessionId", waits)), "Still queued.");
	expect_ok(ask("write", STR("sessionId", runs), STR("data", "on\n"),
	    YES("eof")));
	await_output(runs, "on\n");
	await_end(runs);
	await_end(waits);
	(void)await_events(p, 3); /* each end is told once */
	expect_str(ask("poll", STR("sessionId", waits)), "output", "once\n");
	expect(strcmp(event_at(p, 0)->id, ended) == 0 &&
	    strcmp(event_at(p, 1)->id, runs) == 0 &&
	    strcmp(event_at(p, 2)->id, waits) == 0);
}

/* Each master dies when it has put a session's start on record and before it
 * sends the order: no worker ever tried, so nothing is used up (33: deaths of
 * workers may be fewer). */
SCENARIO(faults, a_start_that_no_worker_tried_is_never_given_up)
{
	struct answer *a;

	needs_faults();
	psupd(.workers = 1,
	    .env = {"PSUP_FAULTS=master.before-order=stop"});
	(void)ask_later(peer(NULL), "exec", STR("command", "echo once"),
	    STR("requestKey", "k"), YES("background"));
	for (int i = 0; i < 33; i++) {
		await_stopped(master_pid());
		kill_master();
	}
	await_stopped(master_pid());
	kill_now(master_pid(), SIGCONT);
	scn_ask_again();
	a = ask("exec", STR("command", "echo once"), STR("requestKey", "k"),
	    YES("background"));
	await_end(id_of(a));
	a = ask("poll", STR("sessionId", id_of(a)));
	expect_str(a, "status", "completed");
	expect_str(a, "output", "once\n");
}

/* Whichever worker has it: each kills it when the time of a start is over, then
 * the next one tries, and after three it is over. */
SCENARIO(faults, a_child_that_always_hangs_before_its_cut_is_given_up)
{
	struct answer *a;

	needs_faults();
	psupd(.conf = "[limits]\nstart_ms = 200\n",
	    .env = {"PSUP_FAULTS=spawn.no-cut=fail"});
	a = ask("exec", STR("command", "true"),
	    INT("yieldMs", SCN_DEADLINE_MS));
	expect_str(a, "exitReason", "spawn-error");
	expect_str(a, "errno", "EAGAIN");
	/* a worker's word each, and the master's about it */
	expect(count_log("event=session-not-spawned") == 6);
}

/* A worker has said more than is read at a turn when it dies, and the keeper is
 * away for longer than it waits for a dead one's last words: they count. */
SCENARIO(faults, a_dead_worker_is_heard_to_its_end_however_late)
{
	const char *id[MANY_SAID];
	pid_t keeper, worker;

	needs_faults();
	psupd(.workers = 1, .env = {"PSUP_FAULTS=keeper.in-death=stop"});
	keeper = psupd_pid();
	id[0] = background(PUPPET("print up; cat; exit 4"));
	await_output(id[0], "up\n");
	worker = worker_of(id[0]);
	kill_now(keeper, SIGSTOP);
	await_stopped(keeper);
	for (int i = 1; i < MANY_SAID; i++) {
		id[i] = background(PUPPET("print up; cat; exit 4"));
		await_output(id[i], "up\n");
	}
	kill_now(worker, SIGKILL);
	kill_now(keeper, SIGCONT);
	await_stopped(keeper);
	usleep(2500000); /* more than its DRAIN_NS */
	kill_now(keeper, SIGCONT);
	for (int i = 0; i < MANY_SAID; i++) {
		expect_ok(ask("write", STR("sessionId", id[i]), YES("eof")));
		await_end(id[i]);
		expect_int(ask("poll", STR("sessionId", id[i])), "exitCode", 4);
	}
}
