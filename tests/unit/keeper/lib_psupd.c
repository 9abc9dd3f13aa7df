/* SPDX-License-Identifier: MIT */
/* See lib_psupd.h. */
#include "lib_psupd.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "relay.h"

#define PEERS_MAX 64

extern char **environ;

char dir[64], run[80];
int guard_pipe = -1, errors = -1;
pid_t guard;
struct peer peers[PEERS_MAX];
size_t peer_count;
struct ctl_msg msg;
static char sock[80];
static int caller = -1;

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

pid_t
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

int
exit_of(pid_t pid)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

const char *
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

void
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
	unsetenv("PSUP_TEST_KILLED");
	unsetenv("PSUP_TEST_STANDBY");
	unsetenv("PSUP_TEST_BEAT");
	peer_count = 0;
}

void
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

void
await(int fd, const char *what)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char log[4096] = "";
	ssize_t n;

	if (poll(&p, 1, DEADLINE_MS) == 1)
		return;
	/* the last of it */
	fcntl(errors, F_SETFL, O_NONBLOCK);
	while ((n = read(errors, log, sizeof(log) - 1)) > 0)
		log[n] = '\0';
	cr_assert_fail("no %s in time; the server said:\n%s", what, log);
}

void
await_ready(void)
{
	char text[16384];
	size_t have = 0;
	ssize_t n;

	do {
		struct pollfd p = { .fd = errors, .events = POLLIN };

		cr_assert_lt(have, sizeof(text) - 1);
		cr_assert_eq(poll(&p, 1, DEADLINE_MS), 1, "not ready");
		n = read(errors, text + have, sizeof(text) - 1 - have);
		cr_assert_gt(n, 0);
		have += (size_t)n;
		text[have] = '\0';
	} while (strstr(text, "event=ready ") == NULL);
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

struct peer *
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

struct ctl_msg *
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

void
tell(struct peer *p, const void *m, size_t size, const int *fds, size_t n)
{
	cr_assert_eq(ctl_send(p->fd, m, size, fds, n), 0);
}

void
tell_head(struct peer *p, unsigned type, uint64_t sid)
{
	struct ctl_head m = CTL_INIT((uint16_t)type, (struct sid){ sid },
	    struct ctl_head);
	struct ctl_pid ask = { .head = CTL_INIT(CTL_ASK_EXIT,
		(struct sid){ sid }, struct ctl_pid) };
	struct ctl_turn closed = { .head = CTL_INIT(CTL_CLOSED,
		(struct sid){ sid }, struct ctl_turn) };

	if (type == CTL_CLOSED)
		tell(p, &closed, sizeof(closed), NULL, 0);
	else if (type == CTL_ASK_EXIT)
		tell(p, &ask, sizeof(ask), NULL, 0);
	else
		tell(p, &m, sizeof(m), NULL, 0);
}

void
hold(struct peer *p, uint64_t sid, int fd)
{
	struct ctl_fds m = { .head = CTL_INIT(CTL_HOLD, (struct sid){ sid },
		struct ctl_fds), .mask = CTL_FD_OUT };

	tell(p, &m, sizeof(m), &fd, 1);
}

static void
spawn_by(struct peer *p, uint64_t sid, const char *command, uint32_t flags)
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
	u.m.flags = flags;
	strcpy(u.bytes + sizeof(u.m), command);
	tell(p, &u, size, NULL, 0);
}

void
spawn(struct peer *p, uint64_t sid, const char *command)
{
	spawn_by(p, sid, command, 0);
}

pid_t
spawn_untold(struct peer *p, uint64_t sid, const char *command)
{
	char line[320], path[96];
	pid_t pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/untold", dir);
	cr_assert_eq(mkfifo(path, 0600), 0);
	snprintf(line, sizeof(line), "echo $$ >%s; %s", path, command);
	spawn_by(p, sid, line, RELAY_UNTOLD);
	f = fopen(path, "re");
	cr_assert(f != NULL && fscanf(f, "%d", &pid) == 1);
	fclose(f);
	cr_assert_eq(unlink(path), 0);
	return pid;
}

struct ctl_exit
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

struct ctl_exit
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

char
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

void
await_gone(pid_t pid)
{
	int i;

	for (i = 0; i < DEADLINE_MS && state_of(pid) != 0; i++)
		poll(NULL, 0, 1);
	cr_assert_eq(state_of(pid), 0, "pid %d is still there", (int)pid);
}

pid_t
up(void)
{
	uint32_t i;

	guard = start_psupd(NULL);
	for (i = 0; i <= WORKERS; i++)
		peer_of(HERITAGE_WORKER, i, 1);
	return peer_of(HERITAGE_MASTER, 0, 1)->h.keeper_pid;
}
