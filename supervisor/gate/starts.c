/* SPDX-License-Identifier: MIT */
/*
 * Which session starts next, and where. Called by gate.c and session.c for each
 * that is to start, by session.c and pool.c where it has started or will not,
 * by master.c at the end of each turn.
 */
#include "supervisor/gate/starts.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/check.h"
#include "common/reserve.h"
#include "supervisor/host/boxes.h"
#include "supervisor/master.h"

#define QUICK_MS 100u /* what takes longer hangs, or as good as */

/* ----------------------------------------------------------- the order */

/* Everything, or -errno. */
static int
write_whole(int fd, const char *p, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

/* The blob and the spill file's path in a sealed memfd, or -errno. */
static int
blob_memfd(const struct spec *sp, const char *spill, size_t spill_size)
{
	int fd = memfd_create("psup-start", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	r = write_whole(fd, sp->blob, sp->blob_bytes);
	if (r == 0)
		r = write_whole(fd, spill, spill_size);
	if (r < 0) {
		close(fd);
		return r;
	}
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE |
		    F_SEAL_SEAL) < 0) {
		int e = errno;

		close(fd);
		return -e;
	}
	return fd;
}

/* Does somebody wait for RUNNING, or for the first output? Who waits for the
 * end does not. */
static bool
is_awaited(const struct session *s)
{
	return s->shown.backgrounded || s->terminal.pty || s->wish.stream ||
	    session_is_ours(s);
}

/* Everything START says but the blob. */
static struct ctl_start
start_of(const struct master *m, const struct session *s)
{
	const struct spec *sp = s->record.spec;

	struct ctl_start st = {
	    .head = CTL_INIT(CTL_START, s->id.sid, struct ctl_start),
	    .flags =
		(s->wish.stdin_pipe ? (uint32_t)CTL_START_STDIN_OPEN : 0u) |
		(s->wish.stream ? (uint32_t)CTL_START_LOSSLESS : 0u) |
		(s->terminal.pty ? (uint32_t)CTL_START_PTY : 0u) |
		(is_awaited(s) ? (uint32_t)CTL_START_AWAITED
			       : (uint32_t)CTL_START_END_ALONE) |
		(uint32_t)CTL_START_END_PASSED |
		(s->spares.place != 0 ? (uint32_t)CTL_START_SPARE_AS_IS : 0u) |
		sp->flags,
	    .argc = sp->argc,
	    .envc = sp->envc,
	    .path_count = sp->path_count,
	    .blob_bytes = sp->blob_bytes,
	    .grace_ms = s->wish.grace_ms,
	    .timeout_ms = s->wish.timeout_ms,
	    .no_output_timeout_ms = s->wish.no_output_timeout_ms,
	    .credit = s->wish.stream ? s->wish.tail_bytes : UINT64_MAX,
	    .stdin_end = s->input.spool_end,
	    .stdin_eof = s->input.spool_eof,
	    .cols = (uint16_t)s->terminal.cols,
	    .rows = (uint16_t)s->terminal.rows,
	    .pty_eof = s->terminal.pty_eof,
	    .attempt = s->tries.attempt,
	    .head_bytes = s->wish.head_bytes,
	    .tail_bytes = s->wish.tail_bytes,
	    .oom_score_adj = m->cfg.child_oom_score_adj ? 1000 : INT32_MIN,
	    .limit_mask = s->wish.limits.mask,
	    .shell_argc = sp->shell_argc,
	    .umask = sp->umask,
	    .spill_max = s->wish.spill_max,
	    .blob_at = sizeof(struct ctl_start),
	    .start_ms = (uint32_t)m->cfg.start_ms,
	    .spare = s->spares.offered.v,
	    .request = request_hash(s->id.scope, s->id.request_key),
	};

	memcpy(st.limit, s->wish.limits.value, sizeof(st.limit));
	return st;
}

/* The mark by which a command's processes are found names the keeper under which
 * they run, which is not always the one that took the session in. */
static void
mark_own(const struct master *m, const struct spec *sp)
{
	static const char mark[] = "PSUP_INSTANCE=";
	size_t n = sizeof(mark) - 1;
	char own[17], *e = sp->blob;

	(void)snprintf(own, sizeof(own), "%016" PRIx64, m->h.incarnation);
	for (uint32_t i = 0; i < sp->argc + 1; i++)
		e += strlen(e) + 1; /* directory and arguments are the user's */
	for (uint32_t i = 0; i < sp->envc; i++, e += strlen(e) + 1)
		if (strncmp(e, mark, n) == 0 && strlen(e) > n + 16 &&
		    e[n + 16] == '.')
			memcpy(e + n, own, 16);
}

