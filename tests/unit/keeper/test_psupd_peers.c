/* SPDX-License-Identifier: MIT */
/* What psupd does as master and workers die, hang, fall behind and ask. */
#include "lib_psupd.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"

TestSuite(psupd_peers, .init = setup, .fini = teardown, .timeout = 40);

Test(psupd_peers, standby_takes_over)
{
	struct peer *w, *s, *m;
	struct ctl_give g;
	struct ctl_exit e;
	struct ctl_held h;
	struct ctl_peer d;
	int fds[2];
	char text[8] = "";

	up();
	m = peer_of(HERITAGE_MASTER, 0, 1);
	w = peer_of(HERITAGE_WORKER, 0, 1);
	s = peer_of(HERITAGE_WORKER, WORKERS, 1);
	expect(m, CTL_TABLE_END);
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	hold(w, 5, fds[0]);
	hold(w, 6, fds[0]); /* held, never spawned */
	close(fds[0]);
	spawn(w, 5, "sleep 1000");
	do {
		tell_head(w, CTL_ASK_EXIT, 5);
		memcpy(&e, expect(w, CTL_EXITED)->bytes, sizeof(e));
	} while (e.pid == 0);
	cr_expect_eq(e.code, 0, "still running");
	kill(w->pid, SIGKILL);

	memcpy(&g, expect(s, CTL_GIVE)->bytes, sizeof(g));
	cr_expect_eq(g.head.sid.v, 5);
	cr_expect_eq(g.pid, e.pid);
	cr_expect_eq(g.mask, CTL_FD_OUT);
	cr_assert_eq(msg.nfds, 1);
	cr_expect_eq(write(fds[1], "hello", 5), 5);
	cr_expect_eq(read(msg.fds[0], text, sizeof(text)), 5);
	cr_expect_str_eq(text, "hello");
	close(msg.fds[0]);
	close(fds[1]);

	memcpy(&h, expect(m, CTL_HELD)->bytes, sizeof(h));
	cr_expect_eq(h.head.sid.v, 5, "6 never ran");
	memcpy(&d, expect(m, CTL_WORKER_DOWN)->bytes, sizeof(d));
	cr_expect_eq(d.wid.slot, 0);
	cr_expect_eq(d.code, CLD_KILLED);
	cr_expect_eq(d.status, SIGKILL);

	/* a new standby stands in its place */
	w = peer_of(HERITAGE_WORKER, 0, 2);
	cr_expect_eq(w->h.role, HERITAGE_STANDBY);
	kill(e.pid, SIGTERM);
	e = exit_told(s, 5);
	cr_expect_eq(e.status, SIGTERM);
	tell_head(s, CTL_CLOSED, 5);
	await_gone(e.pid);
}

Test(psupd_peers, master_comes_back)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct peer *w, *m;
	struct ctl_exit e;
	int fd;

	up();
	m = peer_of(HERITAGE_MASTER, 0, 1);
	w = peer_of(HERITAGE_WORKER, 1, 1);
	e = run_session(w, 9, "exit 0");
	kill(m->pid, SIGKILL);
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/sock", run);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_expect_eq(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0,
	    "a client may call while no master lives");
	close(fd);
	m = peer_of(HERITAGE_MASTER, 0, 2);
	expect(m, CTL_PEER);
	close(msg.fds[0]);
	expect(m, CTL_HELD);
	cr_expect_eq(msg.head.sid.v, 9);
	expect(m, CTL_TABLE_END);
	tell_head(w, CTL_CLOSED, 9);
	await_gone(e.pid);
}

