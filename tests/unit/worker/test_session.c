/* SPDX-License-Identifier: MIT */
/* What becomes of a command: exit, output, stdin, failure. */
#include "lib_puppet.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shm/spool.h"
#include "shm/ring.h"

static struct puppet p;

static void
begin(void)
{
	puppet_init(&p);
	puppet_worker(&p, NULL);
}

static void
finish(void)
{
	puppet_fini(&p);
}

TestSuite(session, .init = begin, .fini = finish, .timeout = 30);

static struct psession *
run(const struct order *o)
{
	struct psession *s = puppet_start(&p, o);

	UNTIL(&p, s->closed && (s->ended || s->failed));
	return s;
}

Test(session, says_how_it_exited)
{
	struct psession *s = run(&(struct order){.sh = "echo hi; exit 3"});

	cr_assert(s->running && s->ended);
	cr_assert_eq(s->run.pid, s->pid);
	cr_assert_eq(s->end.exit.code, CLD_EXITED);
	cr_assert_eq(s->end.exit.status, 3);
	cr_assert_eq(s->end.reason, END_EXIT);
	cr_assert_eq(s->end.holders, 0);
	cr_assert_eq(s->end.total, 3);
	cr_assert_str_eq(puppet_output(&p, s), "hi\n");
	cr_assert_neq(puppet_header(&p, s)->closed_ms, 0);
	cr_assert_eq(puppet_header(&p, s)->exit_status, 3);
}

/* A worker whose keeper passes ENDs on, to a master that takes them. */
static struct psession *
run_passed(const char *sh)
{
	puppet_kill_worker(&p);
	p.passes = true;
	puppet_worker(&p, NULL);
	return puppet_start(&p, &(struct order){.sh = sh,
	    .flags = CTL_START_END_PASSED | CTL_START_END_ALONE});
}

Test(session, leaves_its_end_to_the_keeper)
{
	struct psession *s = run_passed("echo hi; exit 3");

	UNTIL(&p, s->ended && s->closed);
	cr_assert_eq(s->passed, 1u);
	/* a worker that is kept from running for a second says it once more */
	cr_assert(!s->asked || s->end_count > 1);
	cr_assert_eq(s->end.reason, END_NONE); /* as the exit is */
	cr_assert_eq(s->end.exit.pid, s->pid);
	cr_assert_eq(s->end.total, 3);
	cr_assert_neq(s->end.ended_ms, 0);
	cr_assert_str_eq(puppet_output(&p, s), "hi\n");
	/* ENDED has told it */
	cr_assert_eq(puppet_header(&p, s)->exit_code, CLD_EXITED);
	cr_assert_eq(puppet_header(&p, s)->exit_status, 3);
	cr_assert_eq(puppet_header(&p, s)->end_reason, END_EXIT);
}

Test(session, asks_for_the_exit_where_output_is_held)
{
	struct psession *s = run_passed("sleep 30 & exit 4");

	UNTIL(&p, s->asked);
	cr_assert_eq(s->passed, 0u);
	puppet_kill(&p, s, SIGKILL, 0, END_MANUAL_CANCEL, CTL_KILL_ESCALATE);
	UNTIL(&p, s->ended && s->closed);
	cr_assert_eq(s->passed, 0u);
}

Test(session, says_an_end_that_was_lost_itself)
{
	struct psession *s;

	p.loses_ends = true;
	s = run_passed("exit 5");
	UNTIL(&p, s->ended && s->closed);
	cr_assert_eq(s->passed, 1u);
	cr_assert(s->asked);
	cr_assert_eq(s->end.exit.status, 5);
	cr_assert_eq(s->end.reason, END_EXIT);
}

Test(session, says_an_end_to_a_new_master_itself)
{
	struct psession *s;

	p.loses_ends = true;
	s = run_passed("exit 6");
	UNTIL(&p, s->passed == 1);
	puppet_master(&p);
	UNTIL(&p, s->ended && s->closed);
	cr_assert(s->asked && s->running);
	/* where its end is on record it is not killed as a stray */
	cr_assert_neq(s->run.exited, 0);
	cr_assert_eq(s->passed, 1u);
	cr_assert_eq(s->end.exit.status, 6);
}

/* In a crowd RUNNING leaves before the exit is asked for: "exited" alone would be
 * one more record of each. */
