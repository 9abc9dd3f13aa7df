/* SPDX-License-Identifier: MIT */
/*
 * The read-only view: board, stats pages and rings, all read by pread: a
 * mapping of a file that is cut short would be a SIGBUS of our host's.
 * Called by programs that show a server's state, also while its master is
 * down. Writes nothing, asks nobody, keeps no internal struct in sight.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <psup/view.h>

#include "common/abi.h"
#include "common/rundir.h"
#include "internal.h"
#include "shm/board.h"
#include "shm/ring.h"
#include "shm/state_names.h"
#include "shm/stats.h"

struct psup_view {
	int dirfd;
	char dir[RUNDIR_PATH_MAX];
	struct board board;
	struct stats_page *stats; /* a copy; NULL: not there */
	struct ring_reader ring;        /* the one read last */
	bool ring_open;
};

/* Says what failed, where somebody wants to know. */
static int
view_fail(struct psup_view *v, int rc, char *why, size_t why_size,
    const char *text)
{
	if (why != NULL && why_size > 0 && text != NULL)
		snprintf(why, why_size, "%s", text);
	psup_view_close(&v);
	return rc;
}

/* The sentence for a board that does not open. */
static const char *
board_why(const struct psup_view *v, int rc, char *text, size_t size)
{
	uint32_t stamp;

	switch (rc) {
	case -ENOENT:
		return "no server was ever started there";
	case -EPROTO:
		if (board_stamp(v->dirfd, &stamp) < 0 ||
		    abi_reads(ABI_BOARD, stamp))
			return "the shared memory is of another psup version";
		(void)snprintf(text, size, "the shared memory was ");
		abi_refusal(ABI_BOARD, stamp, text + strlen(text),
		    size - strlen(text));
		return text;
	case -EBADMSG:
		return "the shared memory is damaged";
	default:
		return strerror(-rc);
	}
}

void
view_refresh(struct psup_view *v)
{
	struct stats_page *pages;
	struct board b;

	if (board_attach(v->dirfd, false, &b) == 0) {
		board_detach(&v->board);
		v->board = b;
	}
	pages = v->stats != NULL ? calloc(STATS_PAGES, sizeof(*pages)) : NULL;
	if (pages != NULL && stats_read(v->dirfd, pages) == 0) {
		free(v->stats);
		v->stats = pages;
	} else {
		free(pages);
	}
}

/* The first copy of the stats pages; none where there is no such file. */
static int
view_stats_open(struct psup_view *v)
{
	struct stats_page *pages = calloc(STATS_PAGES, sizeof(*pages));
	int rc = pages != NULL ? stats_read(v->dirfd, pages) : -ENOMEM;

	if (rc == 0) {
		v->stats = pages;
		return 0;
	}
	free(pages);
	/* other errors: without them its server would seem to be down */
	return rc == -ENOENT ? 0 : rc;
}

int
psup_view_open(const char *runtime_dir, struct psup_view **ret, char *why,
    size_t why_size)
{
	struct psup_view *v = calloc(1, sizeof(*v));
	char text[512];
	int rc;

	if (v == NULL)
		return -ENOMEM;
	v->dirfd = -1;
	if (runtime_dir == NULL)
		rc = rundir_default(v->dir);
	else
		rc = snprintf(v->dir, sizeof(v->dir), "%s", runtime_dir) <
		        (int)sizeof(v->dir)
		    ? 0
		    : -ENAMETOOLONG;
	if (rc < 0)
		return view_fail(v, rc, why, why_size, strerror(-rc));
	v->dirfd = rundir_open(v->dir, false, true, text, sizeof(text));
	if (v->dirfd < 0)
		return view_fail(v, v->dirfd, why, why_size, text);
	rc = board_attach(v->dirfd, false, &v->board);
	if (rc < 0) {
		v->board.hdr = NULL;
		return view_fail(v, rc, why, why_size,
		    board_why(v, rc, text, sizeof(text)));
	}
	rc = view_stats_open(v);
	if (rc < 0)
		return view_fail(v, rc, why, why_size,
		    board_why(v, rc, text, sizeof(text)));
	*ret = v;
	return 0;
}

/* Closes the ring that was read last. */
static void
view_drop_ring(struct psup_view *v)
{
	if (v->ring_open)
		ring_reader_close(&v->ring);
	v->ring_open = false;
}

