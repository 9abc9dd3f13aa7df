/* SPDX-License-Identifier: MIT */
/*
 * The event log. Called by session.c (append), api_*.c and conn.c (read,
 * acknowledge). Records lie in the index and are written in the transaction
 * that the caller commits; in memory stands only what is needed to find them:
 * number, session, scope. So a master that dies before its commit has told
 * nobody, and one that dies after it finds everything again.
 */
#include "supervisor/events.h"

#include "common/check.h"
#include "supervisor/rank.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENT_VERSION  1u
#define SCOPE_MAX      128u   /* bytes of a scope's name */
#define SUBSCRIBER_MAX 128u   /* bytes of a subscriber's name */
#define SUBS_PER_SCOPE 256u   /* the one furthest behind makes room */
#define SEQ_MAX        0x1fffffffffffffull /* what JSON can say */
#define LAST_KEY       "events-last"
#define OVERFLOW_KEY   "events-overflow" /* NUL, then the scope */

/* An event that somebody may still want. */
struct note {
	struct rank_node by_seq;   /* in events->all */
	struct rank_node in_scope; /* in scope->notes */
	struct scope *scope;
	uint64_t seq;
	struct sid sid;
	bool is_end; /* tells the end of its session */
	bool told;   /* a poll has told it to the scope */
};

struct sub {
	struct rank_node node; /* in scope->subs */
	uint64_t place;
	char name[];           /* "": the scope's own */
};

struct scope {
	struct rank_node node; /* in events->scopes */
	struct rank_tree notes;
	struct rank_tree subs;
	uint64_t overflowed;
	char name[];
};

struct events {
	struct index *ix;
	struct rank_tree all;
	struct rank_tree scopes;
	uint64_t last, keep, skipped;
};

static int
cmp_all(const void *key, const struct rank_node *n)
{
	uint64_t a = *(const uint64_t *)key;
	uint64_t b = RANK_OWNER_C(n, struct note, by_seq)->seq;

	return (a > b) - (a < b);
}

static int
cmp_in_scope(const void *key, const struct rank_node *n)
{
	uint64_t a = *(const uint64_t *)key;
	uint64_t b = RANK_OWNER_C(n, struct note, in_scope)->seq;

	return (a > b) - (a < b);
}

static int
cmp_scope(const void *key, const struct rank_node *n)
{
	return strcmp(key, RANK_OWNER_C(n, struct scope, node)->name);
}

static int
cmp_sub(const void *key, const struct rank_node *n)
{
	return strcmp(key, RANK_OWNER_C(n, struct sub, node)->name);
}

/* ------------------------------------------------------ scopes, subscribers */

/* NULL and "" are the same: all scopes, the view of administrators. */
static const char *
name_of(const char *scope)
{
	return scope == NULL ? "" : scope;
}

/* The scope, or NULL. */
static struct scope *
find_scope(const struct events *ev, const char *name)
{
	struct rank_node *n = rank_find(&ev->scopes, name);

	return n == NULL ? NULL : RANK_OWNER(n, struct scope, node);
}

/* The scope, made where needed; NULL: no memory, or too long a name. */
static struct scope *
get_scope(struct events *ev, const char *name)
{
	struct scope *s = find_scope(ev, name);
	size_t len = strlen(name);

	if (s != NULL || len >= SCOPE_MAX)
		return s;
	s = calloc(1, sizeof(*s) + len + 1);
	if (s == NULL)
		return NULL;
	memcpy(s->name, name, len);
	rank_init(&s->notes, cmp_in_scope);
	rank_init(&s->subs, cmp_sub);
	rank_insert(&ev->scopes, &s->node, s->name);
	return s;
}

/* A scope's own subscriber may be called by the scope's name or by none. */
static const char *
sub_name(const char *scope, const char *subscriber)
{
	if (subscriber == NULL || strcmp(subscriber, scope) == 0)
		return "";
	return subscriber;
}

/* The subscriber, or NULL. */
static struct sub *
find_sub(const struct scope *s, const char *name)
{
	struct rank_node *n = s == NULL ? NULL : rank_find(&s->subs, name);

	return n == NULL ? NULL : RANK_OWNER(n, struct sub, node);
}

