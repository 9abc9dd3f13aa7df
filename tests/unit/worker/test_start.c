/* SPDX-License-Identifier: MIT */
/*
 * From the clone to the exec. An executable under a write lease does not answer
 * until the lease is given back: its start hangs, for whoever may lease a file
 * of his own.
 */
#include "lib_puppet.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/procfs.h"
#include "worker/spawn.h"

static struct puppet p;
static char path[128];
static int leased = -1;

/* A program that cannot be opened until give_back(). */
static void
lease(const char *script)
{
	snprintf(path, sizeof(path), "%s/leased", p.dir);
	leased = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	cr_assert_geq(leased, 0);
	cr_assert_eq(write(leased, script, strlen(script)),
	    (ssize_t)strlen(script));
	cr_assert_eq(fchmod(leased, 0700), 0);
	close(leased);
	leased = open(path, O_RDONLY | O_CLOEXEC);
	signal(SIGIO, SIG_IGN);
	cr_assert_eq(fcntl(leased, F_SETLEASE, F_WRLCK), 0, "%s",
	    strerror(errno));
}

static void
give_back(void)
{
	if (leased >= 0)
		close(leased);
	leased = -1;
}

static void
begin(void)
{
	puppet_init(&p);
	puppet_worker(&p, NULL);
	lease("#!/bin/sh\necho ran\nexit 3\n");
}

static void
finish(void)
{
	give_back();
	unlink(path);
	puppet_fini(&p);
}

TestSuite(start, .init = begin, .fini = finish, .timeout = 60);

static struct psession *
start_leased(uint32_t start_ms)
{
	return puppet_start(&p, &(struct order){.argv = {"leased"},
	    .path = path, .start_ms = start_ms});
}

/* It was cloned, and is before its exec. */
static void
until_it_hangs(struct psession *s)
{
	UNTIL(&p, (puppet_read_pid(&p, s), s->pid != 0) &&
	    atomic_load(&puppet_header(&p, s)->exec_stage) == STAGE_EXEC);
	cr_assert_not(s->running);
}

Test(start, of_an_earlier_master_is_one)
{
	struct psession *s = puppet_start(&p,
	    &(struct order){.sh = "echo hello", .earlier = true});

	UNTIL(&p, s->closed);
	cr_assert_str_eq(puppet_output(&p, s), "hello\n");
}

Test(start, that_hangs_holds_nobody_up)
{
	struct psession *hung = start_leased(0), *other;

	until_it_hangs(hung);
	other = puppet_start(&p, &(struct order){.sh = "echo on; exit 4"});
	UNTIL(&p, other->closed);
	cr_assert_eq(other->end.exit.status, 4);
	cr_assert_str_eq(puppet_output(&p, other), "on\n");
	cr_assert_not(hung->running || hung->failed);
	give_back();
	UNTIL(&p, hung->closed);
	cr_assert_eq(hung->end.exit.status, 3);
	cr_assert_str_eq(puppet_output(&p, hung), "ran\n");
}

/* Who chose how it is scheduled has its way. */
Test(start, in_a_crowd_the_worker_yields_and_its_commands_do_not)
{
	bool may = sched_getscheduler(0) == SCHED_OTHER;
	struct psession *hung[16], *other;
	size_t i;

	for (i = 0; i < NELEMS(hung); i++)
		hung[i] = start_leased(0);
	until_it_hangs(hung[0]);
	UNTIL(&p, !may || sched_getscheduler(p.worker) == SCHED_BATCH);
	other = puppet_start(&p, &(struct order){
	    .sh = "read -r l </proc/$$/stat; set -- $l; echo ${41}"});
	UNTIL(&p, other->closed);
	if (may)
		cr_assert_str_eq(puppet_output(&p, other), "0\n");
	give_back();
	for (i = 0; i < NELEMS(hung); i++)
		UNTIL(&p, hung[i]->closed);
	UNTIL(&p, !may || sched_getscheduler(p.worker) == SCHED_OTHER);
}

Test(start, that_hangs_too_long_fails_with_stage_and_path)
{
	struct psession *s = start_leased(200);

	UNTIL(&p, s->failed && s->closed);
	cr_assert_eq(s->fail.error, ETIMEDOUT);
	cr_assert_eq(s->fail.stage, STAGE_EXEC);
	cr_assert_eq(s->fail.transient, CTL_FOR_GOOD);
	cr_assert_str_eq(s->fail.path, path);
	cr_assert_not(s->running);
}

Test(start, that_is_killed_amid_a_hang_ends_at_once)
{
	struct psession *s = start_leased(0);

	until_it_hangs(s);
	puppet_kill(&p, s, SIGTERM, 60000, END_MANUAL_CANCEL,
	    CTL_KILL_ESCALATE);
	UNTIL(&p, s->failed && s->closed);
	cr_assert_eq(s->fail.error, ECANCELED);
}

