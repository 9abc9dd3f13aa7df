/* SPDX-License-Identifier: MIT */
/*
 * Order statistics over intrusive nodes: a treap with subtree sizes and parent
 * pointers. Called by lane.c (queues), events.c and cursors.c (what is kept,
 * by number or name). It knows nothing of what it orders.
 */
#include "supervisor/share/rank.h"

#include <stdbool.h>

#include "common/check.h"

/* Nodes below and including n. */
static uint32_t
size_of(const struct rank_node *n)
{
	return n == NULL ? 0 : n->size;
}

/* The next weight: xorshift64*, so that a run can be repeated. */
static uint32_t
next_weight(struct rank_tree *t)
{
	t->seed ^= t->seed >> 12;
	t->seed ^= t->seed << 25;
	t->seed ^= t->seed >> 27;
	return (uint32_t)((t->seed * 2685821657736338717ull) >> 32);
}

/* An empty tree. */
void
rank_init(struct rank_tree *t, rank_cmp *cmp)
{
	t->root = NULL;
	t->cmp = cmp;
	t->seed = 0x9e3779b97f4a7c15ull;
}

/* Puts `to` where `from` hangs below its parent. */
static void
replace_child(struct rank_tree *t, struct rank_node *parent,
    const struct rank_node *from, struct rank_node *to)
{
	if (parent == NULL)
		t->root = to;
	else
		parent->child[parent->child[1] == from] = to;
	if (to != NULL)
		to->parent = parent;
}

/* Makes n the parent of its parent; the order stays. */
static void
rotate_up(struct rank_tree *t, struct rank_node *n)
{
	struct rank_node *p = n->parent;
	bool side = p->child[1] == n;
	struct rank_node *moved = n->child[!side];

	replace_child(t, p->parent, p, n);
	p->child[side] = moved;
	n->child[!side] = p;
	if (moved != NULL)
		moved->parent = p;
	p->parent = n;
	n->size = p->size;
	p->size = 1 + size_of(p->child[0]) + size_of(p->child[1]);
}

/* Hangs n at its place, then lifts it as far as its weight goes. */
void
rank_insert(struct rank_tree *t, struct rank_node *n, const void *key)
{
	struct rank_node **link = &t->root, *parent = NULL;

	while (*link != NULL) {
		int c = t->cmp(key, *link);

		CHECK(c != 0);
		parent = *link;
		parent->size++;
		link = &parent->child[c > 0];
	}
	n->parent = parent;
	n->child[0] = n->child[1] = NULL;
	n->size = 1;
	n->weight = next_weight(t);
	*link = n;
	while (n->parent != NULL && n->weight > n->parent->weight)
		rotate_up(t, n);
}

/* Sinks n until nothing hangs below it, then takes it off. */
void
rank_erase(struct rank_tree *t, struct rank_node *n)
{
	while (n->child[0] != NULL || n->child[1] != NULL) {
		struct rank_node *up = n->child[0], *right = n->child[1];

		if (up == NULL || (right != NULL && right->weight > up->weight))
			up = right;
		rotate_up(t, up);
	}
	for (struct rank_node *p = n->parent; p != NULL; p = p->parent)
		p->size--;
	replace_child(t, n->parent, n, NULL);
	n->parent = NULL;
	n->size = 0;
}

/* How many there are. */
uint32_t
rank_size(const struct rank_tree *t)
{
	return size_of(t->root);
}

/* The node of this key. */
struct rank_node *
rank_find(const struct rank_tree *t, const void *key)
{
	struct rank_node *n = t->root;

	while (n != NULL) {
		int c = t->cmp(key, n);

		if (c == 0)
			return n;
		n = n->child[c > 0];
	}
	return NULL;
}

/* The first node at or after this key. */
struct rank_node *
rank_lower(const struct rank_tree *t, const void *key)
{
	struct rank_node *n = t->root, *best = NULL;

	while (n != NULL) {
		if (t->cmp(key, n) <= 0) {
			best = n;
			n = n->child[0];
		} else {
			n = n->child[1];
		}
	}
	return best;
}

/* The outermost below n on one side. */
static struct rank_node *
end_of(struct rank_node *n, bool after)
{
	while (n != NULL && n->child[after] != NULL)
		n = n->child[after];
	return n;
}

struct rank_node *
rank_first(const struct rank_tree *t)
{
	return end_of(t->root, false);
}

struct rank_node *
rank_last(const struct rank_tree *t)
{
	return end_of(t->root, true);
}

/* The next one on one side. */
static struct rank_node *
neighbour(const struct rank_node *n, bool after)
{
	if (n->child[after] != NULL)
		return end_of(n->child[after], !after);
	while (n->parent != NULL && n->parent->child[after] == n)
		n = n->parent;
	return n->parent;
}

struct rank_node *
rank_next(const struct rank_node *n)
{
	return neighbour(n, true);
}

struct rank_node *
rank_prev(const struct rank_node *n)
{
	return neighbour(n, false);
}

/* Number i, counted from 0. */
struct rank_node *
rank_at(const struct rank_tree *t, uint32_t i)
{
	struct rank_node *n = t->root;

	while (n != NULL) {
		uint32_t before = size_of(n->child[0]);

		if (i == before)
			return n;
		if (i < before) {
			n = n->child[0];
		} else {
			i -= before + 1;
			n = n->child[1];
		}
	}
	return NULL;
}

/* How many are before n: all left of the way up. */
uint32_t
rank_of(const struct rank_node *n)
{
	uint32_t before = size_of(n->child[0]);

	for (; n->parent != NULL; n = n->parent)
		if (n->parent->child[1] == n)
			before += size_of(n->parent->child[0]) + 1;
	return before;
}
