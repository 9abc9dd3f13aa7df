/* SPDX-License-Identifier: MIT */
/*
 * The event log out of the index, when a master begins. Called by events.c. A
 * record that does not decode is left alone and counted.
 */
#include "supervisor/store/kept.h"
#include "supervisor/store/events_store.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define SEQ_MAX        0x1fffffffffffffull /* what JSON can say */

/* Reads what events_put_number wrote. */
static int
decode_number(struct index_bytes val, uint64_t *ret)
{
	struct codec_arena *arena;
	const struct val *v;
	int rc = kept_read(val, &arena, &v);

	if (rc != 0)
		return rc;
	*ret = val_uint(v, "n", 0);
	codec_arena_free(&arena);
	return 0;
}

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
	uint64_t seq = 0, kind;
	int rc = -EBADMSG;

	for (size_t i = 0; i < key.size && i < 8; i++)
		seq = seq << 8 | k[i];
	if (key.size == 8 && seq > ev->last && seq <= SEQ_MAX)
		ev->last = seq; /* a damaged one's number is used up, too */
	if (key.size == 8 && seq != 0 && seq <= SEQ_MAX)
		rc = kept_read(val, &arena, &v);
	if (rc != 0)
		return rc == -ENOMEM ? rc : 0;
	(void)val_copy(v, "scope", scope, sizeof(scope));
	s = events_scope_get(ev, scope);
	kind = val_uint(v, "kind", EVENT_EXITED); /* of before there were */
	if (kind >= EVENT_KINDS)
		kind = val_bool(v, "end", true) ? EVENT_EXITED : EVENT_STARTED;
	if (s != NULL)
		e = events_note_new(ev, s, seq,
		    (struct sid){ val_uint(v, "sid", 0) }, (uint32_t)kind);
	if (e != NULL) {
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
	int rc = nul != NULL ? decode_number(val, &place) : -EBADMSG;

	if (rc != 0)
		return rc == -ENOMEM ? rc : 0;
	len = key.size - (size_t)(nul + 1 - k);
	if (nul - k >= (ptrdiff_t)SCOPE_MAX || len >= SUBSCRIBER_MAX ||
	    memchr(nul + 1, '\0', len) != NULL)
		return 0;
	s = events_scope_get(ev, k);
	if (s == NULL || events_sub_new(s, nul + 1, len, place) == NULL)
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
	int rc;

	if (key.size < sizeof(OVERFLOW_KEY) ||
	    memcmp(k, OVERFLOW_KEY, sizeof(OVERFLOW_KEY)) != 0)
		return 1;
	rc = n < SCOPE_MAX ? decode_number(val, &count) : -EBADMSG;
	if (rc != 0)
		return rc == -ENOMEM ? rc : 0;
	memcpy(name, k + sizeof(OVERFLOW_KEY), n);
	s = events_scope_get(ev, name);
	if (s == NULL)
		return -ENOMEM;
	s->overflowed = count;
	return 0;
}

/* All of it. */
int
events_load(struct events *ev)
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

		(void)decode_number(val, &last);
		if (last > ev->last && last <= SEQ_MAX)
			ev->last = last;
	}
	return rc == -ENOENT ? 0 : rc;
}