/* A signal that comes before the exec is for the program. */
Test(start, is_signalled_when_it_runs)
{
	struct psession *s = start_leased(0);

	until_it_hangs(s);
	puppet_kill(&p, s, SIGKILL, 0, END_NONE, 0);
	give_back();
	UNTIL(&p, s->closed);
	cr_assert(s->running);
	cr_assert(s->end.exit.code == CLD_KILLED || s->end.exit.status == 3);
}

/* A new master hears whose it is, and starts it nowhere else. */
Test(start, that_hangs_is_told_to_a_new_master)
{
	struct psession *s = start_leased(0);

	until_it_hangs(s);
	puppet_master(&p);
	cr_assert(s->starting && !s->running && !s->failed);
	give_back();
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.exit.status, 3);
	cr_assert_eq(s->running_count, 1);
}

/* The next master may be of a build that wants to hear RUNNING before END. */
Test(start, that_hangs_says_all_to_a_new_master)
{
	struct psession *s = puppet_start(&p, &(struct order){
	    .argv = {"leased"}, .path = path, .flags = CTL_START_END_ALONE});

	until_it_hangs(s);
	puppet_master(&p);
	give_back();
	UNTIL(&p, s->closed);
	cr_assert_eq(s->running_count, 1);
}

/* The worker dies: who finds the pid in the header hands it to the next. */
Test(start, that_hangs_is_taken_over)
{
	struct psession *s = start_leased(0);

	until_it_hangs(s);
	puppet_kill_worker(&p);
	cr_assert_eq(kill(s->pid, 0), 0);
	puppet_worker(&p, NULL);
	puppet_give(&p, s);
	UNTIL(&p, s->starting);
	cr_assert_not(s->running);
	give_back();
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.exit.status, 3);
	cr_assert_str_eq(puppet_output(&p, s), "ran\n");
}

#ifdef PSUP_FAULTS
/* What a worker has to say of it, and has not said yet, is that it failed. */
Test(start, that_fails_as_it_is_taken_over_is_not_said_to_run)
{
	struct psession *s;
	int status;

	give_back();
	lease("#!/no-such-shell\n");
	s = start_leased(0);
	until_it_hangs(s);
	puppet_kill_worker(&p);
	puppet_worker(&p, "take.adopted=stop");
	puppet_give(&p, s);
	cr_assert_eq(waitpid(p.worker, &status, WUNTRACED), p.worker);
	cr_assert(WIFSTOPPED(status));
	give_back();
	UNTIL(&p, atomic_load(&puppet_header(&p, s)->exec_errno) != 0);
	cr_assert_eq(kill(p.worker, SIGCONT), 0);
	UNTIL(&p, s->failed && s->closed);
	cr_assert_eq(s->fail.error, ENOENT);
	cr_assert_eq(s->running_count, 0);
}
#endif

Test(start, that_is_taken_over_has_no_more_time_than_it_had)
{
	struct psession *s = start_leased(1500);

	until_it_hangs(s);
	puppet_kill_worker(&p);
	puppet_worker(&p, NULL);
	puppet_give(&p, s);
	UNTIL(&p, s->failed && s->closed);
	cr_assert_eq(s->fail.error, ETIMEDOUT);
	cr_assert_eq(s->fail.stage, STAGE_EXEC);
}

/* A keeper that reads no headers is told, and the worker waits. */
Test(start, under_an_older_keeper_tells_its_pid)
{
	struct psession *s;

	puppet_kill_worker(&p);
	p.reads_nothing = true;
	puppet_worker(&p, NULL);
	s = puppet_start(&p, &(struct order){.sh = "exit 5"});
	UNTIL(&p, s->closed);
	cr_assert(s->told);
	cr_assert_eq(s->end.exit.status, 5);
}

#ifdef PSUP_FAULTS /* only test builds have fault points */
/* Whom nobody could find in the header does not go on. */
Test(start, without_a_pid_in_the_header_begins_nothing)
{
	struct psession *s;

	puppet_kill_worker(&p);
	puppet_worker(&p, "spawn.no-pid=fail");
	give_back();
	s = start_leased(0);
	UNTIL(&p, s->failed && s->closed);
	cr_assert_eq(s->fail.stage, STAGE_CLONE);
	cr_assert_eq(s->fail.error, EAGAIN);
	cr_assert_str_eq(puppet_output(&p, s), "");
}

/* The process of the first try is dead, that of the second is not. */
Test(start, of_another_try_is_watched)
{
	struct psession *s;

	puppet_kill_worker(&p);
	puppet_worker(&p, "spawn.no-pid=once@2");
	s = puppet_start(&p, &(struct order){.sh = "exit 5"});
	UNTIL(&p, s->closed);
	s = puppet_start(&p, &(struct order){
	    .sh = "echo on; read -r x; exit 4",
	    .flags = CTL_START_STDIN_OPEN});
	UNTIL(&p, s->running && strcmp(puppet_output(&p, s), "on\n") == 0);
	puppet_write(&p, s, "x\n", 2);
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.exit.status, 4);
}

/* Whose descriptors its child shares for ever must end; another worker may have
 * more luck. */
