/* SPDX-License-Identifier: MIT */
/* What ends a command by force: time-outs, kill, stop, the keeper's death. */
#include "lib_puppet.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

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

TestSuite(stop, .init = begin, .fini = finish, .timeout = 120);

/* A time-out begins with the start, which takes what a busy machine takes: tests
 * whose command has to have come somewhere before it begin with the first and
 * take four times as much again, until it has, or the last would be passed. */
#define FIRST_MS 500
#define LAST_MS 40000

/* Starts and waits until it has written something: its traps are set. */
static struct psession *
ready(const struct order *o)
{
	struct psession *s = puppet_start(&p, o);

	UNTIL(&p, s->running);
	puppet_pos(&p, s, CTL_WATCH, 0);
	UNTIL(&p, s->output_told);
	return s;
}

/* A command that ignores TERM, and has said so before its time was over. */
static struct psession *
trapped(uint32_t grace_ms, uint32_t *ret_timeout_ms)
{
	struct psession *s = NULL;
	uint32_t ms;

	for (ms = FIRST_MS; ms <= LAST_MS; ms *= 4) {
		s = puppet_start(&p, &(struct order){
		    .sh = "trap '' TERM; echo x; while :; do sleep 60; done",
		    .timeout_ms = ms, .grace_ms = grace_ms});
		UNTIL(&p, s->running);
		puppet_pos(&p, s, CTL_WATCH, 0);
		UNTIL(&p, s->output_told || s->closed);
		if (s->output_told)
			break;
	}
	cr_assert_leq(ms, LAST_MS);
	*ret_timeout_ms = ms;
	return s;
}

Test(stop, a_timeout_terminates)
{
	struct psession *s = puppet_start(&p, &(struct order){
	    .sh = "exec sleep 1000", .timeout_ms = 100, .grace_ms = 60000});

	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.reason, END_OVERALL_TIMEOUT);
	cr_assert_eq(s->end.exit.code, CLD_KILLED);
	cr_assert_eq(s->end.exit.status, SIGTERM);
	cr_assert_geq(s->end.duration_ms, 100);
	cr_assert_lt(s->end.duration_ms, 60000);
	cr_assert_eq(s->run.deadline_ms, s->run.started_ms + 100);
}

Test(stop, who_ignores_term_is_killed_after_the_grace)
{
	uint32_t timeout_ms;
	struct psession *s = trapped(200, &timeout_ms);

	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.reason, END_OVERALL_TIMEOUT);
	cr_assert_eq(s->end.exit.status, SIGKILL);
	cr_assert_geq(s->end.duration_ms, timeout_ms + 200);
}

Test(stop, silence_times_out_and_output_holds_it_off)
{
	struct psession *s = NULL;
	uint32_t ms;
	char sh[96];

	for (ms = FIRST_MS; ms <= LAST_MS; ms *= 4) {
		snprintf(sh, sizeof(sh), "for i in 1 2 3 4 5 6; do echo $i;"
		    "sleep %.3f; done; exec sleep 1000", ms / 4000.0);
		s = puppet_start(&p, &(struct order){
		    .sh = sh, .no_output_ms = ms, .grace_ms = 1000});
		UNTIL(&p, s->closed);
		cr_assert_eq(s->end.reason, END_NO_OUTPUT_TIMEOUT);
		if (s->end.total == 12)
			break;
	}
	cr_assert_leq(ms, LAST_MS);
	cr_assert_geq(s->end.duration_ms, 5 * ms / 4 + ms - 10);
}

/* The keeper has every session's output open, and so has a child of its own that
 * is before its exec: of no session, though it looks like an orphan of one. To stop
 * one would stop the keeper, which waits for that exec. */
Test(stop, a_child_of_the_keepers_before_its_exec_is_nobodys)
{
	struct psession *s = ready(&(struct order){.sh = "echo x; exec sleep 99"});
	pid_t pid = fork();
	int status;

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		(void)prctl(PR_SET_NAME, "psupd");
		for (;;)
			pause();
	}
	puppet_kill(&p, s, SIGKILL, 0, END_MANUAL_CANCEL, CTL_KILL_ESCALATE);
	UNTIL(&p, s->closed);
	cr_expect_eq(waitpid(pid, &status, WNOHANG | WUNTRACED), 0);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

Test(stop, a_kill_names_its_reason)
{
	struct psession *s = ready(&(struct order){
	    .sh = "trap 'echo bye; exit 7' TERM; echo x; read y",
	    .flags = CTL_START_STDIN_OPEN});

	puppet_kill(&p, s, SIGTERM, 5000, END_MANUAL_CANCEL,
	    CTL_KILL_ESCALATE);
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.reason, END_MANUAL_CANCEL);
	cr_assert_eq(s->end.exit.code, CLD_EXITED);
	cr_assert_eq(s->end.exit.status, 7);
	cr_assert_str_eq(puppet_output(&p, s), "x\nbye\n");
}