Test(psupd_peers, stopped_master_hears_it_all_later)
{
	const uint64_t rows = 3000; /* more than a channel takes at once */
	struct peer *w, *m;
	uint64_t sid, last = 0;
	int fds[2];

	up();
	w = peer_of(HERITAGE_WORKER, 0, 1);
	m = peer_of(HERITAGE_MASTER, 0, 1);
	if (w->h.max_sessions < rows) {
		teardown(); /* a test that is skipped has no end of its own */
		cr_skip_test("too few descriptors allowed");
	}
	expect(m, CTL_TABLE_END);
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	for (sid = 1; sid <= rows; sid++) {
		struct pollfd room = { .fd = w->fd, .events = POLLOUT };

		cr_assert_eq(poll(&room, 1, DEADLINE_MS), 1);
		hold(w, sid, fds[0]);
	}
	close(fds[0]);
	close(fds[1]);
	(void)run_session(w, rows + 1, "exit 0"); /* all before are in */
	kill(m->pid, SIGKILL);
	m = peer_of(HERITAGE_MASTER, 0, 2);
	kill(m->pid, SIGSTOP);
	/* the keeper serves others meanwhile */
	(void)run_session(w, rows + 2, "exit 0");
	tell_head(w, CTL_CLOSED, rows + 2);
	kill(m->pid, SIGCONT);
	for (sid = 1; sid <= rows; sid++) {
		last = expect(m, CTL_HELD)->head.sid.v;
		cr_assert_eq(last, sid);
	}
	expect(m, CTL_TABLE_END);
}

#ifdef PSUP_FAULTS

/* How many children a process has that it has not reaped. */
static int
children_of(pid_t pid)
{
	char path[80], text[4096];
	int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "re");
	cr_assert_not_null(f);
	while (fscanf(f, "%4095s", text) == 1)
		n++;
	fclose(f);
	return n;
}

/* A start takes longer than all that an heir has to hear. */
Test(psupd_peers, an_heir_hears_before_another_is_started)
{
	struct peer *m, *w, *s;
	struct ctl_exit e;
	int before;
	pid_t keeper;

	setenv("PSUP_FAULTS", "keeper.after-give=stop", 1);
	up();
	m = peer_of(HERITAGE_MASTER, 0, 1);
	w = peer_of(HERITAGE_WORKER, 0, 1);
	s = peer_of(HERITAGE_WORKER, WORKERS, 1);
	keeper = m->h.keeper_pid;
	e = run_session(w, 1, "exit 6");
	before = children_of(keeper);
	kill(w->pid, SIGKILL);
	expect(s, CTL_GIVE);
	close(msg.fds[0]);
	while (state_of(keeper) != 'T')
		poll(NULL, 0, 1);
	cr_expect_eq(children_of(keeper), before - 1);
	kill(keeper, SIGCONT);
	(void)peer_of(HERITAGE_WORKER, 0, 2);
	cr_expect_eq(exit_told(s, 1).status, 6);
	tell_head(s, CTL_CLOSED, 1);
	await_gone(e.pid);
}

#endif

/* What the master has read of the log everybody hears, if it is new. */
Test(psupd_peers, a_level_is_told_to_all)
{
	struct ctl_log log = { .head = CTL_INIT(CTL_LOG, (struct sid){ 0 },
		struct ctl_log) };
	struct ctl_log told;
	struct peer *m;

	up();
	m = peer_of(HERITAGE_MASTER, 0, 1);
	log.how = 77; /* none: nothing happens */
	tell(m, &log, sizeof(log), NULL, 0);
	log.how = LOG_PACK(LOG_NOTE, LOG_LOGFMT); /* as it is */
	tell(m, &log, sizeof(log), NULL, 0);
	log.how = LOG_PACK(LOG_WARN, LOG_JSON);
	tell(m, &log, sizeof(log), NULL, 0);
	for (uint32_t i = 0; i <= WORKERS + 1; i++) {
		expect(i == 0 ? m : peer_of(HERITAGE_WORKER, i - 1, 1),
		    CTL_LOG);
		memcpy(&told, msg.bytes, sizeof(told));
		cr_expect_eq(told.how, log.how);
	}
	/* who starts from now on finds it in its heritage */
	kill(peer_of(HERITAGE_WORKER, 0, 1)->pid, SIGKILL);
	cr_expect_eq(peer_of(HERITAGE_WORKER, 0, 2)->h.log_level, log.how);
}

