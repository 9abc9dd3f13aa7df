/* SPDX-License-Identifier: MIT */
/*
 * The reading end of a ring, for master and tools. Reads by pread only: a
 * mapped reader of a hole takes pages, and dies by SIGBUS on a file that its
 * writer cut. The writer never notices a reader.
 *
 * Everything is copied once, then checked, then used; geometry comes from the
 * private copy taken at open. A hostile writer can make its own bytes garbage
 * and its ring CORRUPT, nothing else. Loops are bounded by TRIES.
 */
#include "shm/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/abi.h"
#include "common/rundir.h"
#include "shm/ring_math.h"

#define TRIES 3

/* Whose ring it is, and the words that change with every splice: one small
 * pread. */
struct pump {
	uint64_t magic;
	uint32_t stamp, header_bytes;
	uint64_t sid, incarnation;
	uint32_t head_bytes, tail_bytes;
	uint64_t created_ms;
	int64_t off[2];
	uint64_t lap, reserve, head, hole_from, hole_to, dropped_nospace;
	uint32_t stream, open_streams;
	uint64_t seg_count;
};
static_assert(offsetof(struct ring_header, spool_off) == sizeof(struct pump),
    "struct pump mirrors the header");
static_assert(offsetof(struct ring_header, sid) == offsetof(struct pump, sid),
    "struct pump mirrors the header");
static_assert(offsetof(struct ring_header, head) ==
	offsetof(struct pump, head), "struct pump mirrors the header");
static_assert(offsetof(struct ring_header, seg_count) ==
	offsetof(struct pump, seg_count), "struct pump mirrors the header");

