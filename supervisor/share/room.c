/* SPDX-License-Identifier: MIT */
/*
 * The rooms of scopes: found by name, held by the sessions and connections that
 * count there. Called by registry.c and session.c for every session that comes,
 * changes its state or goes, by gate.c before one starts.
 */
#include "supervisor/share/room.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/log.h"
#include "shm/index.h"
#include "supervisor/master.h"

#define MIB       (UINT64_C(1) << 20)
#define HEAVY_MAX 5u /* scopes that status names for a resource */

static RANK_BY_TEXT(cmp_name, struct room, by_name, name)

void
rooms_init(struct master *m)
{
	struct rooms *r = &m->rooms;

	share_init(&r->shares);
	rank_init(&r->by_name, cmp_name);
	share_set_reclaim(&r->shares, SHARE_OUTPUT, sweep_reclaim, m);
	share_set_reclaim(&r->shares, SHARE_MEMORY, conn_room_free, m);
	share_set_reclaim(&r->shares, SHARE_CONNECTIONS, conn_room_reclaim, m);
}

void
rooms_fini(struct master *m)
{
	struct rank_node *n;

	while ((n = rank_first(&m->rooms.by_name)) != NULL) {
		rank_erase(&m->rooms.by_name, n);
		free(RANK_OWNER(n, struct room, by_name));
	}
}

void
rooms_configure(struct master *m)
{
	struct shares *sh = &m->rooms.shares;

	share_set_limit(sh, SHARE_MEMORY, m->cfg.client_memory);
	share_set_limit(sh, SHARE_CONNECTIONS, conn_room_limit(m));
	share_set_limit(sh, SHARE_SESSIONS, m->h.max_sessions);
	/* specs wait in the index, one of 2 KB in a page of its own, or, for
	 * their turn to start, in memory; the index must have room for
	 * everybody's records beside them */
	share_set_limit(sh, SHARE_WAITING, m->budget < INDEX_MAP_BYTES
	        ? m->budget / 4
	        : INDEX_MAP_BYTES / 4);
	share_set_limit(sh, SHARE_OUTPUT, m->budget);
}

struct room *
room_hold(struct master *m, const char *scope)
{
	struct room *room;
	struct rank_node *n;
	char name[sizeof(room->name)];

	snprintf(name, sizeof(name), "%s", scope);
	n = rank_find(&m->rooms.by_name, name);
	room = n != NULL ? RANK_OWNER(n, struct room, by_name)
			 : calloc(1, sizeof(*room));
	if (room == NULL)
		return NULL;
	if (n == NULL) {
		memcpy(room->name, name, sizeof(name));
		room->of = &m->rooms;
		for (int k = 0; k < KEPT_KINDS; k++)
			TAILQ_INIT(&room->kept[k]);
		TAILQ_INIT(&room->starting);
		TAILQ_INIT(&room->idle);
		TAILQ_INIT(&room->large);
		rank_insert(&m->rooms.by_name, &room->by_name, name);
	}
	room->holders++;
	return room;
}

/* The sessions that are a box count with whom it is for, which their label names
 * behind a blank (host/inner.h). */
static const char *
counts_as(const struct session *s)
{
	const char *label = session_is_ours(s) ? strchr(s->id.label, ' ')
					       : NULL;

	return label != NULL ? label + 1 : s->id.scope;
}

int
room_join(struct master *m, struct session *s)
{
	if (s->share.room == NULL)
		s->share.room = room_hold(m, counts_as(s));
	return s->share.room != NULL ? 0 : -ENOMEM;
}

void
room_release(struct room **room)
{
	struct room *r = *room;

	*room = NULL;
	if (r == NULL)
		return;
	CHECK(r->holders > 0);
	if (--r->holders > 0)
		return;
	rank_erase(&r->of->by_name, &r->by_name);
	free(r);
}

/* ---------------------------------------------------------------- asking */

/* Bytes as whole MiB, or KiB where they are few. */
static const char *
shown(enum share_resource r, uint64_t n, char buf[32])
{
	if (!share_in_bytes(r))
		snprintf(buf, 32, "%" PRIu64, n);
	else if (n >= MIB)
		snprintf(buf, 32, "%" PRIu64 " MiB", n / MIB);
	else
		snprintf(buf, 32, "%" PRIu64 " KiB", n >> 10);
	return buf;
}

void
room_refuse(const struct room *room, enum share_resource r, uint64_t n,
    struct proto_problem *why)
{
	const struct shares *sh = &room->of->shares;
	uint64_t fair = share_fair(sh, &room->share, r), own = room_used(room, r);
	char a[32], b[32], c[32];

	proto_problem_set(why, PROTO_E_SHARE_USED_UP, "",
	    "%s: this scope uses %s, its share is %s, and %s%s; try again when "
	    "some of its requests have ended",
	    share_name(r), shown(r, own, a), shown(r, fair, b),
	    n == 0 ? "" : shown(r, n, c),
	    n == 0           ? "what is over it is needed"
	    : own + n > fair ? " more would be over it"
			     : " more are not free at this moment");
	why->share = (struct proto_share){.resource = share_name(r),
	    .used = own, .fair = fair, .limit = sh->row[r].limit};
}

int
room_ask(struct room *room, enum share_resource r, uint64_t n,
    struct proto_problem *why)
{
	if (n == 0 || share_may(&room->of->shares, &room->share, r, n))
		return 0;
	if (why == NULL)
		return -EDQUOT;
	room->of->refused[r]++;
	room_refuse(room, r, n, why);
	log_event(LOG_DEBUG, "share-used-up", KV("resource", share_name(r)),
	    KV("scope", room->name), KV("used", why->share.used),
	    KV("fair", why->share.fair));
	return -EDQUOT;
}

