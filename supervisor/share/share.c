/* SPDX-License-Identifier: MIT */
/*
 * Shares of what all scopes use together. Up to seven eighths of a limit an
 * answer is one comparison; beyond, it is O(log scopes) for each thing that is
 * taken back. room.c gives the scopes and asks.
 */
#include "supervisor/share/share.h"

#include <string.h>

#include "common/check.h"

static const struct {
	const char *name;
	bool bytes;
} resources[SHARE_RESOURCES] = {
    [SHARE_MEMORY] = {"memory", true},
    [SHARE_CONNECTIONS] = {"connections", false},
    [SHARE_SESSIONS] = {"sessions", false},
    [SHARE_WAITING] = {"waiting", true},
    [SHARE_OUTPUT] = {"output", true},
};

/* What users are in order of: use, then place in memory. */
struct use {
	uint64_t used;
	const struct rank_node *node;
};

/* The scope around its node of one resource. */
static struct share_scope *
scope_of(struct rank_node *n, enum share_resource r)
{
	return RANK_OWNER(n - r, struct share_scope, by_use);
}

static int
cmp_use(const struct use *a, uint64_t used, const struct rank_node *n)
{
	if (a->used != used)
		return a->used < used ? -1 : 1;
	return a->node < n ? -1 : a->node > n;
}

/* rank_cmp has no argument beside the node: one function for each resource. */
#define COMPARE(r)                                                             \
	static int cmp_##r(const void *key, const struct rank_node *n)         \
	{                                                                      \
		return cmp_use(key,                                            \
		    RANK_OWNER_C(n - (r), struct share_scope, by_use)->used[r],\
		    n);                                                        \
	}
COMPARE(SHARE_MEMORY)
COMPARE(SHARE_CONNECTIONS)
COMPARE(SHARE_SESSIONS)
COMPARE(SHARE_WAITING)
COMPARE(SHARE_OUTPUT)

static rank_cmp *const compare[SHARE_RESOURCES] = {
    [SHARE_MEMORY] = cmp_SHARE_MEMORY,
    [SHARE_CONNECTIONS] = cmp_SHARE_CONNECTIONS,
    [SHARE_SESSIONS] = cmp_SHARE_SESSIONS,
    [SHARE_WAITING] = cmp_SHARE_WAITING,
    [SHARE_OUTPUT] = cmp_SHARE_OUTPUT,
};

void
share_init(struct shares *sh)
{
	memset(sh, 0, sizeof(*sh));
	for (int r = 0; r < SHARE_RESOURCES; r++)
		rank_init(&sh->row[r].users, compare[r]);
}

void
share_set_limit(struct shares *sh, enum share_resource r, uint64_t limit)
{
	sh->row[r].limit = limit;
}

void
share_set_reclaim(struct shares *sh, enum share_resource r,
    share_reclaim *fn, void *arg)
{
	sh->row[r].reclaim = fn;
	sh->row[r].arg = arg;
}

/* -------------------------------------------------------------- counting */

/* Sets what a scope uses, and its place among the others. */
static void
set_used(struct shares *sh, struct share_scope *s, enum share_resource r,
    uint64_t used)
{
	struct share_row *row = &sh->row[r];
	struct use key = {used, &s->by_use[r]};

	if (s->used[r] == used)
		return;
	if (s->used[r] != 0)
		rank_erase(&row->users, &s->by_use[r]);
	row->used += used - s->used[r];
	s->used[r] = used;
	if (used != 0)
		rank_insert(&row->users, &s->by_use[r], &key);
}

void
share_take(struct shares *sh, struct share_scope *s, enum share_resource r,
    uint64_t n)
{
	set_used(sh, s, r, s->used[r] + n);
}

void
share_give(struct shares *sh, struct share_scope *s, enum share_resource r,
    uint64_t n)
{
	CHECK(n <= s->used[r]);
	set_used(sh, s, r, s->used[r] - n);
}

/* ---------------------------------------------------------------- asking */

/* What shares are parts of: the last eighth is there for those who come. */
static uint64_t
lent(const struct share_row *row)
{
	return row->limit - row->limit / 8;
}

uint64_t
share_fair(const struct shares *sh, const struct share_scope *s,
    enum share_resource r)
{
	const struct share_row *row = &sh->row[r];

	return lent(row) / (rank_size(&row->users) + (s->used[r] == 0));
}

/* Is there room for n more before anybody's share is looked at? */
static bool
is_free(const struct share_row *row, uint64_t n)
{
	return n <= row->limit && row->used + n <= lent(row);
}

/* Would it be over its share, and nothing free, whatever it gives back? */
static bool
in_vain(const struct shares *sh, const struct share_scope *s,
    enum share_resource r, uint64_t n)
{
	struct share_row rest = sh->row[r];
	uint64_t loose = s->loose[r] < s->used[r] ? s->loose[r] : s->used[r];

	rest.used -= loose;
	return s->used[r] - loose + n > share_fair(sh, s, r) &&
	    !is_free(&rest, n);
}

/* One thing from this scope; it is not asked again where it has none. */
static bool
take_back(struct shares *sh, struct share_scope *payer, enum share_resource r)
{
	struct share_row *row = &sh->row[r];

	if (row->reclaim != NULL && payer->barren != sh->asks &&
	    row->reclaim(row->arg, payer))
		return true;
	payer->barren = sh->asks;
	return false;
}

/* One thing from the heaviest that uses more than `fair` and has any. */
static bool
heaviest_pays(struct shares *sh, enum share_resource r, uint64_t fair)
{
	struct rank_node *n = rank_last(&sh->row[r].users);

	for (; n != NULL && scope_of(n, r)->used[r] > fair; n = rank_prev(n))
		if (take_back(sh, scope_of(n, r), r))
			return true;
	return false;
}

bool
share_may(struct shares *sh, struct share_scope *s, enum share_resource r,
    uint64_t n)
{
	struct share_row *row = &sh->row[r];
	uint32_t i = 0;

	if (is_free(row, n))
		return true;
	if (in_vain(sh, s, r, n))
		return false;
	sh->asks++;
	sh->asker = s;
	for (; s->used[r] + n > share_fair(sh, s, r) && !is_free(row, n); i++)
		if (i >= SHARE_MOST || !take_back(sh, s, r))
			return false;
	while (!is_free(row, n) &&
	    i < (row->used + n > row->limit ? SHARE_MOST : SHARE_UNIT) &&
	    heaviest_pays(sh, r, share_fair(sh, s, r)))
		i++;
	return row->used + n <= row->limit;
}

bool
share_squeeze(struct shares *sh, struct share_scope *asker,
    enum share_resource r)
{
	const struct share_row *row = &sh->row[r];
	uint32_t using = rank_size(&row->users);

	sh->asks++;
	sh->asker = asker;
	if (asker == NULL)
		return heaviest_pays(sh, r, 0);
	return (using > 0 && heaviest_pays(sh, r, row->used / using)) ||
	    take_back(sh, asker, r);
}

/* ----------------------------------------------------------------- views */

const char *
share_name(enum share_resource r)
{
	return resources[r].name;
}

bool
share_in_bytes(enum share_resource r)
{
	return resources[r].bytes;
}
