/* SPDX-License-Identifier: MIT */
/*
 * list: the sessions that its connection may see, newest start first. Made in
 * slices. The first ones go through the registry in order of session id and
 * keep number and start of each; the others write rows. Whoever lived
 * throughout is shown once, where it stood when it was passed; who came behind
 * the walk, or left before its row, is not shown. What is asked for
 * (list_wish.c) is looked at in both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/grow.h"
#include "supervisor/api/list_wish.h"
#include "supervisor/api/method.h"
#include "supervisor/session/usage.h"
#include "supervisor/words/result.h"

#define SLICE_ROWS  64u
#define SLICE_WALK  1024u
#define ROOM_MAX    (7u << 20) /* made at once for rows to come */
#define USAGE_ROWS  1000u /* of one list */

/* One of them, as it stood when it was passed. */
struct listed {
	uint64_t start_ms;
	struct sid sid;
};

struct coming {
	struct listed *v;
	size_t n, cap;
};

/* A list under way. */
struct listing {
	bool all, usage, walked;
	struct list_wish wish;
	struct result_fields fields;
	struct sid at;    /* the walk has come to this one */
	/* who has no row yet: in order of start, the newest last; and who did
	 * not come in order, a heap, the newest first */
	struct coming sorted, heap;
	struct sid current; /* the next row's, whose sample is not whole yet */
	struct usage_sample sample;
	uint64_t left;    /* rows that may still come */
	size_t rows;
	uint32_t probes;
	struct sbuf text;
	struct enc e;
};

/* ----------------------------------------------------------------- order */

/* Newest start first. */
static bool
before(const struct listed *a, const struct listed *b)
{
	if (a->start_ms != b->start_ms)
		return a->start_ms > b->start_ms;
	return a->sid.v > b->sid.v;
}

/* Nearly all come in order: the walk is in order of session id. */
static bool
push(struct listing *l, struct listed x)
{
	bool sorted = l->sorted.n == 0 ||
	    before(&x, &l->sorted.v[l->sorted.n - 1]);
	struct coming *to = sorted ? &l->sorted : &l->heap;
	size_t i, up;

	if (!GROW(to->v, to->cap, to->n + 1, 64))
		return false;
	for (i = to->n++; !sorted && i > 0 &&
	     before(&x, &to->v[up = (i - 1) / 2]); i = up)
		to->v[i] = to->v[up];
	to->v[i] = x;
	return true;
}

/* Takes the first of the heap, which is not empty. */
static void
pop_heap(struct coming *l)
{
	struct listed *v = l->v, x = v[--l->n];
	size_t i = 0, k;

	while ((k = 2 * i + 1) < l->n) {
		k += k + 1 < l->n && before(&v[k + 1], &v[k]);
		if (before(&x, &v[k]))
			break;
		v[i] = v[k];
		i = k;
	}
	v[i] = x;
}

/* Who has the next row, or NULL. */
static const struct listed *
newest(const struct listing *l)
{
	const struct listed *a = l->sorted.n > 0
	    ? &l->sorted.v[l->sorted.n - 1]
	    : NULL;
	const struct listed *b = l->heap.n > 0 ? l->heap.v : NULL;

	return a == NULL || (b != NULL && before(b, a)) ? b : a;
}

/* There is one. */
static struct sid
pop(struct listing *l)
{
	const struct listed *x = newest(l);
	struct sid sid = x->sid;

	if (x == l->heap.v)
		pop_heap(&l->heap);
	else
		l->sorted.n--;
	return sid;
}

/* ---------------------------------------------------------------- slices */

static bool
is_shown(const struct req *r, const struct session *s)
{
	const struct listing *l = r->state;
	const char *scope = conn_scope(r->conn);

	return !s->shown.hidden && (s->shown.backgrounded || l->all) &&
	    (scope == NULL || strcmp(scope, s->id.scope) == 0) &&
	    list_wish_meets(&l->wish, s);
}

/* Keeps it for its row, if it is to have one. False: no memory. */
static bool
pass(struct req *r, const struct session *s)
{
	return !is_shown(r, s) || push(r->state, (struct listed){
		.start_ms = s->facts.started_ms != 0 ? s->facts.started_ms
						     : s->id.created_ms,
		.sid = s->id.sid});
}

/* Those that are asked for by their names, 1024 at most. False: no memory. */
static bool
walk_ids(struct req *r)
{
	struct listing *l = r->state;
	const struct val *ids = l->wish.ids;
	char id[80];

	l->walked = true;
	for (size_t i = 0; i < ids->a.count; i++) {
		const struct val *v = &ids->a.items[i];
		const struct session *s;

		snprintf(id, sizeof(id), "%.*s",
		    v->s.len < sizeof(id) ? (int)v->s.len : 0, v->s.ptr);
		s = session_find(r->m, conn_scope(r->conn), id);
		if (s != NULL && !pass(r, s))
			return false;
	}
	return true;
}

/* Goes on through the registry. False: no memory. */
static bool
walk(struct req *r, uint64_t until)
{
	struct listing *l = r->state;
	struct session *s = registry_after(r->m, l->at);

	for (unsigned i = 0; s != NULL && i < SLICE_WALK &&
	     (i % 64 != 63 || clock_boot_ns() < until);
	     i++, s = registry_next(r->m, s)) {
		l->at = s->id.sid;
		if (!pass(r, s))
			return false;
	}
	l->walked = s == NULL;
	return true;
}

