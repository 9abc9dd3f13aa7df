/* SPDX-License-Identifier: MIT */
/*
 * Who there is: the sessions by instance id, by slug and by request key, and
 * their slots on the board. session.c changes their state; this file finds,
 * adds, shows and forgets them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/check.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/rundir.h"
#include "common/text.h"
#include "supervisor/master.h"

/* Order of the tree of instance ids. */
static int
sid_cmp(const struct session *a, const struct session *b)
{
	return a->id.sid.v < b->id.sid.v ? -1 : a->id.sid.v > b->id.sid.v;
}

/* Order of the tree of slugs. */
static int
slug_cmp(const struct session *a, const struct session *b)
{
	return strcmp(a->id.slug, b->id.slug);
}

/* Order of the tree of request keys. */
static int
key_cmp(const struct keyed *a, const struct keyed *b)
{
	size_t n = a->len < b->len ? a->len : b->len;
	int c = memcmp(a->key, b->key, n);

	if (c != 0)
		return c;
	return a->len < b->len ? -1 : a->len > b->len;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
RB_GENERATE_INTERNAL(sid_tree, session, by_sid, sid_cmp, static)
RB_GENERATE_INTERNAL(slug_tree, session, by_slug, slug_cmp, static)
RB_GENERATE_INTERNAL(key_tree, keyed, by_key, key_cmp, static)
#pragma GCC diagnostic pop

/* The session of an instance id, or NULL. */
struct session *
session_by_sid(struct master *m, struct sid sid)
{
	struct session probe;

	probe.id.sid = sid;
	return RB_FIND(sid_tree, &m->by_sid, &probe);
}

/* The session of a slug, or NULL. */
struct session *
session_by_slug(struct master *m, const char *slug)
{
	struct session probe;

	if (strlen(slug) >= sizeof(probe.id.slug))
		return NULL;
	strcpy(probe.id.slug, slug);
	return RB_FIND(slug_tree, &m->by_slug, &probe);
}

/* The oldest session, or NULL. */
struct session *
registry_first(struct master *m)
{
	return RB_MIN(sid_tree, &m->by_sid);
}

/* The one after it, or NULL. */
struct session *
registry_next(struct session *s)
{
	return RB_NEXT(sid_tree, NULL, s);
}

/* The oldest one younger than `sid`, which may be gone meanwhile: for walks
 * that end sessions, since an end makes others be forgotten. */
struct session *
registry_after(struct master *m, struct sid sid)
{
	struct session probe;

	probe.id.sid.v = sid.v + 1;
	return RB_NFIND(sid_tree, &m->by_sid, &probe);
}

/* "<incarnation>.<sid>" or "<sid>", in 16 hex digits each. */
struct session *
session_by_instance(struct master *m, const char *id)
{
	const char *number = strlen(id) == 33 && id[16] == '.' ? id + 17 : id;
	struct session *s;

	if (strlen(number) != 16 ||
	    strspn(number, "0123456789abcdef") != 16 ||
	    (number != id && strspn(id, "0123456789abcdef") != 16))
		return NULL;
	s = session_by_sid(m, (struct sid){strtoull(number, NULL, 16)});
	if (s != NULL && number != id) {
		uint64_t of = strtoull(id, NULL, 16);

		if (of != s->id.incarnation && of != m->h.incarnation)
			return NULL;
	}
	return s;
}

/* The one place that decides what a scope may see. */
struct session *
session_find(struct master *m, const char *scope, const char *name)
{
	struct session *s = session_by_slug(m, name);

	if (s == NULL)
		s = session_by_instance(m, name);
	if (s == NULL || s->shown.hidden)
		return NULL;
	if (scope != NULL && strcmp(scope, s->id.scope) != 0)
		return NULL;
	return s;
}

/* An entry of the key tree, not linked; NULL: no memory. */
static struct keyed *
keyed_new(const char *scope, const char *key)
{
	size_t a = strlen(scope), b = strlen(key);
	struct keyed *k = malloc(sizeof(*k) + a + 1 + b);

	if (k == NULL)
		return NULL;
	k->len = a + 1 + b;
	memcpy(k->key, scope, a + 1);
	memcpy(k->key + a + 1, key, b);
	return k;
}

/* The entry of a request key, or NULL. */
static struct keyed *
keyed_find(struct master *m, const char *scope, const char *key)
{
	struct keyed *probe = keyed_new(scope, key), *k;

	if (probe == NULL)
		return NULL;
	k = RB_FIND(key_tree, &m->by_key, probe);
	free(probe);
	return k;
}

/* The owner of a request key, or NULL. */
struct session *
session_by_key(struct master *m, const char *scope, const char *key)
{
	struct keyed *k = keyed_find(m, scope, key);

	return k != NULL ? k->s : NULL;
}

/* For slug_make: is there a session of that slug? */
static bool
slug_taken(void *arg, const char *slug)
{
	return session_by_slug(arg, slug) != NULL;
}

/* Puts a session into the trees. */
int
registry_add(struct master *m, struct session *s)
{
	struct keyed *k = NULL;

	if (s->share.room == NULL)
		s->share.room = room_hold(m, s->id.scope);
	if (s->share.room == NULL)
		return -ENOMEM;
	if (s->id.request_key[0] != '\0') {
		k = keyed_new(s->id.scope, s->id.request_key);
		if (k == NULL)
			return -ENOMEM;
		k->s = s;
	}
	if (s->id.slug[0] == '\0' || session_by_slug(m, s->id.slug) != NULL)
		slug_make(s->id.sid.v + m->names, slug_taken, m, s->id.slug);
	if (RB_INSERT(sid_tree, &m->by_sid, s) != NULL) {
		free(k);
		return -EEXIST;
	}
	RB_INSERT(slug_tree, &m->by_slug, s);
	if (k != NULL && RB_INSERT(key_tree, &m->by_key, k) != NULL)
		free(k);
	m->counts[s->state]++;
	if (session_live(s))
		m->live++;
	room_count(s);
	return 0;
}

/* Frees a session that is in no tree and no list. */
void
session_free(struct session *s)
{
	if (s == NULL)
		return;
	room_leave(s);
	free(s->id.scope);
	free(s->wish.command);
	free(s->id.name);
	free(s->wish.cwd);
	free(s->id.label);
	free(s->id.session_key);
	free(s->id.request_key);
	free(s->facts.holder_list);
	free(s->facts.hung_at);
	free(s->wish.lane);
	free(s->wish.spill_path);
	free(s->id.tags);
	free(s->output.tail);
	news_deadline_off(s);
	spec_free(&s->record.spec);
	free(s);
}

/* Whoever asks with its key again starts something new. */
void
registry_drop_key(struct master *m, struct session *s)
{
	struct keyed *k;

	if (s->id.request_key[0] == '\0')
		return;
	k = keyed_find(m, s->id.scope, s->id.request_key);
	if (k != NULL && k->s == s) {
		(void)index_del(m->ix, INDEX_KEYS,
		    (struct index_bytes){k->key, k->len});
		RB_REMOVE(key_tree, &m->by_key, k);
		free(k);
	}
	s->id.request_key[0] = '\0';
	session_touch(m, s);
}

/* Takes it out of the index: record, spec, key. */
static void
index_forget(struct master *m, struct session *s, const struct keyed *k)
{
	struct index_key64 id = index_key64(s->id.sid.v);
	struct index_bytes key = {id.b, sizeof(id.b)};

	(void)index_del(m->ix, INDEX_SESSIONS, key);
	(void)index_del(m->ix, INDEX_SPECS, key);
	if (k != NULL)
		(void)index_del(m->ix, INDEX_KEYS,
		    (struct index_bytes){k->key, k->len});
	cursors_forget(m->cursors, s->id.sid);
}

/* Unlinks its ring and spool. */
static void
files_forget(struct master *m, struct session *s)
{
	char name[RUNDIR_NAME_MAX];

	readers_forget(m, s->id.sid);
	spares_lost(m, s);
	rundir_ring_name(s->id.sid, name);
	if (!FAULT_FAILS("lie.file") && !spares_keep(m, s) &&
	    unlinkat(m->dirfd, name, 0) < 0 && errno != ENOENT)
		log_event(LOG_WARN, "ring-not-removed", KV_SESSION(s),
		    KV("error", strerror(errno)));
	FAULT("master.in-forget");
	if (!s->input.spooled)
		return;
	rundir_spool_name(s->id.sid, name);
	(void)unlinkat(m->dirfd, name, 0);
}

/* What was to be written of it is not, or otherwise. */
static void
undirty(struct master *m, struct session *s)
{
	if (s->record.dirty) {
		TAILQ_REMOVE(&m->dirty, s, record.link);
		m->dirty_count--;
	} else if (s->record.soon_ns != 0) {
		TAILQ_REMOVE(&m->soon, s, record.link);
	}
	s->record.soon_ns = 0;
}

/* For the timer of what is written soon: the turn's end does it. */
static void
on_soon(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	turn_begin(arg);
}

/* Has its record and slot written a little later. */
void
session_touch_soon(struct master *m, struct session *s)
{
	if (s->record.dirty || s->record.soon_ns != 0 || s->over.forgotten)
		return;
	s->record.soon_ns = clock_boot_ns() + SOON_MS * NSEC_PER_MSEC;
	if (TAILQ_EMPTY(&m->soon))
		timer_in(m, &m->soon_timer, on_soon, m, SOON_MS);
	TAILQ_INSERT_TAIL(&m->soon, s, record.link);
}

/* Before a commit: for whom it is time. */
void
registry_soon(struct master *m)
{
	struct session *s = TAILQ_FIRST(&m->soon);
	uint64_t now;

	if (s == NULL)
		return;
	now = clock_boot_ns();
	while (s != NULL && s->record.soon_ns <= now) {
		session_touch(m, s);
		s = TAILQ_FIRST(&m->soon);
	}
	if (s != NULL)
		timer_in(m, &m->soon_timer, on_soon, m,
		    (s->record.soon_ns - now) / NSEC_PER_MSEC + 1);
}

/* Forgets a session for good. */
void
registry_forget(struct master *m, struct session *s)
{
	struct keyed *k = NULL;
	struct watch *w;
	bool live = session_live(s);

	if (s->over.forgotten)
		return;
	over_session(m, s);
	session_wake(m, s, WAKE_GONE);
	while ((w = LIST_FIRST(&s->watches)) != NULL)
		over_watch(m, w);
	if (s->id.request_key[0] != '\0') {
		k = keyed_find(m, s->id.scope, s->id.request_key);
		if (k != NULL && k->s != s)
			k = NULL;
	}
	index_forget(m, s, k);
	if (k != NULL) {
		RB_REMOVE(key_tree, &m->by_key, k);
		free(k);
	}
	files_forget(m, s);
	if (s->shown.slot != UINT32_MAX) {
		board_clear(&m->board, s->shown.slot);
		m->board_free[m->board_free_count++] = s->shown.slot;
	}
	session_count_started(m, s);
	undirty(m, s);
	starts_over(m, s);
	sweep_gone(m, s);
	room_count(s);
	if (live) {
		m->live--;
		lanes_leave(m->lanes, s->id.sid);
		(void)gate_leave(m, s);
	}
	m->counts[s->state]--;
	RB_REMOVE(sid_tree, &m->by_sid, s);
	RB_REMOVE(slug_tree, &m->by_slug, s);
	log_event(LOG_DEBUG, "session-forgotten", KV_SESSION(s));
}

/* Frees a session of a master that ends: what others hold stays. */
void
registry_drop(struct master *m, struct session *s)
{
	struct keyed *k = NULL;

	if (s->id.request_key[0] != '\0')
		k = keyed_find(m, s->id.scope, s->id.request_key);
	if (k != NULL && k->s == s) {
		RB_REMOVE(key_tree, &m->by_key, k);
		free(k);
	}
	starts_over(m, s);
	RB_REMOVE(sid_tree, &m->by_sid, s);
	RB_REMOVE(slug_tree, &m->by_slug, s);
	session_free(s);
}

/* Has its record and slot written at the end of this turn. */
void
session_touch(struct master *m, struct session *s)
{
	if (s->record.dirty || s->over.forgotten)
		return;
	undirty(m, s);
	s->record.dirty = true;
	TAILQ_INSERT_TAIL(&m->dirty, s, record.link);
	m->dirty_count++;
}

/* Room for the list of free board slots. */
int
registry_board_init(struct master *m)
{
	m->board_free = calloc(m->board.slot_count + 1,
	    sizeof(*m->board_free));
	return m->board_free != NULL ? 0 : -ENOMEM;
}

/* Each session has the slot that shows it already; the others are free, and the
 * lowest are given out first. */
void
registry_board_take(struct master *m)
{
	uint32_t i = m->board.slot_count;
	uint32_t high = atomic_load(&m->board.hdr->slots_high);
	struct board_slot row;
	struct session *s;
	int r;

	while (i-- > 0) {
		r = i < high ? board_get(&m->board, i, &row) : 0;
		s = r == 1 ? session_by_sid(m, (struct sid){row.sid}) : NULL;
		if (s != NULL && s->shown.slot == UINT32_MAX &&
		    !s->shown.hidden) {
			s->shown.slot = i;
			continue;
		}
		if (r != 0)
			board_clear(&m->board, i);
		m->board_free[m->board_free_count++] = i;
	}
}

/* Copies a string into a fixed field of a slot, cut on a character border. */
static void
slot_text(char *dst, size_t size, const char *src)
{
	size_t len = strlen(src);
	size_t n = text_cut_back(src, len, size - 1);

	memcpy(dst, src, n);
	dst[n] = '\0';
}

/* Writes the session's slot of the board. */
void
board_show(struct master *m, struct session *s)
{
	struct board_slot b = {0};

	if (s->shown.hidden)
		return;
	if (s->shown.slot == UINT32_MAX) {
		if (m->board_free_count == 0)
			return;
		s->shown.slot = m->board_free[--m->board_free_count];
	}
	b.sid = s->id.sid.v;
	b.state = s->state;
	b.status = s->facts.status;
	b.reason = s->facts.reason;
	b.pid = s->facts.pid;
	b.exit_code = s->facts.exit_code;
	b.exit_signal = s->facts.exit_signal;
	b.worker_slot = s->custody.has_worker ? s->custody.worker.slot
					      : UINT32_MAX;
	b.worker_generation =
	    s->custody.has_worker ? s->custody.worker.generation : 0;
	b.created_ms = s->id.created_ms;
	b.started_ms = s->facts.started_ms;
	b.ended_ms = s->facts.ended_ms;
	b.deadline_ms = s->deadline.at_ms;
	b.total = s->output.total;
	b.flags = (s->shown.backgrounded ? BOARD_BACKGROUNDED : 0u) |
	    (s->wish.stdin_pipe && !s->input.closed ? BOARD_STDIN_OPEN : 0u) |
	    (s->terminal.pty ? BOARD_PTY : 0u);
	if (s->state == STATE_QUEUED)
		b.lane_pos = gate_position(m, s);
	slot_text(b.slug, sizeof(b.slug), s->id.slug);
	slot_text(b.name, sizeof(b.name), s->id.name);
	slot_text(b.scope, sizeof(b.scope), s->id.scope);
	slot_text(b.lane, sizeof(b.lane), s->wish.lane);
	slot_text(b.label, sizeof(b.label), s->id.label);
	slot_text(b.command, sizeof(b.command), s->wish.command);
	board_put(&m->board, s->shown.slot, &b);
}
