/* SPDX-License-Identifier: MIT */
/*
 * LMDB's file format, version 1, as its mdb.c of 0.9 has it (MDB_page,
 * MDB_node, MDB_meta, MDB_db), read with every number checked. Pages of the
 * free list must be free: LMDB writes to them.
 */
#include "shm/index_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT_MAGIC   0xBEEFC0DEu
#define FORMAT_VERSION 1u
#define DEPTH_MAX      32u /* of LMDB's own cursor */
#define KEY_BYTES_MAX  511u
#define NO_PAGE        UINT64_MAX
#define UNWRITTEN_MAX  1024u /* pages at the end: freed before they were */

/* A page's flags, on disk: exactly one. */
enum { PAGE_BRANCH = 1, PAGE_LEAF = 2, PAGE_LONG = 4, PAGE_META = 8 };
enum { NODE_LONG = 1, NODE_TREE = 2 }; /* what a value is instead */
enum { FLAG_INTEGER_KEY = 8 };

struct page {
	uint64_t number;
	uint16_t pad, flags;
	union {
		struct {
			uint16_t lower, upper; /* of the free space */
		};
		uint32_t count; /* pages of a long value */
	};
};

struct node {
	uint16_t lo, hi, flags, key_bytes;
};

struct tree {
	uint32_t pad;
	uint16_t flags, depth;
	uint64_t branches, leaves, longs, entries, root;
};

struct meta {
	struct page head;
	uint32_t magic, version;
	uint64_t address, map_bytes;
	struct tree free, main;
	uint64_t last_page, txn;
};

struct walk {
	const unsigned char *map;
	size_t page_bytes;
	uint64_t pages;     /* ever given out */
	uint64_t written;   /* that the file has; more or less */
	uint64_t txn;       /* the last one */
	const struct index_names *names;
	unsigned char *met; /* a bit per page given out */
};

/* Where one tree's walk is. */
struct place {
	struct walk *w;
	bool integer_key, has_trees, is_free_list;
	unsigned depth;
	uint64_t entries;
	/* the next key comes after this one, or is it, after a branch's */
	const unsigned char *key;
	size_t key_bytes;
	bool may_be_same;
};

/* A page that nobody has met before: `count` of them, from `number` on. */
static bool
meet(struct walk *w, uint64_t number, uint64_t count)
{
	if (number < 2 || number >= w->pages || count > w->pages - number)
		return false;
	for (uint64_t i = number; i < number + count; i++) {
		if ((w->met[i / 8] >> i % 8 & 1) != 0)
			return false;
		w->met[i / 8] |= (unsigned char)(1u << i % 8);
	}
	return true;
}

/* The page and its head, if it is one of these; NULL: it is not. */
static const unsigned char *
page_at(const struct walk *w, uint64_t number, unsigned flags,
    struct page *ret)
{
	const unsigned char *at;

	if (number < 2 || number >= w->written)
		return NULL;
	at = w->map + number * w->page_bytes;
	memcpy(ret, at, sizeof(*ret));
	return ret->number == number && ret->flags == flags ? at : NULL;
}

/* Orders two keys as LMDB does. */
static int
key_cmp(const struct place *p, const unsigned char *a, size_t a_bytes,
    const unsigned char *b, size_t b_bytes)
{
	size_t both = a_bytes < b_bytes ? a_bytes : b_bytes;
	uint64_t x, y;
	int r;

	if (p->integer_key) {
		memcpy(&x, a, sizeof(x));
		memcpy(&y, b, sizeof(y));
		return x < y ? -1 : x > y;
	}
	r = memcmp(a, b, both);
	return r != 0 ? r : a_bytes < b_bytes ? -1 : a_bytes > b_bytes;
}

/* The next key in order; `branch`: one that only parts two subtrees. */
static bool
take_key(struct place *p, const unsigned char *key, size_t bytes, bool branch)
{
	int r = -1;

	if (bytes == 0 || bytes > KEY_BYTES_MAX ||
	    (p->integer_key && bytes != sizeof(uint64_t)))
		return false;
	if (p->key != NULL)
		r = key_cmp(p, p->key, p->key_bytes, key, bytes);
	if (r > 0 || (r == 0 && (branch || !p->may_be_same)))
		return false;
	p->key = key;
	p->key_bytes = bytes;
	p->may_be_same = branch;
	return true;
}

/* A record of the free list: by the transaction that freed them, a count, then
 * that many pages, falling. */
static bool
take_free(const struct place *p, const unsigned char *at, uint64_t bytes)
{
	uint64_t n, id, before = NO_PAGE;

	memcpy(&id, p->key, sizeof(id));
	if (id > p->w->txn || bytes < sizeof(n) || bytes % sizeof(n) != 0)
		return false;
	memcpy(&n, at, sizeof(n));
	if (n > bytes / sizeof(n) - 1)
		return false;
	for (uint64_t i = 1; i <= n; i++) {
		memcpy(&id, at + i * sizeof(id), sizeof(id));
		if (id >= before || !meet(p->w, id, 1))
			return false;
		before = id;
	}
	return true;
}

/* Is the last key the name of a tree that there should be? */
static bool
is_name(const struct place *p)
{
	const struct index_names *names = p->w->names;

	for (size_t i = 0; i < names->count; i++)
		if (strlen(names->name[i]) == p->key_bytes &&
		    memcmp(names->name[i], p->key, p->key_bytes) == 0)
			return true;
	return false;
}

static bool walk_tree(struct place *p, const struct tree *t);

