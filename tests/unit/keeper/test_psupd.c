/* SPDX-License-Identifier: MIT */
/*
 * The real psupd with relays in place of master and workers: the test itself
 * is master and workers, message by message.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "ctl.h"
#include "heritage.h"
#include "log.h"
#include "relay.h"

#define PEERS_MAX  64
#define DEADLINE_MS 10000
#define WORKERS    2u /* and a standby */

extern char **environ;

/* A relay that called. */
struct peer {
	int fd;
	struct heritage h;
	pid_t pid;
};

static char dir[64], run[80], sock[80];
static int caller = -1, guard_pipe = -1, errors = -1;
static pid_t guard;
static struct peer peers[PEERS_MAX];
static size_t peer_count;
static struct ctl_msg msg;

/* A program of the build. */
static const char *
built(const char *name)
{
	static char path[4][512];
	static unsigned next;
	const char *bin = getenv("PSUP_TEST_BIN");
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", bin != NULL ? bin :
	    "build-debug/bin", name);
	return p;
}

/* guard psupd ...: stderr is readable in `errors`. */
static pid_t
start_psupd(const char *const extra[])
{
	const char *argv[24] = { built("../tests/helpers/guard"),
		built("psupd"), "--runtime-dir", run, "--libexec",
		built("../tests/relay"), "--workers", "2" };
	posix_spawn_file_actions_t fa;
	int hold[2], err[2];
	size_t n = 8;
	pid_t pid;

	while (extra != NULL && *extra != NULL)
		argv[n++] = *extra++;
	cr_assert_eq(pipe2(hold, O_CLOEXEC), 0);
	cr_assert_eq(pipe2(err, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&fa);
	/* may be equal: dup2 to itself clears close-on-exec */
	posix_spawn_file_actions_adddup2(&fa, err[1], 2);
	posix_spawn_file_actions_adddup2(&fa, hold[0], 3);
	cr_assert_eq(posix_spawn(&pid, argv[0], &fa, NULL,
	    (char *const *)(uintptr_t)argv, environ), 0);
	posix_spawn_file_actions_destroy(&fa);
	close(hold[0]);
	close(err[1]);
	if (guard_pipe >= 0)
		close(guard_pipe);
	if (errors >= 0)
		close(errors);
	guard_pipe = hold[1];
	errors = err[0];
	return pid;
}

/* How a guard ended. */
static int
exit_of(pid_t pid)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* All that was said on stderr. */
static const char *
said(void)
{
	static char text[4096];
	size_t have = 0;
	ssize_t n;

	while (have < sizeof(text) - 1 &&
	    (n = read(errors, text + have, sizeof(text) - 1 - have)) > 0)
		have += (size_t)n;
	text[have] = '\0';
	return text;
}

static void
setup(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	strcpy(dir, "/dev/shm/psup-test-XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	snprintf(run, sizeof(run), "%s/run", dir);
	snprintf(sock, sizeof(sock), "%s/test", dir);
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", sock);
	caller = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(caller, (struct sockaddr *)&sa, sizeof(sa)), 0);
	cr_assert_eq(listen(caller, 64), 0);
	setenv("PSUP_TEST_SOCKET", sock, 1);
	setenv("GUARD_REMOVE", dir, 1);
	unsetenv("PSUP_TEST_DIE");
	unsetenv("PSUP_TEST_BEAT");
	peer_count = 0;
}

/* The guard kills what is left and removes the directory. */
static void
teardown(void)
{
	size_t i;

	for (i = 0; i < peer_count; i++)
		close(peers[i].fd);
	close(guard_pipe);
	close(errors);
	close(caller);
	guard_pipe = errors = caller = -1;
	if (guard > 0)
		waitpid(guard, NULL, 0);
	guard = 0;
}

TestSuite(psupd, .init = setup, .fini = teardown, .timeout = 40);

/* Waits until the descriptor is readable. */
static void
await(int fd, const char *what)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char log[4096] = "";

	if (poll(&p, 1, DEADLINE_MS) == 1)
		return;
	fcntl(errors, F_SETFL, O_NONBLOCK);
	if (read(errors, log, sizeof(log) - 1) < 0)
		log[0] = '\0';
	cr_assert_fail("no %s in time; the server said:\n%s", what, log);
}