Test(start, that_never_lets_go_of_the_descriptors_is_killed)
{
	struct psession *s;

	puppet_kill_worker(&p);
	puppet_worker(&p, "spawn.no-cut=once");
	give_back();
	s = start_leased(100);
	UNTIL(&p, s->failed && s->closed);
	cr_assert_eq(s->fail.stage, STAGE_FDS);
	cr_assert_eq(s->fail.error, EAGAIN);
	s = start_leased(0);
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.exit.status, 3);
	cr_assert_str_eq(puppet_output(&p, s), "ran\n");
}

/* There is another place for the stdio of who comes after it. */
Test(start, that_never_lets_go_is_in_nobodys_way)
{
	struct psession *stuck, *next;

	puppet_kill_worker(&p);
	puppet_worker(&p, "spawn.no-cut=once@2");
	next = puppet_start(&p, &(struct order){.sh = "exit 5"});
	UNTIL(&p, next->closed);
	stuck = puppet_start(&p, &(struct order){.sh = "exit 6"});
	for (int i = 0; i < 8; i++) {
		next = puppet_start(&p, &(struct order){.sh = "echo; exit 7"});
		UNTIL(&p, next->closed);
		cr_assert_eq(next->end.exit.status, 7);
		cr_assert_str_eq(puppet_output(&p, next), "\n");
	}
	cr_assert_not(stuck->running || stuck->failed);
	puppet_kill(&p, stuck, SIGTERM, 0, END_MANUAL_CANCEL, CTL_KILL_ESCALATE);
	UNTIL(&p, stuck->closed);
}

/* Where there is no place, a start waits, and neither the worker's other sessions
 * nor the children in its way, which may have had no processor yet. */
Test(start, that_finds_no_place_holds_up_nobody)
{
	struct psession *stuck[SPAWN_LAYS], *next, *other;
	struct procfs_stat st;
	char line[16], all[128] = "";
	size_t i;

	puppet_kill_worker(&p);
	puppet_worker(&p, "spawn.no-cut=fail@2");
	other = puppet_start(&p, &(struct order){.argv = {"cat"},
	    .path = "/bin/cat", .flags = CTL_START_STDIN_OPEN});
	UNTIL(&p, other->running);
	for (i = 0; i < NELEMS(stuck); i++) {
		stuck[i] = puppet_start(&p, &(struct order){.sh = "exit 6"});
		UNTIL(&p, (puppet_read_pid(&p, stuck[i]), stuck[i]->pid != 0));
	}
	next = puppet_start(&p, &(struct order){.sh = "exit 7"});
	for (i = 0; i < 9; i++) {
		snprintf(line, sizeof(line), "line %zu\n", i);
		strcat(all, line);
		puppet_write(&p, other, line, strlen(line));
		UNTIL(&p, strcmp(puppet_output(&p, other), all) == 0);
	}
	cr_assert_eq(next->pid, 0);
	for (i = 0; i < NELEMS(stuck); i++) {
		cr_assert_not(stuck[i]->failed);
		cr_assert(procfs_alive(stuck[i]->pid, &st));
	}
	/* the last of whom is as stuck as they are */
	cr_assert_eq(kill(stuck[1]->pid, SIGKILL), 0);
	UNTIL(&p, (puppet_read_pid(&p, next), next->pid != 0));
	cr_assert_not(stuck[0]->failed || stuck[2]->failed);
	cr_assert_eq(kill(next->pid, SIGKILL), 0);
	cr_assert_eq(kill(stuck[0]->pid, SIGKILL), 0);
	cr_assert_eq(kill(stuck[2]->pid, SIGKILL), 0);
	puppet_kill_worker(&p);
}

/* Nor does it die, where all places are taken: it is named as what the worker had
 * in hand when it ended, not the start that waited for it. */
Test(start, that_never_lets_go_and_never_dies_is_named)
{
	struct psession *stuck[SPAWN_LAYS], *next;
	uint64_t named;
	siginfo_t si;
	size_t i;

	puppet_kill_worker(&p);
	puppet_worker(&p, "spawn.no-cut=fail@2,spawn.no-death=fail");
	next = puppet_start(&p, &(struct order){.sh = "exit 5"});
	UNTIL(&p, next->closed);
	for (i = 0; i < NELEMS(stuck); i++)
		stuck[i] = puppet_start(&p, &(struct order){.sh = "exit 6",
		    .start_ms = 100});
	next = puppet_start(&p, &(struct order){.sh = "exit 7"});
	cr_assert_eq(waitid(P_PID, (id_t)p.worker, &si, WEXITED | WNOWAIT), 0);
	for (i = 0; i < NELEMS(stuck); i++) {
		puppet_read_pid(&p, stuck[i]);
		cr_assert_gt(stuck[i]->pid, 0);
		/* it has the channel open, too */
		cr_assert_eq(kill(stuck[i]->pid, SIGKILL), 0);
	}
	puppet_bury_worker(&p);
	named = puppet_stats(&p)->in_hand; /* whichever came last in its time */
	cr_expect(named == stuck[0]->sid.v || named == stuck[1]->sid.v ||
	    named == stuck[2]->sid.v, "%" PRIu64, named);
}
#endif
