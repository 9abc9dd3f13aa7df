/* SPDX-License-Identifier: MIT */
/*
 * The event log. Called by session/end.c (append), api/ and conn.c (read,
 * acknowledge). Records lie in the index and are written in the transaction
 * that the caller commits; in memory stands only what is needed to find them:
 * number, session, scope. So a master that dies before its commit has told
 * nobody, and one that dies after it finds everything again. How it is kept:
 * events_store.c.
 */
#include "supervisor/store/events.h"

#include "supervisor/store/events_store.h"

#include "common/check.h"
#include "supervisor/store/kept.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The bounds: the oldest go first; ends are counted. */
static void
drop_surplus(struct events *ev, struct scope *s)
{
	uint64_t before = s->overflowed;

	while (s->news_count > ev->keep)
		events_note_drop(ev, TAILQ_FIRST(&s->news));
	while (s->end_count > ev->keep) {
		events_note_drop(ev, TAILQ_FIRST(&s->ends));
		s->overflowed++;
	}
	if (s->overflowed != before)
		events_put_overflow(ev, s);
}

/* ------------------------------------------------------------------- public */

/* See events.h. */
int
events_open(struct index *ix, uint64_t keep_per_scope, struct events **ret)
{
	struct events *ev = calloc(1, sizeof(*ev));
	int rc;

	if (ev == NULL)
		return -ENOMEM;
	ev->ix = ix;
	rank_init(&ev->all, events_cmp_all);
	rank_init(&ev->scopes, events_cmp_scope);
	rc = events_load(ev);
	if (rc != 0) {
		events_close(&ev);
		return rc;
	}
	events_set_keep(ev, keep_per_scope);
	*ret = ev;
	return 0;
}

/* The index keeps everything. */
void
events_close(struct events **ev)
{
	struct rank_node *n, *m;

	if (*ev == NULL)
		return;
	while ((n = rank_first(&(*ev)->all)) != NULL) {
		rank_erase(&(*ev)->all, n);
		free(RANK_OWNER(n, struct note, by_seq));
	}
	while ((n = rank_first(&(*ev)->scopes)) != NULL) {
		struct scope *s = RANK_OWNER(n, struct scope, node);

		while ((m = rank_first(&s->subs)) != NULL) {
			rank_erase(&s->subs, m);
			free(RANK_OWNER(m, struct sub, node));
		}
		rank_erase(&(*ev)->scopes, n);
		free(s);
	}
	free(*ev);
	*ev = NULL;
}

/* Live: what is over a lower bound goes at once. */
void
events_set_keep(struct events *ev, uint64_t keep_per_scope)
{
	ev->keep = keep_per_scope > 0 ? keep_per_scope : 1;
	for (struct rank_node *n = rank_first(&ev->scopes); n != NULL;
	     n = rank_next(n))
		drop_surplus(ev, RANK_OWNER(n, struct scope, node));
}

/* A string, or nil. */
static void
put_text(struct enc *e, const char *key, const char *s)
{
	if (s != NULL && s[0] != '\0')
		enc_kv_str(e, key, s);
	else
		enc_kv_nil(e, key);
}

/* The notification's map, as proto.def has it. */
static void
put_map(struct enc *e, const struct event_in *in, uint64_t seq, bool is_end)
{
	char id[17];

	snprintf(id, sizeof(id), "%016" PRIx64, in->sid.v);
	enc_map(e);
	enc_kv_uint(e, "seq", seq);
	enc_kv_str(e, "kind", in->kind);
	enc_kv_str(e, "sessionId", events_name(in->slug));
	enc_kv_str(e, "instanceId",
	    in->instance_id != NULL ? in->instance_id : id);
	enc_kv_str(e, "scope", events_name(in->scope));
	put_text(e, "sessionKey", in->session_key);
	enc_kv_uint(e, "at", in->at_ms);
	enc_kv_str(e, "text", events_name(in->text));
	for (size_t i = 0; i < NELEMS(in->more) && in->more[i].key != NULL; i++)
		enc_kv_uint(e, in->more[i].key, in->more[i].value);
	if (in->wait != NULL) {
		enc_key(e, "wait");
		enc_raw(e, in->wait, in->wait_bytes);
	}
	if (!is_end) {
		enc_end(e);
		return;
	}
	enc_kv_str(e, "status", events_name(in->status));
	if (in->exit_code >= 0)
		enc_kv_int(e, "exitCode", in->exit_code);
	else
		enc_kv_nil(e, "exitCode");
	put_text(e, "exitSignal", in->exit_signal);
	enc_kv_str(e, "exitReason", events_name(in->exit_reason));
	if (in->quiet != NULL) {
		enc_kv_bool(e, "quiet", true);
		enc_kv_str(e, "quietReason", in->quiet);
	}
	enc_end(e);
}

