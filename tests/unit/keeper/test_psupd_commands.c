/* SPDX-License-Identifier: MIT */
/* What psupd keeps of the commands its workers begin: exits and descriptors, and
 * none of what nobody holds. */
#include "lib_psupd.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

TestSuite(psupd_commands, .init = setup, .fini = teardown, .timeout = 40);

Test(psupd_commands, exits_are_exact_and_pinned_until_closed)
{
	struct peer *w;
	struct ctl_exit e;

	up();
	w = peer_of(HERITAGE_WORKER, 0, 1);
	e = run_session(w, 1, "exit 7");
	cr_expect_eq(e.code, CLD_EXITED);
	cr_expect_eq(e.status, 7);
	cr_expect_eq(state_of(e.pid), 'Z', "pinned");
	tell_head(w, CTL_CLOSED, 1);
	await_gone(e.pid);
	e = run_session(w, 2, "kill -SEGV $$");
	cr_expect(e.code == CLD_KILLED || e.code == CLD_DUMPED);
	cr_expect_eq(e.status, SIGSEGV);
	tell_head(w, CTL_CLOSED, 2);
	await_gone(e.pid);
}

/* Descriptors of a process; -1 where we may not look. */
static int
count_fds(pid_t pid)
{
	char command[96];
	int n = -1;
	FILE *f;

	snprintf(command, sizeof(command), "ls /proc/%d/fd 2>/dev/null | wc -l",
	    (int)pid);
	f = popen(command, "re");
	if (f == NULL || fscanf(f, "%d", &n) != 1 || n == 0)
		n = -1;
	if (f != NULL)
		pclose(f);
	return n;
}

Test(psupd_commands, leaks_no_descriptor)
{
	struct peer *w;
	struct ctl_exit e;
	uint64_t sid;
	pid_t keeper = up();
	int before, i;

	w = peer_of(HERITAGE_WORKER, 0, 1);
	expect(w, CTL_PEER);
	close(msg.fds[0]);
	e = run_session(w, 1, "exit 0");
	tell_head(w, CTL_CLOSED, 1);
	await_gone(e.pid);
	before = count_fds(keeper);
	for (sid = 2; sid < 60; sid++) {
		e = run_session(w, sid, "exit 0");
		tell_head(w, CTL_CLOSED, sid);
	}
	await_gone(e.pid);
	cr_expect_eq(count_fds(keeper), before);
	/* and none by a worker that dies */
	kill(w->pid, SIGKILL);
	w = peer_of(HERITAGE_WORKER, 0, 2);
	expect(w, CTL_PEER);
	close(msg.fds[0]);
	for (i = 0; i < 1000 && count_fds(keeper) != before; i++)
		;
	cr_expect_eq(count_fds(keeper), before);
}

Test(psupd_commands, nonsense_is_dropped)
{
	struct ctl_fds two = { .head = CTL_INIT(CTL_HOLD, (struct sid){ 8 },
		struct ctl_fds), .mask = CTL_FD_OUT | CTL_FD_ERR };
	struct ctl_shutdown down = { .head = CTL_INIT(CTL_SHUTDOWN,
		(struct sid){ 0 }, struct ctl_shutdown) };
	struct peer *w, *other;
	struct ctl_exit e;
	int fds[2];

	up();
	w = peer_of(HERITAGE_WORKER, 0, 1);
	other = peer_of(HERITAGE_WORKER, 1, 1);
	e = run_session(w, 1, "exit 4");
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	hold(w, 1, fds[0]);                       /* held already */
	hold(w, 0, fds[0]);                       /* no session */
	tell(w, &two, sizeof(two), fds, 1);       /* mask says two */
	tell_head(w, CTL_CLOSED, 99);             /* unknown */
	tell_head(w, CTL_SPAWNED, 1);             /* by the worker itself */
	tell(w, &down, sizeof(down), NULL, 0);    /* not its business */
	tell_head(other, CTL_CLOSED, 1);          /* somebody else's */
	tell_head(other, CTL_READY, 0);           /* twice */
	close(fds[0]);
	close(fds[1]);
	e = run_session(other, 2, "exit 5");
	cr_expect_eq(e.status, 5);
	e = exit_told(w, 1);
	cr_expect_eq(e.status, 4, "the row is what it was");
	cr_expect_eq(state_of(e.pid), 'Z');
}

/* HOLD of a start, and CLOSED of one. */
static void
hold_turn(struct peer *p, uint64_t sid, uint64_t turn)
{
	struct ctl_fds m = { .head = CTL_INIT(CTL_HOLD, (struct sid){ sid },
		struct ctl_fds), .mask = CTL_FD_OUT, .turn = turn };
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	tell(p, &m, sizeof(m), &fds[0], 1);
	close(fds[0]);
	close(fds[1]);
}

static void
closed_turn(struct peer *p, uint64_t sid, uint64_t turn)
{
	struct ctl_turn m = { .head = CTL_INIT(CTL_CLOSED, (struct sid){ sid },
		struct ctl_turn), .turn = turn };

	tell(p, &m, sizeof(m), NULL, 0);
}