/* SIGKILL says nothing of the program: the pause before the next one does not
 * grow. (Doubled after every third it would be 6.4 s before the last.) */
Test(psupd_peers, who_is_killed_while_it_starts_is_back_in_a_moment)
{
	uint64_t from;

	setenv("PSUP_TEST_KILLED", "28", 1);
	up();
	await_ready(); /* who never was is given up, instead */
	kill(peer_of(HERITAGE_MASTER, 0, 1)->pid, SIGKILL);
	peer_of(HERITAGE_MASTER, 0, 28);
	from = clock_boot_ns();
	peer_of(HERITAGE_MASTER, 0, 29);
	cr_expect_lt(clock_boot_ns() - from, 3 * NSEC_PER_SEC);
}

/* A command that runs until it is killed; its pid. */
static int32_t
sleeper(struct peer *w, uint64_t sid)
{
	struct ctl_exit e;
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	hold(w, sid, fds[0]);
	close(fds[0]);
	close(fds[1]);
	spawn(w, sid, "sleep 1000");
	do {
		tell_head(w, CTL_ASK_EXIT, sid);
		memcpy(&e, expect(w, CTL_EXITED)->bytes, sizeof(e));
	} while (e.pid == 0);
	return e.pid;
}

/* It is given, with its descriptor, and is over; all went on by then. */
static void
expect_given(struct peer *heir, uint64_t sid, int32_t pid)
{
	struct ctl_give g;
	struct ctl_exit e;

	memcpy(&g, expect(heir, CTL_GIVE)->bytes, sizeof(g));
	cr_expect_eq(g.head.sid.v, sid);
	cr_expect_eq(g.pid, pid);
	cr_assert_eq(msg.nfds, 1);
	close(msg.fds[0]);
	kill(pid, SIGTERM);
	e = exit_told(heir, sid);
	cr_expect_eq(e.status, SIGTERM);
	tell_head(heir, CTL_CLOSED, sid);
	await_gone(pid);
}

/* The standby of a server that serves dies by itself as often as it starts, and
 * is waited for longer and longer. A worker that dies meanwhile has its own
 * replacement as its heir; a standby that comes up at last is one again. */
Test(psupd_peers, a_standby_that_fails_as_it_starts_keeps_nobody_waiting)
{
	struct peer *w, *s;
	int32_t pid;

	setenv("PSUP_TEST_STANDBY", "exit 2 7", 1);
	up();
	w = peer_of(HERITAGE_WORKER, 1, 1);
	s = peer_of(HERITAGE_WORKER, WORKERS, 1);
	await_ready();
	kill(peer_of(HERITAGE_WORKER, 0, 1)->pid, SIGKILL);
	expect(s, CTL_ROLE);
	/* called, and is gone by now, or soon */
	await_gone(peer_of(HERITAGE_WORKER, 0, 5)->pid);
	pid = sleeper(w, 1);
	kill(w->pid, SIGKILL);
	w = peer_of(HERITAGE_WORKER, 1, 2);
	expect_given(w, 1, pid);
	w = peer_of(HERITAGE_WORKER, 0, 8);
	cr_expect_eq(w->h.role, HERITAGE_STANDBY);
	pid = sleeper(s, 2);
	kill(s->pid, SIGKILL);
	expect_given(w, 2, pid);
}

/* One that has just been made an heir, and has not come up, dies; so does the
 * next, and the next. */