/* See events.h. On an error nothing has changed. */
int64_t
events_append(struct events *ev, const struct event_in *in)
{
	struct enc map = ENC_INIT;
	uint64_t seq = ev->last + 1;
	int kind = event_kind_of(in->kind, strlen(in->kind)), rc;
	struct scope *s;
	struct note *n;

	CHECK(kind >= 0);
	events_scope_room(ev);
	s = events_scope_get(ev, events_name(in->scope));
	if (s == NULL)
		return strlen(events_name(in->scope)) >= SCOPE_MAX ? -ENAMETOOLONG
		                                               : -ENOMEM;
	n = events_note_new(ev, s, seq, in->sid, (uint32_t)kind);
	if (n == NULL)
		return -ENOMEM;
	put_map(&map, in, seq, n->is_end);
	rc = map.failed ? -ENOMEM : events_put_record(ev, n, map.buf, map.len);
	enc_fini(&map);
	if (rc == 0)
		rc = events_put_number(ev, INDEX_META,
		    (struct index_bytes){ LAST_KEY, sizeof(LAST_KEY) - 1 },
		    seq);
	if (rc != 0) {
		events_note_drop(ev, n);
		return rc;
	}
	ev->last = seq;
	drop_surplus(ev, s);
	return (int64_t)seq;
}

/* The newest number ever given. */
uint64_t
events_last(const struct events *ev)
{
	return ev->last;
}

/* Hands one event to fn; one whose record is gone or damaged is skipped. */
static int
show(struct events *ev, uint64_t seq, events_fn *fn, void *arg)
{
	struct index_key64 key = index_key64(seq);
	struct codec_arena *arena;
	const struct val *v;
	struct index_bytes val;
	struct val_str map;
	int rc;

	rc = index_get(ev->ix, INDEX_EVENTS,
	    (struct index_bytes){ key.b, sizeof(key.b) }, &val);
	if (rc == 0)
		rc = kept_read(val, &arena, &v);
	if (rc != 0)
		return rc == -ENOENT || rc == -EBADMSG ? 0 : rc;
	map = val_str(v, "map");
	rc = map.ptr == NULL ? 0 : fn(arg, seq, map.ptr, map.len);
	codec_arena_free(&arena);
	return rc;
}

/* The first event of these kinds after a number; NULL: there is none. */
static const struct note *
next_note(const struct events *ev, const char *name, uint64_t since,
    uint32_t kinds)
{
	const struct scope *s;
	const struct note *e;
	struct rank_node *n;
	uint64_t key = since + 1;
	bool all = name[0] == '\0';

	if (all) {
		n = rank_lower(&ev->all, &key);
	} else {
		s = events_scope_find(ev, name);
		n = s == NULL ? NULL : rank_lower(&s->notes, &key);
	}
	for (; n != NULL; n = rank_next(n)) {
		e = all ? RANK_OWNER_C(n, struct note, by_seq)
			: RANK_OWNER_C(n, struct note, in_scope);
		if ((kinds & EVENT_BIT(e->kind)) != 0)
			return e;
	}
	return NULL;
}

/* Looks each next one up by number, so that fn may acknowledge meanwhile. */
int
events_read(struct events *ev, const char *scope, uint64_t since,
    uint32_t kinds, uint32_t limit, events_fn *fn, void *arg)
{
	const char *name = events_name(scope);

	for (; limit > 0 && since < UINT64_MAX; limit--) {
		const struct note *e = next_note(ev, name, since, kinds);
		int rc;

		if (e == NULL)
			break;
		since = e->seq;
		rc = show(ev, since, fn, arg);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* See events.h. */
uint64_t
events_overflowed(struct events *ev, const char *scope)
{
	const char *name = events_name(scope);
	const struct scope *s = events_scope_find(ev, name);
	uint64_t sum = 0;

	if (name[0] != '\0')
		return s == NULL ? 0 : s->overflowed;
	for (const struct rank_node *n = rank_first(&ev->scopes); n != NULL;
	     n = rank_next(n))
		sum += RANK_OWNER_C(n, struct scope, node)->overflowed;
	return sum;
}
