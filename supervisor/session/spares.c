/* SPDX-License-Identifier: MIT */
#include "supervisor/session/spares.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/check.h"
#include "common/fault.h"
#include "common/rundir.h"
#include "supervisor/master.h"

#define LOOKS   4u  /* at the oldest ones, for the same geometry */
#define IDLE_NS (3 * NSEC_PER_SEC) /* unused so long, it goes ... */
#define AT_ONCE 32u /* ... with so many others of its worker a beat */

/* Of a scope's answered ones so many stay, the oldest goes. Where all of them are
 * one worker's, as of a client that has one command at a time, that one's ring is
 * still to be open. */
static_assert(CTL_SPARES_MAX > MASTER_RECENT, "it is never used again");

struct spare {
	TAILQ_ENTRY(spare) link;
	struct sid sid;
	uint32_t place; /* where it is noted: note() */
	uint32_t head_bytes, tail_bytes;
	uint64_t since_ns;
	uint64_t flushes; /* of its worker, when it was put aside */
};

/*
 * Notes in our page that a ring with a session's name is a forgotten one's, so
 * that a next master which finds the index damaged does not take it for a
 * session. It costs a store, a name of its own a rename. 1 + its place, or 0:
 * there is none.
 */
static uint32_t
note(struct master *m, struct sid sid)
{
	static uint32_t last;

	for (uint32_t i = 0; i < STATS_FORGOTTEN; i++) {
		last = (last + 1) % STATS_FORGOTTEN;
		if (atomic_load(&m->stats->forgotten[last]) != 0)
			continue;
		atomic_store(&m->stats->forgotten[last], sid.v);
		return last + 1;
	}
	return 0;
}

bool
spares_has(const struct master *m, struct sid sid)
{
	for (uint32_t i = 0; i < STATS_FORGOTTEN; i++)
		if (atomic_load(&m->stats->forgotten[i]) == sid.v)
			return true;
	return false;
}

/* There is no such file any more. */
static void
unnote(const struct master *m, uint32_t place)
{
	if (place != 0)
		atomic_store(&m->stats->forgotten[place - 1], 0);
}

/* Unlinks a file that is put aside; it may be gone by now. */
static void
unlink_spare(const struct master *m, struct sid sid, uint32_t place)
{
	char name[RUNDIR_NAME_MAX];

	if (place != 0)
		rundir_ring_name(sid, name);
	else
		rundir_spare_name(sid, name);
	(void)unlinkat(m->dirfd, name, 0);
	unnote(m, place);
}

/* Puts it out of the way of sessions. */
static bool
rename_spare(const struct master *m, struct sid sid)
{
	char from[RUNDIR_NAME_MAX], to[RUNDIR_NAME_MAX];

	rundir_ring_name(sid, from);
	rundir_spare_name(sid, to);
	return renameat(m->dirfd, from, m->dirfd, to) == 0;
}

void
spares_recover(struct master *m)
{
	for (uint32_t i = 0; i < STATS_FORGOTTEN; i++) {
		struct sid sid = {atomic_load(&m->stats->forgotten[i])};

		/* its record may not have gone before the last master did */
		if (sid.v != 0 && session_by_sid(m, sid) == NULL)
			unlink_spare(m, sid, i + 1);
		atomic_store(&m->stats->forgotten[i], 0);
	}
}

/* Off the list of its worker. */
static void
drop(struct worker *w, struct spare *sp)
{
	CHECK(w->spare_count > 0);
	TAILQ_REMOVE(&w->spares, sp, link);
	w->spare_count--;
	free(sp);
}

bool
spares_keep(struct master *m, const struct session *s)
{
	struct worker *w =
	    s->spares.ring_kept != 0 ? pool_get(m, s->custody.who) : NULL;
	struct spare *sp;
	uint32_t place;

	/* what it kept long ago it has closed by now */
	if (w == NULL || w->spare_count >= CTL_SPARES_MAX ||
	    w->kept - s->spares.ring_kept >= CTL_SPARES_MAX)
		return false;
	CHECK(s->state == STATE_ENDED);
	sp = malloc(sizeof(*sp));
	if (sp == NULL)
		return false;
	place = note(m, s->id.sid);
	if (place == 0 && !rename_spare(m, s->id.sid)) {
		free(sp);
		return false;
	}
	FAULT("master.after-spare");
	*sp = (struct spare){.sid = s->id.sid, .place = place,
	    .head_bytes = s->wish.head_bytes,
	    .tail_bytes = s->wish.tail_bytes, .since_ns = clock_boot_ns(),
	    .flushes = w->flushes};
	TAILQ_INSERT_TAIL(&w->spares, sp, link);
	w->spare_count++;
	return true;
}

void
spares_ended(struct worker *w, struct session *s, bool kept, bool own)
{
	w->kept += kept;
	s->spares.ring_kept = kept && own ? w->kept : 0;
}

/* Its worker keeps it open from its ENDED on, which has left before. */
void
spares_take(struct master *m, struct worker *w, struct session *s)
{
	struct spare *sp = TAILQ_FIRST(&w->spares);

	spares_lost(m, s);
	for (unsigned i = 0;
	     i < LOOKS && sp != NULL && sp->flushes < w->flushes; i++) {
		if (sp->head_bytes == s->wish.head_bytes &&
		    sp->tail_bytes == s->wish.tail_bytes) {
			s->spares.offered = sp->sid;
			s->spares.place = sp->place;
			drop(w, sp);
			return;
		}
		sp = TAILQ_NEXT(sp, link);
	}
}

void
spares_used(struct master *m, struct session *s)
{
	unnote(m, s->spares.place);
	s->spares.offered.v = s->spares.place = 0;
}

void
spares_lost(struct master *m, struct session *s)
{
	if (s->spares.offered.v != 0)
		unlink_spare(m, s->spares.offered, s->spares.place);
	s->spares.offered.v = s->spares.place = 0;
}

void
spares_drop(struct master *m, struct worker *w)
{
	struct spare *sp;

	while ((sp = TAILQ_FIRST(&w->spares)) != NULL) {
		unlink_spare(m, sp->sid, sp->place);
		drop(w, sp);
	}
}

/* The oldest of a worker's, where nobody has asked for them. */
static void
rest_some(struct master *m, struct worker *w, uint64_t now)
{
	struct spare *sp;

	for (unsigned i = 0; i < AT_ONCE &&
	     (sp = TAILQ_FIRST(&w->spares)) != NULL &&
	     now - sp->since_ns > IDLE_NS; i++) {
		unlink_spare(m, sp->sid, sp->place);
		drop(w, sp);
	}
}

void
spares_rest(struct master *m)
{
	uint64_t now = clock_boot_ns();

	for (uint32_t i = 0; i < MASTER_WORKERS; i++)
		if (m->workers[i].present)
			rest_some(m, &m->workers[i], now);
}