/* Is there another row to come? */
static bool
has_more(const struct listing *l)
{
	return (l->current.v != 0 || newest(l) != NULL) && l->left > 0;
}

/* Room for the rows to come, if they are as long as the first ones: an answer of
 * megabytes that grows is moved in one turn. */
static void
make_room(struct listing *l)
{
	uint64_t rest = l->sorted.n + l->heap.n, all, text;

	if (rest > l->left)
		rest = l->left;
	text = l->text.len / l->rows * rest;
	all = l->e.len / l->rows * rest + l->text.len + text;
	if (l->text.len > 0 && text < ROOM_MAX)
		(void)sbuf_reserve(&l->text, text);
	(void)enc_room(&l->e, all < ROOM_MAX ? all : ROOM_MAX);
}

/* Some more rows. */
static void
put_rows(struct req *r, uint64_t until)
{
	struct listing *l = r->state;
	const struct listed *twin;
	struct session *last = NULL;
	uint64_t now = clock_wall_ms();
	unsigned most = FAULT_FAILS("list.row-by-row") ? 1 : SLICE_ROWS;

	if (l->usage)
		FAULT("list.with-usage");
	r->m->probes_left = l->probes;
	if (l->rows >= SLICE_ROWS / 2 && l->rows <= SLICE_ROWS)
		make_room(l);
	for (unsigned i = 0; i < most && has_more(l) &&
	     (i == 0 || clock_boot_ns() < until); i++) {
		bool usage = l->usage && l->rows < USAGE_ROWS;
		struct session *s;

		if (l->current.v == 0)
			l->current = pop(l);
		while ((twin = newest(l)) != NULL &&
		    twin->sid.v == l->current.v)
			(void)pop(l); /* it was named twice */
		s = last != NULL ? registry_before(r->m, last) : NULL;
		if (s == NULL || !sid_eq(s->id.sid, l->current))
			s = session_by_sid(r->m, l->current);
		last = s;
		if (s != NULL && is_shown(r, s) && usage &&
		    !usage_sample(r->m, s, &l->sample, until))
			break;
		l->current.v = 0;
		if (s == NULL || !is_shown(r, s))
			continue;
		if (l->fields.names == NULL && !usage) {
			row_list(r->m, s, now, &l->e, &l->text);
		} else {
			result_row(r->m, s, usage ? &l->sample : NULL,
			    &l->fields, &l->e);
			if (l->fields.names == NULL)
				result_line(s, now, &l->text);
		}
		l->rows++;
		l->left--;
	}
	l->probes = r->m->probes_left;
}

/* All rows are there. */
static void
list_answer(struct req *r)
{
	struct listing *l = r->state;
	struct enc *e = &l->e;

	enc_end(e);
	if (l->fields.names != NULL)
		sbuf_addf(&l->text, "%zu sessions.", l->rows);
	else if (l->rows == 0)
		sbuf_add(&l->text, l->wish.arena != NULL ? "No such session."
			: "No running or recent sessions.");
	else if (l->text.len > 0)
		l->text.p[--l->text.len] = '\0';
	result_close_text(e, &l->text);
	req_answer(r, e);
}

/* A slice. */
static int
list_step(struct req *r, uint64_t until)
{
	struct listing *l = r->state;

	if (l->walked) {
		put_rows(r, until);
	} else if (!(l->wish.ids != NULL ? walk_ids(r) : walk(r, until))) {
		return req_nomem(r);
	}
	if (!req_keeps(r, (l->sorted.cap + l->heap.cap) *
		sizeof(struct listed) + l->e.cap + l->text.cap +
	    l->wish.bytes))
		return 0;
	if (!l->walked || has_more(l))
		return 1;
	list_answer(r);
	return 0;
}

static void
list_drop(struct req *r)
{
	struct listing *l = r->state;

	list_wish_fini(&l->wish);
	free(l->sorted.v);
	free(l->heap.v);
	enc_fini(&l->e);
	sbuf_fini(&l->text);
}

/* list */
static void
list_call(struct api_call *c)
{
	struct req *r = c->req;
	struct listing *l = r->state;
	const struct val *unknown;

	if (list_wish_take(&l->wish, c->params) < 0) {
		req_nomem(r);
		return;
	}
	unknown = result_fields_take(l->wish.fields, &l->fields);
	if (unknown != NULL) {
		req_invalid(r, "fields", unknown,
		    "fields that rows of list may have");
		return;
	}
	l->all = val_bool(c->params, "all", false) &&
	    conn_scope(c->conn) == NULL;
	l->usage = val_bool(c->params, "usage", false);
	l->left = val_uint(c->params, "limit", UINT64_MAX);
	l->probes = RESULT_PROBES;
	if (!req_keeps(r, l->wish.bytes))
		return;
	result_open_details(&l->e);
	enc_kv_str(&l->e, "status", "completed");
	enc_kv_array(&l->e, "sessions");
	req_step(r, list_step);
}

const struct method method_LIST = {.call = list_call, .drop = list_drop,
    .state_size = sizeof(struct listing)};
