/* SPDX-License-Identifier: MIT */
#include "worker/spare.h"

#include <stdlib.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/ctl.h"
#include "common/rundir.h"
#include "shm/lent_map.h"
#include "worker/worker.h"

#define SMALL_BYTES 32768u /* of tmpfs; a larger one would lie there unused */
#define MOST_BYTES  (2u << 20) /* of all of them: they are on no account */
#define IDLE_BEATS  3u     /* in which none was used or came */
#define REST_A_BEAT 64u    /* of them go in one turn */

struct spare {
	TAILQ_ENTRY(spare) link;
	struct sid sid;
	struct ring_writer ring;
	uint64_t counted; /* of `bytes`: ring.blocks, until it is recycled */
};

static TAILQ_HEAD(, spare) spares = TAILQ_HEAD_INITIALIZER(spares);
static unsigned count;
static uint64_t bytes; /* of tmpfs, about */
static unsigned idle_beats;

/* As many as the master puts aside, and a sixteenth of our descriptors. */
static unsigned
most(void)
{
	static unsigned n;
	struct rlimit rl;

	if (n == 0 && getrlimit(RLIMIT_NOFILE, &rl) == 0)
		n = rl.rlim_cur / 16 < CTL_SPARES_MAX
		    ? 1 + (unsigned)rl.rlim_cur / 16
		    : CTL_SPARES_MAX;
	return n;
}

/* Off the list. */
static void
take_out(struct spare *sp)
{
	TAILQ_REMOVE(&spares, sp, link);
	count--;
	bytes -= sp->counted;
}

/* Closes one. */
static void
drop(struct spare *sp)
{
	take_out(sp);
	ring_close(&sp->ring);
	free(sp);
}

bool
spare_may(const struct worker *w, const struct ring_writer *ring)
{
	return !w->stopping && !w->leaving && ring->blocks <= SMALL_BYTES &&
	    !lent_map_lost(ring->hdr);
}

void
spare_keep(struct sid sid, struct ring_writer *ring)
{
	struct spare *sp = malloc(sizeof(*sp));

	idle_beats = 0;
	if (sp == NULL) {
		ring_close(ring);
		return;
	}
	while (count >= most() || bytes + ring->blocks > MOST_BYTES)
		drop(TAILQ_FIRST(&spares));
	*sp = (struct spare){
	    .sid = sid, .ring = *ring, .counted = ring->blocks};
	TAILQ_INSERT_TAIL(&spares, sp, link);
	count++;
	bytes += sp->counted;
}

/* The one of a session; the oldest are forgotten first. */
static struct spare *
find(uint64_t sid)
{
	struct spare *sp;

	TAILQ_FOREACH(sp, &spares, link)
		if (sp->sid.v == sid)
			return sp;
	return NULL;
}

bool
spare_take(struct worker *w, const struct ctl_start *o, struct sid sid,
    const struct ring_geometry *geo, struct ring_writer *ret)
{
	struct sid forgotten = {o->spare};
	struct spare *sp = find(forgotten.v);
	char name[RUNDIR_NAME_MAX];

	idle_beats = 0;
	if ((o->flags & CTL_START_SPARE_AS_IS) != 0)
		rundir_ring_name(forgotten, name);
	else
		rundir_spare_name(forgotten, name);
	if (sp != NULL && !lent_map_lost(sp->ring.hdr) &&
	    ring_recycle(w->dirfd, name, sid, w->heritage.incarnation, geo,
		&sp->ring) == 0) {
		take_out(sp);
		*ret = sp->ring;
		free(sp);
		return true;
	}
	if (sp != NULL)
		drop(sp);
	(void)unlinkat(w->dirfd, name, 0);
	return false;
}

void
spare_rest(void)
{
	if (count == 0 || ++idle_beats <= IDLE_BEATS)
		return;
	for (unsigned i = 0; i < REST_A_BEAT && count > 0; i++)
		drop(TAILQ_FIRST(&spares));
}

void
spare_drop_all(void)
{
	struct spare *sp;

	while ((sp = TAILQ_FIRST(&spares)) != NULL)
		drop(sp);
}
