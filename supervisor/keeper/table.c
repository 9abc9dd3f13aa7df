/* SPDX-License-Identifier: MIT */
/*
 * The keeper's table of sessions: rows in one array, two hashes over it (by
 * session and by pid), a list and a to-do list per owner. Pure: the loop calls
 * it, and closes, waits and sends itself.
 */
#include "supervisor/keeper/table.h"

#include <stdlib.h>

#include "check.h"

TAILQ_HEAD(row_list, row);

struct table {
	struct row *rows;
	uint32_t *by_sid, *by_pid; /* heads of chains; index + 1 */
	uint32_t max, mask;
	uint32_t count, high;
	uint32_t free_head; /* chained by sid_next; index + 1 */
	struct row_list owned[TABLE_OWNERS];
	struct row_list todo[TABLE_OWNERS];
	struct row_list nameless; /* without a pid */
	uint32_t owned_count[TABLE_OWNERS];
};

/* Spreads consecutive numbers over the buckets. */
static uint32_t
bucket(const struct table *t, uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 32) & t->mask;
}

/* Takes all memory the table will ever use; untouched rows cost no pages. */
struct table *
table_new(uint32_t max)
{
	struct table *t;
	uint32_t i, buckets;

	for (buckets = 64; buckets < max; buckets *= 2)
		;
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return NULL;
	t->rows = calloc(max, sizeof(*t->rows));
	t->by_sid = calloc(buckets, sizeof(*t->by_sid));
	t->by_pid = calloc(buckets, sizeof(*t->by_pid));
	if (t->rows == NULL || t->by_sid == NULL || t->by_pid == NULL) {
		table_free(t);
		return NULL;
	}
	t->max = max;
	t->mask = buckets - 1;
	for (i = 0; i < TABLE_OWNERS; i++) {
		TAILQ_INIT(&t->owned[i]);
		TAILQ_INIT(&t->todo[i]);
	}
	TAILQ_INIT(&t->nameless);
	return t;
}

/* Gives the memory back. */
void
table_free(struct table *t)
{
	if (t == NULL)
		return;
	free(t->rows);
	free(t->by_sid);
	free(t->by_pid);
	free(t);
}

/* A fresh row, from the free chain or the untouched end. */
static struct row *
take_row(struct table *t)
{
	struct row *r;

	if (t->free_head != 0) {
		r = &t->rows[t->free_head - 1];
		t->free_head = r->sid_next;
		return r;
	}
	if (t->high == t->max)
		return NULL;
	r = &t->rows[t->high];
	r->index = t->high++;
	return r;
}

/* A row for a session that some worker is about to start. */
struct row *
table_add(struct table *t, struct sid sid, struct wid by)
{
	struct row *r;
	uint32_t index, b;

	if (sid.v == 0 || by.slot >= TABLE_OWNERS || table_find(t, sid) != NULL)
		return NULL;
	r = take_row(t);
	if (r == NULL)
		return NULL;
	index = r->index;
	*r = (struct row){ .sid = sid, .spawner = by, .owner = by.slot,
		.fds = { -1, -1, -1, -1 }, .index = index, .used = true };
	b = bucket(t, sid.v);
	r->sid_next = t->by_sid[b];
	t->by_sid[b] = index + 1;
	TAILQ_INSERT_TAIL(&t->owned[by.slot], r, owned_link);
	TAILQ_INSERT_TAIL(&t->nameless, r, nameless_link);
	t->owned_count[by.slot]++;
	t->count++;
	return r;
}

/* Takes the row out of the chain of its pid. */
static void
unhash_pid(struct table *t, struct row *r)
{
	uint32_t *p = &t->by_pid[bucket(t, (uint64_t)r->pid)];

	while (*p != r->index + 1) {
		CHECK(*p != 0);
		p = &t->rows[*p - 1].pid_next;
	}
	*p = r->pid_next;
}

/* Forgets a row. */
void
table_remove(struct table *t, struct row *r)
{
	uint32_t *p = &t->by_sid[bucket(t, r->sid.v)];

	CHECK(r->used);
	table_unmark(t, r, r->todo);
	TAILQ_REMOVE(&t->owned[r->owner], r, owned_link);
	t->owned_count[r->owner]--;
	if (r->pid != 0)
		unhash_pid(t, r);
	else
		TAILQ_REMOVE(&t->nameless, r, nameless_link);
	while (*p != r->index + 1) {
		CHECK(*p != 0);
		p = &t->rows[*p - 1].sid_next;
	}
	*p = r->sid_next;
	r->used = false;
	r->sid_next = t->free_head;
	t->free_head = r->index + 1;
	t->count--;
}