Test(session, says_that_it_exited_with_the_exit)
{
	struct psession *s;

	p.loses_asks = true;
	s = puppet_start(&p, &(struct order){.sh = "exit 7"});
	UNTIL(&p, s->asked);
	s->running = false;
	puppet_master(&p);
	UNTIL(&p, s->running);
	cr_assert_eq(s->run.exited, 0);
	p.loses_asks = false;
	puppet_master(&p); /* with each the exit is asked for again */
	UNTIL(&p, s->ended && s->closed);
	cr_assert_eq(s->end.exit.status, 7);
}

Test(session, dies_by_a_signal)
{
	struct psession *s = run(&(struct order){.sh = "kill -SEGV $$"});

	cr_assert_eq(s->end.reason, END_SIGNAL);
	cr_assert_eq(s->end.exit.status, SIGSEGV);
}

Test(session, keeps_the_streams_apart)
{
	struct psession *s = run(&(struct order){
	    .sh = "echo out; while ! read x; do break; done; echo err >&2"});
	const struct ring_header *h = puppet_header(&p, s);
	uint64_t end, ms;

	cr_assert_str_eq(puppet_output(&p, s), "out\nerr\n");
	cr_assert_eq(ring_stream_at(h, 4, &end, &ms), RING_STDERR);
}

Test(session, is_given_its_stdin_and_an_end_of_file)
{
	struct psession *s =
	    run(&(struct order){.sh = "cat; echo eof", .text = "one\ntwo\n"});

	cr_assert_str_eq(puppet_output(&p, s), "one\ntwo\neof\n");
	cr_assert(s->stdin_told);
	cr_assert_eq(s->in.eof, 1);
	cr_assert_eq(s->in.pos, 8);
}

Test(session, without_stdin_reads_an_end_of_file)
{
	struct psession *s = run(&(struct order){.sh = "cat; echo eof"});

	cr_assert_str_eq(puppet_output(&p, s), "eof\n");
}

Test(session, is_written_to_while_it_runs)
{
	struct psession *s = puppet_start(&p, &(struct order){
	    .sh = "read a; echo got $a; cat", .flags = CTL_START_STDIN_OPEN});
	int fd;

	UNTIL(&p, s->running);
	fd = spool_open_append(p.dirfd, s->sid);
	cr_assert_eq(spool_append(fd, 0, "first\n", 6), 0);
	puppet_pos(&p, s, CTL_WATCH_STDIN, 5);
	puppet_stdin(&p, s, 6, false);
	UNTIL(&p, s->stdin_told);
	cr_assert_eq(s->in.pos, 6);
	cr_assert_eq(s->in.eof, 0);
	puppet_pos(&p, s, CTL_WATCH, 9);
	UNTIL(&p, s->output_told);
	cr_assert_str_eq(puppet_output(&p, s), "got first\n");
	cr_assert_eq(spool_append(fd, 6, "rest", 4), 0);
	close(fd);
	puppet_stdin(&p, s, 10, true);
	UNTIL(&p, s->closed);
	cr_assert_str_eq(puppet_output(&p, s), "got first\nrest");
}

Test(session, says_that_stdin_was_closed_by_the_command)
{
	struct psession *s = puppet_start(&p, &(struct order){
	    .sh = "exec <&-; echo ready; exec sleep 60",
	    .flags = CTL_START_STDIN_OPEN});
	int fd;

	UNTIL(&p, s->running);
	/* nobody but the command reads this pipe */
	puppet_pos(&p, s, CTL_WATCH, 0);
	UNTIL(&p, s->output_told);
	fd = spool_open_append(p.dirfd, s->sid);
	cr_assert_eq(spool_append(fd, 0, "x", 1), 0);
	close(fd);
	puppet_stdin(&p, s, 1, false);
	UNTIL(&p, s->stdin_told);
	cr_assert_eq(s->in.eof, 1);
	puppet_kill(&p, s, SIGTERM, 0, END_MANUAL_CANCEL, CTL_KILL_ESCALATE);
	UNTIL(&p, s->closed);
}

Test(session, that_cannot_be_execd_says_why)
{
	struct psession *s = run(&(struct order){.argv = {"nothing"},
	    .path = "/nonexistent/program"});

	cr_assert(s->failed && !s->running && !s->ended);
	cr_assert_eq(s->fail.error, ENOENT);
	cr_assert_eq(s->fail.stage, STAGE_EXEC);
	cr_assert_eq(s->fail.transient, 0);
	cr_assert_eq(puppet_header(&p, s)->exec_errno, ENOENT);
	s = run(&(struct order){.argv = {"denied"}, .path = "/dev/null"});
	cr_assert_eq(s->fail.error, EACCES, "error %d at stage %u",
	    s->fail.error, s->fail.stage);
}