/* Key of a subscriber's record: scope NUL subscriber. */
static struct index_bytes
sub_key(const struct scope *s, const struct sub *sub,
    char buf[static SCOPE_MAX + SUBSCRIBER_MAX])
{
	size_t n = strlen(s->name) + 1, m = strlen(sub->name);

	memcpy(buf, s->name, n);
	memcpy(buf + n, sub->name, m);
	return (struct index_bytes){ buf, n + m };
}

/* Adds a subscriber at a place, in memory only. NULL: no memory. */
static struct sub *
sub_new(struct scope *s, const char *name, size_t len, uint64_t place)
{
	struct sub *sub = calloc(1, sizeof(*sub) + len + 1);

	if (sub == NULL)
		return NULL;
	memcpy(sub->name, name, len);
	sub->place = place;
	rank_insert(&s->subs, &sub->node, sub->name);
	return sub;
}

/* Forgets the one furthest behind where there are too many. */
static void
sub_make_room(struct events *ev, struct scope *s)
{
	char buf[SCOPE_MAX + SUBSCRIBER_MAX];
	struct sub *least = NULL;

	if (rank_size(&s->subs) < SUBS_PER_SCOPE)
		return;
	for (struct rank_node *n = rank_first(&s->subs); n != NULL;
	     n = rank_next(n)) {
		struct sub *sub = RANK_OWNER(n, struct sub, node);

		if (least == NULL || sub->place < least->place)
			least = sub;
	}
	(void)index_del(ev->ix, INDEX_SUBS, sub_key(s, least, buf));
	rank_erase(&s->subs, &least->node);
	free(least);
}

/* --------------------------------------------------------- numbers on record */

/* Writes {v, n} under a key. */
static int
put_number(struct events *ev, enum index_db db, struct index_bytes key,
    uint64_t n)
{
	struct enc e = ENC_INIT;
	int rc;

	enc_map(&e);
	enc_kv_uint(&e, "v", EVENT_VERSION);
	enc_kv_uint(&e, "n", n);
	enc_end(&e);
	rc = e.failed ? -ENOMEM
	              : index_put(ev->ix, db, key,
	                    (struct index_bytes){ e.buf, e.len });
	enc_fini(&e);
	return rc;
}

/* Decodes a record; the caller frees the arena. -EBADMSG also for a version
 * that is not ours. */
static int
decode(struct index_bytes val, struct codec_arena **ret_arena,
    const struct val **ret_map)
{
	struct codec_arena *arena = NULL;
	const struct val *v = NULL;
	char why[80];
	size_t used;

	if (codec_decode(val.data, val.size, &codec_limits_trusted, &used,
	        &arena, &v, why, sizeof(why)) != CODEC_OK)
		return -EBADMSG;
	if (val_uint(v, "v", 0) != EVENT_VERSION) {
		codec_arena_free(&arena);
		return -EBADMSG;
	}
	*ret_arena = arena;
	*ret_map = v;
	return 0;
}

/* Reads what put_number wrote. */
static int
decode_number(struct index_bytes val, uint64_t *ret)
{
	struct codec_arena *arena;
	const struct val *v;
	int rc = decode(val, &arena, &v);

	if (rc != 0)
		return rc;
	*ret = val_uint(v, "n", 0);
	codec_arena_free(&arena);
	return 0;
}

/* Key of a scope's overflow count. */
static struct index_bytes
overflow_key(const char *scope,
    char buf[static sizeof(OVERFLOW_KEY) + SCOPE_MAX])
{
	size_t n = strlen(scope);

	memcpy(buf, OVERFLOW_KEY, sizeof(OVERFLOW_KEY));
	memcpy(buf + sizeof(OVERFLOW_KEY), scope, n);
	return (struct index_bytes){ buf, sizeof(OVERFLOW_KEY) + n };
}

/* ------------------------------------------------------------------ dropping */

/* Adds an event to both trees. NULL: no memory. */
static struct note *
note_new(struct events *ev, struct scope *s, uint64_t seq, struct sid sid)
{
	struct note *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	e->scope = s;
	e->seq = seq;
	e->sid = sid;
	rank_insert(&ev->all, &e->by_seq, &e->seq);
	rank_insert(&s->notes, &e->in_scope, &e->seq);
	return e;
}