Test(stop, a_kill_without_grace_is_sigkill)
{
	struct psession *s =
	    ready(&(struct order){.sh = "trap '' TERM; echo x; sleep 60"});

	puppet_kill(&p, s, SIGTERM, 0, END_MANUAL_CANCEL, CTL_KILL_ESCALATE);
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.exit.status, SIGKILL);
}

Test(stop, a_plain_signal_is_only_sent)
{
	struct psession *s = ready(&(struct order){
	    .sh = "trap 'echo usr1; exit 0' USR1; echo x; read y",
	    .flags = CTL_START_STDIN_OPEN});

	puppet_kill(&p, s, SIGUSR1, 0, END_NONE, 0);
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.reason, END_EXIT);
	cr_assert_str_eq(puppet_output(&p, s), "x\nusr1\n");
}

Test(stop, a_stopped_command_can_be_terminated)
{
	struct psession *s =
	    ready(&(struct order){.sh = "echo x; kill -STOP $$; sleep 1000"});

	puppet_kill(&p, s, SIGTERM, 60000, END_MANUAL_CANCEL,
	    CTL_KILL_ESCALATE);
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.exit.status, SIGTERM);
	cr_assert_lt(s->end.duration_ms, 60000);
}

Test(stop, the_first_forced_reason_wins)
{
	uint32_t timeout_ms;
	struct psession *s = trapped(60000, &timeout_ms);

	UNTIL(&p, puppet_header(&p, s)->end_reason != END_NONE);
	puppet_kill(&p, s, SIGTERM, 0, END_MANUAL_CANCEL, CTL_KILL_ESCALATE);
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.reason, END_OVERALL_TIMEOUT);
}

Test(stop, a_holder_is_waited_for_until_it_is_silent)
{
	struct psession *s;

	s = ready(&(struct order){.sh = "sleep 1000 & echo hi"});
	UNTIL(&p, s->ended);
	cr_assert(s->exited_told);
	cr_assert_eq(s->end.holders, 1);
	cr_assert_eq(s->end.total, 3);
	cr_assert_eq(s->end.reason, END_EXIT);
	/* still held: a kill reaches it through the group */
	cr_assert_not(s->closed);
	puppet_kill(&p, s, SIGKILL, 0, END_NONE, 0);
	UNTIL(&p, s->closed);
}

Test(stop, a_holder_goes_on_being_pumped)
{
	struct psession *s;
	char go[80], sh[160];
	int fd;

	snprintf(go, sizeof(go), "%s/go", p.dir);
	cr_assert_eq(mkfifo(go, 0600), 0);
	snprintf(sh, sizeof(sh), "(read x <%s; echo late) & echo hi", go);
	s = ready(&(struct order){.sh = sh});
	UNTIL(&p, s->ended);
	cr_assert_eq(s->end.total, 3);
	cr_assert_geq(s->end.holders, 1);
	cr_assert_geq(s->end.named, 1);
	fd = open(go, O_WRONLY | O_CLOEXEC);
	cr_assert_eq(write(fd, "\n", 1), 1);
	close(fd);
	unlink(go);
	UNTIL(&p, s->closed && s->left_count > 0);
	cr_assert_eq(s->left.holders, 0);
	cr_assert_str_eq(puppet_output(&p, s), "hi\nlate\n");
}

Test(stop, a_removed_ring_lets_a_holder_go)
{
	struct psession *s = ready(&(struct order){.sh = "sleep 1000 & echo hi"});
	char name[40];

	UNTIL(&p, s->ended);
	snprintf(name, sizeof(name), "rings/%016llx",
	    (unsigned long long)s->sid.v);
	cr_assert_eq(unlinkat(p.dirfd, name, 0), 0);
	UNTIL(&p, s->closed);
	kill(-s->pid, SIGKILL);
}

Test(stop, the_end_is_repeated_to_a_new_master)
{
	struct psession *s;

	p.keep_quiet = true;
	s = puppet_start(&p, &(struct order){.sh = "echo hi"});
	UNTIL(&p, s->ended);
	cr_assert_eq(s->end_count, 1);
	puppet_master(&p);
	cr_assert_eq(s->end_count, 2);
	cr_assert_eq(s->running_count, 2);
	cr_assert(s->exited_told);
	cr_assert_not(s->closed);
	puppet_ended(&p, s);
	UNTIL(&p, s->closed);
}

Test(stop, what_the_master_counts_as_over_is_ended)
{
	struct psession *s = ready(&(struct order){
	    .sh = "echo x; exec sleep 60", .grace_ms = 1000});

	puppet_ended(&p, s);
	UNTIL(&p, s->closed);
	cr_assert_not(s->ended);
}

