/* SPDX-License-Identifier: MIT */
/*
 * Who there is: the sessions by instance id, by slug and by request key.
 * session.c changes their state; this file finds, adds and forgets them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/codec.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/rundir.h"
#include "supervisor/master.h"

#define REQUEST_ADOPTED 18 /* \1 and 16 digits */

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
RB_GENERATE_INTERNAL(slug_tree, session, by_slug, slug_cmp, static)
RB_GENERATE_INTERNAL(key_tree, keyed, by_key, key_cmp, static)
#pragma GCC diagnostic pop

/* The session of an instance id, or NULL. */
struct session *
session_by_sid(struct master *m, struct sid sid)
{
	struct session *s = sids_from(&m->by_sid, sid.v);

	return s != NULL && sid_eq(s->id.sid, sid) ? s : NULL;
}

/* The session of a slug, or NULL. */
struct session *
session_by_slug(struct master *m, const char *slug)
{
	struct session *s = RB_ROOT(&m->by_slug);
	int c;

	while (s != NULL && (c = strcmp(slug, s->id.slug)) != 0)
		s = c < 0 ? RB_LEFT(s, by_slug) : RB_RIGHT(s, by_slug);
	return s;
}

/* The list of whose command's pid this is. */
static struct pid_list *
pid_list(struct master *m, int32_t pid)
{
	return &m->by_pid[(uint32_t)pid % MASTER_PIDS];
}

struct session *
session_by_pid(struct master *m, int32_t pid)
{
	struct session *s, *found = NULL;

	/* the kernel gives a pid again, once its zombie is gone */
	LIST_FOREACH(s, pid_list(m, pid), by_pid)
		if (s->facts.pid == pid &&
		    (found == NULL || session_live(s)))
			found = s;
	return found;
}

/* It is on no such list. */
static void
pid_leave(struct session *s)
{
	if (s->has_pid)
		LIST_REMOVE(s, by_pid);
	s->has_pid = false;
}

void
registry_pid(struct master *m, struct session *s)
{
	pid_leave(s);
	s->has_pid = s->facts.pid > 0;
	if (s->has_pid)
		LIST_INSERT_HEAD(pid_list(m, s->facts.pid), s, by_pid);
}

/* The oldest session, or NULL. */
struct session *
registry_first(struct master *m)
{
	return sids_from(&m->by_sid, 0);
}

/* The one after it, or NULL. */
struct session *
registry_next(struct master *m, const struct session *s)
{
	return sids_after(&m->by_sid, s->id.sid.v);
}

/* The one before it, or NULL. */
struct session *
registry_before(struct master *m, const struct session *s)
{
	return sids_before(&m->by_sid, s->id.sid.v);
}

/* The oldest one younger than `sid`, which may be gone meanwhile: for walks
 * that end sessions, since an end makes others be forgotten. */
struct session *
registry_after(struct master *m, struct sid sid)
{
	return sids_after(&m->by_sid, sid.v);
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

uint64_t
request_hash(const char *scope, const char *key)
{
	uint64_t h = val_hash_bytes(0, scope, strlen(scope));

	return key[0] == '\0' ? 0 : val_hash_bytes(h, key, strlen(key));
}

char *
request_adopted(uint64_t request)
{
	char key[REQUEST_ADOPTED] = "";

	if (request != 0)
		(void)snprintf(key, sizeof(key), "\1%016" PRIx64, request);
	return strdup(key);
}

/* The owner of a request key, or NULL. */
struct session *
session_by_key(struct master *m, const char *scope, const char *key)
{
	struct keyed *k = keyed_find(m, scope, key);
	char *adopted;

	if (k != NULL)
		return k->s;
	adopted = request_adopted(request_hash(scope, key));
	if (adopted != NULL)
		k = keyed_find(m, scope, adopted);
	free(adopted);
	return k != NULL ? k->s : NULL;
}

/* For slug_make: is there a session of that slug? */
static bool
slug_taken(void *arg, const char *slug)
{
	return session_by_slug(arg, slug) != NULL;
}

void
registry_slug(struct master *m, struct sid sid, char ret[SLUG_MAX])
{
	slug_make(sid.v + m->names, slug_taken, m, ret);
}

/* Puts a session into the trees. */
int
registry_add(struct master *m, struct session *s)
{
	struct keyed *k = NULL;
	char slug[SLUG_MAX];
	int r;

	if (room_join(m, s) < 0)
		return -ENOMEM;
	if (s->id.request_key[0] != '\0') {
		k = keyed_new(s->id.scope, s->id.request_key);
		if (k == NULL)
			return -ENOMEM;
		k->s = s;
	}
	if (s->id.slug[0] == '\0' || session_by_slug(m, s->id.slug) != NULL) {
		registry_slug(m, s->id.sid, slug);
		session_name(s, slug);
	}
	r = sids_put(&m->by_sid, s->id.sid.v, s);
	if (r < 0) {
		free(k);
		return r;
	}
	RB_INSERT(slug_tree, &m->by_slug, s);
	if (k != NULL && RB_INSERT(key_tree, &m->by_key, k) != NULL)
		free(k);
	registry_pid(m, s);
	m->counts[s->state]++;
	if (session_live(s))
		m->live++;
	room_count(s);
	return 0;
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

/* Forgets a session for good. */
void
registry_forget(struct master *m, struct session *s)
{
	struct keyed *k = NULL;
	struct watch *w;
	bool live = session_live(s);

	if (s->over.forgotten)
		return;
	session_end_take(m, s);
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
	shown_gone(m, s);
	record_gone(m, s);
	starts_over(m, s);
	sweep_gone(m, s);
	room_count(s);
	if (live) {
		m->live--;
		lanes_leave(m->lanes, s->id.sid);
		(void)gate_leave(m, s);
	}
	m->counts[s->state]--;
	sids_take(&m->by_sid, s->id.sid.v);
	RB_REMOVE(slug_tree, &m->by_slug, s);
	pid_leave(s);
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
	sids_take(&m->by_sid, s->id.sid.v);
	RB_REMOVE(slug_tree, &m->by_slug, s);
	pid_leave(s);
	session_free(s);
}
