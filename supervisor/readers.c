/* SPDX-License-Identifier: MIT */
/*
 * Ring readers, a bounded number of them kept open, the longest unused closed
 * first. Their owner is this file: a caller uses one at once and keeps no
 * pointer beyond its own function.
 */
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "supervisor/master.h"

/* A reader for the session's ring, or NULL where there is none. */
struct ring_reader *
readers_get(struct master *m, struct sid sid)
{
	struct reader_slot *victim = &m->readers[0];

	for (size_t i = 0; i < MASTER_READERS; i++) {
		struct reader_slot *sl = &m->readers[i];

		if (sid_eq(sl->sid, sid)) {
			sl->used = ++m->reader_clock;
			return &sl->r;
		}
		if (sl->used < victim->used)
			victim = sl;
	}
	if (victim->sid.v != 0)
		ring_reader_close(&victim->r);
	victim->sid.v = 0;
	victim->used = 0;
	if (ring_reader_open(m->dirfd, sid, &victim->r) < 0)
		return NULL;
	victim->sid = sid;
	victim->used = ++m->reader_clock;
	return &victim->r;
}

/* Closes the reader of a session that is being forgotten. */
void
readers_forget(struct master *m, struct sid sid)
{
	for (size_t i = 0; i < MASTER_READERS; i++) {
		if (!sid_eq(m->readers[i].sid, sid))
			continue;
		ring_reader_close(&m->readers[i].r);
		m->readers[i].sid.v = 0;
		m->readers[i].used = 0;
	}
}

/* Closes all of them. */
void
readers_close(struct master *m)
{
	for (size_t i = 0; i < MASTER_READERS; i++) {
		if (m->readers[i].sid.v == 0)
			continue;
		ring_reader_close(&m->readers[i].r);
		m->readers[i].sid.v = 0;
	}
}

/* Reads up to `max` last bytes of the ring into buf. */
static size_t
tail_read(struct master *m, struct session *s, char *buf, size_t max)
{
	struct ring_reader *r = readers_get(m, s->sid);
	struct ring_facts *f;
	enum ring_verdict verdict;
	uint64_t pos, dropped;
	size_t len = 0;
	ssize_t n;

	f = r != NULL ? malloc(sizeof(*f)) : NULL;
	if (f == NULL)
		return 0;
	if (ring_facts(r, f) == RING_OK && f->head > 0) {
		s->total = f->head > s->total ? f->head : s->total;
		pos = f->head > max ? f->head - max : 0;
		for (int i = 0; i < 4 && len < max; i++) {
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
	}
	free(f);
	return len;
}

/* The last bytes of a session, as valid UTF-8, into b. An ended one's are
 * read once. */
void
session_tail(struct master *m, struct session *s, struct sbuf *b, size_t max)
{
	char buf[MASTER_TAIL];
	const char *p = buf;
	size_t len, skip;

	if (s->state == STATE_QUEUED || max > sizeof(buf))
		return;
	if (s->tail_read) {
		p = s->tail;
		len = s->tail_len;
	} else {
		len = tail_read(m, s, buf, sizeof(buf));
		if (!session_live(s)) {
			s->tail = malloc(len != 0 ? len : 1);
			if (s->tail != NULL) {
				memcpy(s->tail, buf, len);
				s->tail_len = len;
				s->tail_read = true;
			}
		}
	}
	if (len > max) {
		p += len - max;
		len = max;
	}
	if (len == 0)
		return;
	skip = text_skip_partial(p, len);
	sbuf_add_repaired(b, p + skip, len - skip);
}
