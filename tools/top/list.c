/* SPDX-License-Identifier: MIT */
/* Filter, order and tree: see list.h. Called at every refresh and by keys. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "common/grow.h"

struct order {
	const struct top_list *list;
	const struct top_model *model;
};

/* By the column that was asked for. */
static int
compare_column(const struct order *o, const struct top_row *x,
    const struct top_row *y)
{
	const struct column *c = &columns[o->list->sort];
	char text[2][COLUMN_TEXT];
	double nx, ny;
	int d;

	if (c->number != NULL) {
		nx = c->number(o->model, x);
		ny = c->number(o->model, y);
		d = (nx > ny) - (nx < ny);
	} else {
		c->text(o->model, x, text[0], sizeof(text[0]));
		c->text(o->model, y, text[1], sizeof(text[1]));
		d = strcmp(text[0], text[1]);
	}
	return c->descending != o->list->reverse ? -d : d;
}

/* Among equals the live and the newest come first. */
static int
compare(const void *a, const void *b, void *arg)
{
	const struct list_entry *ea = a, *eb = b;
	const struct top_row *x = ea->row, *y = eb->row;
	int d = compare_column(arg, x, y);

	if (d == 0)
		d = y->live - x->live;
	if (d == 0)
		d = (x->s.created_ms < y->s.created_ms) -
		    (x->s.created_ms > y->s.created_ms);
	return d != 0 ? d
	              : (x->s.instance < y->s.instance) -
	        (x->s.instance > y->s.instance);
}

/* Does any text of the row hold what was typed? */
static bool
matches(const struct top_list *l, const struct top_row *r)
{
	const char *const texts[] = {r->s.id, r->s.scope, r->s.lane,
	    r->s.state, r->s.status, r->s.name, r->s.label, r->s.command};

	if (l->live_only && !r->live)
		return false;
	if (l->filter[0] == '\0')
		return true;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcasestr(texts[i], l->filter) != NULL)
			return true;
	return false;
}

/* -------------------------------------------------------------------- tree */

static bool
is_folded(const struct top_list *l, const char *scope)
{
	for (size_t i = 0; i < l->folded_count; i++)
		if (strcmp(l->folded[i], scope) == 0)
			return true;
	return false;
}

bool
list_fold(struct top_list *l, const char *scope, bool fold)
{
	for (size_t i = 0; i < l->folded_count; i++)
		if (strcmp(l->folded[i], scope) == 0) {
			if (!fold)
				memmove(l->folded[i],
				    l->folded[--l->folded_count],
				    sizeof(l->folded[i]));
			return true;
		}
	if (!fold)
		return true;
	if (l->folded_count == LIST_FOLDED)
		return false;
	snprintf(l->folded[l->folded_count++], sizeof(l->folded[0]), "%s",
	    scope);
	return true;
}

/* The scope of a name, made where there was none; -1: no memory. The one asked
 * for last is tried first: sessions of one scope tend to stand together. */
static ssize_t
scope_of(struct top_list *l, const char *name, size_t last)
{
	if (last < l->scope_count && strcmp(l->scopes[last].name, name) == 0)
		return (ssize_t)last;
	for (size_t i = 0; i < l->scope_count; i++)
		if (strcmp(l->scopes[i].name, name) == 0)
			return (ssize_t)i;
	if (!GROW(l->scopes, l->scope_room, l->scope_count + 1, 16))
		return -1;
	l->scopes[l->scope_count] = (struct list_scope){
	    .output_rate = -1, .folded = is_folded(l, name)};
	snprintf(l->scopes[l->scope_count].name,
	    sizeof(l->scopes[0].name), "%s", name);
	return (ssize_t)l->scope_count++;
}

/* Scopes in order of name, the sessions of each as they were sorted. */
static int
compare_tree(const void *a, const void *b, void *arg)
{
	const struct list_entry *x = a, *y = b;
	const struct top_list *l = ((const struct order *)arg)->list;
	int d;

	if (x->scope != y->scope) {
		d = strcmp(l->scopes[x->scope].name, l->scopes[y->scope].name);
		if (d != 0)
			return d;
	}
	if (x->row == NULL || y->row == NULL)
		return (x->row != NULL) - (y->row != NULL);
	return compare(a, b, arg);
}

/* Gives every entry its scope, adds the scopes' own lines, and takes out what
 * is folded. Not yet in order. 0 or -ENOMEM; there is room. */
static int
make_tree(struct top_list *l)
{
	size_t kept = 0, last = 0;
	struct list_scope *s;
	ssize_t at;

	for (size_t i = 0; i < l->count; i++) {
		const struct top_row *r = l->entries[i].row;

		at = scope_of(l, r->s.scope, last);
		if (at < 0)
			return -ENOMEM;
		last = (size_t)at;
		s = &l->scopes[last];
		s->sessions++;
		s->live += r->live;
		s->total_bytes += r->s.total_bytes;
		if (r->output_rate >= 0)
			s->output_rate = r->output_rate +
			    (s->output_rate > 0 ? s->output_rate : 0);
		l->entries[i].scope = last;
		if (!s->folded)
			l->entries[kept++] = l->entries[i];
	}
	for (size_t i = 0; i < l->scope_count; i++)
		l->entries[kept++] = (struct list_entry){NULL, i};
	l->count = kept;
	return 0;
}

/* How wide the columns of names must be: of all sessions, so that a filter
 * moves nothing. */
static void
measure_names(struct top_list *l, const struct top_model *m)
{
	int session = 0, scope = 0, lane = 0, n;

	for (size_t i = 0; i < m->count; i++) {
		const struct psup_view_session *s = &m->rows[i].s;

		n = (int)strlen(s->id);
		session = n > session ? n : session;
		n = (int)strlen(s->scope);
		scope = n > scope ? n : scope;
		n = (int)strlen(s->lane);
		lane = n > lane ? n : lane;
	}
	l->widest[column_find("session")] = session;
	l->widest[column_find("scope")] = scope;
	l->widest[column_find("lane")] = lane;
}

int
list_build(struct top_list *l, const struct top_model *m)
{
	struct order order = {l, m};
	int rc = 0;

	l->count = l->scope_count = 0;
	/* each session, and in a tree at most as many scopes */
	if (!GROW(l->entries, l->room, 2 * m->count, 256))
		return -ENOMEM;
	for (size_t i = 0; i < m->count; i++)
		if (matches(l, &m->rows[i]))
			l->entries[l->count++] =
			    (struct list_entry){&m->rows[i], 0};
	l->matching = l->count;
	measure_names(l, m);
	if (l->tree)
		rc = make_tree(l);
	if (l->count > 1)
		qsort_r(l->entries, l->count, sizeof(*l->entries),
		    l->tree ? compare_tree : compare, &order);
	return rc;
}

void
list_fini(struct top_list *l)
{
	free(l->entries);
	free(l->scopes);
	l->entries = NULL;
	l->scopes = NULL;
	l->count = l->room = l->scope_count = l->scope_room = 0;
}
