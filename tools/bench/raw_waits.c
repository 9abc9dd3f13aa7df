/* SPDX-License-Identifier: MIT */
/* What waking alone takes: a process by another's exit, and by its answer. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void
raw_exits(const char *const *argv, int n, struct samples *ret)
{
	for (int i = 0; i < n; i++) {
		char text[64] = "";
		int ends[2];
		siginfo_t info;
		pid_t pid;
		ssize_t got;

		if (pipe2(ends, O_CLOEXEC) != 0)
			die("pipe: %s", strerror(errno));
		pid = fork();
		if (pid == 0) {
			dup2(ends[1], 1);
			execv(argv[0], (char **)(uintptr_t)argv);
			_exit(127);
		}
		close(ends[1]);
		if (pid < 0 ||
		    waitid(P_PID, (id_t)pid, &info, WEXITED) != 0)
			die("wait: %s", strerror(errno));
		got = read(ends[0], text, sizeof(text) - 1);
		close(ends[0]);
		if (got > 0)
			samples_add(ret, (double)(clock_boot_ns() -
			                     strtoull(text, NULL, 10)) / 1e3);
	}
}

/* ----------------------------------------------------------- round trips */

/* Sends `out` bytes and reads what comes, n times, or until the end. */
static void
talk(int sock, size_t out, int n, bool asks, struct samples *ret)
{
	struct epoll_event e = {.events = EPOLLIN};
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	char text[1024] = "";

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, sock, &e) != 0)
		die("epoll: %s", strerror(errno));
	for (int i = 0; i < n; i++) {
		uint64_t start = clock_boot_ns();

		if (asks && write(sock, text, out) < 0)
			break;
		if (epoll_wait(epoll, &e, 1, -1) < 0 ||
		    read(sock, text, sizeof(text)) <= 0 ||
		    (!asks && write(sock, text, out) < 0))
			break;
		if (asks)
			samples_add(ret,
			    (double)(clock_boot_ns() - start) / 1e3);
	}
	close(epoll);
	close(sock);
}

void
raw_trips(int n, struct samples *ret)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ||
	    (pid = fork()) < 0)
		die("socketpair, fork: %s", strerror(errno));
	if (pid == 0) {
		close(ends[0]);
		talk(ends[1], 600, n, false, NULL);
		_exit(0);
	}
	close(ends[1]);
	talk(ends[0], 100, n, true, ret);
	(void)waitpid(pid, NULL, 0);
}
