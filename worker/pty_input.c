/* SPDX-License-Identifier: MIT */
/*
 * What a terminal is fed: whole lines where it takes lines, through a pipe, so
 * that a byte is in one place whenever the worker is killed. Called by input.c,
 * and by pty.c when a session is taken over.
 */
#include "worker/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/fault.h"
#include "common/log.h"
#include "shm/spool.h"

/* After this byte a line in canonical mode is over, or thrown away. */
static bool
ends_line(char byte)
{
	static const char ends[] = "\n\r\003\004\025\032\034";

	return byte != '\0' && strchr(ends, byte) != NULL;
}

/* How many of the next bytes the terminal takes whole, and where the line
 * that they leave unfinished begins. In another mode than canonical there are
 * no lines. */
static size_t
line_room(struct child *c, uint64_t off, uint64_t end, uint64_t *ret_line)
{
	char buf[PTY_CHUNK];
	uint64_t line = atomic_load(&c->ring.hdr->pty_line);
	size_t want = end - off < sizeof(buf) ? (size_t)(end - off)
	                                      : sizeof(buf);
	ssize_t i, n = pread(c->in.spool_fd, buf, want, (off_t)off);

	if (n <= 0)
		n = 0;
	if (!pty_takes_lines(c)) {
		*ret_line = off + (uint64_t)n;
		return (size_t)n;
	}
	for (i = 0; i < n; i++) {
		if (ends_line(buf[i]))
			line = off + (uint64_t)i + 1;
		else if (off + (uint64_t)i + 1 - line > PTY_LINE_MAX)
			break;
	}
	*ret_line = line;
	return (size_t)i;
}

/* Input of which nobody knows whether the terminal got it. */
static void
uncertain_note(struct child *c, uint64_t bytes)
{
	_Atomic uint64_t *at = &c->ring.hdr->pty_uncertain;

	atomic_store(at, atomic_load(at) + bytes);
	pty_flags(c, 0, PTY_UNCERTAIN);
	log_event(LOG_WARN, "stdin-uncertain", KV("session", c->sid.v),
	    KV("bytes", bytes));
}

/* Without splice: the header says how much is neither here nor there. The
 * pipe holds at most a chunk, so it is empty once it is read. */
static ssize_t
staged_copy(struct child *c, size_t staged)
{
	char buf[PTY_CHUNK];
	ssize_t n, done = 0, k;
	int err = 0;

	atomic_store(&c->ring.hdr->pty_hand, (uint32_t)staged);
	pty_flags(c, 0, PTY_IN_HAND);
	n = read(c->in.fd, buf, sizeof(buf));
	if (n < 0)
		err = errno;
	FAULT("pty.in-hand");
	while (n > done) {
		k = write(c->pty.fd, buf + done, (size_t)(n - done));
		if (k < 0) {
			err = errno;
			break;
		}
		done += k;
	}
	FAULT("pty.after-write");
	/* what the terminal did not take goes back */
	if (n > done && write(c->in.fd, buf + done, (size_t)(n - done)) < 0)
		uncertain_note(c, (uint64_t)(n - done));
	pty_flags(c, PTY_IN_HAND, 0);
	return done > 0 ? done : err != 0 ? -err : -EAGAIN;
}

/* Gives the terminal what lies in the pipe. 0: it is empty. */
static int
give_staged(struct child *c)
{
	int staged = 0;
	ssize_t n;

	while (ioctl(c->in.fd, FIONREAD, &staged) == 0 && staged > 0) {
		n = -EINVAL;
		if (!pty_no_splice()) {
			n = splice(c->in.fd, NULL, c->pty.fd, NULL,
			    (size_t)staged, SPLICE_F_NONBLOCK);
			if (n < 0)
				n = -errno;
			FAULT("pty.after-give");
		}
		if (n == -EINVAL)
			n = staged_copy(c, (size_t)staged);
		if (n <= 0)
			return n < 0 ? (int)n : -EAGAIN;
		c->pty.given += (uint64_t)n;
	}
	return 0;
}

/* Gives the terminal the answers to queries; short ones, so whole or not. */
static int
give_answers(struct child *c)
{
	ssize_t n;

	if (c->pty.answer_len == 0)
		return 0;
	n = write(c->pty.fd, c->pty.answer, c->pty.answer_len);
	if (n < 0)
		return -errno;
	c->pty.answer_len -= (size_t)n;
	memmove(c->pty.answer, c->pty.answer + n, c->pty.answer_len);
	return c->pty.answer_len == 0 ? 0 : -EAGAIN;
}

int
pty_give(struct child *c, uint64_t end)
{
	struct ring_header *hdr = c->ring.hdr;
	uint64_t off, line = 0;
	size_t room;
	ssize_t n;
	int rc;

	for (;;) {
		rc = give_staged(c);
		if (rc == 0)
			rc = give_answers(c);
		off = (uint64_t)atomic_load(&hdr->spool_off);
		if (rc < 0 || off >= end)
			return rc;
		room = line_room(c, off, end, &line);
		pty_flags(c, PTY_HELD, room == 0 ? (uint32_t)PTY_HELD : 0u);
		if (room == 0)
			return -EBUSY;
		n = spool_splice(c->in.spool_fd, hdr, c->in.fd, off + room);
		FAULT("stdin.after-splice");
		if (n <= 0)
			return n < 0 ? (int)n : -EBADMSG;
		if ((size_t)n < room && line > off + (uint64_t)n)
			line = off + (uint64_t)n;
		atomic_store(&hdr->pty_line, line);
	}
}

/* Finds the line in hand again: a kill may have come before it was noted. */
static void
line_find(struct child *c)
{
	struct ring_header *hdr = c->ring.hdr;
	uint64_t off = (uint64_t)atomic_load(&hdr->spool_off);
	uint64_t line = atomic_load(&hdr->pty_line);
	char buf[PTY_CHUNK];
	size_t size, n;
	int fd;

	if (line >= off)
		return;
	size = off - line < sizeof(buf) ? (size_t)(off - line) : sizeof(buf);
	fd = spool_open_read(c->w->dirfd, c->sid);
	if (fd < 0)
		return;
	n = pread(fd, buf, size, (off_t)(off - size)) == (ssize_t)size ? size
	                                                               : 0;
	while (n > 0 && !ends_line(buf[n - 1]))
		n--;
	close(fd);
	if (n > 0)
		atomic_store(&hdr->pty_line, off - size + n);
}

/* A worker died with input in its hand. Where the pipe holds bytes they were
 * not read yet, or the rest of them is back already. */
static void
in_hand_find(struct child *c)
{
	int staged = 0;

	if ((atomic_load(&c->ring.hdr->pty_flags) & PTY_IN_HAND) == 0)
		return;
	if (c->in.fd < 0 || ioctl(c->in.fd, FIONREAD, &staged) != 0 ||
	    staged == 0)
		uncertain_note(c, atomic_load(&c->ring.hdr->pty_hand));
	pty_flags(c, PTY_IN_HAND, 0);
}

void
pty_input_take_over(struct child *c)
{
	in_hand_find(c);
	line_find(c);
}