/* The next relay that calls. */
static struct peer *
answer(void)
{
	struct peer *p = &peers[peer_count];
	struct ucred cred;
	socklen_t len = sizeof(cred);

	cr_assert_lt(peer_count, PEERS_MAX);
	await(caller, "call");
	p->fd = accept4(caller, NULL, NULL, SOCK_CLOEXEC);
	cr_assert_geq(p->fd, 0);
	cr_assert_eq(getsockopt(p->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len),
	    0);
	p->pid = cred.pid;
	await(p->fd, "greeting");
	cr_assert_eq(recv(p->fd, &p->h, sizeof(p->h), 0), sizeof(p->h));
	peer_count++;
	return p;
}

/* The relay of that role and slot and at least that generation. */
static struct peer *
peer_of(enum heritage_role role, uint32_t slot, uint32_t generation)
{
	size_t i;

	for (i = 0;; i++) {
		struct peer *p = i < peer_count ? &peers[i] : answer();

		if ((role == HERITAGE_MASTER) ==
			(p->h.role == HERITAGE_MASTER) &&
		    p->h.wid.slot == slot &&
		    p->h.wid.generation >= generation)
			return p;
	}
}

/* The next message of that type; others before it are skipped. */
static struct ctl_msg *
expect(struct peer *p, unsigned type)
{
	int r;

	for (;;) {
		await(p->fd, ctl_type_name(type));
		r = ctl_recv(p->fd, &msg);
		cr_assert_eq(r, 1, "%s: %s", ctl_type_name(type),
		    strerror(-r));
		if (msg.head.type == type)
			return &msg;
		for (size_t i = 0; i < msg.nfds; i++)
			close(msg.fds[i]);
	}
}

static void
tell(struct peer *p, const void *m, size_t size, const int *fds, size_t n)
{
	cr_assert_eq(ctl_send(p->fd, m, size, fds, n), 0);
}

static void
tell_head(struct peer *p, unsigned type, uint64_t sid)
{
	struct ctl_head m = CTL_INIT((uint16_t)type, (struct sid){ sid },
	    struct ctl_head);

	tell(p, &m, sizeof(m), NULL, 0);
}

/* HOLD with the read end of a pipe. */
static void
hold(struct peer *p, uint64_t sid, int fd)
{
	struct ctl_fds m = { .head = CTL_INIT(CTL_HOLD, (struct sid){ sid },
		struct ctl_fds), .mask = CTL_FD_OUT };

	tell(p, &m, sizeof(m), &fd, 1);
}

static void
spawn(struct peer *p, uint64_t sid, const char *command)
{
	union {
		struct ctl_start m;
		char bytes[sizeof(struct ctl_start) + 256];
	} u;
	size_t size = sizeof(u.m) + strlen(command) + 1;

	memset(&u, 0, sizeof(u));
	u.m.head = (struct ctl_head)CTL_INIT(RELAY_SPAWN, (struct sid){ sid },
	    struct ctl_start);
	u.m.head.size = (uint32_t)size;
	strcpy(u.bytes + sizeof(u.m), command);
	tell(p, &u, size, NULL, 0);
}

/* Asks until the command has exited. */
static struct ctl_exit
exit_told(struct peer *p, uint64_t sid)
{
	struct ctl_exit e;

	do {
		tell_head(p, CTL_ASK_EXIT, sid);
		memcpy(&e, expect(p, CTL_EXITED)->bytes, sizeof(e));
		cr_assert_eq(e.head.sid.v, sid);
	} while (e.code == 0 && poll(NULL, 0, 1) == 0);
	return e;
}

/* A whole session but for CLOSED. */
static struct ctl_exit
run_session(struct peer *p, uint64_t sid, const char *command)
{
	int fds[2];

	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	hold(p, sid, fds[0]);
	close(fds[0]);
	close(fds[1]);
	spawn(p, sid, command);
	return exit_told(p, sid);
}

