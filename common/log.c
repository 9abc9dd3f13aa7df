/* SPDX-License-Identifier: MIT */
/*
 * One line, one write. A log must never stop the process that writes it, and
 * the descriptor may be shared with whoever started us, so its flags are not
 * touched: a pipe or terminal is opened a second time, non-blocking, a socket
 * is written with MSG_DONTWAIT, and where neither works poll() is asked first.
 */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "text.h"

#define LINE_MAX_BYTES 2048 /* under PIPE_BUF: a pipe takes all or nothing */

enum log_way { WAY_NONE, WAY_FILE, WAY_SOCKET, WAY_OWN, WAY_POLL };

static struct {
	const char *process;
	int fd;
	int own_fd; /* the second opening of a pipe or terminal */
	enum log_way way;
	enum log_level max;
	uint64_t dropped;
	uint64_t dropped_said;
} state = { .process = "psup", .fd = -1, .own_fd = -1 };

static const char *const level_names[] = { "error", "warn", "note", "debug" };

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
	state.own_fd =
	    open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return state.own_fd >= 0 ? WAY_OWN : WAY_POLL;
}

void
log_open(const char *process, int fd, enum log_level max)
{
	if (state.own_fd >= 0)
		close(state.own_fd);
	state.own_fd = -1;
	state.process = process;
	state.fd = fd;
	state.max = max;
	state.dropped = 0;
	state.dropped_said = 0;
	state.way = choose_way(fd);
}

/* Is there room, and somebody to read it? */
static bool
is_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 0) == 1 && p.revents == POLLOUT;
}

/* One attempt. */
static bool
write_line(const char *line, size_t len)
{
	ssize_t n = -1;

	switch (state.way) {
	case WAY_NONE:
		return true;
	case WAY_FILE:
		n = write(state.fd, line, len);
		break;
	case WAY_SOCKET:
		n = send(state.fd, line, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		break;
	case WAY_OWN:
	case WAY_POLL:
		/* poll also spares a SIGPIPE where the reader is gone */
		if (is_writable(state.fd))
			n = write(state.way == WAY_OWN ? state.own_fd :
			    state.fd, line, len);
		break;
	}
	return n == (ssize_t)len;
}

void
log_line(enum log_level level, const char *fmt, ...)
{
	char raw[LINE_MAX_BYTES / 2], line[LINE_MAX_BYTES];
	int saved_errno = errno;
	size_t len;
	va_list ap;
	int n;

	CHECK((size_t)level < NELEMS(level_names));
	if (level > state.max)
		return;
	va_start(ap, fmt);
	n = vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	n = snprintf(line, 128, "%s %s: ", level_names[level], state.process);
	len = n < 128 ? (size_t)n : 127;
	len += text_escape(raw, strlen(raw), false, line + len,
	    sizeof(line) - len - 64);
	if (state.dropped > state.dropped_said)
		len += (size_t)snprintf(line + len, 63, " dropped-before=%llu",
		    (unsigned long long)(state.dropped - state.dropped_said));
	line[len++] = '\n';
	if (write_line(line, len))
		state.dropped_said = state.dropped;
	else
		state.dropped++;
	errno = saved_errno;
}

uint64_t
log_dropped(void)
{
	return state.dropped;
}