/* It asks how its command ended, of which it names no pid. */
static struct ctl_exit
ask_exit(struct peer *p, uint64_t sid)
{
	struct ctl_exit e;

	tell_head(p, CTL_ASK_EXIT, sid);
	memcpy(&e, expect(p, CTL_EXITED)->bytes, sizeof(e));
	cr_assert_eq(e.head.sid.v, sid);
	return e;
}

/* It has the row, whose command runs; all that it said before was read. */
static void
expect_row(struct peer *p, uint64_t sid)
{
	cr_assert_eq(ask_exit(p, sid).code, 0);
}

/* Its HOLD was refused, as an older worker's may be: it would wait for ever. */
Test(psupd_commands, who_has_no_row_is_answered)
{
	struct peer *w, *other;

	up();
	w = peer_of(HERITAGE_WORKER, 0, 1);
	other = peer_of(HERITAGE_WORKER, 1, 1);
	cr_expect_eq(ask_exit(w, 77).code, CTL_EXIT_UNKNOWN);
	hold_turn(w, 5, TURN_OF_START(1));
	expect_row(w, 5);
	tell_head(other, CTL_ASK_EXIT, 5); /* somebody else's: no word */
	cr_expect_eq(ask_exit(other, 6).code, CTL_EXIT_UNKNOWN);
}

/* Two workers' channels are read in any order. */
Test(psupd_commands, a_later_start_has_the_row_and_its_own_closed)
{
	struct peer *first, *second;

	up();
	first = peer_of(HERITAGE_WORKER, 0, 1);
	second = peer_of(HERITAGE_WORKER, 1, 1);
	hold_turn(first, 5, TURN_OF_START(1));
	expect_row(first, 5);
	hold_turn(second, 5, TURN_OF_START(2));
	expect_row(second, 5);
	hold_turn(first, 5, TURN_OF_START(1)); /* the past */
	closed_turn(first, 5, TURN_OF_START(1));
	hold_turn(first, 6, TURN_OF_START(1));
	expect_row(first, 6);
	closed_turn(second, 5, TURN_OF_START(1));
	expect_row(second, 5);
	closed_turn(second, 5, TURN_OF_START(2));
	hold_turn(first, 5, TURN_OF_START(1)); /* nothing is in its way */
	hold_turn(second, 7, TURN_OF_START(1));
	expect_row(second, 7);
	hold_turn(first, 5, TURN_OF_START(3));
	expect_row(first, 5);
}

/* All that was told to it is in its channel to the keeper: its relay has read one
 * word more, which the keeper refuses. */
static void
relayed(struct peer *p)
{
	int unread = 1;

	tell_head(p, CTL_READY, 0);
	for (int i = 0; i < DEADLINE_MS && unread != 0; i++) {
		cr_assert_eq(ioctl(p->fd, TIOCOUTQ, &unread), 0);
		poll(NULL, 0, 1);
	}
	cr_assert_eq(unread, 0);
}

/* It says no turn, and is read before what another worker had sent before. */
Test(psupd_commands, an_older_workers_hold_overtakes_nobody)
{
	struct peer *older, *other;
	pid_t keeper = up();

	older = peer_of(HERITAGE_WORKER, 0, 1);
	other = peer_of(HERITAGE_WORKER, 1, 1);
	cr_assert_eq(kill(keeper, SIGSTOP), 0);
	for (int i = 0; i < DEADLINE_MS && state_of(keeper) != 'T'; i++)
		poll(NULL, 0, 1);
	cr_assert_eq(state_of(keeper), 'T');
	relayed(older);
	relayed(older); /* so that its channel is the first */
	hold_turn(other, 5, TURN_OF_START(1));
	closed_turn(other, 5, TURN_OF_START(1));
	relayed(other);
	hold_turn(older, 5, 0);
	relayed(older);
	cr_assert_eq(kill(keeper, SIGCONT), 0);
	hold_turn(other, 6, TURN_OF_START(1));
	expect_row(other, 6);
	expect_row(older, 5);
	hold_turn(other, 5, TURN_OF_START(3)); /* later than all before it */
	expect_row(other, 5);
}

Test(psupd_commands, unheld_command_is_killed)
{
	struct peer *w;
	char path[96], text[16] = "";
	int fd, i;

	up();
	w = peer_of(HERITAGE_WORKER, 0, 1);
	snprintf(path, sizeof(path), "echo $$ >%s/u; exec sleep 1000", dir);
	spawn(w, 77, path);
	snprintf(path, sizeof(path), "%s/u", dir);
	/* it may be killed before it wrote anything */
	for (i = 0; i < 50 && (fd = open(path, O_RDONLY | O_CLOEXEC)) < 0; i++)
		poll(NULL, 0, 1);
	if (i < 50) {
		if (read(fd, text, sizeof(text) - 1) > 0)
			await_gone(atoi(text));
		close(fd);
	}
	cr_expect_eq(run_session(w, 1, "exit 3").status, 3);
}