/* The state letter of a process; 0: none there. */
static char
state_of(pid_t pid)
{
	char path[64], line[512], *end;
	char state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	if (fgets(line, sizeof(line), f) != NULL &&
	    (end = strrchr(line, ')')) != NULL)
		state = end[2];
	fclose(f);
	return state;
}

/* Waits until a process is gone, reaped and all. */
static void
await_gone(pid_t pid)
{
	int i;

	for (i = 0; i < DEADLINE_MS && state_of(pid) != 0; i++)
		poll(NULL, 0, 1);
	cr_assert_eq(state_of(pid), 0, "pid %d is still there", (int)pid);
}

/* Starts the server and answers everybody's first call. */
static pid_t
up(void)
{
	uint32_t i;

	guard = start_psupd(NULL);
	for (i = 0; i <= WORKERS; i++)
		peer_of(HERITAGE_WORKER, i, 1);
	return peer_of(HERITAGE_MASTER, 0, 1)->h.keeper_pid;
}

Test(psupd, starts_is_alone_and_ends)
{
	char expected[64];
	pid_t keeper = up(), second, first = guard;
	int keep_pipe = guard_pipe, keep_errors = errors;

	expect(peer_of(HERITAGE_MASTER, 0, 1), CTL_TABLE_END);
	guard_pipe = errors = -1;
	unsetenv("GUARD_REMOVE"); /* the first one's guard does that */
	second = start_psupd(NULL);
	cr_expect_eq(exit_of(second), 75);
	snprintf(expected, sizeof(expected), "pid %d", (int)keeper);
	cr_expect_not_null(strstr(said(), expected));
	close(guard_pipe);
	close(errors);
	guard_pipe = keep_pipe;
	errors = keep_errors;
	kill(keeper, SIGTERM);
	guard = 0;
	cr_expect_eq(exit_of(first), 0, "nobody is left behind");
}

Test(psupd, of_many_starts_one_wins)
{
	static const char *const extra[] = { "--detach", NULL };
	static const char *const help[] = { "--help", NULL };
	int i, pipes[20], texts[20], lost, fd, status;
	char path[96], text[16] = "";
	pid_t pid;

	unsetenv("GUARD_REMOVE");
	for (i = 0; i < 20; i++) {
		guard_pipe = errors = -1;
		(void)start_psupd(extra);
		pipes[i] = guard_pipe;
		texts[i] = errors;
	}
	for (lost = 0; lost < 19; lost++) {
		pid = waitpid(-1, &status, 0);
		cr_assert(pid > 0 && WIFEXITED(status));
		cr_expect_eq(WEXITSTATUS(status), 75, "exit %d",
		    WEXITSTATUS(status));
	}
	snprintf(path, sizeof(path), "%s/lock", run);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert_geq(fd, 0);
	cr_assert_gt(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	/* ready or not, TERM ends it */
	kill(atoi(text), SIGTERM);
	pid = waitpid(-1, &status, 0);
	cr_expect(pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) != 125 &&
		WEXITSTATUS(status) != 124, "status %x", (unsigned)status);
	for (i = 0; i < 20; i++) {
		close(pipes[i]);
		close(texts[i]);
	}
	guard_pipe = errors = -1;
	/* a guard of nothing, for the directory */
	setenv("GUARD_REMOVE", dir, 1);
	cr_expect_eq(exit_of(start_psupd(help)), 0);
}

Test(psupd, detaches_once_ready_and_leaves_nothing)
{
	static const char *const extra[] = { "--detach", NULL };
	struct peer *m;
	uint32_t i;

	guard = start_psupd(extra);
	m = peer_of(HERITAGE_MASTER, 0, 1);
	expect(m, CTL_TABLE_END);
	for (i = 0; i <= WORKERS; i++) {
		expect(peer_of(HERITAGE_WORKER, i, 1), CTL_PEER);
		close(msg.fds[0]);
	}
	kill(m->h.keeper_pid, SIGTERM);
	/* the starter's own exit code, and nobody left behind */
	cr_expect_eq(exit_of(guard), 0);
	guard = 0;
}

