/* SPDX-License-Identifier: MIT */
/*
 * A new master finds out what there is: the index first, then what keeper and
 * workers say (reconcile.c). State is reconciled from what exists, never
 * replayed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/abi.h"
#include "common/fault.h"
#include "common/log.h"
#include "supervisor/master.h"
#include "supervisor/store/kept.h"

struct scan {
	struct master *m;
	unsigned loaded, bad;
};

/* One record of the index. */
static int
on_record(void *arg, struct index_bytes key, struct index_bytes val)
{
	struct scan *sc = arg;
	struct session *s = record_decode(val.data, val.size);
	struct index_key64 id;
	int r = -EBADMSG;

	if (s == NULL && errno == ENOMEM)
		return -ENOMEM;
	if (s == NULL) {
		sc->bad++;
		return 0;
	}
	id = index_key64(s->id.sid.v);
	if (key.size == 8 && memcmp(key.data, id.b, 8) == 0)
		r = registry_add(sc->m, s);
	if (r == -ENOMEM) {
		session_free(s);
		return r;
	}
	if (r < 0) {
		sc->bad++;
		session_free(s);
		return 0;
	}
	if (s->id.sid.v >= sc->m->next_sid)
		sc->m->next_sid = s->id.sid.v + 1;
	custody_load(&s->custody, s->tries.attempt + 1);
	if (!session_live(s))
		custody_over(&s->custody);
	stdin_loaded(s);
	sc->loaded++;
	return 0;
}

/* An unsigned value of the META table; 0 where it is not there, or damaged. */
static int
meta_get(struct master *m, const char *key, uint64_t *ret)
{
	struct codec_arena *arena;
	const struct val *v;
	struct index_bytes val;
	int r;

	*ret = 0;
	r = index_get(m->ix, INDEX_META,
	    (struct index_bytes){key, strlen(key)}, &val);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = kept_value(val, &arena, &v);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (v->type == VAL_UINT)
		*ret = v->u;
	codec_arena_free(&arena);
	return 0;
}

/* Sets an unsigned value of the META table. */
int
recover_meta_put(struct master *m, const char *key, uint64_t v)
{
	struct enc e = ENC_INIT;

	enc_uint(&e, v);
	return kept_put(m->ix, INDEX_META,
	    (struct index_bytes){key, strlen(key)}, &e, true);
}

/* Opens the index; one whose layout is not for this build is set aside. */
int
recover_index(struct master *m)
{
	char why[160];
	uint64_t layout = 0;
	uint32_t stamp;
	bool aside = false;
	int r;

	if ((m->h.flags & HERITAGE_INDEX_BAD) != 0)
		aside = index_set_aside(m->h.runtime_dir) == 0;
	r = index_open(m->h.runtime_dir, &m->ix, &m->set_aside);
	if (r < 0)
		return r;
	if (aside || m->set_aside) {
		log_event(LOG_ERROR, "index-set-aside", KV("why", aside ?
		    "masters died of it" : "it is damaged"));
		m->set_aside = true;
		FAULT("adopt.after-aside");
	}
	r = meta_get(m, "layout", &layout);
	if (r < 0)
		return r;
	stamp = (uint32_t)layout;
	/* a new one has none yet; nor has one of before there were stamps, whose
	 * values have no sums and read as damaged, each */
	if (layout != 0 && !abi_reads(ABI_INDEX, stamp)) {
		abi_refusal(ABI_INDEX, stamp, why, sizeof(why));
		log_event(LOG_ERROR, "index-set-aside", KV("why", why));
		index_close(&m->ix);
		r = index_set_aside(m->h.runtime_dir);
		if (r == 0)
			r = index_open(m->h.runtime_dir, &m->ix, &aside);
		if (r < 0)
			return r;
		m->set_aside = true;
	} else {
		abi_index_is(stamp);
		/* the records of a newer one stay what they are */
		if (abi_stamp_version(stamp) > abi_table[ABI_INDEX].version)
			return 0;
	}
	return recover_meta_put(m, "layout", abi_stamp(ABI_INDEX));
}