Test(session, that_failed_is_told_to_every_master_until_one_knows)
{
	struct psession *s;

	p.keep_quiet = true;
	s = puppet_start(&p, &(struct order){.argv = {"nothing"},
	    .path = "/nonexistent/program"});
	UNTIL(&p, s->fail_count == 1 && s->closed);
	puppet_master(&p);
	cr_assert_eq(s->fail_count, 2);
	cr_assert_eq(s->fail.error, ENOENT);
	puppet_ended(&p, s);
	UNTIL(&p, puppet_stats(&p)->sessions == 0);
	puppet_master(&p);
	cr_assert_eq(s->fail_count, 2);
}

/* The master that ordered the first one died, and its ENDED with it. */
Test(session, that_failed_makes_room_for_a_later_start_alone)
{
	struct order o = {.argv = {"nothing"}, .path = "/nonexistent/program"};
	struct psession *s;

	p.keep_quiet = true;
	s = puppet_start(&p, &o);
	UNTIL(&p, s->fail_count == 1 && s->closed);
	cr_assert_eq(s->fail.turn, TURN_OF_START(1));
	o = (struct order){.sh = "exit 3", .again = s};
	puppet_start(&p, &o); /* of the same turn */
	UNTIL(&p, puppet_stats(&p)->malformed == 1);
	o.attempt = 1;
	puppet_start(&p, &o);
	UNTIL(&p, s->ended);
	cr_assert_eq(s->end.exit.status, 3);
	cr_assert_eq(s->end.turn, TURN_OF_START(2));
	cr_assert_eq(s->fail_count, 0);
	puppet_ended(&p, s);
	UNTIL(&p, s->closed);
}

/* Of how many has the master heard, once? */
static int
told(int many)
{
	int n = 0;

	for (int i = 0; i < many; i++)
		n += p.s[i].running + p.s[i].failed == 1;
	return n;
}

/* Its keeper does not read, so sessions wait to be held; then another master
 * comes, which must hear of all of them: of one whose child is before its exec
 * as soon as that is over. */
Test(session, that_waits_to_be_started_is_given_back_to_a_new_master)
{
	enum { MANY = PUPPET_SESSIONS - 2 };
	unsigned running = 0, back = 0;

	puppet_kill_worker(&p);
	p.channel_bytes = 16384;
	puppet_worker(&p, NULL);
	p.deaf = true;
	for (int i = 0; i < MANY; i++)
		puppet_start(&p, &(struct order){.sh = "exit 3"});
	UNTIL(&p, puppet_stats(&p)->sessions == MANY);
	puppet_master(&p);
	UNTIL(&p, told(MANY) == MANY);
	for (int i = 0; i < MANY; i++) {
		running += p.s[i].running;
		back += p.s[i].failed;
		if (p.s[i].failed)
			cr_assert_eq(p.s[i].fail.transient, CTL_NOT_TRIED);
	}
	cr_assert(running > 0 && back > 0, "%u run, %u do not", running,
	    back);
	p.deaf = false;
	UNTIL(&p, puppet_stats(&p)->sessions == 0);
	for (int i = 0; i < MANY; i++)
		cr_assert_eq(p.s[i].failed || p.s[i].end.exit.status == 3, 1);
}

/* The next server starts it, as it does what waited: nothing is put on record
 * by who is about to hear of the death. */
Test(session, that_finds_the_keeper_dead_is_not_called_failed)
{
	struct psession *s;

	puppet_kill_worker(&p);
	p.orphaned = true;
	puppet_worker(&p, NULL);
	s = puppet_start(&p, &(struct order){.sh = "exit 3"});
	UNTIL(&p, puppet_stats(&p)->sessions == 1);
	do
		puppet_master(&p); /* this one may come amid a try */
	while (!s->failed);
	cr_assert_eq(s->fail.transient, CTL_NOT_TRIED, "error %d at stage %u",
	    s->fail.error, s->fail.stage);
	cr_assert_eq(s->fail_count, 1);
}