/* Forgets an event, here and in the index. */
static void
note_drop(struct events *ev, struct note *e)
{
	struct index_key64 key = index_key64(e->seq);

	(void)index_del(ev->ix, INDEX_EVENTS,
	    (struct index_bytes){ key.b, sizeof(key.b) });
	rank_erase(&ev->all, &e->by_seq);
	rank_erase(&e->scope->notes, &e->in_scope);
	free(e);
}

/* Whose places count for a scope's events: its own subscribers, or, where it
 * has none, the administrators'. */
static const struct scope *
judges_of(const struct events *ev, const struct scope *s)
{
	if (rank_size(&s->subs) > 0)
		return s;
	return find_scope(ev, "");
}

/* What a scope's subscribers have acknowledged, all of them together. */
struct needs {
	bool any;      /* somebody subscribed, ever */
	uint64_t own;  /* place of the scope's own; UINT64_MAX: none */
	uint64_t others; /* lowest place of the others; UINT64_MAX: none */
};

static struct needs
needs_of(const struct events *ev, const struct scope *s)
{
	const struct scope *j = judges_of(ev, s);
	struct needs need = { false, UINT64_MAX, UINT64_MAX };

	if (j == NULL)
		return need;
	for (const struct rank_node *n = rank_first(&j->subs); n != NULL;
	     n = rank_next(n)) {
		const struct sub *sub = RANK_OWNER_C(n, struct sub, node);

		need.any = true;
		if (sub->name[0] == '\0')
			need.own = sub->place;
		else if (sub->place < need.others)
			need.others = sub->place;
	}
	return need;
}

/* Whether nobody waits for this event any more. */
static bool
is_done(const struct note *e, const struct needs *need)
{
	if (!need->any)
		return e->told;
	return e->seq <= need->others && (e->told || e->seq <= need->own);
}

/* Drops what is done of a scope's events with from < seq <= to. */
static void
drop_done(struct events *ev, struct scope *s, uint64_t from, uint64_t to)
{
	struct needs need = needs_of(ev, s);
	uint64_t key = from + 1;
	struct rank_node *n = rank_lower(&s->notes, &key);

	while (n != NULL) {
		struct note *e = RANK_OWNER(n, struct note, in_scope);

		n = rank_next(n);
		if (e->seq > to)
			return;
		if (is_done(e, &need))
			note_drop(ev, e);
	}
}

/* The bound: the oldest go first, and are counted. */
static void
drop_surplus(struct events *ev, struct scope *s)
{
	char buf[sizeof(OVERFLOW_KEY) + SCOPE_MAX];
	uint64_t before = s->overflowed;

	while (rank_size(&s->notes) > ev->keep) {
		note_drop(ev, RANK_OWNER(rank_first(&s->notes), struct note,
		                   in_scope));
		s->overflowed++;
	}
	if (s->overflowed != before)
		(void)put_number(ev, INDEX_META, overflow_key(s->name, buf),
		    s->overflowed);
}

/* ------------------------------------------------------------------- loading */

/* One event record of the index. */
static int
load_event(void *arg, struct index_bytes key, struct index_bytes val)
{
	struct events *ev = arg;
	const unsigned char *k = key.data;
	struct codec_arena *arena;
	const struct val *v;
	char scope[SCOPE_MAX];
	struct note *e = NULL;
	struct scope *s;
	uint64_t seq = 0;

	for (size_t i = 0; i < key.size && i < 8; i++)
		seq = seq << 8 | k[i];
	if (key.size == 8 && seq > ev->last && seq <= SEQ_MAX)
		ev->last = seq; /* a damaged one's number is used up, too */
	if (key.size != 8 || seq == 0 || seq > SEQ_MAX ||
	    decode(val, &arena, &v) != 0) {
		ev->skipped++;
		return 0;
	}
	(void)val_copy(v, "scope", scope, sizeof(scope));
	s = get_scope(ev, scope);
	if (s != NULL)
		e = note_new(ev, s, seq,
		    (struct sid){ val_uint(v, "sid", 0) });
	if (e != NULL) {
		e->is_end = val_bool(v, "end", false);
		e->told = val_bool(v, "told", false);
	}
	codec_arena_free(&arena);
	return e == NULL ? -ENOMEM : 0;
}