void
psup_view_close(struct psup_view **v)
{
	if (v == NULL || *v == NULL)
		return;
	view_drop_ring(*v);
	if ((*v)->board.hdr != NULL)
		board_detach(&(*v)->board);
	free((*v)->stats);
	if ((*v)->dirfd >= 0)
		close((*v)->dirfd);
	free(*v);
	*v = NULL;
}

const char *
psup_view_dir(const struct psup_view *v)
{
	return v->dir;
}

const struct board *
view_board(const struct psup_view *v)
{
	return &v->board;
}

const struct stats_page *
view_stats(const struct psup_view *v)
{
	return v->stats;
}

/* --------------------------------------------------------------- sessions */

/* Opens the ring of a session, unless it is the one at hand. 0 or -errno. */
static int
view_ring(struct psup_view *v, uint64_t instance)
{
	struct sid sid = {instance};
	int rc;

	if (v->ring_open && sid_eq(v->ring.sid, sid))
		return 0;
	view_drop_ring(v);
	rc = ring_reader_open(v->dirfd, sid, &v->ring);
	v->ring_open = rc == 0;
	return rc;
}

int
view_reader(struct psup_view *v, uint64_t instance, struct ring_reader **ret)
{
	int rc = view_ring(v, instance);

	if (rc == 0)
		*ret = &v->ring;
	return rc;
}

/* A board slot in public words. */
static void
session_of_slot(const struct board_slot *s, struct psup_view_session *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->instance = s->sid;
	ret->state = state_name(s->state);
	ret->status = status_name(s->status);
	ret->reason = reason_name(s->reason);
	ret->pid = s->pid;
	ret->exit_code = s->exit_code;
	ret->exit_signal = s->exit_signal;
	ret->worker = s->worker_slot == UINT32_MAX ? -1 : (int)s->worker_slot;
	ret->lane_position = s->lane_pos;
	ret->created_ms = s->created_ms;
	ret->started_ms = s->started_ms;
	ret->ended_ms = s->ended_ms;
	ret->deadline_ms = s->deadline_ms;
	ret->total_bytes = s->total;
	ret->backgrounded = (s->flags & BOARD_BACKGROUNDED) != 0;
	ret->stdin_open = (s->flags & BOARD_STDIN_OPEN) != 0;
	ret->pty = (s->flags & BOARD_PTY) != 0;
	ret->boxed = (s->flags & BOARD_BOXED) != 0;
	COPY_TEXT(ret->id, s->slug);
	COPY_TEXT(ret->name, s->name);
	COPY_TEXT(ret->scope, s->scope);
	COPY_TEXT(ret->lane, s->lane);
	COPY_TEXT(ret->label, s->label);
	COPY_TEXT(ret->command, s->command);
}

/* What the ring's header knows better than the board: live figures, and an end
 * that the master has not noted yet. */
static void
session_live_facts(struct psup_view *v, struct psup_view_session *ret)
{
	struct ring_look look;

	if (ring_look(v->dirfd, (struct sid){ret->instance}, &look) < 0)
		return;
	if (look.head > ret->total_bytes)
		ret->total_bytes = look.head;
	ret->last_output_ms = look.last_output_ms;
	if (ret->pid == 0 && ret->ended_ms == 0)
		ret->pid = look.pid;
	if (look.exited_ms == 0 || ret->ended_ms != 0 ||
	    strcmp(ret->state, state_name(STATE_ENDED)) == 0)
		return;
	ret->state = state_name(STATE_EXITED);
	ret->ended_ms = look.exited_ms;
	if (look.exit_code == CLD_EXITED)
		ret->exit_code = look.exit_status;
	else if (look.exit_code == CLD_KILLED || look.exit_code == CLD_DUMPED)
		ret->exit_signal = look.exit_status;
}

/* Can there be anything that the board does not know? */
static bool
session_is_live(const struct board_slot *s)
{
	return s->state == STATE_STARTING || s->state == STATE_RUNNING ||
	    s->state == STATE_EXITED;
}

int
psup_view_next_session(struct psup_view *v, size_t *cursor,
    struct psup_view_session *ret)
{
	struct board_slot slot;
	uint32_t high;

	if (*cursor == 0)
		view_refresh(v);
	high = v->board.hdr->slots_high;
	if (high > v->board.slot_count)
		high = v->board.slot_count;
	while (*cursor < high) {
		if (board_get(&v->board, (uint32_t)(*cursor)++, &slot) != 1)
			continue;
		session_of_slot(&slot, ret);
		if (session_is_live(&slot))
			session_live_facts(v, ret);
		return 1;
	}
	return 0;
}