Test(psupd, says_why_it_does_not_start)
{
	static const char *const extra[] = { "--detach", NULL };

	setenv("PSUP_TEST_DIE", "3", 1);
	guard = start_psupd(extra);
	cr_expect_eq(exit_of(guard), 70);
	guard = 0;
	cr_expect_not_null(strstr(said(), "died again and again"));
}

Test(psupd, refuses_an_unsafe_directory)
{
	cr_assert_eq(mkdir(run, 0700), 0);
	cr_assert_eq(chmod(run, 0777), 0);
	unsetenv("GUARD_REMOVE");
	cr_expect_eq(exit_of(start_psupd(NULL)), 73);
	cr_expect_not_null(strstr(said(), run));
	cr_assert_eq(rmdir(run), 0);
	cr_assert_eq(symlink("/dev/shm", run), 0);
	setenv("GUARD_REMOVE", dir, 1);
	cr_expect_eq(exit_of(start_psupd(NULL)), 73);
	cr_expect_not_null(strstr(said(), run));
}

Test(psupd, exits_are_exact_and_pinned_until_closed)
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

Test(psupd, standby_takes_over)
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

Test(psupd, master_comes_back)
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

Test(psupd, leaks_no_descriptor)
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

Test(psupd, reaps_orphans)
{
	struct peer *w;
	struct ctl_exit e;
	char path[96], text[16] = "";
	pid_t orphan;
	int fd;

	up();
	w = peer_of(HERITAGE_WORKER, 0, 1);
	snprintf(path, sizeof(path), "(sleep 0.3 & echo $! >%s/o)", dir);
	e = run_session(w, 3, path);
	tell_head(w, CTL_CLOSED, 3);
	await_gone(e.pid);
	snprintf(path, sizeof(path), "%s/o", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert_gt(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	orphan = atoi(text);
	await_gone(orphan);
}

Test(psupd, ends_what_a_dead_keeper_left)
{
	struct peer *w;
	struct ctl_exit e;
	pid_t keeper, first;
	int fds[2], old_pipe, old_errors;

	unsetenv("GUARD_REMOVE"); /* the second one's guard does that */
	keeper = up();
	first = guard;
	old_pipe = guard_pipe;
	old_errors = errors;
	w = peer_of(HERITAGE_WORKER, 0, 1);
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	hold(w, 4, fds[0]);
	close(fds[0]);
	close(fds[1]);
	spawn(w, 4, "exec sleep 1000");
	do {
		tell_head(w, CTL_ASK_EXIT, 4);
		memcpy(&e, expect(w, CTL_EXITED)->bytes, sizeof(e));
	} while (e.pid == 0);
	kill(keeper, SIGKILL);
	await_gone(keeper);
	cr_expect_neq(state_of(e.pid), 0, "nothing told it to die");
	for (size_t i = 0; i < peer_count; i++)
		close(peers[i].fd);
	peer_count = 0;
	guard_pipe = errors = -1;
	setenv("GUARD_REMOVE", dir, 1);
	cr_expect_neq(up(), keeper);
	await_gone(e.pid);
	close(old_pipe);
	close(old_errors);
	waitpid(first, NULL, 0);
}

Test(psupd, second_signal_does_not_wait)
{
	struct peer *w;
	struct ctl_shutdown m;
	struct ctl_exit e;
	pid_t keeper = up();
	uint64_t begun = clock_boot_ns();
	int fds[2];

	w = peer_of(HERITAGE_WORKER, 0, 1);
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	hold(w, 4, fds[0]);
	close(fds[0]);
	close(fds[1]);
	spawn(w, 4, "trap '' TERM; while :; do sleep 1; done");
	do {
		tell_head(w, CTL_ASK_EXIT, 4);
		memcpy(&e, expect(w, CTL_EXITED)->bytes, sizeof(e));
	} while (e.pid == 0);
	kill(keeper, SIGTERM);
	memcpy(&m, expect(w, CTL_STOP)->bytes, sizeof(m));
	cr_expect_eq(m.grace_ms, 5000);
	cr_expect_eq(m.signal, SIGTERM);
	kill(keeper, SIGINT);
	memcpy(&m, expect(w, CTL_STOP)->bytes, sizeof(m));
	cr_expect_eq(m.grace_ms, 0);
	/* no worker does anything: the keeper itself ends it */
	cr_expect_eq(exit_of(guard), 0);
	guard = 0;
	cr_expect_lt(clock_boot_ns() - begun, 5 * NSEC_PER_SEC);
}

Test(psupd, stopped_master_hears_it_all_later)
{
	const uint64_t rows = 3000; /* more than a channel takes at once */
	struct peer *w, *m;
	uint64_t sid, last = 0;
	int fds[2];

	up();
	w = peer_of(HERITAGE_WORKER, 0, 1);
	m = peer_of(HERITAGE_MASTER, 0, 1);
	if (w->h.max_sessions < rows)
		cr_skip_test("too few descriptors allowed");
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

Test(psupd, nonsense_is_dropped)
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

Test(psupd, unheld_command_is_killed)
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

Test(psupd, hup_reloads_a_service)
{
	pid_t keeper = up();

	kill(keeper, SIGHUP);
	expect(peer_of(HERITAGE_MASTER, 0, 1), CTL_RELOAD);
	expect(peer_of(HERITAGE_WORKER, 0, 1), CTL_RELOAD);
	expect(peer_of(HERITAGE_WORKER, WORKERS, 1), CTL_RELOAD);
}

/* What the master has read of the log everybody hears, if it is new. */
Test(psupd, a_level_is_told_to_all)
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

Test(psupd, stopped_worker_is_replaced)
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
Test(psupd, a_lost_channel_is_made_again)
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

#ifdef PSUP_FAULTS
/* Waits until the keeper has so many dead children. */
static void
await_zombies(pid_t keeper, int want)
{
	char path[64], line[4096], *p, *end;
	int i, n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)keeper,
	    (int)keeper);
	for (i = 0; i < DEADLINE_MS; i++, poll(NULL, 0, 1)) {
		f = fopen(path, "re");
		cr_assert_not_null(f);
		p = fgets(line, sizeof(line), f) == NULL ? NULL : line;
		fclose(f);
		for (n = 0; p != NULL && *p != '\0'; p = end) {
			pid_t pid = (pid_t)strtol(p, &end, 10);

			if (end == p)
				break;
			n += state_of(pid) == 'Z';
		}
		if (n >= want)
			return;
	}
	cr_assert_fail("no %d zombies", want);
}

/*
 * The keeper is about to reap an orphan. Before it does, a command begins and
 * dies: it is a zombie like the other, but SPAWNED, still unread, says whose.
 */
Test(psupd, a_command_that_died_before_spawned_was_read_is_no_orphan)
{
	struct peer *w;
	struct ctl_exit e = { .code = 0 };
	int fds[2], i;
	pid_t keeper;

	setenv("PSUP_FAULTS", "keeper.before-reap=stop", 1);
	keeper = up();
	unsetenv("PSUP_FAULTS");
	w = peer_of(HERITAGE_WORKER, 0, 1);
	cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
	hold(w, 1, fds[0]);
	hold(w, 2, fds[0]);
	close(fds[0]);
	close(fds[1]);
	spawn(w, 2, "(sleep 0.5 &)");
	e = exit_told(w, 2);
	tell_head(w, CTL_CLOSED, 2);
	await_gone(e.pid);
	e.code = 0;
	for (i = 0; i < DEADLINE_MS && state_of(keeper) != 'T'; i++)
		poll(NULL, 0, 1);
	cr_assert_eq(state_of(keeper), 'T');
	spawn(w, 1, "exit 7");
	await_zombies(keeper, 2); /* beside the orphan */
	kill(keeper, SIGCONT);
	for (i = 0; i < 2000 && e.code == 0; i++, poll(NULL, 0, 1)) {
		tell_head(w, CTL_ASK_EXIT, 1);
		memcpy(&e, expect(w, CTL_EXITED)->bytes, sizeof(e));
	}
	cr_expect_eq(e.code, CLD_EXITED, "its exit was reaped as an orphan's");
	cr_expect_eq(e.status, 7);
}
#endif
