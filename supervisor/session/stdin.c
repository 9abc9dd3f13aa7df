/* SPDX-License-Identifier: MIT */
/*
 * What a session is fed: how much of it lies in the spool, how much the command
 * has taken, and whether there may be more. Called by api/ for who feeds it, and
 * by whoever hears of it from its worker or its ring.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/rundir.h"
#include "shm/spool.h"
#include "supervisor/master.h"

void
stdin_loaded(struct session *s)
{
	s->input.spooled = true;
}

void
stdin_found(struct master *m, struct session *s, const struct ring_header *h)
{
	char name[RUNDIR_NAME_MAX];
	struct stat st;

	s->input.closed = h->stdin_state == STDIN_CLOSED;
	s->input.spool_eof = h->stdin_eof != 0;
	s->input.spool_end = h->spool_end;
	rundir_spool_name(s->id.sid, name);
	if (fstatat(m->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (uint64_t)st.st_size > s->input.spool_end)
		s->input.spool_end = (uint64_t)st.st_size;
}

int
stdin_append(struct master *m, struct session *s, const char *data, size_t n)
{
	int fd, r;

	if (n == 0)
		return 0;
	CHECK(session_live(s));
	s->input.spooled = true;
	fd = spool_open_append(m->dirfd, s->id.sid);
	if (fd < 0)
		return fd;
	r = spool_append(fd, s->input.spool_end, data, n);
	close(fd);
	if (r < 0)
		return r;
	FAULT("master.in-spool");
	s->input.spool_end += n;
	room_count(s);
	if (s->terminal.pty)
		terminal_accepted(s, data, n);
	session_touch(m, s);
	return 0;
}

void
stdin_take_back(struct session *s, uint64_t n)
{
	if (n <= s->input.spool_end)
		s->input.spool_end -= n;
}

void
stdin_eof(struct session *s)
{
	s->input.spool_eof = true;
}

void
stdin_closed(struct session *s)
{
	s->input.closed = true;
}

void
stdin_consumed(struct session *s, uint64_t pos)
{
	if (pos <= s->input.spool_end && pos > s->input.consumed)
		s->input.consumed = pos;
	room_count(s);
}

bool
stdin_has(const struct session *s)
{
	return s->input.spool_end > 0 || (s->input.spool_eof &&
	    (s->wish.stdin_pipe || s->terminal.pty));
}

void
stdin_order(struct master *m, struct session *s)
{
	struct ctl_stdin in = {.head = CTL_INIT(CTL_STDIN, s->id.sid,
				   struct ctl_stdin),
	    .pos = s->input.spool_end, .eof = s->input.spool_eof};

	pool_order(m, s, &in, sizeof(in), true, -1);
}

void
stdin_fed(struct master *m, struct session *s)
{
	s->input.fed_ms = clock_wall_ms();
	stdin_order(m, s);
}

void
stdin_watch(struct master *m, struct session *s)
{
	struct ctl_pos w = {.head = CTL_INIT(CTL_WATCH_STDIN, s->id.sid,
				struct ctl_pos),
	    .pos = s->input.consumed};

	if (s->input.watching)
		return;
	s->input.watching = true;
	pool_order(m, s, &w, sizeof(w), false, -1);
}

void
stdin_unwatched(struct session *s)
{
	s->input.watching = false;
}