/* -------------------------------------------------------------- sessions */

/* What is kept with a session: its texts, about, and what START will need. */
static void
measure(struct session *s)
{
	const char *const texts[] = {s->id.scope, s->wish.command, s->id.name,
	    s->wish.cwd, s->id.label, s->id.session_key, s->id.request_key,
	    s->wish.lane};

	if (s->share.text_bytes == 0) {
		s->share.text_bytes = s->id.tags.bytes;
		for (size_t i = 0; i < NELEMS(texts); i++)
			s->share.text_bytes += texts[i] != NULL
			    ? strlen(texts[i]) + 1 : 0;
	}
	if (s->record.spec != NULL)
		s->share.spec_bytes = s->record.spec->blob_bytes;
}

/* What the session counts with in a state. What is being removed does not
 * keep new ones out, though it ends a moment later. */
static void
counts_with(const struct session *s, uint32_t state,
    uint64_t n[SHARE_RESOURCES])
{
	bool runs = state == STATE_STARTING || state == STATE_RUNNING ||
	    state == STATE_EXITED;

	memset(n, 0, SHARE_RESOURCES * sizeof(n[0]));
	if (s->over.forgotten)
		return;
	n[SHARE_MEMORY] = sizeof(*s) + s->share.text_bytes;
	n[SHARE_SESSIONS] = runs;
	if (state == STATE_QUEUED || state == STATE_STARTING)
		n[SHARE_WAITING] = s->share.spec_bytes;
	if (state != STATE_ENDED && s->input.spool_end > s->input.consumed)
		n[SHARE_WAITING] += s->input.spool_end - s->input.consumed;
	if (state == STATE_ENDED)
		n[SHARE_OUTPUT] = s->output.ring_bytes;
	else if (runs && !s->shown.hidden)
		n[SHARE_OUTPUT] = (uint64_t)s->wish.head_bytes +
		    s->wish.tail_bytes + SHM_PAGE;
}

int
room_for(struct session *s, uint32_t state, struct proto_problem *why)
{
	uint64_t n[SHARE_RESOURCES];
	int e = 0;

	measure(s);
	counts_with(s, state, n);
	for (unsigned r = 0; e == 0 && r < SHARE_RESOURCES; r++)
		if (n[r] > s->share.lent[r])
			e = room_ask(s->share.room, r, n[r] - s->share.lent[r],
			    why);
	return e;
}

/* It is, or is no more, one of the live ones. */
static void
set_lives(struct session *s, bool lives)
{
	if (lives != s->share.lives)
		s->share.room->live += lives ? 1 : UINT64_MAX;
	s->share.lives = lives;
}

void
room_count(struct session *s)
{
	struct shares *sh = &s->share.room->of->shares;
	uint64_t n[SHARE_RESOURCES];

	measure(s);
	counts_with(s, s->state, n);
	for (unsigned r = 0; r < SHARE_RESOURCES; r++) {
		if (n[r] > s->share.lent[r])
			share_take(sh, &s->share.room->share, r,
			    n[r] - s->share.lent[r]);
		else if (n[r] < s->share.lent[r])
			share_give(sh, &s->share.room->share, r,
			    s->share.lent[r] - n[r]);
		s->share.lent[r] = n[r];
	}
	set_lives(s, session_live(s) && !session_is_ours(s));
}

uint64_t
room_live(const struct master *m, const char *scope)
{
	struct rank_node *n = rank_find(&m->rooms.by_name, scope);

	return n != NULL ? RANK_OWNER(n, struct room, by_name)->live : 0;
}

void
room_leave(struct session *s)
{
	for (unsigned r = 0; s->share.room != NULL && r < SHARE_RESOURCES; r++)
		share_give(&s->share.room->of->shares, &s->share.room->share, r,
		    s->share.lent[r]);
	if (s->share.room != NULL)
		set_lives(s, false);
	room_release(&s->share.room);
}

/* ---------------------------------------------------------------- status */

/* The scopes that use most of it. */
static void
put_heaviest(struct enc *e, const struct shares *sh, enum share_resource r)
{
	struct rank_node *n = rank_last(&sh->row[r].users);

	enc_kv_array(e, "heaviest");
	for (uint32_t i = 0; n != NULL && i < HEAVY_MAX; i++) {
		const struct room *room = RANK_OWNER_C(n - r, struct room,
		    share.by_use);

		enc_map(e);
		/* as conn_room.c names who has said no hello */
		if (room->name[0] == '\001')
			enc_kv_str(e, "user", room->name + 1);
		else
			enc_kv_str(e, "scope", room->name);
		enc_kv_uint(e, "used", room_used(room, r));
		enc_end(e);
		n = rank_prev(n);
	}
	enc_end(e);
}

void
room_status(struct master *m, const char *scope, struct enc *e)
{
	const struct shares *sh = &m->rooms.shares;
	struct room *room = scope != NULL ? room_hold(m, scope) : NULL;

	enc_kv_array(e, "shares");
	for (unsigned r = 0; r < SHARE_RESOURCES; r++) {
		enc_map(e);
		enc_kv_str(e, "resource", share_name(r));
		enc_kv_uint(e, "limit", sh->row[r].limit);
		if (scope == NULL) {
			enc_kv_uint(e, "used", sh->row[r].used);
			enc_kv_uint(e, "scopes",
			    rank_size(&sh->row[r].users));
			enc_kv_uint(e, "refused", m->rooms.refused[r]);
			put_heaviest(e, sh, r);
		} else if (room != NULL) {
			enc_kv_uint(e, "used", room_used(room, r));
			enc_kv_uint(e, "fair",
			    share_fair(sh, &room->share, r));
		}
		enc_end(e);
	}
	enc_end(e);
	room_release(&room);
}
