/* SPDX-License-Identifier: MIT */
/*
 * What a new master hears: the keeper's rows, and what every worker has. Once
 * all have spoken, whoever is in nobody's hands is started again (same keeper,
 * never ran), ended by its ring, or lost.
 */
#include <errno.h>
#include <string.h>

#include "common/fault.h"
#include "common/log.h"
#include "supervisor/master.h"

/* Of a row without a turn: did whoever had it die? */
static bool
heir_of(const struct master *m, const struct session *s, bool down)
{
	return down || pool_is_gone(m, s->custody.who);
}

/* One row of the keeper's table. One without a pid says nothing: its worker is
 * just spawning it and will speak, or dies and never ran it. */
void
recover_on_held(struct master *m, const struct ctl_held *msg)
{
	struct session *s = session_by_sid(m, msg->head.sid);
	bool down = (msg->mask & CTL_HELD_DOWN) != 0;

	if (msg->pid <= 0)
		return;
	/* one that was forgotten, and is being closed, has no ring any more */
	if (s == NULL && !m->reconciled && m->damaged &&
	    readers_get(m, msg->head.sid) != NULL)
		s = adopt_live(m, msg->head.sid);
	if (s == NULL || !session_live(s))
		return;
	facts_pid(m, s, msg->pid);
	if (down)
		m->going_on++;
	if (custody_row(&s->custody, msg->next, msg->turn,
	    heir_of(m, s, down)) != CUSTODY_MOVED)
		return;
	starts_over(m, s);
	output_unwatched(s);
	stdin_unwatched(s);
}

/* Nobody has this one in hand; `ran`: its command may have been started. */
static void
decide(struct master *m, struct session *s, bool ran)
{
	if (s->state == STATE_QUEUED)
		return;
	if (s->state == STATE_STARTING && !ran) {
		int r = spec_load(m, s);

		if (r == -ENOMEM) {
			master_give_up(m, "no memory to start a session");
			return;
		}
		if (r == 0) {
			log_event(LOG_NOTE, "session-starts-again",
			    KV_SESSION(s), KV("why", "it never ran"));
			session_again(m, s);
			return;
		}
	}
	session_end_by_ring(m, s);
}

/* Was there anything but a start that failed? `other`: where no ring says it. */
static bool
may_have_run(struct master *m, const struct session *s, bool other)
{
	static struct ring_facts facts;
	struct ring_reader *r = readers_get(m, s->id.sid);

	if (r == NULL || ring_facts(r, &facts) != RING_OK)
		return other;
	return facts.raw.exec_errno == 0;
}

void
recover_down(struct master *m, struct session *s, struct wid dead,
    bool in_hand)
{
	bool expected = s->custody.state == CUSTODY_EXPECT;

	if (!session_live(s) ||
	    custody_down(&s->custody, dead) != CUSTODY_ORPHAN)
		return;
	starts_over(m, s);
	output_unwatched(s);
	stdin_unwatched(s);
	if (expected) {
		log_event(LOG_NOTE, "session-unheard",
		    KV("session", s->id.sid.v), KV("slug", s->id.slug),
		    KV("slot", dead.slot));
		decide(m, s, may_have_run(m, s, true));
	} else if (s->state == STATE_STARTING) {
		session_again_after(m, s, in_hand);
	} else {
		session_end_by_ring(m, s);
	}
}

/* A damaged record, which has another by now, or never will. */
static int
forget_bad(void *arg, struct index_bytes key, struct index_bytes val)
{
	struct master *m = arg;
	struct session *s = record_decode(val.data, val.size);
	struct index_key64 id;
	int r;

	if (s == NULL && errno == ENOMEM)
		return -ENOMEM;
	id = index_key64(s != NULL ? s->id.sid.v : 0);
	if (s != NULL && key.size == sizeof(id.b) &&
	    memcmp(key.data, id.b, sizeof(id.b)) == 0) {
		session_free(s);
		return 0;
	}
	session_free(s);
	r = index_del(m->ix, INDEX_SPECS, key);
	if (r == 0 || r == -ENOENT)
		r = index_del(m->ix, INDEX_SESSIONS, key);
	return r;
}

/* All that could be found out is: the index is whole with this turn. Where that
 * cannot be written the next master looks again. */
static void
be_whole(struct master *m)
{
	struct index_bytes from = {"", 0};

	if (!m->damaged)
		return;
	FAULT("adopt.before-whole");
	if (index_scan(m->ix, INDEX_SESSIONS, from, forget_bad, m) == 0)
		(void)recover_meta_put(m, "damaged", 0);
	m->damaged = false;
}

/* Of a damaged record: has its worker closed it after the keeper told its table,
 * and before it heard of us? Then nobody will speak of it; where somebody does,
 * the end is what its ring says all the same. */
static bool
is_closed(struct master *m, const struct session *s)
{
	static struct ring_facts facts;
	struct ring_reader *r;

	if (!m->damaged || !session_live(s) ||
	    s->custody.state != CUSTODY_EXPECT)
		return false;
	r = readers_get(m, s->id.sid);
	return r != NULL && ring_facts(r, &facts) == RING_OK &&
	    facts.raw.closed_ms != 0;
}

/* Where keeper and workers have all spoken: decides about the rest. */
void
recover_step(struct master *m)
{
	struct session *s;
	struct sid at;
	bool failed;

	if (m->reconciled || !m->table_end || !pool_dumps_done(m))
		return;
	m->reconciled = true;
	for (s = registry_first(m); s != NULL; s = registry_after(m, at)) {
		at = s->id.sid;
		failed = s->custody.who.generation != 0;
		if (session_live(s) &&
		    custody_settled(&s->custody) == CUSTODY_ORPHAN)
			/* by an older worker, which may have killed it */
			decide(m, s, failed && may_have_run(m, s, false));
		else if (is_closed(m, s))
			session_end_by_ring(m, s);
	}
	files_sweep(m, "rings", m->damaged);
	files_sweep(m, "spool", false);
	be_whole(m);
	log_event(LOG_NOTE, "reconciled", KV("sessions", m->live));
}
