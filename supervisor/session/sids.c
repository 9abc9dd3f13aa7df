/* SPDX-License-Identifier: MIT */
/* See sids.h. */
#include "supervisor/session/sids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/grow.h"
#include "supervisor/session/fields.h"

#define FIRST_CAP 64u
#define AHEAD	  6u /* places: memory takes as long as a walk there */

/* Where this id is, or the next higher one. */
static size_t
seek(struct sids *o, uint64_t sid)
{
	size_t lo = o->first, hi = o->end;
	size_t i = o->last > lo ? o->last - 1 : lo;

	for (; i < hi && i <= o->last + 1; i++)
		if (o->v[i].sid == sid)
			return i;
	if (hi > lo && o->v[hi - 1].sid < sid)
		return hi;
	while (lo < hi) {
		i = lo + (hi - lo) / 2;
		if (o->v[i].sid < sid)
			lo = i + 1;
		else
			hi = i;
	}
	return lo;
}

/* Who is looked for is at i. What a walk looks at first of somebody further on
 * comes meanwhile. */
static struct session *
found(struct sids *o, size_t i, size_t ahead)
{
	o->last = i;
	if (ahead >= o->first && ahead < o->end && o->v[ahead].s != NULL) {
		const struct session *s = o->v[ahead].s;

		__builtin_prefetch(&s->state);
		__builtin_prefetch(&s->id.created_ms);
		__builtin_prefetch(&s->facts.started_ms);
	}
	return o->v[i].s;
}

/* In a walk back: the row that list tells of somebody further on. */
static void
fetch_row(const struct sids *o, size_t i)
{
	const struct session *s = i >= o->first + 2 * AHEAD
	    ? o->v[i - 2 * AHEAD].s
	    : NULL;

	if (s != NULL)
		__builtin_prefetch(&s->row);
	s = i >= o->first + AHEAD ? o->v[i - AHEAD].s : NULL;
	for (uint32_t at = 0; s != NULL && at < s->row.map_bytes; at += 64)
		__builtin_prefetch(s->row.p + at);
}

/* Whoever is at i or behind. */
static struct session *
onward(struct sids *o, size_t i)
{
	while (i < o->end && o->v[i].s == NULL)
		i++;
	return i < o->end ? found(o, i, i + AHEAD) : NULL;
}

struct session *
sids_from(struct sids *o, uint64_t sid)
{
	return onward(o, seek(o, sid));
}

struct session *
sids_after(struct sids *o, uint64_t sid)
{
	size_t i = seek(o, sid);

	return onward(o, i < o->end && o->v[i].sid == sid ? i + 1 : i);
}

struct session *
sids_before(struct sids *o, uint64_t sid)
{
	size_t i = seek(o, sid);

	while (i > o->first)
		if (o->v[--i].s != NULL) {
			fetch_row(o, i);
			return found(o, i, i - AHEAD);
		}
	return NULL;
}

int
sids_put(struct sids *o, uint64_t sid, struct session *s)
{
	size_t i = seek(o, sid);

	if (i < o->end && o->v[i].sid == sid) {
		if (o->v[i].s != NULL)
			return -EEXIST;
		o->holes--;
	} else {
		if (!GROW(o->v, o->cap, o->end + 1, FIRST_CAP))
			return -ENOMEM;
		memmove(o->v + i + 1, o->v + i, (o->end - i) * sizeof(*o->v));
		o->end++;
	}
	o->v[i] = (struct sids_place){sid, s};
	return 0;
}

/* Once half of it is of no use. */
static void
close_up(struct sids *o)
{
	size_t n = 0;

	for (size_t i = o->first; i < o->end; i++)
		if (o->v[i].s != NULL)
			o->v[n++] = o->v[i];
	o->first = o->holes = 0;
	o->end = n;
}

void
sids_take(struct sids *o, uint64_t sid)
{
	size_t i = seek(o, sid);

	CHECK(i < o->end && o->v[i].sid == sid && o->v[i].s != NULL);
	o->v[i].s = NULL;
	o->holes++;
	for (; o->first < o->end && o->v[o->first].s == NULL; o->first++)
		o->holes--;
	for (; o->first < o->end && o->v[o->end - 1].s == NULL; o->end--)
		o->holes--;
	if (o->first == o->end) {
		free(o->v);
		*o = (struct sids){0};
	} else if (o->end > FIRST_CAP && o->first + o->holes > o->end / 2) {
		close_up(o);
	}
}