/* What is behind a leaf's key, in its page or in pages of its own. */
static bool
take_value(struct place *p, const struct node *n, const unsigned char *at)
{
	uint64_t bytes = n->lo | (uint64_t)n->hi << 16, number;
	struct place sub = {.w = p->w};
	struct page long_page;
	struct tree t;

	if (p->has_trees) {
		if (n->flags != NODE_TREE || bytes != sizeof(t) || !is_name(p))
			return false;
		memcpy(&t, at, sizeof(t));
		return t.flags == 0 && walk_tree(&sub, &t);
	}
	if (n->flags == NODE_LONG) {
		memcpy(&number, at, sizeof(number));
		at = page_at(p->w, number, PAGE_LONG, &long_page);
		/* one that was longer before keeps its pages */
		if (at == NULL || !meet(p->w, number, long_page.count) ||
		    sizeof(long_page) + bytes >
		        long_page.count * p->w->page_bytes ||
		    number + long_page.count > p->w->written)
			return false;
		at += sizeof(long_page);
	} else if (n->flags != 0) {
		return false;
	}
	return !p->is_free_list || take_free(p, at, bytes);
}

/* Bytes that a node takes in its page. */
static size_t
node_bytes(const struct node *n, bool leaf)
{
	size_t bytes = sizeof(*n) + n->key_bytes;

	if (leaf)
		bytes += n->flags == NODE_LONG
			? sizeof(uint64_t)
			: n->lo | (size_t)n->hi << 16;
	return (bytes + 1) & ~(size_t)1;
}

/* A page of a tree, and all below. */
static bool
walk_page(struct place *p, uint64_t number, unsigned depth)
{
	bool leaf = depth + 1 == p->depth;
	size_t end = p->w->page_bytes, used = 0;
	const unsigned char *at, *key;
	struct page head;
	struct node n;
	unsigned count;
	uint16_t from;

	at = page_at(p->w, number, leaf ? PAGE_LEAF : PAGE_BRANCH, &head);
	if (at == NULL || !meet(p->w, number, 1) ||
	    head.lower < sizeof(head) || head.lower % 2 != 0 ||
	    head.lower > head.upper || head.upper > end)
		return false;
	count = (unsigned)(head.lower - sizeof(head)) / 2;
	if (count < (leaf || p->is_free_list ? 1u : 2u))
		return false;
	for (unsigned i = 0; i < count; i++) {
		memcpy(&from, at + sizeof(head) + i * 2, sizeof(from));
		if (from < head.upper || from % 2 != 0 ||
		    from > end - sizeof(n))
			return false;
		memcpy(&n, at + from, sizeof(n));
		used += node_bytes(&n, leaf);
		if (from + node_bytes(&n, leaf) > end)
			return false;
		key = at + from + sizeof(n);
		/* the first of a branch has no key that counts */
		if ((leaf || i > 0) && !take_key(p, key, n.key_bytes, !leaf))
			return false;
		if (leaf) {
			p->entries++;
			if (!take_value(p, &n, key + n.key_bytes))
				return false;
		} else if (!walk_page(p, n.lo | (uint64_t)n.hi << 16 |
		        (uint64_t)n.flags << 32, depth + 1)) {
			return false;
		}
	}
	return used == end - head.upper;
}

static bool
walk_tree(struct place *p, const struct tree *t)
{
	if (t->root == NO_PAGE)
		return t->depth == 0 && t->entries == 0;
	if (t->depth == 0 || t->depth > DEPTH_MAX)
		return false;
	p->depth = t->depth;
	return walk_page(p, t->root, 0) && p->entries == t->entries;
}

/* One of the two meta pages. */
static bool
meta_ok(const struct meta *m, uint64_t number, size_t page_bytes, size_t bytes,
    uint64_t map_max)
{
	return m->head.number == number && m->head.flags == PAGE_META &&
	    m->magic == FORMAT_MAGIC && m->version == FORMAT_VERSION &&
	    m->free.pad == page_bytes && m->map_bytes <= map_max &&
	    m->free.flags == FLAG_INTEGER_KEY && m->main.flags == 0 &&
	    m->last_page >= 1 &&
	    m->last_page < bytes / page_bytes + UNWRITTEN_MAX;
}

/* They are written in turn, by every second transaction each. */
static bool
metas_agree(const struct meta *odd, const struct meta *even)
{
	return (odd->txn == 0 && even->txn == 0) ||
	    (odd->txn % 2 == 1 && even->txn % 2 == 0 &&
	        (odd->txn + 1 == even->txn || even->txn + 1 == odd->txn));
}

int
index_walk(const void *map, size_t bytes, uint64_t map_max,
    const struct index_names *names)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct walk w = {.map = map, .page_bytes = page_bytes, .names = names};
	struct place free_list = {
	    .w = &w, .integer_key = true, .is_free_list = true};
	struct place main = {.w = &w, .has_trees = true};
	struct meta m[2];
	const struct meta *newest;
	bool ok;

	if (bytes < 2 * page_bytes)
		return -EBADMSG;
	memcpy(&m[0], map, sizeof(m[0]));
	memcpy(&m[1], (const char *)map + page_bytes, sizeof(m[1]));
	for (unsigned i = 0; i < 2; i++)
		if (!meta_ok(&m[i], i, page_bytes, bytes, map_max))
			return -EBADMSG;
	if (!metas_agree(&m[1], &m[0]))
		return -EBADMSG;
	newest = &m[m[1].txn > m[0].txn];
	w.txn = newest->txn;
	w.pages = newest->last_page + 1;
	w.written = bytes / page_bytes;
	if (w.written > w.pages)
		w.written = w.pages;
	w.met = calloc(w.pages / 8 + 1, 1);
	if (w.met == NULL)
		return -ENOMEM;
	/* what is in use first: then what is free must be free */
	ok = walk_tree(&main, &newest->main) &&
	    walk_tree(&free_list, &newest->free);
	free(w.met);
	return ok ? 0 : -EBADMSG;
}