Test(psupd_peers, a_standby_that_dies_as_an_heir_hands_on_what_it_never_had)
{
	struct peer *w, *m, *s;
	struct ctl_peer d;
	struct ctl_held h;
	int32_t pid;

	setenv("PSUP_TEST_STANDBY", "wait 2 3", 1);
	up();
	m = peer_of(HERITAGE_MASTER, 0, 1);
	w = peer_of(HERITAGE_WORKER, 1, 1);
	await_ready();
	pid = sleeper(w, 1);
	kill(peer_of(HERITAGE_WORKER, 0, 1)->pid, SIGKILL);
	(void)peer_of(HERITAGE_WORKER, 0, 2); /* the standby from now on */
	expect(m, CTL_WORKER_DOWN);
	kill(w->pid, SIGKILL);
	/* whose heir has not come up; its slot has the standby after that */
	for (uint32_t i = 0; i < 4; i++) {
		memcpy(&h, expect(m, CTL_HELD)->bytes, sizeof(h));
		cr_expect_eq(h.pid, pid);
		cr_expect_eq(h.next.slot, i % 2, "the heir's");
		memcpy(&d, expect(m, CTL_WORKER_DOWN)->bytes, sizeof(d));
		cr_expect_eq(d.wid.slot, 1 - i % 2, "%u", i);
		s = peer_of(HERITAGE_WORKER, i % 2, 2 + i / 2);
		cr_expect_eq(s->h.role, HERITAGE_STANDBY);
		cr_assert_eq(send(s->fd, "die", 3, 0), 3);
	}
	expect(m, CTL_WORKER_DOWN);
	expect_given(peer_of(HERITAGE_WORKER, 0, 4), 1, pid);
}

Test(psupd_peers, stopped_worker_is_replaced)
{
	struct peer *w, *idle, *s;
	struct ctl_exit e;

	setenv("PSUP_TEST_BEAT", "1", 1);
	up();
	w = peer_of(HERITAGE_WORKER, 0, 1);
	idle = peer_of(HERITAGE_WORKER, 1, 1);
	s = peer_of(HERITAGE_WORKER, WORKERS, 1);
	e = run_session(w, 1, "exit 6");
	kill(w->pid, SIGSTOP);
	expect(s, CTL_GIVE);
	cr_expect_eq(msg.head.sid.v, 1);
	close(msg.fds[0]);
	cr_expect_eq(exit_told(s, 1).status, 6);
	cr_expect_neq(state_of(idle->pid), 0, "idle is not hung");
	tell_head(s, CTL_CLOSED, 1);
	await_gone(e.pid);
}

/* A channel that the master lost is made anew, with both its ends. */
Test(psupd_peers, a_lost_channel_is_made_again)
{
	struct ctl_role ask = { .head = CTL_INIT(CTL_ASK_PEER,
		(struct sid){ 0 }, struct ctl_role) };
	struct peer *m, *w;
	struct ctl_peer told;
	int ends[2];
	char byte = 0;

	up();
	m = peer_of(HERITAGE_MASTER, 0, 1);
	w = peer_of(HERITAGE_WORKER, 1, 1);
	for (uint32_t i = 0; i <= WORKERS; i++)
		close(expect(m, CTL_PEER)->fds[0]);
	close(expect(w, CTL_PEER)->fds[0]);
	ask.wid = (struct wid){ 1, 77 }; /* of nobody: nothing happens */
	tell(m, &ask, sizeof(ask), NULL, 0);
	ask.wid = w->h.wid;
	tell(m, &ask, sizeof(ask), NULL, 0);
	ends[0] = expect(w, CTL_PEER)->fds[0];
	ends[1] = expect(m, CTL_PEER)->fds[0];
	memcpy(&told, msg.bytes, sizeof(told));
	cr_expect(wid_eq(told.wid, w->h.wid));
	cr_assert_eq(send(ends[0], "x", 1, 0), 1);
	await(ends[1], "word of the worker");
	cr_expect_eq(recv(ends[1], &byte, 1, 0), 1);
	cr_expect_eq(byte, 'x');
	close(ends[0]);
	close(ends[1]);
}