Test(stop, without_a_master_the_work_goes_on)
{
	struct psession *s =
	    puppet_start(&p, &(struct order){.sh = "sleep 0.2; echo hi"});

	UNTIL(&p, s->running);
	close(p.master_fd);
	p.master_fd = -1;
	UNTIL(&p, s->asked);
	puppet_master(&p);
	UNTIL(&p, s->closed);
	cr_assert_str_eq(puppet_output(&p, s), "hi\n");
}

Test(stop, shutdown_stops_everything)
{
	struct ctl_shutdown m = {
	    .head = CTL_INIT(CTL_STOP, (struct sid){0}, struct ctl_shutdown),
	    .grace_ms = 1000};
	struct psession *a = puppet_start(&p, &(struct order){.sh = "sleep 60"});
	struct psession *b = puppet_start(&p, &(struct order){.sh = "sleep 60"});
	struct psession *c;

	UNTIL(&p, a->running && b->running);
	cr_assert_eq(ctl_send(p.keeper_fd, &m, sizeof(m), NULL, 0), 0);
	UNTIL(&p, a->closed && b->closed);
	cr_assert_eq(a->end.reason, END_SHUTDOWN);
	cr_assert_eq(b->end.reason, END_SHUTDOWN);
	c = puppet_start(&p, &(struct order){.sh = "true"});
	UNTIL(&p, c->failed);
}

Test(stop, a_keeper_that_is_gone_takes_all_with_it)
{
	struct psession *s =
	    puppet_start(&p, &(struct order){.sh = "sleep 60 & sleep 60"});
	siginfo_t si;
	int status;

	UNTIL(&p, s->running);
	close(p.keeper_fd);
	p.keeper_fd = -1;
	cr_assert_eq(waitid(P_PID, (id_t)s->pid, &si, WEXITED | WNOWAIT), 0);
	cr_assert_eq(si.si_status, SIGKILL);
	cr_assert_eq(waitpid(p.worker, &status, 0), p.worker);
	cr_assert(WIFEXITED(status));
	p.worker = 0;
}

/* An order and the keeper's death at once: whether it could have been started
 * is nothing that this worker knows; a FAILED would be on record before the
 * master hears of the death. */
Test(stop, who_cannot_tell_a_dead_keeper_says_nothing)
{
	struct psession *s;
	int status;

	kill(p.worker, SIGSTOP);
	cr_assert_eq(waitpid(p.worker, &status, WUNTRACED), p.worker);
	s = puppet_start(&p, &(struct order){.sh = "true"});
	close(p.keeper_fd);
	p.keeper_fd = -1;
	kill(p.worker, SIGCONT);
	UNTIL(&p, p.master_fd < 0);
	cr_assert_eq(waitpid(p.worker, &status, 0), p.worker);
	p.worker = 0;
	cr_assert_eq(s->fail_count, 0);
	cr_assert(!s->running);
}

/* The second after KILL is for what cannot die; a keeper that is slow to say
 * how something died is waited for. */
/* Does it end within so long? */
static bool
ends_within(struct psession *s, uint64_t ms)
{
	uint64_t until = clock_boot_ns() + ms * NSEC_PER_MSEC;

	UNTIL(&p, s->ended || clock_boot_ns() > until);
	return s->ended;
}

/* Who traces a command holds its death up, as a machine does that has no
 * processor for it: nothing is known of how it ended until then. */
Test(stop, a_death_that_takes_its_time_is_waited_for)
{
	struct psession *s =
	    puppet_start(&p, &(struct order){.sh = "exec sleep 60"});
	int status;
	bool early;

	UNTIL(&p, s->running);
	cr_assert_eq(ptrace(PTRACE_SEIZE, s->pid, NULL, PTRACE_O_TRACEEXIT), 0);
	puppet_kill(&p, s, SIGKILL, 0, END_MANUAL_CANCEL, CTL_KILL_ESCALATE);
	early = ends_within(s, 1500);
	cr_assert_eq(waitpid(s->pid, &status, __WALL), s->pid);
	cr_assert_eq(ptrace(PTRACE_DETACH, s->pid, NULL, NULL), 0);
	cr_assert_eq(status >> 8, SIGTRAP | PTRACE_EVENT_EXIT << 8);
	cr_assert_not(early);
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.exit.code, CLD_KILLED);
	cr_assert_eq(s->end.exit.status, SIGKILL);
}

Test(stop, an_exit_that_is_late_is_waited_for)
{
	struct psession *s =
	    puppet_start(&p, &(struct order){.sh = "exec sleep 60"});

	UNTIL(&p, s->running);
	p.deaf = true;
	puppet_kill(&p, s, SIGTERM, 0, END_MANUAL_CANCEL, CTL_KILL_ESCALATE);
	cr_assert_not(ends_within(s, 1500));
	p.deaf = false;
	UNTIL(&p, s->closed);
	cr_assert_eq(s->end.exit.code, CLD_KILLED);
	cr_assert_eq(s->end.exit.status, SIGKILL);
}
