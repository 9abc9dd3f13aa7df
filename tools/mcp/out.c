/* SPDX-License-Identifier: MIT */
/* See out.h. Called by rpc.c, and by loop.c once stdout has room. */
#include "out.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/grow.h"
#include "log.h"

static struct {
	char *data;
	size_t at, len, cap; /* what waits is at .at .. .len */
	uint64_t end;
} out;

/* json_dump_callback()'s: appends. */
static int
append(const char *data, size_t len, void *)
{
	if (out.at > 0 && out.len + len > out.cap) {
		memmove(out.data, out.data + out.at, out.len - out.at);
		out.len -= out.at;
		out.at = 0;
	}
	if (!GROW(out.data, out.cap, out.len + len, 65536))
		return -1;
	memcpy(out.data + out.len, data, len);
	out.len += len;
	out.end += len;
	return 0;
}

void
out_message(json_t *message)
{
	/* An answer that is not whole is none: who waits for it would wait for
	 * ever, and who cannot even say so must not go on. */
	if (message == NULL ||
	    json_dump_callback(message, append, NULL, JSON_COMPACT) < 0 ||
	    append("\n", 1, NULL) < 0) {
		mcp_log("no memory");
		exit(EXIT_FAILURE);
	}
	json_decref(message);
}

size_t
out_queued(void)
{
	return out.len - out.at;
}

uint64_t
out_end(void)
{
	return out.end;
}

uint64_t
out_written(void)
{
	return out.end - out_queued();
}

/* A socket takes what it has room for. A pipe that poll() calls writable takes
 * PIPE_BUF bytes without waiting; its flags are not ours to change, for it may
 * be shared. */
static ssize_t
write_some(const char *data, size_t len)
{
	static bool is_pipe;
	ssize_t n;

	if (!is_pipe) {
		n = send(STDOUT_FILENO, data, len,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n >= 0 || errno != ENOTSOCK)
			return n;
		is_pipe = true;
	}
	return write(STDOUT_FILENO, data, len < PIPE_BUF ? len : PIPE_BUF);
}

int
out_write(void)
{
	ssize_t n = write_some(out.data + out.at, out_queued());

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	out.at += (size_t)n;
	if (out.at == out.len)
		out.at = out.len = 0;
	return 0;
}
