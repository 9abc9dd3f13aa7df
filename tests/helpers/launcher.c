/* SPDX-License-Identifier: MIT */
/*
 * launcher [WHAT...] PROGRAM [ARG...]: starts a program as a service manager
 * does, with descriptors from 3 on, one for each WHAT in its order:
 *
 *     listen=PATH   a Unix stream socket that listens there; its directory is
 *                   made, 0700
 *     stream=PATH   one that is bound and does not listen
 *     file=PATH     a file to write to
 *     read=PATH     a file to read from
 *
 * and with the variables of socket activation:
 *
 *     fds=N         $LISTEN_FDS, with $LISTEN_PID this process
 *     names=A:B     $LISTEN_FDNAMES
 *     pid=N         another $LISTEN_PID
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int next_fd = 3;

static void
fail(const char *what)
{
	fprintf(stderr, "launcher: %s: %s\n", what, strerror(errno));
	exit(125);
}

/* Puts a descriptor at the next number. */
static void
place(int fd, const char *what)
{
	if (fd < 0 || (fd != next_fd && dup2(fd, next_fd) < 0))
		fail(what);
	next_fd++;
}

static int
socket_at(const char *path, int listens)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	char dir[128];
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	snprintf(dir, sizeof(dir), "%s", path);
	(void)mkdir(dirname(dir), 0700);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
	    (listens && listen(fd, 64) < 0))
		fail(path);
	return fd;
}

/* One WHAT. 0: it is none. */
static int
take(const char *arg)
{
	const char *value = strchr(arg, '=');
	size_t n;

	if (value == NULL || arg[0] == '/')
		return 0;
	n = (size_t)(value++ - arg);
	if (strncmp(arg, "listen", n) == 0)
		place(socket_at(value, 1), arg);
	else if (strncmp(arg, "stream", n) == 0)
		place(socket_at(value, 0), arg);
	else if (strncmp(arg, "file", n) == 0)
		place(open(value, O_WRONLY | O_CREAT | O_TRUNC, 0600), arg);
	else if (strncmp(arg, "read", n) == 0)
		place(open(value, O_RDONLY), arg);
	else if (strncmp(arg, "names", n) == 0)
		setenv("LISTEN_FDNAMES", value, 1);
	else if (strncmp(arg, "pid", n) == 0)
		setenv("LISTEN_PID", value, 1);
	else if (strncmp(arg, "fds", n) == 0)
		setenv("LISTEN_FDS", value, 1);
	else
		return 0;
	return 1;
}

int
main(int argc, char **argv)
{
	char pid[16];
	int i;

	snprintf(pid, sizeof(pid), "%ld", (long)getpid());
	setenv("LISTEN_PID", pid, 1);
	for (i = 1; i < argc && take(argv[i]); i++)
		;
	if (i == argc)
		return 125;
	execvp(argv[i], argv + i);
	fail(argv[i]);
}
