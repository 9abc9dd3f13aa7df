/* SPDX-License-Identifier: MIT */
/*
 * The worker's end of a terminal, and what comes out of it; what goes in:
 * pty_input.c. Called by start.c and take.c to make and to take it over, by
 * pump.c for output. Moves by splice(2) where the kernel can, else by read and
 * write: then what a kill finds between the two is lost, at most PTY_CHUNK bytes
 * (of input the header says so).
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
#include "common/fault.h"
#include "worker/box.h"
#include "worker/start_plan.h"

/* The kernel has refused to splice a terminal. */
static bool no_splice;

bool
pty_no_splice(void)
{
	return no_splice || FAULT_FAILS("pty.splice");
}

void
pty_flags(struct child *c, uint32_t clear, uint32_t set)
{
	_Atomic uint32_t *at = &c->ring.hdr->pty_flags;
	uint32_t old = RELAXED(*at);

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
	pty_flags(c, PTY_CANON | PTY_ECHO, set);
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
	pty_flags(c, 0, PTY_OPEN);
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
	if (!pty_no_splice()) {
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
	pty_flags(c, PTY_CURSOR_NORMAL | PTY_CURSOR_APP | PTY_PASTE,
	    c->pty.scan.modes);
	FAULT("pty.in-look");
	atomic_store(&hdr->pty_scanned, now - c->pty.scan.len);
	(void)pty_takes_lines(c);
}

/* -------------------------------------------------------------- take-over */

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
	pty_input_take_over(c);
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