/* Reads exactly `size` bytes. GONE or CORRUPT where there are fewer. */
static enum ring_verdict
read_exact(int fd, void *buf, size_t size, uint64_t offset)
{
	char *at = buf;
	struct stat st;
	ssize_t n;

	while (size > 0) {
		n = pread(fd, at, size, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (fstat(fd, &st) == 0 && st.st_nlink == 0)
				return RING_GONE;
			return RING_CORRUPT;
		}
		at += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return RING_OK;
}

/* Has the file become another session's, since this one is forgotten? */
static bool
is_anothers(const struct ring_reader *r, uint64_t magic, uint64_t sid)
{
	return magic == RING_MAGIC && sid != r->sid.v;
}

/* Can these words be true together? */
static bool
pump_ok(const struct ring_reader *r, const struct pump *p)
{
	uint64_t lap = p->lap;

	/* A copy is not one instant: reserve may be a splice newer than
	 * head. The cursor is the writer's own business. */
	return lap < RING_POS_MAX / r->tail_cap - 1 && p->head < RING_POS_MAX &&
	    p->head >= r->seen && p->reserve >= p->head &&
	    p->reserve - p->head <= 2 * (uint64_t)RING_MAX_SPLICE &&
	    p->hole_to < RING_POS_MAX;
}

/* What a copy of these words is worth. */
static enum ring_verdict
pump_check(const struct ring_reader *r, const struct pump *p)
{
	if (is_anothers(r, p->magic, p->sid))
		return RING_GONE;
	return pump_ok(r, p) ? RING_OK : RING_CORRUPT;
}

/* Reads the pump words, retrying a torn copy. */
static enum ring_verdict
pump_read(struct ring_reader *r, struct pump *ret)
{
	enum ring_verdict v = RING_CORRUPT;

	for (int i = 0; i < TRIES && v == RING_CORRUPT; i++) {
		v = read_exact(r->fd, ret, sizeof(*ret), 0);
		if (v != RING_OK)
			return v;
		/* Makes the load of head an acquire: data and segments are
		 * read after it. Pairs with the writer's publish. */
		atomic_thread_fence(memory_order_acquire);
		v = pump_check(r, ret);
	}
	return v;
}

/* Opens and checks what never changes. */
int
ring_reader_open(int dirfd, struct sid sid, struct ring_reader *ret)
{
	struct ring_reader r = { .sid = sid };
	struct ring_header h;
	char name[RUNDIR_NAME_MAX];
	struct stat st;

	rundir_ring_name(sid, name);
	r.fd = openat(dirfd, name,
	    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (r.fd < 0)
		return -errno;
	if (fstat(r.fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    read_exact(r.fd, &h, sizeof(h), 0) != RING_OK ||
	    h.magic != RING_MAGIC || !abi_reads(ABI_RING, h.stamp) ||
	    h.header_bytes != sizeof(h) || h.sid.v != sid.v ||
	    !ring_geometry_ok(h.head_bytes, h.tail_bytes)) {
		close(r.fd);
		return -EBADMSG;
	}
	r.head_bytes = h.head_bytes;
	r.tail_bytes = h.tail_bytes;
	r.tail_cap = ring_tail_cap(h.tail_bytes);
	r.closed = h.closed_ms != 0;
	atomic_thread_fence(memory_order_acquire);
	*ret = r;
	return 0;
}

/* Closes. */
void
ring_reader_close(struct ring_reader *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

/* Bytes below `head` that are in neither region. */
static uint64_t
dropped_below(const struct ring_reader *r, const struct pump *p,
    uint64_t oldest)
{
	uint64_t first = r->head_bytes < p->head ? r->head_bytes : p->head;

	if (oldest > p->head)
		oldest = p->head;
	return ring_overlap(r->head_bytes, oldest, 0, p->head) +
	    ring_overlap(p->hole_from, p->hole_to, 0, first) +
	    ring_overlap(p->hole_from, p->hole_to,
		oldest > first ? oldest : first, p->head);
}

/* Were all fields that never change copied as they were at open? */
static bool
page_is_ours(const struct ring_reader *r, const struct ring_header *h)
{
	return h->magic == RING_MAGIC && abi_reads(ABI_RING, h->stamp) &&
	    h->header_bytes == sizeof(*h) && h->sid.v == r->sid.v &&
	    h->head_bytes == r->head_bytes && h->tail_bytes == r->tail_bytes;
}

/* Does the last segment of the copy reach its head? */
static bool
page_segments_reach(const struct ring_header *h)
{
	uint64_t count = h->seg_count, last;

	if (count == 0)
		return h->head == 0;
	last = h->segments[(count - 1) % RING_SEGMENTS].end_stream;
	return last >> 2 >= h->head;
}

/*
 * Takes entries out of the copy that the writer may have been overwriting
 * while it was made: with `count_now` counted afterwards, entry count_now is
 * perhaps being written, over entry count_now - RING_SEGMENTS.
 */
static void
page_cut_segments(struct ring_header *h, uint64_t count_now)
{
	uint64_t stale, n;

	if (count_now + 1 <= RING_SEGMENTS)
		return;
	stale = count_now + 1 - RING_SEGMENTS; /* entries below are suspect */
	n = h->seg_count > RING_SEGMENTS ? h->seg_count - RING_SEGMENTS : 0;
	for (; n < stale && n < h->seg_count; n++)
		h->segments[n % RING_SEGMENTS].end_stream = UINT64_MAX;
}

/*
 * Copies the header page once; *ret_stable: nothing moved meanwhile. What is
 * counted comes from before the copy, so that every entry it counts is whole in
 * the copy: the loads of one copy have no order among each other. Of a ring that
 * was seen closed before, nothing moves any more.
 */
static enum ring_verdict
page_read(struct ring_reader *r, struct ring_facts *f, bool *ret_stable)
{
	struct ring_header *h = &f->raw;
	enum ring_verdict v;
	struct pump p, now;

	v = r->closed ? RING_OK : pump_read(r, &p);
	if (v != RING_OK)
		return v;
	v = read_exact(r->fd, h, sizeof(*h), 0);
	if (v != RING_OK)
		return v;
	atomic_thread_fence(memory_order_acquire);
	if (r->closed) {
		memcpy(&p, h, sizeof(p));
		now = p;
		v = pump_check(r, &now);
	} else {
		v = pump_read(r, &now);
		memcpy(h, &p, sizeof(p));
	}
	if (v != RING_OK)
		return v;
	if (!page_is_ours(r, h) || now.head < p.head ||
	    now.seg_count < p.seg_count || !page_segments_reach(h))
		return RING_CORRUPT; /* or torn: the caller tries again */
	if (p.hole_from != now.hole_from)
		return RING_BUSY;
	*ret_stable = now.head == p.head && now.seg_count == p.seg_count;
	page_cut_segments(h, now.seg_count);
	f->head = p.head;
	f->oldest_tail =
	    ring_oldest_tail(p.reserve, r->head_bytes, r->tail_cap);
	f->dropped = dropped_below(r, &p, f->oldest_tail);
	f->consumed = h->spool_off < 0 ? 0 : (uint64_t)h->spool_off;
	return RING_OK;
}

/*
 * What the page says now. While the writer is busy a copy whose head is a
 * little behind is as good as one taken a little earlier; but "closed" must
 * not be seen with a head from before the last bytes, so that asks for a copy
 * during which nothing moved.
 */
enum ring_verdict
ring_facts(struct ring_reader *r, struct ring_facts *ret)
{
	enum ring_verdict v = RING_BUSY;
	struct ring_facts f;
	bool stable = false;
	struct stat st;

	if (fstat(r->fd, &st) != 0 || st.st_nlink == 0)
		return RING_GONE;
	for (int i = 0; i < TRIES && !(v == RING_OK && stable); i++) {
		v = page_read(r, &f, &stable);
		if (v == RING_GONE)
			return v;
	}
	if (v != RING_OK)
		return v;
	if (!stable && f.raw.closed_ms != 0)
		return RING_BUSY;
	r->seen = f.head;
	r->closed = f.raw.closed_ms != 0;
	*ret = f;
	return RING_OK;
}

/* Reads the header up to its segments and checks what it is going to tell. */
enum ring_verdict
ring_glance(struct ring_reader *r, struct ring_glance *ret)
{
	struct ring_header h;
	enum ring_verdict v;

	for (int i = 0; i < TRIES; i++) {
		v = read_exact(r->fd, &h, offsetof(struct ring_header, segments),
		    0);
		if (v != RING_OK)
			return v;
		if (is_anothers(r, h.magic, h.sid.v))
			return RING_GONE;
		if (page_is_ours(r, &h) && h.head >= r->seen &&
		    h.head < RING_POS_MAX) {
			r->seen = h.head;
			*ret = (struct ring_glance){ .head = h.head,
				.last_output_ms = h.last_output_ms,
				.stdin_state = h.stdin_state,
				.stdin_uncertain = h.pty_uncertain };
			return RING_OK;
		}
	}
	return RING_CORRUPT;
}

/* One retained stretch: [from, to) lies in one region, outside the hole. */
struct stretch {
	uint64_t from, to;
};

/* The first retained stretch at or after `pos`; empty at the head. */
static struct stretch
seat(const struct ring_reader *r, const struct pump *p, uint64_t pos)
{
	uint64_t oldest =
	    ring_oldest_tail(p->reserve, r->head_bytes, r->tail_cap);
	struct stretch s = { pos, p->head };

	/* The gap, the hole, and the gap again: the hole may end in it. */
	for (int i = 0; i < 2; i++) {
		if (s.from >= r->head_bytes && s.from < oldest)
			s.from = oldest;
		if (s.from >= p->hole_from && s.from < p->hole_to)
			s.from = p->hole_to;
	}
	if (s.from >= r->head_bytes && s.from < oldest)
		s.from = oldest;
	if (s.from > p->head)
		s.from = p->head;
	if (s.from < r->head_bytes && oldest > r->head_bytes)
		s.to = r->head_bytes;
	if (p->hole_to > p->hole_from && p->hole_from > s.from &&
	    p->hole_from < s.to)
		s.to = p->hole_from;
	if (s.to > p->head)
		s.to = p->head;
	return s;
}

/* Copies [from, from + size) out of the file, around the wrap. */
static enum ring_verdict
copy_out(const struct ring_reader *r, uint64_t from, void *buf, size_t size)
{
	uint64_t end = RING_DATA_OFFSET + r->head_bytes + r->tail_cap;
	uint64_t offset = ring_offset_of(from, r->head_bytes, r->tail_cap);
	size_t first = size;
	enum ring_verdict v;

	if (first > end - offset)
		first = (size_t)(end - offset);
	v = read_exact(r->fd, buf, first, offset);
	if (v != RING_OK || first == size)
		return v;
	return read_exact(r->fd, (char *)buf + first, size - first,
	    RING_DATA_OFFSET + r->head_bytes);
}

/*
 * After the copy: which of it may have been overwritten meanwhile? Cuts the
 * head region off from the tail region, or the overwritten bytes from the
 * front. Returns false where nothing is left.
 */
static bool
trim(const struct ring_reader *r, const struct pump *now, struct stretch *s,
    char *buf)
{
	uint64_t oldest =
	    ring_oldest_tail(now->reserve, r->head_bytes, r->tail_cap);

	if (s->to <= oldest && s->from >= r->head_bytes)
		return false;
	if (oldest <= r->head_bytes || oldest <= s->from)
		return true;
	if (s->from < r->head_bytes) {
		if (s->to > r->head_bytes)
			s->to = r->head_bytes;
		return true;
	}
	memmove(buf, buf + (oldest - s->from), (size_t)(s->to - oldest));
	s->from = oldest;
	return true;
}

ssize_t
ring_read(struct ring_reader *r, uint64_t *pos, void *buf, size_t size,
    uint64_t *ret_dropped, enum ring_verdict *ret_verdict)
{
	return ring_read_known(r, NULL, pos, buf, size, ret_dropped,
	    ret_verdict);
}

/* Reads retained bytes from *pos on. */
ssize_t
ring_read_known(struct ring_reader *r, const struct ring_facts *known,
    uint64_t *pos, void *buf, size_t size, uint64_t *ret_dropped,
    enum ring_verdict *ret_verdict)
{
	enum ring_verdict v = RING_BUSY;
	struct pump before, now;
	struct stretch s;

	for (int i = 0; i < TRIES; i++) {
		if (i == 0 && known != NULL)
			memcpy(&before, &known->raw, sizeof(before));
		else if ((v = pump_read(r, &before)) != RING_OK)
			break;
		s = seat(r, &before, *pos);
		if (*pos > before.head)
			s.from = s.to = *pos; /* from the future: no news */
		if (s.to - s.from > size)
			s.to = s.from + size;
		v = copy_out(r, s.from, buf, (size_t)(s.to - s.from));
		if (v != RING_OK)
			break;
		/* Pairs with the writer's fence between reserve and data: had
		 * we copied a newer byte, we should see its reserve. */
		atomic_thread_fence(memory_order_acquire);
		v = pump_read(r, &now);
		if (v != RING_OK)
			break;
		r->seen = now.head;
		v = RING_BUSY;
		if (now.hole_from != before.hole_from ||
		    (s.to > s.from && !trim(r, &now, &s, buf)))
			continue;
		*ret_dropped = s.from - *pos;
		*ret_verdict = s.from == *pos ? RING_OK : RING_OVERRUN;
		*pos = s.from;
		return (ssize_t)(s.to - s.from);
	}
	*ret_verdict = v;
	return -1;
}
