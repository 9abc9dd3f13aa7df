/* SPDX-License-Identifier: MIT */
/*
 * One line, one write. A log must never stop the process that writes it, and
 * the descriptor may be shared with whoever started us, so its flags are not
 * touched: a pipe or terminal is opened a second time, non-blocking, a socket
 * is written with MSG_DONTWAIT, and where neither works poll() is asked first.
 */
#include "log_write.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum log_way { WAY_NONE, WAY_FILE, WAY_SOCKET, WAY_OWN, WAY_POLL };

static struct {
	int fd;
	int own_fd; /* the second opening of a pipe or terminal */
	enum log_way way;
} sink = { .fd = -1, .own_fd = -1 };

/* Out of the way of the numbers that a program reserves; -1: not possible. */
static int
lift(int fd)
{
	int high;

	if (fd < 0 || fd >= LOG_FD_MIN)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, LOG_FD_MIN);
	close(fd);
	return high;
}

/* How to write to this descriptor without ever waiting. */
static enum log_way
choose_way(int fd)
{
	char path[40];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return WAY_NONE;
	if (S_ISREG(st.st_mode))
		return WAY_FILE;
	if (S_ISSOCK(st.st_mode))
		return WAY_SOCKET;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	sink.own_fd = lift(open(path,
	    O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
	return sink.own_fd >= 0 ? WAY_OWN : WAY_POLL;
}

void
log_write_open(int fd)
{
	if (sink.own_fd >= 0)
		close(sink.own_fd);
	sink.own_fd = -1;
	sink.fd = fd;
	sink.way = choose_way(fd);
}

bool
log_is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;
	int end = 0;

	return stream != NULL &&
	    sscanf(stream, "%llu:%llu%n", &dev, &ino, &end) == 2 &&
	    stream[end] == '\0' && fd >= 0 && fstat(fd, &st) == 0 &&
	    st.st_dev == dev && st.st_ino == ino;
}

/* Is there room, and somebody to read it? */
static bool
is_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 0) == 1 && p.revents == POLLOUT;
}

bool
log_write(const char *line, size_t len)
{
	ssize_t n = -1;

	switch (sink.way) {
	case WAY_NONE:
		return true;
	case WAY_FILE:
		n = write(sink.fd, line, len);
		break;
	case WAY_SOCKET:
		n = send(sink.fd, line, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		break;
	case WAY_OWN:
	case WAY_POLL:
		/* poll also spares a SIGPIPE where the reader is gone */
		if (is_writable(sink.fd))
			n = write(sink.way == WAY_OWN ? sink.own_fd : sink.fd,
			    line, len);
		break;
	}
	return n == (ssize_t)len;
}
