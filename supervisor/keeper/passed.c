/* SPDX-License-Identifier: MIT */
/*
 * What psupd inherits: main.c calls this once, before anything else is
 * opened. A socket from a stranger's hand is looked at before it is believed
 * to be one.
 */
#include "supervisor/keeper/passed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/config_options.h"
#include "supervisor/keeper/keeper.h"

#define LISTEN_FIRST 3
#define LISTEN_MAX   1024 /* descriptors; more is a mistake of somebody's */
#define NAME         "psup"

void
passed_open_stdio(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		(void)close(fd);
	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)fcntl(fd, F_SETFD, 0);
}

/* Writes the sentence; -EINVAL. */
#define refuse(why, size, ...) ((void)snprintf(why, size, __VA_ARGS__), -EINVAL)

/* An option of a socket, or -1. */
static int
option_of(int fd, int option)
{
	int v = -1;
	socklen_t len = sizeof(v);

	return getsockopt(fd, SOL_SOCKET, option, &v, &len) < 0 ? -1 : v;
}

/* A Unix stream socket that listens? */
static bool
is_listener(int fd)
{
	return option_of(fd, SO_DOMAIN) == AF_UNIX &&
	    option_of(fd, SO_TYPE) == SOCK_STREAM &&
	    option_of(fd, SO_ACCEPTCONN) == 1;
}

/* How many descriptors were passed to this process, by its environment. */
static int
count_passed(int *ret, char *why, size_t why_size)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	int64_t v;

	*ret = 0;
	if (pid == NULL || fds == NULL)
		return 0;
	if (!config_parse_number(pid, &v))
		return refuse(why, why_size, "$LISTEN_PID is \"%.40s\": "
		    "expected a process id", pid);
	if (v != getpid())
		return 0; /* somebody else's, inherited */
	if (!config_parse_number(fds, &v) || v < 0 || v > LISTEN_MAX)
		return refuse(why, why_size, "$LISTEN_FDS is \"%.40s\": "
		    "expected 0 to %d", fds, LISTEN_MAX);
	*ret = (int)v;
	return 0;
}

/* Which of them is called psup; -1: none. */
static int
named(const char *names, int count)
{
	int i;

	for (i = 0; names != NULL && i < count; i++) {
		size_t n = strcspn(names, ":");

		if (n == strlen(NAME) && memcmp(names, NAME, n) == 0)
			return i;
		names = names[n] == ':' ? names + n + 1 : NULL;
	}
	return -1;
}

/* The one that is to be the server's; -1 where none was passed. */
static int
choose(int *ret, char *why, size_t why_size)
{
	int count, which = 0, r;

	*ret = -1;
	r = count_passed(&count, why, why_size);
	if (r < 0 || count == 0)
		return r;
	if (count > 1) {
		which = named(getenv("LISTEN_FDNAMES"), count);
		if (which < 0)
			return refuse(why, why_size, "%d descriptors were "
			    "passed ($LISTEN_FDS): expected one, or one with "
			    "the name " NAME " in $LISTEN_FDNAMES", count);
	}
	if (!is_listener(LISTEN_FIRST + which))
		return refuse(why, why_size, "descriptor %d, passed by "
		    "$LISTEN_FDS, is no listening Unix stream socket",
		    LISTEN_FIRST + which);
	*ret = LISTEN_FIRST + which;
	return 0;
}

/* Above the numbers for handing over. */
static int
lift(int fd)
{
	return fd < 0 ? -1 :
			fcntl(fd, F_DUPFD_CLOEXEC, KEEPER_FD_FREE);
}

/* Closes all from 3 on but these two. */
static void
close_others(int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a;
	int from = STDERR_FILENO + 1;

	if (low >= from) {
		if (low > from)
			(void)close_range((unsigned)from, (unsigned)low - 1, 0);
		from = low + 1;
	}
	if (high >= from) {
		if (high > from)
			(void)close_range((unsigned)from, (unsigned)high - 1,
			    0);
		from = high + 1;
	}
	(void)close_range((unsigned)from, ~0u, 0);
}

int
passed_take(int ready, struct passed *ret, char *why, size_t why_size)
{
	struct passed p = { -1, -1 };
	int r, fd, flags;

	r = choose(&fd, why, why_size);
	if (r == 0 && fd >= 0 && (p.listener = lift(fd)) < 0)
		r = refuse(why, why_size, "descriptor %d: %s", fd,
		    strerror(errno));
	if (r == 0 && ready >= 0) {
		flags = fcntl(ready, F_GETFL);
		p.ready = flags >= 0 ? lift(ready) : -1;
		if (p.ready < 0)
			r = refuse(why, why_size, "--ready-fd %d: %s", ready,
			    strerror(errno));
		else if ((flags & O_ACCMODE) == O_RDONLY)
			r = refuse(why, why_size,
			    "--ready-fd %d is not open for writing", ready);
	}
	close_others(p.listener, p.ready);
	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd < KEEPER_FD_FREE - 1);
	if (fd >= KEEPER_FD_FREE)
		(void)close(fd);
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	*ret = p;
	return r;
}