/* The row of a session. */
struct row *
table_find(const struct table *t, struct sid sid)
{
	uint32_t i = t->by_sid[bucket(t, sid.v)];

	while (i != 0 && !sid_eq(t->rows[i - 1].sid, sid))
		i = t->rows[i - 1].sid_next;
	return i == 0 ? NULL : &t->rows[i - 1];
}

/* The row of a command. */
struct row *
table_find_pid(const struct table *t, int32_t pid)
{
	uint32_t i = t->by_pid[bucket(t, (uint64_t)pid)];

	while (i != 0 && t->rows[i - 1].pid != pid)
		i = t->rows[i - 1].pid_next;
	return i == 0 ? NULL : &t->rows[i - 1];
}

/* The kernel said which process the session is. */
void
table_set_pid(struct table *t, struct row *r, int32_t pid)
{
	uint32_t b = bucket(t, (uint64_t)pid);

	CHECK(r->pid == 0 && pid > 0);
	TAILQ_REMOVE(&t->nameless, r, nameless_link);
	r->pid = pid;
	r->pid_next = t->by_pid[b];
	t->by_pid[b] = r->index + 1;
}

/* Who is still to be told apart from nobody. */
struct row *
table_next_nameless(const struct table *t, const struct row *r)
{
	return r == NULL ? TAILQ_FIRST(&t->nameless)
			 : TAILQ_NEXT(r, nameless_link);
}

/* Another worker babysits it from now on. */
void
table_set_owner(struct table *t, struct row *r, uint32_t slot)
{
	CHECK(slot < TABLE_OWNERS);
	TAILQ_REMOVE(&t->owned[r->owner], r, owned_link);
	t->owned_count[r->owner]--;
	if (r->todo != 0)
		TAILQ_REMOVE(&t->todo[r->owner], r, todo_link);
	r->owner = slot;
	TAILQ_INSERT_TAIL(&t->owned[slot], r, owned_link);
	t->owned_count[slot]++;
	if (r->todo != 0)
		TAILQ_INSERT_TAIL(&t->todo[slot], r, todo_link);
}

/* The oldest row of a slot. */
struct row *
table_first_owned(const struct table *t, uint32_t slot)
{
	return TAILQ_FIRST(&t->owned[slot]);
}

/* How many rows a slot has. */
uint32_t
table_owned(const struct table *t, uint32_t slot)
{
	return t->owned_count[slot];
}

/* The owner must be told this about the row. */
void
table_mark(struct table *t, struct row *r, uint32_t todo)
{
	if (r->todo == 0 && todo != 0)
		TAILQ_INSERT_TAIL(&t->todo[r->owner], r, todo_link);
	r->todo |= todo;
}

/* The owner was told, or need not be any more. */
void
table_unmark(struct table *t, struct row *r, uint32_t todo)
{
	if (r->todo == 0)
		return;
	r->todo &= ~todo;
	if (r->todo == 0)
		TAILQ_REMOVE(&t->todo[r->owner], r, todo_link);
}

/* Who is next to be told about at this slot. */
struct row *
table_first_todo(const struct table *t, uint32_t slot)
{
	return TAILQ_FIRST(&t->todo[slot]);
}

/* Which descriptors the row holds. */
uint32_t
row_mask(const struct row *r)
{
	uint32_t i, mask = 0;

	for (i = 0; i < TABLE_FDS; i++) {
		if (r->fds[i] >= 0)
			mask |= 1u << i;
	}
	return mask;
}

/* Rows in use. */
uint32_t
table_count(const struct table *t)
{
	return t->count;
}

/* The end of what was ever used. */
uint32_t
table_high(const struct table *t)
{
	return t->high;
}

/* The row at an index, for walks that go on later. */
struct row *
table_at(const struct table *t, uint32_t index)
{
	if (index >= t->high || !t->rows[index].used)
		return NULL;
	return &t->rows[index];
}
