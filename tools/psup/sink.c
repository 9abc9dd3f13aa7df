/* SPDX-License-Identifier: MIT */
/*
 * The buffered, non-blocking way to stdout and stderr. A pipe or terminal is
 * opened again through /proc, so that O_NONBLOCK is ours alone and not the
 * other users' of the same open file. Called by run.c.
 */
#include "sink.h"
#include "common/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define ATOMIC_BYTES 4096u /* a pipe that polls writable takes so much */

void
sink_open(struct sink *s, int fd)
{
	char path[40];
	struct stat st;

	*s = (struct sink){.fd = fd, .own = -1};
	if (fstat(fd, &st) < 0 || S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	s->own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (s->own >= 0)
		s->fd = s->own;
	else
		s->blocks = true;
}

void
sink_close(struct sink *s)
{
	if (s->own >= 0)
		close(s->own);
	free(s->data);
	*s = (struct sink){.fd = -1, .own = -1};
}

int
sink_put(struct sink *s, const char *data, size_t len)
{
	if (s->broken || s->error != 0)
		return 0;
	if (s->at == s->len) {
		s->at = s->len = 0;
	} else if (s->cap - s->len < len && s->at > 0) {
		memmove(s->data, s->data + s->at, s->len - s->at);
		s->len -= s->at;
		s->at = 0;
	}
	if (!GROW(s->data, s->cap, s->len + len, 65536))
		return -ENOMEM;
	memcpy(s->data + s->len, data, len);
	s->len += len;
	return 0;
}

/* One write that does not block. Bytes or -1. */
static ssize_t
sink_write(const struct sink *s)
{
	struct pollfd pfd = {.fd = s->fd, .events = POLLOUT};
	size_t len = s->len - s->at;
	ssize_t n;

	if (s->blocks) {
		if (poll(&pfd, 1, 0) == 0) {
			errno = EAGAIN;
			return -1;
		}
		len = len < ATOMIC_BYTES ? len : ATOMIC_BYTES;
	}
	n = send(s->fd, s->data + s->at, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n >= 0 || errno != ENOTSOCK)
		return n;
	return write(s->fd, s->data + s->at, len);
}

void
sink_flush(struct sink *s)
{
	ssize_t n;

	while (s->at < s->len && !s->broken && s->error == 0) {
		n = sink_write(s);
		if (n >= 0) {
			s->at += (size_t)n;
		} else if (errno == EAGAIN) {
			return;
		} else if (errno == EPIPE) {
			s->broken = true;
		} else if (errno != EINTR) {
			s->error = errno;
		}
	}
}

size_t
sink_pending(const struct sink *s)
{
	return s->broken || s->error != 0 ? 0 : s->len - s->at;
}