/* The number of an instance id, "INCARNATION.NUMBER" or NUMBER in 16 hex
 * digits, or of a plain decimal one; 0: none, or of another incarnation. */
static uint64_t
parse_instance(const struct psup_view *v, const char *id)
{
	unsigned long long incarnation, number;
	int end = 0;

	if (sscanf(id, "%16llx.%16llx%n", &incarnation, &number, &end) == 2 &&
	    id[end] == '\0')
		return incarnation == v->board.hdr->incarnation ? number : 0;
	if (strlen(id) == 16 && strspn(id, "0123456789abcdef") == 16)
		return strtoull(id, NULL, 16);
	if (id[0] == '\0' || strlen(id) > 15 ||
	    strspn(id, "0123456789") != strlen(id))
		return 0;
	return strtoull(id, NULL, 10);
}

int
psup_view_find(struct psup_view *v, const char *id,
    struct psup_view_session *ret)
{
	struct board_slot slot;
	uint64_t instance;
	uint32_t high;

	view_refresh(v);
	instance = parse_instance(v, id);
	high = v->board.hdr->slots_high;
	if (high > v->board.slot_count)
		high = v->board.slot_count;
	for (uint32_t i = 0; i < high; i++) {
		if (board_get(&v->board, i, &slot) != 1)
			continue;
		slot.slug[sizeof(slot.slug) - 1] = '\0';
		if ((instance == 0 || slot.sid != instance) &&
		    strcmp(slot.slug, id) != 0)
			continue;
		session_of_slot(&slot, ret);
		session_live_facts(v, ret);
		return 0;
	}
	return -ENOENT;
}

/* ----------------------------------------------------------------- output */

ssize_t
psup_view_read_output(struct psup_view *v, uint64_t instance, uint64_t from,
    void *buf, size_t size, struct psup_view_chunk *ret)
{
	static const enum psup_verdict verdicts[] = {
		[RING_OK] = PSUP_READ_OK, [RING_OVERRUN] = PSUP_READ_OVERRUN,
		[RING_GONE] = PSUP_READ_GONE,
		[RING_CORRUPT] = PSUP_READ_CORRUPT,
		[RING_BUSY] = PSUP_READ_BUSY,
	};
	struct psup_view_chunk c = {.pos = from, .next = from,
	    .stream = PSUP_MIXED, .verdict = PSUP_READ_GONE};
	enum ring_verdict verdict;
	struct ring_facts facts;
	uint64_t end;
	ssize_t n = -1;
	int rc;

	rc = view_ring(v, instance);
	if (rc < 0) {
		if (rc == -EBADMSG)
			c.verdict = PSUP_READ_CORRUPT;
		*ret = c;
		return -1;
	}
	n = ring_read(&v->ring, &c.pos, buf, size, &c.dropped, &verdict);
	c.verdict = verdicts[verdict];
	c.next = c.pos;
	if (n > 0) {
		/* Read after the data: what it says of these bytes is final. */
		if (ring_facts(&v->ring, &facts) == RING_OK) {
			c.stream = (enum psup_stream)ring_stream_at(&facts.raw,
			    c.pos, &end, &c.wall_ms);
			if (end > c.pos && end - c.pos < (uint64_t)n)
				n = (ssize_t)(end - c.pos);
		}
		c.next = c.pos + (uint64_t)n;
	}
	*ret = c;
	return n;
}

int
psup_view_sizes(struct psup_view *v, uint64_t instance,
    struct psup_view_size *ret, size_t max)
{
	struct ring_resize sizes[RING_SIZES];
	struct ring_facts facts;
	size_t i, n;
	int rc = view_ring(v, instance);

	if (rc < 0)
		return rc;
	if (ring_facts(&v->ring, &facts) != RING_OK)
		return -EAGAIN;
	n = ring_sizes(&facts.raw, sizes);
	for (i = 0; i < n && i < max; i++) {
		ret[i].pos = sizes[i].pos;
		ret[i].wall_ms = sizes[i].wall_ms;
		ret[i].cols = (int)sizes[i].cols;
		ret[i].rows = (int)sizes[i].rows;
	}
	return (int)i;
}
