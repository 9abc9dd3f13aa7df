/* SPDX-License-Identifier: MIT */
/*
 * A session's screen, drawn again from its ring. Called by the master in slices
 * of its loop, by libpsup's view at once. Reads a ring as a stranger's; keeps no
 * reader between two steps.
 */
#include <errno.h>

#include "common/clock.h"
#include "shm/screen.h"
#include "shm/screen_filter.h"

#define PIECE_BYTES 8192u /* read at once */
#define CHUNK_BYTES 256u  /* drawn between two looks at the clock */

/* A verdict as an errno. */
static int
verdict_error(enum ring_verdict v)
{
	return v == RING_GONE ? -ENOENT : v == RING_BUSY ? -EAGAIN : -EBADMSG;
}

int
replay_begin(struct ring_reader *rd, struct replay *ret)
{
	struct ring_facts f;
	enum ring_verdict v = ring_facts(rd, &f);
	struct replay r = {0};

	if (v != RING_OK)
		return verdict_error(v);
	r.size_count = ring_sizes(&f.raw, r.sizes);
	if (r.size_count == 0)
		return -ENOTTY;
	r.size_at = 1;
	r.to = f.head;
	r.screen = screen_new(r.sizes[0].cols, r.sizes[0].rows);
	if (r.screen == NULL)
		return -ENOMEM;
	*ret = r;
	return 0;
}

void
replay_end(struct replay *r)
{
	screen_free(&r->screen);
}

/* The size from here on. */
static void
take_sizes(struct replay *r, uint64_t pos)
{
	const struct ring_resize *z = &r->sizes[r->size_at];

	for (; r->size_at < r->size_count && z->pos <= pos; r->size_at++, z++) {
		if (z->after_more)
			r->approximate = true;
		screen_resize(r->screen, z->cols, z->rows);
	}
}

/* Bytes are missing before `pos`. Returns how many of the n bytes there are no
 * good beginning. */
static size_t
cross_gap(struct replay *r, uint64_t pos, uint64_t missing, const char *data,
    size_t n)
{
	size_t skip = filter_border(data, n);

	take_sizes(r, pos);
	screen_gap(r->screen);
	r->approximate = true;
	r->dropped += missing + skip;
	return skip;
}

/* Draws n bytes from r->pos on, at their sizes, by small chunks until the time
 * is over. */
static void
draw(struct replay *r, const char *data, size_t n, uint64_t until_ns)
{
	size_t part;

	while (n > 0) {
		take_sizes(r, r->pos);
		part = n < CHUNK_BYTES ? n : CHUNK_BYTES;
		if (r->size_at < r->size_count &&
		    r->sizes[r->size_at].pos - r->pos < part)
			part = (size_t)(r->sizes[r->size_at].pos - r->pos);
		screen_feed(r->screen, data, part);
		r->pos += part;
		data += part;
		n -= part;
		if (clock_boot_ns() >= until_ns)
			break;
	}
}

/* Leaves the oldest bytes out where there are too many. */
static void
leave_out(struct replay *r, uint64_t *ret_from)
{
	uint64_t left = r->to - r->pos;

	*ret_from = r->pos;
	if (left > REPLAY_MAX_BYTES)
		*ret_from = r->to - REPLAY_MAX_BYTES;
	if (r->spent_ns > REPLAY_MAX_NS && left > PIECE_BYTES)
		*ret_from = r->to - PIECE_BYTES;
}

/* One piece of the ring. */
static int
step_piece(struct replay *r, struct ring_reader *rd, uint64_t until_ns)
{
	static char buf[PIECE_BYTES];
	uint64_t from, pos, dropped = 0;
	size_t size = sizeof(buf), skip = 0;
	enum ring_verdict v;
	ssize_t n;

	leave_out(r, &from);
	pos = from;
	if (size > r->to - pos)
		size = (size_t)(r->to - pos);
	n = ring_read(rd, &pos, buf, size, &dropped, &v);
	if (n < 0)
		return verdict_error(v);
	if (pos >= r->to || n == 0) { /* the rest was overwritten */
		r->dropped += r->to - r->pos;
		r->approximate = r->approximate || r->pos < r->to;
		r->pos = r->to;
		return 0;
	}
	if ((uint64_t)n > r->to - pos)
		n = (ssize_t)(r->to - pos);
	if (pos > r->pos)
		skip = cross_gap(r, pos, pos - r->pos, buf, (size_t)n);
	r->pos = pos + skip;
	draw(r, buf + skip, (size_t)n - skip, until_ns);
	return 0;
}

int
replay_step(struct replay *r, struct ring_reader *rd, uint64_t ns)
{
	uint64_t begun = clock_boot_ns();
	int rc = 0;

	while (rc == 0 && r->pos < r->to && clock_boot_ns() - begun < ns)
		rc = step_piece(r, rd, begun + ns);
	r->spent_ns += clock_boot_ns() - begun;
	if (rc == 0 && screen_failed(r->screen))
		rc = -ENOMEM;
	if (rc < 0)
		return rc;
	if (r->pos < r->to)
		return 1;
	take_sizes(r, UINT64_MAX);
	return 0;
}