/* Stages START for a worker. */
static int
order_start(struct master *m, struct worker *w, struct session *s)
{
	struct ctl_start st = start_of(m, s);
	const struct spec *sp = s->record.spec;
	const char *path = s->wish.spill_path;
	size_t spill = s->wish.spill_max > 0 ? strlen(path) + 1 : 0;
	size_t size = sizeof(st) + sp->blob_bytes + spill;
	static unsigned char buf[CTL_MAX_BYTES];
	int fd = boxes_order(m, s, &st);

	if (fd < 0)
		return fd;
	fd = -1;
	/* an older worker would follow a link: it passes, and its heir starts it */
	if ((st.flags & CTL_START_NO_LINKS) != 0)
		st.head.reader = CTL_READER_NO_LINKS;
	st.blob_bytes = (uint32_t)(size - sizeof(st));
	if (s->id.incarnation != m->h.incarnation)
		mark_own(m, sp);
	if (size > sizeof(buf)) {
		fd = blob_memfd(sp, path, spill);
		if (fd < 0)
			return fd;
		st.flags |= CTL_START_BLOB_FD;
		size = sizeof(st);
	} else {
		memcpy(buf + sizeof(st), sp->blob, sp->blob_bytes);
		if (spill > 0)
			memcpy(buf + size - spill, path, spill);
	}
	st.head.size = (uint32_t)size;
	memcpy(buf, &st, sizeof(st));
	pool_order_to(w, s->id.sid, buf, size, true, fd);
	explicit_bzero(buf, size);
	return 0;
}

/* ----------------------------------------------------------- whose turn */

void
starts_init(struct master *m)
{
	TAILQ_INIT(&m->starts.rooms);
	TAILQ_INIT(&m->starts.quick);
}

void
starts_box(struct session *s, struct session_list *in)
{
	CHECK(s->start.is == START_NONE || s->start.is == START_BOX);
	if (s->start.is == START_BOX)
		TAILQ_REMOVE(s->start.in, s, start.link);
	TAILQ_INSERT_TAIL(in, s, start.link);
	s->start.in = in;
	s->start.is = START_BOX;
}

void
starts_inside(struct session *s, struct sid box)
{
	s->start.box = box;
}

/* Is it to start now? Not before it is in its box. */
static bool
may_enter(struct master *m, struct session *s)
{
	if (s->wish.host != HOST_SANDBOX)
		return true;
	boxes_left(m, s); /* from a start that came to nothing */
	s->start.box.v = 0;
	if (!boxes_enter(m, s))
		return false;
	session_touch(m, s);
	return true;
}

/* It waits, behind those of its scope. */
void
starts_enter(struct master *m, struct session *s)
{
	CHECK(s->state == STATE_STARTING);
	CHECK(!custody_has(&s->custody)); /* nobody may run it already */
	starts_over(m, s);
	if (!may_enter(m, s))
		return;
	if (TAILQ_EMPTY(&s->share.room->starting))
		TAILQ_INSERT_TAIL(&m->starts.rooms, s->share.room,
		    starting_link);
	TAILQ_INSERT_TAIL(&s->share.room->starting, s, start.link);
	s->start.is = START_WAITS;
}

/* Out of the queue of its scope. */
static void
wait_over(struct master *m, struct session *s)
{
	TAILQ_REMOVE(&s->share.room->starting, s, start.link);
	if (TAILQ_EMPTY(&s->share.room->starting))
		TAILQ_REMOVE(&m->starts.rooms, s->share.room, starting_link);
	s->start.is = START_NONE;
}

/* A worker whose channel was made anew counts from 0. */
static void
less(uint32_t *n)
{
	*n -= *n > 0;
}

static void
begin_slow(struct master *m, struct session *s, struct worker *w)
{
	CHECK(s->start.is != START_SLOW && s->start.is != START_WAITS);
	s->start.is = START_SLOW;
	s->share.room->slow++;
	m->starts.slow++;
	if (w != NULL)
		w->slow++;
}

void
starts_found(struct master *m, struct session *s, struct worker *w)
{
	if (s->start.is != START_NONE)
		return;
	s->start.at = w->wid;
	begin_slow(m, s, w);
}

