/* SPDX-License-Identifier: MIT */
/*
 * What the master does for terminals: the rule of long lines, the end of file,
 * resize. The terminal itself is the worker's. Called by api/ and, at RUNNING,
 * by recv.c.
 *
 * Long lines: in canonical mode the kernel keeps 4095 bytes of a line and
 * throws the rest away. A write that would make such a line is refused here,
 * before any of it is taken. The program may change the mode afterwards, so
 * the worker looks once more before it gives a line to the terminal; one that
 * is too long then is held back until the program takes bytes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include "common/check.h"
#include "supervisor/master.h"

#define LINE_MAX_BYTES 4095u
#define PTS_MAJOR_LOW  136u /* /dev/pts/N, Documentation/admin-guide */
#define PTS_MAJOR_HIGH 143u

/* After this byte a line is over, or thrown away; as worker/pty.c has it. */
static bool
ends_line(char byte)
{
	static const char ends[] = "\n\r\003\004\025\032\034";

	return byte != '\0' && strchr(ends, byte) != NULL;
}

/* Does the program read lines at this moment? The command's end is looked at
 * itself, since what the header says may be old: a program need not write
 * anything when it changes the mode. */
static bool
is_canonical(
    struct master *m, const struct session *s, const struct ring_header *h)
{
	char name[32];
	struct termios t;
	struct stat st;
	bool canonical = (h->pty_flags & PTY_CANON) != 0;
	int fd;

