/* SPDX-License-Identifier: MIT */
/*
 * The worker's end of a terminal. Called by start.c and take.c to make and to
 * take it over, by pump.c for output, by input.c for input. Moves by splice(2)
 * where the kernel can, else by read and write: then what a kill finds between
 * the two is lost, at most PTY_CHUNK bytes (of input the header says so).
 */
#include "worker/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "shm/spool.h"
#include "worker/box.h"
#include "worker/link.h"
#include "worker/pump.h"
#include "worker/start_plan.h"

#define PTY_CHUNK 4096u

/* The kernel has refused to splice a terminal. */
static bool no_splice;

static bool
splice_refused(void)
{
	return no_splice || FAULT_FAILS("pty.splice");
}

/* Sets and clears bits of the header's flags; this worker is their writer. */
static void
flags_change(struct child *c, uint32_t clear, uint32_t set)
{
	_Atomic uint32_t *at = &c->ring.hdr->pty_flags;
	uint32_t old = atomic_load_explicit(at, memory_order_relaxed);

	if (((old & ~clear) | set) != old)
		atomic_store(at, (old & ~clear) | set);
}

bool
pty_takes_lines(struct child *c)
{
	struct termios t;
	uint32_t set;

	if (tcgetattr(c->pty.fd, &t) != 0)
		return false;
	set = ((t.c_lflag & ICANON) != 0 ? (uint32_t)PTY_CANON : 0u) |
	    ((t.c_lflag & ECHO) != 0 ? (uint32_t)PTY_ECHO : 0u);
	flags_change(c, PTY_CANON | PTY_ECHO, set);
	return (set & PTY_CANON) != 0;
}

/* A pipe that does not block, as one descriptor for both ends. */
static int
pipe_open(int *ret)
{
	char name[40];
	int fds[2], fd;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
		return -errno;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fds[0]);
	fd = open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		fd = -errno;
	close(fds[0]);
	close(fds[1]);
	if (fd < 0)
		return fd;
	*ret = fd;
	return 0;
}