/* Else it would go on without a master, and its sessions without an end. */
Test(session, a_worker_that_cannot_take_a_channel_dies)
{
	struct rlimit old, none;

	cr_assert_eq(prlimit(p.worker, RLIMIT_NOFILE, NULL, &old), 0);
	none = (struct rlimit){3, old.rlim_max};
	cr_assert_eq(prlimit(p.worker, RLIMIT_NOFILE, &none, NULL), 0);
	puppet_master(&p);
	puppet_bury_worker(&p);
}

Test(session, without_its_directory_is_not_started)
{
	struct psession *s = puppet_start(&p,
	    &(struct order){.sh = "true", .cwd = "/nonexistent"});

	UNTIL(&p, s->failed);
	cr_assert_eq(s->fail.error, ENOENT);
	cr_assert_eq(s->fail.stage, STAGE_CHDIR);
	s = run(&(struct order){.sh = "pwd", .cwd = "/usr/bin"});
	cr_assert_str_eq(puppet_output(&p, s), "/usr/bin\n");
}

Test(session, runs_a_script_without_an_interpreter_line)
{
	char path[96], *at = path;
	struct psession *s;
	int fd;

	snprintf(path, sizeof(path), "%s/rings/script", p.dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
	cr_assert_eq(write(fd, "echo script $1\n", 15), 15);
	close(fd);
	s = run(&(struct order){.argv = {"script", "arg"}, .path = at});
	cr_assert_str_eq(puppet_output(&p, s), "script arg\n");
}

Test(session, sees_no_descriptor_but_its_own)
{
	struct psession *s =
	    run(&(struct order){.argv = {"ls", "/proc/self/fd"},
	        .path = "/bin/ls"});

	cr_assert_str_eq(puppet_output(&p, s), "0\n1\n2\n3\n");
	s = run(&(struct order){.argv = {"grep", "-E", "FDSize|SigBlk|SigIgn",
	                            "/proc/self/status"},
	    .path = "/bin/grep"});
	cr_assert_str_eq(puppet_output(&p, s),
	    "FDSize:\t64\nSigBlk:\t0000000000000000\n"
	    "SigIgn:\t0000000000000000\n");
	s = run(&(struct order){.sh = "umask; until "
	                              "grep 1000 /proc/$$/oom_score_adj; "
	                              "do :; done"});
	cr_assert_str_eq(puppet_output(&p, s), "0022\n1000\n");
}

Test(session, has_a_group_and_a_session_of_its_own)
{
	struct psession *s = run(&(struct order){
	    .sh = "cut -d' ' -f4-6 /proc/$$/stat"});
	char want[64];

	snprintf(want, sizeof(want), "%d %d %d\n", (int)getpid(), (int)s->pid,
	    (int)s->pid);
	cr_assert_str_eq(puppet_output(&p, s), want);
}

Test(session, leaves_no_descriptor_behind)
{
	struct psession *s;
	int base = puppet_worker_fds(&p), i;

	for (i = 0; i < 100; i++) {
		s = puppet_start(&p, &(struct order){
		    .sh = i % 3 == 0 ? "exit 1" : "cat", .text = "x"});
		if (i % 4 == 3)
			UNTIL(&p, s->closed);
	}
	for (i = 0; i < 100; i++)
		UNTIL(&p, p.s[i].closed);
	/* only root sees the descriptors of a process that is not dumpable */
	UNTIL(&p, puppet_worker_fds(&p) == base &&
	    puppet_stats(&p)->sessions == 0);
	cr_assert_eq(puppet_stats(&p)->spawned, 100);
	cr_assert_eq(puppet_stats(&p)->ended, 100);
	cr_assert_eq(puppet_stats(&p)->ring_bytes, 0);
}

Test(session, malformed_orders_harm_nobody)
{
	struct ctl_start m;
	struct psession *s = &p.s[p.count];

	memset(&m, 0, sizeof(m));
	s->sid.v = ++p.count;
	m.head = (struct ctl_head)CTL_INIT(CTL_START, s->sid, struct ctl_start);
	m.argc = UINT32_MAX;
	m.blob_bytes = UINT32_MAX;
	cr_assert_eq(ctl_send(p.master_fd, &m, sizeof(m), NULL, 0), 0);
	UNTIL(&p, s->failed);
	cr_assert_eq(s->fail.error, EPROTO);
	s = run(&(struct order){.sh = "echo alive"});
	cr_assert_str_eq(puppet_output(&p, s), "alive\n");
}