	snprintf(name, sizeof(name), "/dev/pts/%u", (unsigned)h->pty_index);
	fd = s->wish.host == HOST_SANDBOX
	    ? boxes_open(m, s, name) /* ours of that name is another one */
	    : open(name,
		O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return canonical;
	if (fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
	    major(st.st_rdev) >= PTS_MAJOR_LOW &&
	    major(st.st_rdev) <= PTS_MAJOR_HIGH && tcgetattr(fd, &t) == 0)
		canonical = (t.c_lflag & ICANON) != 0;
	close(fd);
	return canonical;
}

/* The header page of a session that runs; false: there is none. */
static bool
header_of(struct master *m, struct session *s, struct ring_facts *ret)
{
	struct ring_reader *rd = NULL;

	if (s->state != STATE_QUEUED && s->state != STATE_STARTING)
		rd = readers_get(m, s->id.sid);
	return rd != NULL && ring_facts(rd, ret) == RING_OK;
}

bool
terminal_reads_lines(struct master *m, struct session *s)
{
	static struct ring_facts f; /* a page: used and forgotten here */

	return !header_of(m, s, &f) || is_canonical(m, s, &f.raw);
}

/* The longest line there would be, counting what is queued. */
static uint64_t
longest_line(uint64_t begun, const char *data, size_t n)
{
	uint64_t longest = 0, line = begun;

	for (size_t i = 0; i < n; i++) {
		if (ends_line(data[i]))
			line = 0;
		else if (++line > longest)
			longest = line;
	}
	return longest;
}

bool
terminal_refuses(struct master *m, struct session *s, const char *data,
    size_t n, struct proto_problem *why)
{
	static struct ring_facts f; /* a page: used and forgotten here */
	uint64_t line = s->terminal.line_at, longest;

	if (longest_line(s->input.spool_end - line, data, n) <=
		LINE_MAX_BYTES ||
	    !header_of(m, s, &f))
		return false;
	/* what was taken in another mode belongs to no line */
	if (f.raw.pty_line > line && f.raw.pty_line <= s->input.spool_end)
		line = f.raw.pty_line;
	longest = longest_line(s->input.spool_end - line, data, n);
	if (longest <= LINE_MAX_BYTES || !is_canonical(m, s, &f.raw))
		return false;
	proto_problem_set(why, PROTO_E_LINE_TOO_LONG, "data",
	    "a line of %llu bytes: the terminal of session %s reads lines now "
	    "and keeps %u bytes of each; send shorter lines, or wait until its "
	    "program takes single bytes",
	    (unsigned long long)longest, s->id.slug, LINE_MAX_BYTES);
	return true;
}

void
terminal_begin(struct session *s, bool pty, uint32_t cols, uint32_t rows)
{
	s->terminal.pty = pty;
	s->terminal.cols = cols;
	s->terminal.rows = rows;
}

void
terminal_accepted(struct session *s, const char *data, size_t n)
{
	for (size_t i = n; i > 0; i--) {
		if (!ends_line(data[i - 1]))
			continue;
		s->terminal.line_at = s->input.spool_end - (n - i);
		return;
	}
}

/* ^D at the begin of a line is the end of file; within one it only hands the
 * line over, so there it takes two. */
int
terminal_eof(struct master *m, struct session *s)
{
	static struct ring_facts f;
	bool canonical = true;
	size_t n;
	int r;

	if (header_of(m, s, &f))
		canonical = is_canonical(m, s, &f.raw);
	n = canonical && s->input.spool_end > s->terminal.line_at ? 2 : 1;
	r = stdin_append(m, s, "\004\004", n);
	if (r == 0 && s->state == STATE_FREE)
		s->terminal.pty_eof = (uint32_t)n;
	return r;
}

/* The size, to the worker. */
static void
order_size(struct master *m, struct session *s)
{
	struct ctl_size msg = {
	    .head = CTL_INIT(CTL_RESIZE, s->id.sid, struct ctl_size),
	    .cols = (uint16_t)s->terminal.cols,
	    .rows = (uint16_t)s->terminal.rows};

	pool_order(m, s, &msg, sizeof(msg), false, -1);
}

void
terminal_resize(struct master *m, struct session *s, uint32_t cols,
    uint32_t rows)
{
	CHECK(s->terminal.pty && session_live(s));
	s->terminal.cols = cols;
	s->terminal.rows = rows;
	order_size(m, s);
	session_touch(m, s);
}

void
terminal_running(struct master *m, struct session *s,
    const struct ctl_running *msg)
{
	if (msg->pty != 0) {
		s->terminal.pty = true;
		order_size(m, s); /* it may have changed meanwhile */
		return;
	}
	if (!s->terminal.pty)
		return;
	s->terminal.pty = false;
	s->terminal.pty_error = msg->pty_error <= INT32_MAX &&
		msg->pty_error != 0
	    ? (int32_t)msg->pty_error
	    : EIO;
	/* a pipe ends without a character */
	stdin_take_back(s, s->terminal.pty_eof);
	s->terminal.pty_eof = 0;
	session_touch(m, s);
}

/* What workers died with in their hands, where a terminal cannot be spliced:
 * at most once, and the count is said. */
void
terminal_uncertain(struct master *m, struct session *s)
{
	struct ring_reader *rd;
	struct ring_glance g;

	if (!s->terminal.pty || !session_live(s) || s->state == STATE_QUEUED ||
	    s->state == STATE_STARTING)
		return;
	rd = readers_get(m, s->id.sid);
	if (rd == NULL || ring_glance(rd, &g) != RING_OK ||
	    g.stdin_uncertain <= s->terminal.uncertain ||
	    g.stdin_uncertain > s->input.spool_end)
		return;
	s->terminal.uncertain = g.stdin_uncertain;
	session_touch(m, s);
}

/* A terminal begins in the normal mode; but a program that has written nothing
 * yet may be about to say otherwise. */
enum cursor_mode
session_cursor_mode(struct master *m, struct session *s)
{
	static struct ring_facts f;

	if (!s->terminal.pty)
		return CURSOR_NORMAL;
	if (!header_of(m, s, &f))
		return CURSOR_UNKNOWN;
	if ((f.raw.pty_flags & PTY_CURSOR_APP) != 0)
		return CURSOR_APPLICATION;
	return (f.raw.pty_flags & PTY_CURSOR_NORMAL) != 0 || f.head > 0
	    ? CURSOR_NORMAL
	    : CURSOR_UNKNOWN;
}