/* The command's end, three times. Nobody's controlling terminal yet. */
static int
slave_open(int ptmx, int ret[3])
{
	int lock = 0;
	size_t i;

	if (ioctl(ptmx, TIOCSPTLCK, &lock) != 0)
		return -errno;
	ret[0] = ioctl(ptmx, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (ret[0] < 0)
		return -errno;
	for (i = 1; i < 3; i++) {
		ret[i] = fcntl(ret[0], F_DUPFD_CLOEXEC, ret[0]);
		if (ret[i] < 0)
			return -errno;
	}
	return 0;
}

/* Erasing a character erases all its bytes. */
static void
slave_set_up(int slave)
{
	struct termios t;

	if (tcgetattr(slave, &t) != 0)
		return;
	t.c_iflag |= IUTF8;
	(void)tcsetattr(slave, TCSANOW, &t);
}

/* The position of the next byte that the program writes: what it wrote before
 * is in the ring, in the pipe, or still in the kernel's terminal. */
static uint64_t
written(struct child *c)
{
	int fds[] = {c->out[0].fd, c->pty.fd}, n = 0;
	uint64_t pos = ring_pos(&c->ring);
	size_t i;

	for (i = 0; i < NELEMS(fds); i++)
		if (fds[i] >= 0 && ioctl(fds[i], FIONREAD, &n) == 0 && n > 0)
			pos += (uint64_t)n;
	return pos;
}

/* Size of the terminal; the kernel sends SIGWINCH. What is written from here
 * on is meant for it. */
void
pty_resize(struct child *c, unsigned cols, unsigned rows)
{
	struct winsize ws = {.ws_col = (unsigned short)cols,
	    .ws_row = (unsigned short)rows};
	uint64_t pos;

	if (c->pty.fd < 0 || cols == 0 || rows == 0 || cols > UINT16_MAX ||
	    rows > UINT16_MAX)
		return;
	pos = written(c);
	if (ioctl(c->pty.fd, TIOCSWINSZ, &ws) != 0)
		return;
	atomic_store(&c->ring.hdr->pty_size, cols << 16 | rows);
	ring_note_size(&c->ring, pos, cols, rows, clock_wall_ms());
}

/* A command in a box has a terminal of that box's. */
static int
master_open(struct child *c)
{
	int fd;

	if (c->plan->box_fd >= 0)
		return box_ptmx(&c->plan->order, c->plan->box_fd);
	fd = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int
pty_open(struct child *c, unsigned cols, unsigned rows, int ret_slave[3])
{
	int slave[3] = {-1, -1, -1};
	unsigned index = 0;
	size_t i;
	int rc = 0;

	if (FAULT_FAILS("pty.open"))
		return -ENOSPC; /* as where every terminal is taken */
	rc = master_open(c);
	if (rc < 0)
		return rc;
	c->pty.fd = rc;
	rc = slave_open(c->pty.fd, slave);
	if (rc == 0 && ioctl(c->pty.fd, TIOCGPTN, &index) != 0)
		rc = -errno;
	if (rc == 0)
		rc = pipe_open(&c->out[0].fd);
	if (rc == 0)
		rc = pipe_open(&c->in.fd);
	if (rc < 0) {
		for (i = 0; i < 3; i++)
			if (slave[i] >= 0)
				close(slave[i]);
		pty_close(c);
		if (c->out[0].fd >= 0)
			close(c->out[0].fd);
		c->out[0].fd = -1;
		return rc;
	}
	slave_set_up(slave[0]);
	memcpy(ret_slave, slave, sizeof(slave));
	atomic_store(&c->ring.hdr->pty_index, index);
	pty_resize(c, cols, rows);
	flags_change(c, 0, PTY_OPEN);
	(void)pty_takes_lines(c);
	return 0;
}

void
pty_close(struct child *c)
{
	if (c->pty.fd >= 0)
		close(c->pty.fd);
	c->pty.fd = -1;
	c->pty.retry_ns = 0;
	c->pty.answer_len = 0;
}

/* ----------------------------------------------------------------- output */

/* Without splice: a kill between read and write loses what was read. */
static ssize_t
fetch_copy(struct child *c, size_t max)
{
	char buf[PTY_CHUNK];
	ssize_t n = read(c->pty.fd, buf,
	    max < sizeof(buf) ? max : sizeof(buf));

	if (n <= 0)
		return n < 0 ? -errno : 0;
	/* the pipe is empty, so it takes this whole */
	return write(c->out[0].fd, buf, (size_t)n) == n ? n : -EPROTO;
}

bool
pty_staged(const struct child *c)
{
	int staged = 0;

	return c->pty.fd >= 0 && c->out[0].fd >= 0 &&
	    ioctl(c->out[0].fd, FIONREAD, &staged) == 0 && staged > 0;
}

ssize_t
pty_fetch(struct child *c, size_t max)
{
	ssize_t n = -EINVAL;

	FAULT("pty.before-fetch");
	if (!splice_refused()) {
		n = splice(c->pty.fd, NULL, c->out[0].fd, NULL, max,
		    SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
		if (n < 0)
			n = -errno;
		FAULT("pty.after-fetch");
	}
	no_splice |= n == -EINVAL;
	if (n < 0 && n != -EAGAIN && n != -EINTR && n != -EIO)
		n = fetch_copy(c, max);
	return n == -EIO ? 0 : n; /* nobody has it open */
}

/* Scans n bytes of the ring's file that end at the cursor. */
static void
scan_last(struct child *c, size_t n)
{
	static char buf[RING_MAX_SPLICE];
	const struct ring_header *hdr = c->ring.hdr;
	uint64_t lap = atomic_load(&hdr->lap);
	int64_t off = atomic_load(&hdr->off[lap & 1]);
	ssize_t got;

	got = pread(c->ring.fd, buf, n, off - (int64_t)n);
	if (got > 0)
		pty_scan(&c->pty.scan, buf, (size_t)got, c->pty.answer,
		    sizeof(c->pty.answer), &c->pty.answer_len);
}

/* A splice never crosses a wrap, so the bytes lie just before the cursor. What
 * was scanned is noted before it is answered: a query is answered once, or,
 * where the worker is killed here, not at all. */
void
pty_look(struct child *c, uint64_t before)
{
	struct ring_header *hdr = c->ring.hdr;
	uint64_t now = ring_pos(&c->ring);

	FAULT("pty.before-look");
	if (now > before && now - before <= RING_MAX_SPLICE)
		scan_last(c, (size_t)(now - before));
	flags_change(c, PTY_CURSOR_NORMAL | PTY_CURSOR_APP | PTY_PASTE,
	    c->pty.scan.modes);
	FAULT("pty.in-look");
	atomic_store(&hdr->pty_scanned, now - c->pty.scan.len);
	(void)pty_takes_lines(c);
}

/* ------------------------------------------------------------------ input */

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
	flags_change(c, 0, PTY_UNCERTAIN);
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
	flags_change(c, 0, PTY_IN_HAND);
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
	flags_change(c, PTY_IN_HAND, 0);
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
		if (!splice_refused()) {
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
		flags_change(c, PTY_HELD, room == 0 ? (uint32_t)PTY_HELD : 0u);
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

/* -------------------------------------------------------------- take-over */

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
	flags_change(c, PTY_IN_HAND, 0);
}

void
pty_take_over(struct child *c)
{
	struct ring_header *hdr = c->ring.hdr;
	uint64_t lap = atomic_load(&hdr->lap);
	uint64_t head = atomic_load(&hdr->head);
	uint64_t from = atomic_load(&hdr->pty_scanned), in_lap;

	if (c->pty.fd < 0)
		return;
	c->pty.scan.modes = atomic_load(&hdr->pty_flags) &
	    (PTY_CURSOR_NORMAL | PTY_CURSOR_APP | PTY_PASTE);
	in_hand_find(c);
	line_find(c);
	in_lap = (uint64_t)atomic_load(&hdr->off[lap & 1]) - RING_DATA_OFFSET -
	    (lap == 0 ? 0 : hdr->head_bytes);
	if (from >= head)
		return;
	if (head - from > RING_MAX_SPLICE)
		from = head - RING_MAX_SPLICE;
	if (head - from > in_lap)
		from = head - in_lap;
	pty_look(c, from);
}
