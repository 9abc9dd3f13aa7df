/* SPDX-License-Identifier: MIT */
/*
 * Ring readers, a bounded number of them kept open: a table in which an
 * instance id has one place, and whoever needs the place takes it. Their owner
 * is this file: a caller uses one at once and keeps no pointer beyond its own
 * function.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "supervisor/master.h"

/* Read before the tail, to see whether it begins inside a sequence. */
#define LOOK_BACK 256u

/* The place of an instance id. Where descriptors are few, places are: no more
 * than a quarter of them. */
static struct reader_slot *
slot_of(struct master *m, struct sid sid)
{
	uint64_t places = m->nofile / 4;

	if (places > MASTER_READERS)
		places = MASTER_READERS;
	return &m->readers[sid.v % (places > 0 ? places : 1)];
}

/* Closes what a place holds. */
static void
slot_clear(struct reader_slot *sl)
{
	if (sl->sid.v != 0)
		ring_reader_close(&sl->r);
	sl->sid.v = 0;
}

/* A reader for the session's ring, or NULL where there is none. */
struct ring_reader *
readers_get(struct master *m, struct sid sid)
{
	struct reader_slot *sl = slot_of(m, sid);

	if (sid_eq(sl->sid, sid))
		return &sl->r;
	slot_clear(sl);
	m->reader_error = ring_reader_open(m->dirfd, sid, &sl->r);
	if (m->reader_error < 0)
		return NULL;
	sl->sid = sid;
	return &sl->r;
}

/* Why the output of a session that ran cannot be read: NULL, "gone",
 * "damaged", or "busy", which passes. */
const char *
readers_fault(struct master *m, const struct session *s)
{
	static struct ring_facts f; /* a page: used and forgotten here */
	struct ring_reader *r;

	if (s->facts.pid <= 0 || s->state == STATE_QUEUED)
		return NULL;
	r = readers_get(m, s->id.sid);
	if (r == NULL)
		return m->reader_error == -ENOENT ? "gone"
		    : m->reader_error == -EBADMSG ? "damaged"
						  : "busy";
	switch (ring_facts(r, &f)) {
	case RING_GONE:
		return "gone";
	case RING_CORRUPT:
		return "damaged";
	case RING_BUSY:
		return "busy";
	default:
		return NULL;
	}
}

/* Closes the reader of a session that is being forgotten. */
void
readers_forget(struct master *m, struct sid sid)
{
	struct reader_slot *sl = slot_of(m, sid);

	if (sid_eq(sl->sid, sid))
		slot_clear(sl);
}

/* Closes all of them. */
void
readers_close(struct master *m)
{
	for (size_t i = 0; i < MASTER_READERS; i++)
		slot_clear(&m->readers[i]);
}

/* The position after the newest byte, as the ring says; 0: no ring. */
static uint64_t
head_of(struct ring_reader *r)
{
	static struct ring_facts f; /* a page: used and forgotten here */

	return ring_facts(r, &f) == RING_OK ? f.head : 0;
}

/* Reads up to `max` last bytes of the ring into buf. */
static size_t
tail_read(struct master *m, struct session *s, char *buf, size_t max,
    bool head_known)
{
	struct ring_reader *r = readers_get(m, s->id.sid);
	enum ring_verdict verdict;
	uint64_t pos, dropped, head = s->output.total;
	size_t len = 0;
	ssize_t n;

	if (r == NULL)
		return 0;
	if (!head_known)
		head = head_of(r);
	if (head > s->output.total)
		s->output.total = head;
	if (head == 0)
		return 0;
	pos = head > max ? head - max : 0;
	for (int i = 0; i < 4 && len < max && pos < head; i++) {
		n = ring_read(r, &pos, buf + len, max - len, &dropped,
		    &verdict);
		if (n <= 0)
			break;
		if (dropped > 0 && len > 0) {
			memmove(buf, buf + len, (size_t)n);
			len = 0;
		}
		len += (size_t)n;
		pos += (uint64_t)n;
	}
	return len;
}

/* Keeps the tail as it was read at the session's present total. */
static void
tail_keep(struct session *s, const char *buf, size_t len)
{
	char *p = realloc(s->output.tail, len != 0 ? len : 1);

	s->output.tail_read = p != NULL;
	if (p == NULL)
		return;
	memcpy(p, buf, len);
	s->output.tail = p;
	s->output.tail_len = len;
	s->output.tail_at = s->output.total;
}

/* The last bytes of a session, cleaned, into b. Read again only where there is
 * more output than the last time. */
void
session_tail(struct master *m, struct session *s, struct sbuf *b, size_t max,
    bool head_known)
{
	char buf[MASTER_TAIL + LOOK_BACK], shown[4 * MASTER_TAIL];
	const char *p = buf;
	size_t len, at = 0;

	if (s->state == STATE_QUEUED || max > MASTER_TAIL)
		return;
	if (s->output.tail_read && s->output.tail_at == s->output.total &&
	    (head_known || !session_live(s))) {
		p = s->output.tail;
		len = s->output.tail_len;
	} else {
		len = tail_read(m, s, buf, sizeof(buf), head_known);
		tail_keep(s, buf, len);
	}
	if (len > max)
		at = text_resync(p, len, len - max);
	else if (s->output.total > len)
		at = text_skip_partial(p, len);
	len = text_clean(TEXT_CLEAN, p + at, len - at, session_live(s), shown);
	if (len <= max) {
		sbuf_addn(b, shown, len);
		return;
	}
	at = len - max;
	at += text_skip_partial(shown + at, max);
	sbuf_addn(b, shown + at, len - at);
}
