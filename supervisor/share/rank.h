/* SPDX-License-Identifier: MIT */
/*
 * An ordered tree whose nodes live in their owner's structs and know their
 * rank: insert, erase, find, "how many are before me" and "who is number i",
 * each O(log n). Allocates nothing. A node is in at most one tree.
 */
#ifndef PSUP_SUPERVISOR_SHARE_RANK_H
#define PSUP_SUPERVISOR_SHARE_RANK_H

#include <stddef.h>
#include <stdint.h>

struct rank_node {
	struct rank_node *parent, *child[2]; /* what comes before, after */
	uint32_t weight; /* random; a parent's is not smaller than a child's */
	uint32_t size;   /* nodes of this subtree */
};

/* < 0: key comes before n. Equal keys must not be inserted twice. */
typedef int rank_cmp(const void *key, const struct rank_node *n);

struct rank_tree {
	struct rank_node *root;
	rank_cmp *cmp;
	uint64_t seed; /* of the weights: the same history, the same tree */
};

/* The struct around a node; the second form for const. */
#define RANK_OWNER(n, type, member)                                            \
	((type *)(void *)((char *)(n) - offsetof(type, member)))
#define RANK_OWNER_C(n, type, member)                                          \
	((const type *)(const void *)((const char *)(n) -                      \
	    offsetof(type, member)))

/* The order of nodes by a text, or by a number, of their owner's. */
#define RANK_BY_TEXT(function, type, node, text)                               \
	int function(const void *key, const struct rank_node *n)               \
	{                                                                      \
		return strcmp(key, RANK_OWNER_C(n, type, node)->text);         \
	}
#define RANK_BY_U64(function, type, node, number)                              \
	int function(const void *key, const struct rank_node *n)               \
	{                                                                      \
		uint64_t a = *(const uint64_t *)key;                           \
		uint64_t b = RANK_OWNER_C(n, type, node)->number;              \
                                                                               \
		return (a > b) - (a < b);                                      \
	}

void rank_init(struct rank_tree *t, rank_cmp *cmp);
/* `key` is the one that `n` stands for. */
void rank_insert(struct rank_tree *t, struct rank_node *n, const void *key);
void rank_erase(struct rank_tree *t, struct rank_node *n);
uint32_t rank_size(const struct rank_tree *t);

/* NULL where there is none. */
struct rank_node *rank_find(const struct rank_tree *t, const void *key);
/* The first node that does not come before the key. */
struct rank_node *rank_lower(const struct rank_tree *t, const void *key);
struct rank_node *rank_first(const struct rank_tree *t);
struct rank_node *rank_last(const struct rank_tree *t);
struct rank_node *rank_next(const struct rank_node *n);
struct rank_node *rank_prev(const struct rank_node *n);
struct rank_node *rank_at(const struct rank_tree *t, uint32_t i);
/* How many nodes of its tree are before this one. */
uint32_t rank_of(const struct rank_node *n);

#endif