/* One subscriber's record. */
static int
load_sub(void *arg, struct index_bytes key, struct index_bytes val)
{
	struct events *ev = arg;
	const char *k = key.data;
	const char *nul = memchr(k, '\0', key.size);
	size_t len;
	struct scope *s;
	uint64_t place;

	if (nul == NULL || decode_number(val, &place) != 0) {
		ev->skipped++;
		return 0;
	}
	len = key.size - (size_t)(nul + 1 - k);
	if (nul - k >= (ptrdiff_t)SCOPE_MAX || len >= SUBSCRIBER_MAX ||
	    memchr(nul + 1, '\0', len) != NULL) {
		ev->skipped++;
		return 0;
	}
	s = get_scope(ev, k);
	if (s == NULL || sub_new(s, nul + 1, len, place) == NULL)
		return -ENOMEM;
	return 0;
}

/* A scope's overflow count; the scan ends behind the last of them. */
static int
load_overflow(void *arg, struct index_bytes key, struct index_bytes val)
{
	struct events *ev = arg;
	char name[SCOPE_MAX] = "";
	const char *k = key.data;
	size_t n = key.size - sizeof(OVERFLOW_KEY);
	struct scope *s;
	uint64_t count;

	if (key.size < sizeof(OVERFLOW_KEY) ||
	    memcmp(k, OVERFLOW_KEY, sizeof(OVERFLOW_KEY)) != 0)
		return 1;
	if (n >= SCOPE_MAX || decode_number(val, &count) != 0) {
		ev->skipped++;
		return 0;
	}
	memcpy(name, k + sizeof(OVERFLOW_KEY), n);
	s = get_scope(ev, name);
	if (s == NULL)
		return -ENOMEM;
	s->overflowed = count;
	return 0;
}