void
starts_over(struct master *m, struct session *s)
{
	struct worker *w = pool_get(m, s->start.at);

	switch (s->start.is) {
	case START_NONE:
		break;
	case START_WAITS:
		wait_over(m, s);
		break;
	case START_BOX:
		TAILQ_REMOVE(s->start.in, s, start.link);
		break;
	case START_QUICK:
		TAILQ_REMOVE(&m->starts.quick, s, start.link);
		if (w != NULL)
			less(&w->quick);
		break;
	case START_SLOW:
		CHECK(s->share.room->slow > 0 && m->starts.slow > 0);
		s->share.room->slow--;
		m->starts.slow--;
		if (w != NULL)
			less(&w->slow);
		break;
	}
	s->start.is = START_NONE;
}

/* Those that have taken too long leave their place to others. */
static void
age(struct master *m, uint64_t now)
{
	struct session *s;
	struct worker *w;

	while ((s = TAILQ_FIRST(&m->starts.quick)) != NULL &&
	    now - s->start.ordered_ns >= QUICK_MS * NSEC_PER_MSEC) {
		w = pool_get(m, s->start.at);
		TAILQ_REMOVE(&m->starts.quick, s, start.link);
		if (w != NULL)
			less(&w->quick);
		begin_slow(m, s, w);
	}
}

static bool
has_place(const struct worker *w)
{
	return w->quick < STARTS_QUICK &&
	    w->quick + w->slow < CTL_STARTS_MAX;
}

/* May this scope have another one that hangs? Not more of them than would be
 * left for others: half of all is for the first scope, a quarter for the
 * next. */
static bool
scope_may(struct master *m, const struct room *room, uint32_t all)
{
	return m->starts.slow < all && room->slow < all - m->starts.slow;
}

/* The next one and its worker, or NULL. The server's end waits for nobody: the
 * workers will say that they start nothing any more. */
static struct session *
next(struct master *m, struct worker **ret_w)
{
	uint32_t all = pool_size(m) * (CTL_STARTS_MAX - STARTS_QUICK);
	bool (*may)(const struct worker *) = m->stopping ? NULL : has_place;
	struct room *room;

	TAILQ_FOREACH(room, &m->starts.rooms, starting_link) {
		struct session *s = TAILQ_FIRST(&room->starting);
		uint32_t tried = s->tries.tried;

		if (!m->stopping && !scope_may(m, room, all))
			continue;
		if (pool_choose(m, tried, NULL) == NULL)
			tried = 0; /* all have failed: once more */
		*ret_w = pool_choose(m, tried, may);
		if (*ret_w != NULL)
			return s;
	}
	return NULL;
}

/* Gives it to the worker. */
static void
start(struct master *m, struct worker *w, struct session *s, uint64_t now)
{
	int r = spec_load(m, s);

	spares_take(m, w, s);
	if (r == 0)
		r = order_start(m, w, s);
	if (r < 0) {
		facts_failed(s, -r, STAGE_PREPARE, NULL);
		session_end_here(m, s, END_SPAWN_ERROR, "START not made");
		return;
	}
	custody_given(&s->custody, w->wid, s->tries.attempt + 1);
	s->start.at = w->wid;
	w->live++;
	w->quick++;
	s->start.is = START_QUICK;
	s->start.ordered_ns = now;
	TAILQ_INSERT_TAIL(&m->starts.quick, s, start.link);
	session_touch(m, s);
}

/* What is under way has become slow. */
static void
on_timer(int, short, void *arg)
{
	turn_begin(arg); /* its end does the rest */
}

void
starts_pump(struct master *m)
{
	const uint64_t quick = QUICK_MS * NSEC_PER_MSEC;
	struct session *s;
	struct room *room;
	struct worker *w;
	uint64_t now, late;

	if (TAILQ_EMPTY(&m->starts.rooms))
		return;
	now = clock_boot_ns();
	age(m, now);
	while ((s = next(m, &w)) != NULL) {
		room = s->share.room;
		wait_over(m, s);
		if (!TAILQ_EMPTY(&room->starting)) { /* others' turn */
			TAILQ_REMOVE(&m->starts.rooms, room, starting_link);
			TAILQ_INSERT_TAIL(&m->starts.rooms, room,
			    starting_link);
		}
		start(m, w, s, now);
	}
	s = TAILQ_FIRST(&m->starts.quick);
	if (s == NULL || TAILQ_EMPTY(&m->starts.rooms))
		return;
	late = s->start.ordered_ns + quick - now;
	timer_in(m, &m->starts.timer, on_timer, m, late / NSEC_PER_MSEC + 1);
}
