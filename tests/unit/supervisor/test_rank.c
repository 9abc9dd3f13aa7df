/* SPDX-License-Identifier: MIT */
/* The tree that knows ranks, against a sorted list. */
#include "supervisor/share/rank.h"
#include "tests/sim/lib_check.h"

#include <criterion/criterion.h>
#include <stdbool.h>

TestSuite(rank, .timeout = 20);

#define ITEMS 500u

struct item {
	unsigned key;
	struct rank_node node;
	bool in;
};

static int
cmp_item(const void *key, const struct rank_node *n)
{
	unsigned a = *(const unsigned *)key;
	unsigned b = RANK_OWNER_C(n, struct item, node)->key;

	return (a > b) - (a < b);
}

/* Every answer of the tree, as the flags of the items have it. */
static void
compare(const struct rank_tree *t, struct item *items)
{
	struct rank_node *first = NULL, *last = NULL;
	uint32_t rank = 0;

	cr_assert_null(rank_check(t), "%s", rank_check(t));
	for (unsigned i = 0; i < ITEMS; i++) {
		struct rank_node *n = &items[i].node;

		cr_assert_eq(rank_find(t, &i), items[i].in ? n : NULL);
		cr_assert_eq(rank_lower(t, &i), rank_at(t, rank));
		if (!items[i].in)
			continue;
		cr_assert_eq(rank_of(n), rank);
		cr_assert_eq(rank_prev(n), last);
		if (last != NULL)
			cr_assert_eq(rank_next(last), n);
		first = first == NULL ? n : first;
		last = n;
		rank++;
	}
	cr_assert_eq(rank_size(t), rank);
	cr_assert_eq(rank_first(t), first);
	cr_assert_eq(rank_last(t), last);
	cr_assert_null(rank_at(t, rank));
	if (last != NULL)
		cr_assert_null(rank_next(last));
}

Test(rank, agrees_with_a_sorted_list)
{
	static struct item items[ITEMS];
	struct rank_tree t;
	unsigned rng = 1;

	rank_init(&t, cmp_item);
	for (unsigned i = 0; i < ITEMS; i++)
		items[i].key = i;
	compare(&t, items);
	for (unsigned step = 0; step < 20000; step++) {
		struct item *it;

		rng = rng * 1664525u + 1013904223u;
		it = &items[(rng >> 8) % ITEMS];
		if (it->in)
			rank_erase(&t, &it->node);
		else
			rank_insert(&t, &it->node, &it->key);
		it->in = !it->in;
		if (step % 400 == 0)
			compare(&t, items);
	}
	for (unsigned i = 0; i < ITEMS; i++)
		if (items[i].in)
			rank_erase(&t, &items[i].node);
	cr_assert_null(t.root);
}

/* A tree that is filled in order stays flat. */
Test(rank, rising_keys_do_not_make_a_list)
{
	static struct item items[100000];
	struct rank_tree t;
	unsigned deepest = 0;

	rank_init(&t, cmp_item);
	for (unsigned i = 0; i < 100000; i++) {
		items[i].key = i;
		rank_insert(&t, &items[i].node, &i);
	}
	for (unsigned i = 0; i < 100000; i++) {
		unsigned depth = 0;

		for (const struct rank_node *n = &items[i].node; n != NULL;
		     n = n->parent)
			depth++;
		deepest = depth > deepest ? depth : deepest;
	}
	cr_assert_lt(deepest, 80, "%u", deepest);
	cr_assert_null(rank_check(&t));
}
