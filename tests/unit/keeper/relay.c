/* SPDX-License-Identifier: MIT */
/*
 * Stands in for psup-master and psup-worker in the keeper's tests: says READY,
 * then passes every message between the keeper and the test, whose socket is
 * $PSUP_TEST_SOCKET, both ways, descriptors and all. Its greeting to the test
 * is the heritage it got. RELAY_SPAWN from the test runs a shell command as a
 * worker would: cloned as the keeper's child, SPAWNED sent before the exec.
 *
 * $PSUP_TEST_DIE: exits with that code instead of saying READY.
 * $PSUP_TEST_KILLED: as master, but for the first, kills itself between greeting and
 * READY, up to this generation.
 * $PSUP_TEST_STANDBY="HOW FROM TO": what starts as the standby, of these
 * generations, exits ("exit"), or kills itself once it hears a word from the test
 * ("wait"), instead of saying READY.
 * $PSUP_TEST_BEAT: its stats page shows a heartbeat at every turn.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "ctl.h"
#include "heritage.h"
#include "relay.h"
#include "shm/stats.h"

static struct ctl_msg msg;
static struct heritage heritage;

/* A connection to the test. */
static int
dial(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	const char *path = getenv("PSUP_TEST_SOCKET");
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (path == NULL || fd < 0)
		return -1;
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -1;
	return fd;
}

/* A command, marked as one of this keeper's. */
static void
spawn(const struct ctl_start *m, const char *command)
{
	struct ctl_head told = CTL_INIT(CTL_SPAWNED, m->head.sid,
	    struct ctl_head);
	char mark[64];
	long pid;

	pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
	if (pid != 0)
		return;
	setsid();
	if ((m->flags & RELAY_UNTOLD) == 0 &&
	    ctl_send(HERITAGE_FD_KEEPER, &told, sizeof(told), NULL, 0) < 0)
		_exit(126);
	snprintf(mark, sizeof(mark), "%llx.%llx",
	    (unsigned long long)heritage.incarnation,
	    (unsigned long long)m->head.sid.v);
	setenv("PSUP_INSTANCE", mark, 1);
	for (int fd = HERITAGE_FD_KEEPER; fd < 64; fd++)
		close(fd);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

/* Passes one message on. 0: that side is gone. */
static int
pass(int from, int to)
{
	struct pollfd room = { .fd = to, .events = POLLOUT };
	int r = ctl_recv(from, &msg);

	if (r == -EAGAIN)
		return 1;
	if (r <= 0)
		return 0;
	if (to == HERITAGE_FD_KEEPER && msg.head.type == RELAY_SPAWN) {
		spawn((const void *)msg.bytes,
		    (const char *)msg.bytes + sizeof(struct ctl_start));
		return 1;
	}
	while (ctl_send(to, msg.bytes, msg.size, msg.fds, msg.nfds) == -EAGAIN)
		poll(&room, 1, -1);
	for (size_t i = 0; i < msg.nfds; i++)
		close(msg.fds[i]);
	return 1;
}

/* The stats page, where one is asked for. */
static struct stats_page *
own_page(void)
{
	struct stats_page *page = NULL;
	int dir = open(heritage.runtime_dir, O_RDONLY | O_CLOEXEC);

	if (heritage.role != HERITAGE_MASTER)
		stats_attach_own(dir, STATS_PAGE_OF_WORKER(heritage.wid.slot),
		    &page);
	close(dir);
	return page;
}

/* The end of a standby that is not to come up. */
static void
fail_as_standby(const char *plan, int test)
{
	unsigned from = 1, to = 0;
	char how[8] = "";

	if (plan == NULL || heritage.role != HERITAGE_STANDBY ||
	    sscanf(plan, "%7s %u %u", how, &from, &to) != 3 ||
	    heritage.wid.generation < from || heritage.wid.generation > to)
		return;
	if (strcmp(how, "exit") == 0)
		_exit(3);
	(void)recv(test, how, sizeof(how), 0);
	raise(SIGKILL);
}

int
main(void)
{
	struct ctl_head ready = CTL_INIT(CTL_READY, (struct sid){ 0 },
	    struct ctl_head);
	const char *die = getenv("PSUP_TEST_DIE");
	const char *killed = getenv("PSUP_TEST_KILLED");
	struct stats_page *page = NULL;
	struct pollfd p[2] = { { .fd = HERITAGE_FD_KEEPER, .events = POLLIN },
		{ .events = POLLIN } };

	if (die != NULL)
		return atoi(die);
	if (heritage_receive(&heritage) < 0)
		return 90;
	if (getenv("PSUP_TEST_BEAT") != NULL)
		page = own_page();
	p[1].fd = dial();
	if (p[1].fd < 0 ||
	    send(p[1].fd, &heritage, sizeof(heritage), MSG_NOSIGNAL) < 0)
		p[1].fd = -1;
	if (killed != NULL && heritage.role == HERITAGE_MASTER &&
	    heritage.wid.generation > 1 &&
	    heritage.wid.generation <= (unsigned)atoi(killed))
		raise(SIGKILL);
	fail_as_standby(getenv("PSUP_TEST_STANDBY"), p[1].fd);
	if (ctl_send(HERITAGE_FD_KEEPER, &ready, sizeof(ready), NULL, 0) < 0)
		return 91;
	for (;;) {
		if (page != NULL)
			atomic_store(&page->heartbeat_ns, clock_boot_ns());
		poll(p, 2, -1);
		if (p[0].revents != 0) {
			if (p[1].fd >= 0) {
				if (!pass(HERITAGE_FD_KEEPER, p[1].fd))
					return 0;
			} else if (ctl_recv(HERITAGE_FD_KEEPER, &msg) == 0) {
				return 0;
			}
		}
		if (p[1].revents != 0 &&
		    !pass(p[1].fd, HERITAGE_FD_KEEPER))
			p[1].fd = -1;
	}
}