/* Orders ended sessions by the time of their end. */
static int
by_end(const void *a, const void *b)
{
	const struct session *x = *(struct session *const *)a;
	const struct session *y = *(struct session *const *)b;

	if (x->facts.ended_ms != y->facts.ended_ms)
		return x->facts.ended_ms < y->facts.ended_ms ? -1 : 1;
	return x->id.sid.v < y->id.sid.v ? -1 : x->id.sid.v > y->id.sid.v;
}

/* Orders queued sessions as their lane had them. */
static int
by_lane_seq(const void *a, const void *b)
{
	const struct session *x = *(struct session *const *)a;
	const struct session *y = *(struct session *const *)b;

	if (x->place.lane_seq != y->place.lane_seq)
		return x->place.lane_seq < y->place.lane_seq ? -1 : 1;
	return x->id.sid.v < y->id.sid.v ? -1 : x->id.sid.v > y->id.sid.v;
}

/* All sessions that `want` says yes to, sorted; NULL: none, or no memory, and
 * then this master ends. */
static struct session **
collect(struct master *m, bool (*want)(const struct session *),
    int (*cmp)(const void *, const void *), size_t *ret_n)
{
	struct session **v, *s;
	size_t n = 0;

	for (s = registry_first(m); s != NULL; s = registry_next(m, s))
		n += want(s);
	*ret_n = 0;
	if (n == 0)
		return NULL;
	v = calloc(n, sizeof(struct session *));
	if (v == NULL) {
		master_give_up(m, "no memory for what is on record");
		return NULL;
	}
	for (s = registry_first(m); s != NULL; s = registry_next(m, s))
		if (want(s))
			v[(*ret_n)++] = s;
	qsort(v, n, sizeof(struct session *), cmp);
	return v;
}

static bool
is_ended(const struct session *s)
{
	return s->state == STATE_ENDED;
}

static bool
is_queued(const struct session *s)
{
	return s->state == STATE_QUEUED;
}

/* It runs: it has its place, unless its lane was reset since. */
static void
lane_hold(struct master *m, struct session *s)
{
	if (lanes_restore_active(m->lanes, s->wish.lane, s->id.sid) == -ENOMEM)
		master_give_up(m, "no memory for a lane");
	if (s->place.lane_stale)
		lanes_disown(m->lanes, s->id.sid);
}

/* Puts lanes back: holders first, then the queue in its old order. */
static void
restore_lanes(struct master *m)
{
	struct session *s, **v;
	size_t n;

	for (s = registry_first(m); s != NULL; s = registry_next(m, s)) {
		if (!session_live(s) || s->state == STATE_QUEUED ||
		    session_is_ours(s))
			continue;
		gate_restore(m, s);
		if (s->wish.lane[0] != '\0')
			lane_hold(m, s);
	}
	v = collect(m, is_queued, by_lane_seq, &n);
	for (size_t i = 0; i < n; i++) {
		if (v[i]->wish.lane[0] == '\0') {
			if (gate_restore_waiting(m, v[i]) < 0)
				session_end_here(m, v[i], END_LOST, "no place");
			continue;
		}
		switch (lane_enter(m, v[i], v[i]->wish.priority,
		    v[i]->id.created_ms)) {
		case LANE_ADMIT:
			if (gate_enter(m, v[i], false, "admitted", NULL) < 0)
				session_end_here(m, v[i], END_LOST, "no place");
			break;
		case LANE_QUEUED:
			if (v[i]->queued.warned)
				lanes_mute(m->lanes, v[i]->id.sid);
			break;
		case LANE_NOMEM:
			master_give_up(m, "no memory for a lane");
			break;
		case LANE_FULL:
		case LANE_DRAINING:
			session_end_here(m, v[i], END_LOST, "no place");
			break;
		}
	}
	free(v);
}

/* Puts ended sessions back into their order. */
static void
restore_ended(struct master *m)
{
	struct session **v;
	size_t n;

	v = collect(m, is_ended, by_end, &n);
	for (size_t i = 0; i < n; i++)
		sweep_ended(m, v[i]);
	m->events_due = n > 0; /* the last master may have found no room */
	free(v);
}

/* What ran under another keeper is lost. Where the index does not say any more
 * whose it is, the board does: each keeper makes a new one. */