/* All of it. */
static int
load(struct events *ev)
{
	const struct index_bytes first = { "\0", 1 };
	struct index_bytes val;
	int rc;

	rc = index_scan(ev->ix, INDEX_EVENTS, first, load_event, ev);
	if (rc == 0)
		rc = index_scan(ev->ix, INDEX_SUBS, first, load_sub, ev);
	if (rc == 0)
		rc = index_scan(ev->ix, INDEX_META,
		    (struct index_bytes){ OVERFLOW_KEY, sizeof(OVERFLOW_KEY) },
		    load_overflow, ev);
	if (rc < 0)
		return rc;
	rc = index_get(ev->ix, INDEX_META,
	    (struct index_bytes){ LAST_KEY, sizeof(LAST_KEY) - 1 }, &val);
	if (rc == 0) {
		uint64_t last = 0;

		if (decode_number(val, &last) != 0)
			ev->skipped++;
		if (last > ev->last && last <= SEQ_MAX)
			ev->last = last;
	}
	return rc == -ENOENT ? 0 : rc;
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
	rank_init(&ev->all, cmp_all);
	rank_init(&ev->scopes, cmp_scope);
	rc = load(ev);
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

/* Records that did not decode at open. */
uint64_t
events_skipped(const struct events *ev)
{
	return ev->skipped;
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
put_map(struct enc *e, const struct event_in *in, uint64_t seq)
{
	char id[17];

	snprintf(id, sizeof(id), "%016" PRIx64, in->sid.v);
	enc_map(e);
	enc_kv_uint(e, "seq", seq);
	enc_kv_str(e, "kind", in->kind);
	enc_kv_str(e, "sessionId", name_of(in->slug));
	enc_kv_str(e, "instanceId",
	    in->instance_id != NULL ? in->instance_id : id);
	enc_kv_str(e, "scope", name_of(in->scope));
	put_text(e, "sessionKey", in->session_key);
	enc_kv_uint(e, "at", in->at_ms);
	enc_kv_str(e, "text", name_of(in->text));
	enc_kv_str(e, "status", name_of(in->status));
	if (in->exit_code >= 0)
		enc_kv_int(e, "exitCode", in->exit_code);
	else
		enc_kv_nil(e, "exitCode");
	put_text(e, "exitSignal", in->exit_signal);
	enc_kv_str(e, "exitReason", name_of(in->exit_reason));
	enc_end(e);
}

/* Writes a whole record. The map is bin, so that a reader hands it on. */
static int
put_record(struct events *ev, const struct note *n, const void *map,
    size_t size)
{
	struct index_key64 key = index_key64(n->seq);
	struct enc e = ENC_INIT;
	int rc;

	enc_map(&e);
	enc_kv_uint(&e, "v", EVENT_VERSION);
	enc_kv_str(&e, "scope", n->scope->name);
	enc_kv_uint(&e, "sid", n->sid.v);
	enc_kv_bool(&e, "end", n->is_end);
	enc_kv_bool(&e, "told", n->told);
	enc_key(&e, "map");
	enc_bin(&e, map, size);
	enc_end(&e);
	rc = e.failed ? -ENOMEM
	              : index_put(ev->ix, INDEX_EVENTS,
	                    (struct index_bytes){ key.b, sizeof(key.b) },
	                    (struct index_bytes){ e.buf, e.len });
	enc_fini(&e);
	return rc;
}

/* See events.h. On an error nothing has changed. */
int64_t
events_append(struct events *ev, const struct event_in *in)
{
	struct scope *s = get_scope(ev, name_of(in->scope));
	struct enc map = ENC_INIT;
	uint64_t seq = ev->last + 1;
	struct note *n;
	int rc;

	if (s == NULL)
		return strlen(name_of(in->scope)) >= SCOPE_MAX ? -ENAMETOOLONG
		                                               : -ENOMEM;
	n = note_new(ev, s, seq, in->sid);
	if (n == NULL)
		return -ENOMEM;
	n->is_end = strcmp(in->kind, "exited") == 0 ||
	    strcmp(in->kind, "lost") == 0;
	put_map(&map, in, seq);
	rc = map.failed ? -ENOMEM : put_record(ev, n, map.buf, map.len);
	enc_fini(&map);
	if (rc == 0)
		rc = put_number(ev, INDEX_META,
		    (struct index_bytes){ LAST_KEY, sizeof(LAST_KEY) - 1 },
		    seq);
	if (rc != 0) {
		note_drop(ev, n);
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
		rc = decode(val, &arena, &v);
	if (rc == -ENOENT || rc == -EBADMSG) {
		ev->skipped++;
		return 0;
	}
	if (rc != 0)
		return rc;
	map = val_str(v, "map");
	rc = map.ptr == NULL ? 0 : fn(arg, seq, map.ptr, map.len);
	codec_arena_free(&arena);
	return rc;
}

/* Looks each next one up by number, so that fn may acknowledge meanwhile. */
int
events_read(struct events *ev, const char *scope, uint64_t since,
    uint32_t limit, events_fn *fn, void *arg)
{
	const char *name = name_of(scope);

	for (; limit > 0 && since < UINT64_MAX; limit--) {
		const struct scope *s = find_scope(ev, name);
		uint64_t key = since + 1;
		struct rank_node *n;
		int rc;

		if (name[0] == '\0') {
			n = rank_lower(&ev->all, &key);
			if (n != NULL)
				since = RANK_OWNER(n, struct note, by_seq)->seq;
		} else {
			n = s == NULL ? NULL : rank_lower(&s->notes, &key);
			if (n != NULL)
				since = RANK_OWNER(n, struct note, in_scope)
				            ->seq;
		}
		if (n == NULL)
			break;
		rc = show(ev, since, fn, arg);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Known from here on, at place 0. NULL where it cannot be remembered. */
static struct sub *
get_sub(struct events *ev, struct scope *s, const char *subscriber)
{
	char buf[SCOPE_MAX + SUBSCRIBER_MAX];
	const char *name;
	struct sub *sub;

	if (s == NULL)
		return NULL;
	name = sub_name(s->name, subscriber);
	sub = find_sub(s, name);
	if (sub != NULL || strlen(name) >= SUBSCRIBER_MAX)
		return sub;
	sub_make_room(ev, s);
	sub = sub_new(s, name, strlen(name), 0);
	if (sub != NULL)
		(void)put_number(ev, INDEX_SUBS, sub_key(s, sub, buf), 0);
	return sub;
}

/* See events.h. */
uint64_t
events_place(struct events *ev, const char *scope, const char *subscriber)
{
	struct sub *sub =
	    get_sub(ev, get_scope(ev, name_of(scope)), subscriber);

	return sub == NULL ? 0 : sub->place;
}

/* See events.h. */
uint64_t
events_ack(struct events *ev, const char *scope, const char *subscriber,
    uint64_t seq)
{
	struct scope *s = get_scope(ev, name_of(scope));
	struct sub *sub = get_sub(ev, s, subscriber);
	char buf[SCOPE_MAX + SUBSCRIBER_MAX];
	uint64_t from;

	if (sub == NULL)
		return 0;
	if (seq > ev->last)
		seq = ev->last;
	if (seq <= sub->place)
		return sub->place;
	if (put_number(ev, INDEX_SUBS, sub_key(s, sub, buf), seq) != 0)
		return sub->place;
	from = sub->place;
	sub->place = seq;
	drop_done(ev, s, from, seq);
	if (s->name[0] != '\0')
		return seq;
	/* an administrator's place counts where nobody else judges */
	for (struct rank_node *n = rank_first(&ev->scopes); n != NULL;
	     n = rank_next(n)) {
		struct scope *other = RANK_OWNER(n, struct scope, node);

		if (other != s && judges_of(ev, other) == s)
			drop_done(ev, other, from, seq);
	}
	return seq;
}

/* Writes down that a poll has told this event. */
static void
note_told(struct events *ev, struct note *n)
{
	struct index_key64 key = index_key64(n->seq);
	struct codec_arena *arena;
	struct index_bytes val;
	const struct val *v;
	struct val_str map;

	n->told = true;
	if (index_get(ev->ix, INDEX_EVENTS,
	        (struct index_bytes){ key.b, sizeof(key.b) }, &val) != 0 ||
	    decode(val, &arena, &v) != 0)
		return;
	map = val_str(v, "map");
	if (map.ptr != NULL)
		(void)put_record(ev, n, map.ptr, map.len);
	codec_arena_free(&arena);
}

/* See events.h. The newest first: it is there that a session just ended. */
void
events_ack_session(struct events *ev, const char *scope, struct sid sid)
{
	struct scope *s = find_scope(ev, name_of(scope));
	struct rank_node *at = s == NULL ? NULL : rank_last(&s->notes);
	struct needs need;

	if (at == NULL)
		return;
	need = needs_of(ev, s);
	while (at != NULL) {
		struct note *n = RANK_OWNER(at, struct note, in_scope);

		at = rank_prev(at);
		if (!sid_eq(n->sid, sid) || !n->is_end || n->told)
			continue;
		n->told = true;
		if (is_done(n, &need))
			note_drop(ev, n);
		else
			note_told(ev, n);
	}
}

/* See events.h. */
bool
events_acked(struct events *ev, const char *scope, const char *subscriber,
    uint64_t seq)
{
	const struct scope *s = find_scope(ev, name_of(scope));
	struct rank_node *at = rank_find(&ev->all, &seq);
	const struct sub *sub;
	const char *name;

	if (at == NULL)
		return true;
	name = sub_name(name_of(scope), subscriber);
	sub = find_sub(s, name);
	if (sub != NULL && seq <= sub->place)
		return true;
	return name[0] == '\0' && RANK_OWNER(at, struct note, by_seq)->told;
}

/* See events.h. */
uint64_t
events_overflowed(struct events *ev, const char *scope)
{
	const char *name = name_of(scope);
	const struct scope *s = find_scope(ev, name);
	uint64_t sum = 0;

	if (name[0] != '\0')
		return s == NULL ? 0 : s->overflowed;
	for (const struct rank_node *n = rank_first(&ev->scopes); n != NULL;
	     n = rank_next(n))
		sum += RANK_OWNER_C(n, struct scope, node)->overflowed;
	return sum;
}
