/* SPDX-License-Identifier: MIT */
/*
 * Ring readers, a bounded number of them kept open: a table in which an
 * instance id has one place, and whoever needs the place takes it. Their owner
 * is this file: a caller uses one at once and keeps no pointer beyond its own
 * function.
 */
#include <errno.h>

#include "supervisor/master.h"

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