static void
lose_strangers(struct master *m, bool board_says)
{
	struct session *s;
	struct sid at;

	for (s = registry_first(m); s != NULL; s = registry_after(m, at)) {
		at = s->id.sid;
		if (!session_live(s) || (s->state == STATE_QUEUED &&
		    !FAULT_FAILS("lie.queue-lost")) ||
		    (board_says && adopt_is_shown(m, at)))
			continue;
		(void)shown_background(s); /* its request cannot come back */
		session_end_by_ring(m, s);
	}
}

/* Where the slugs begin: somewhere, but for as long as there is this index. */
static int
names_get(struct master *m)
{
	int r = meta_get(m, "names", &m->names);

	if (r < 0 || m->names != 0)
		return r;
	m->names = 1 + (uint64_t)arc4random();
	return recover_meta_put(m, "names", m->names);
}

/* Was neither this keeper's board ever written to nor the index, and no ring,
 * of another keeper's either? */
static bool
is_virgin(const struct master *m, const struct scan *sc)
{
	return !m->set_aside && sc->loaded == 0 && sc->bad == 0 &&
	    atomic_load(&m->board.hdr->slots_high) == 0 && !files_has_rings(m);
}

/* A mark in the index while it is damaged, and whose it is. */
static int
marks_put(struct master *m, uint64_t incarnation)
{
	int r = 0;

	if (m->damaged)
		r = recover_meta_put(m, "damaged", 1);
	if (r == 0 && incarnation != m->h.incarnation)
		r = recover_meta_put(m, "incarnation", m->h.incarnation);
	return r;
}

/* Records of builds that did not say it are of the last keeper. */
static void
own_incarnations(struct master *m, uint64_t last)
{
	struct session *s;

	for (s = registry_first(m); s != NULL; s = registry_next(m, s))
		if (s->id.incarnation == 0)
			session_of_keeper(s, last != 0 ? last
			                               : m->h.incarnation);
}

/* Loads everything from the index, and puts back what it does not have. Until
 * the first commit, which writes all of that, it stays what it was: a master
 * that dies before leaves all to the next one. */
int
recover_scan(struct master *m)
{
	struct scan sc = {.m = m};
	struct index_bytes from = {"", 0};
	uint64_t incarnation, next, mark;
	int r;

	m->next_sid = 1;
	r = index_scan(m->ix, INDEX_SESSIONS, from, on_record, &sc);
	if (r < 0)
		return r;
	r = meta_get(m, "incarnation", &incarnation);
	if (r == 0)
		r = meta_get(m, "next", &next);
	if (r == 0)
		r = meta_get(m, "damaged", &mark);
	if (r == 0)
		r = names_get(m);
	if (r < 0)
		return r;
	m->damaged = !is_virgin(m, &sc) &&
	    (incarnation == 0 || sc.bad > 0 || mark != 0);
	if (next > SID_MAX)
		next = 0; /* as where there is none */
	if (next > m->next_sid)
		m->next_sid = next;
	m->next_kept = next > 0 ? next : 1;
	files_drop_spares(m);
	spares_recover(m);
	if (m->damaged || (next == 0 && sc.loaded > 0))
		files_skip_numbers(m);
	if (sc.loaded > 0 || sc.bad > 0)
		log_event(LOG_NOTE, "index-read", KV("sessions", sc.loaded),
		    KV("bad", sc.bad));
	r = adopt_open(m);
	if (r < 0)
		return r;
	tally_load(m, incarnation == 0 || incarnation == m->h.incarnation);
	if (sc.loaded > 0 || sc.bad > 0) /* a server's first one has nothing */
		FAULT("master.in-recover");
	own_incarnations(m, incarnation);
	restore_ended(m);
	if (incarnation != m->h.incarnation)
		lose_strangers(m, incarnation == 0);
	adopt_shown(m);
	adopt_close(m);
	shown_take(m);
	boxes_recover(m);
	r = marks_put(m, incarnation);
	if (r < 0)
		return r;
	restore_lanes(m);
	r = lane_admin_load(m);
	if (r < 0)
		return r;
	session_pump_lanes(m); /* nobody who ends may be left to do it */
	session_ends_drain(m);
	for (struct session *s = registry_first(m); s != NULL;
	     s = registry_next(m, s))
		board_show(m, s);
	return m->failed ? -ENOMEM : 0;
}
