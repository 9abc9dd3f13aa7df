/* SPDX-License-Identifier: MIT */
/*
 * MessagePack to trees: scan (codec_scan.c: limits, end, memory needed), then the
 * values are built in one block with their strings behind them, from bytes that
 * the scan has seen, so that no header need be doubted any more.
 */
#include "codec.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "codec_scan.h"
#include "reserve.h"

#define KEY_WORD sizeof(uint64_t)
#define FEW_KEYS 8 /* up to here comparing all pairs is quicker */

const struct codec_limits codec_limits_default = {
	.depth = 8,
	.map_keys = 1024,
	.array = 4096,
	.string = 1u << 20,
	.elements = 16384,
	.bytes = 4u << 20,
};

const struct codec_limits codec_limits_trusted = {
	.depth = 12,
	.map_keys = 65536,
	.array = 1u << 20,
	.string = 64u << 20,
	.elements = 16u << 20,
	.bytes = 256u << 20,
};

/* One block: this, the nodes, the strings. */
struct codec_arena {
	struct val *next;
	char *text;
	const struct val *twice; /* a duplicate key, or NULL */
	bool failed;             /* no memory to look for one */
	struct val nodes[];
};

/* By length, then bytes: all that equality needs. */
static int
compare_keys(const void *left, const void *right)
{
	const struct val *a = left, *b = right;

	if (a->s.len != b->s.len)
		return a->s.len < b->s.len ? -1 : 1;
	return a->s.len == 0 ? 0 : memcmp(a->s.ptr, b->s.ptr, a->s.len);
}

/* Where a key has its mark among so many. */
#define MARKS 4096u
static unsigned
mark_of(const struct val *key)
{
	uint64_t first, last = 0;

	memcpy(&first, key->s.ptr, KEY_WORD); /* there is that much behind it */
	if (key->s.len < KEY_WORD)
		first = le64toh(first) &
		    ((UINT64_C(1) << 8 * key->s.len) - 1);
	else
		memcpy(&last, key->s.ptr + key->s.len - KEY_WORD, KEY_WORD);
	first ^= last * 0x9e3779b97f4a7c15u ^ key->s.len << 56;
	return (unsigned)(first * 0xff51afd7ed558ccdu >> 32) % MARKS;
}

/* Do all keys of a map differ for sure? Nearly every map's do, and nothing need
 * be sorted for that. */
static bool
all_differ(const struct val *map)
{
	uint64_t marks[MARKS / 64] = {0};

	for (size_t i = 0; i < map->a.count; i++) {
		unsigned mark = mark_of(&map->a.items[2 * i]);
		uint64_t bit = UINT64_C(1) << mark % 64;

		if (marks[mark / 64] & bit)
			return false;
		marks[mark / 64] |= bit;
	}
	return true;
}

/* Finds a key that stands twice in a map of many keys. */
static void
find_twice_sorted(struct codec_arena *a, const struct val *map)
{
	size_t i, n = map->a.count;
	struct val *keys = calloc(n, sizeof(*keys));

	if (keys == NULL) {
		a->failed = true;
		return;
	}
	for (i = 0; i < n; i++)
		keys[i] = map->a.items[2 * i];
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (i = 1; i < n && a->twice == NULL; i++) {
		if (compare_keys(&keys[i - 1], &keys[i]) != 0)
			continue;
		for (a->twice = map->a.items;
		    compare_keys(a->twice, &keys[i]) != 0; a->twice += 2)
			;
	}
	free(keys);
}

/* Notes a key that stands twice. */
static void
find_twice(struct codec_arena *a, const struct val *map)
{
	const struct val *keys = map->a.items;
	size_t i, k;

	if (a->twice != NULL)
		return;
	if (map->a.count > FEW_KEYS) {
		if (!all_differ(map))
			find_twice_sorted(a, map);
		return;
	}
	for (i = 1; i < map->a.count; i++) {
		for (k = 0; k < i; k++) {
			if (compare_keys(&keys[2 * i], &keys[2 * k]) == 0)
				a->twice = &keys[2 * i];
		}
	}
}

static const unsigned char *build(struct codec_arena *a, struct val *v,
    const unsigned char *p);

/* Children lie side by side, before the children's own children. */
static const unsigned char *
build_items(struct codec_arena *a, struct val *v, bool map, size_t count,
    const unsigned char *p)
{
	size_t values = map ? 2 * count : count;
	struct val *items = a->next;

	v->type = map ? VAL_MAP : VAL_ARRAY;
	v->a.items = items;
	v->a.count = count;
	a->next += values;
	for (size_t i = 0; i < values; i++)
		p = build(a, &items[i], p);
	if (map)
		find_twice(a, v);
	return p;
}

static const unsigned char *
build_uint(struct val *v, const unsigned char *p, unsigned bytes)
{
	v->type = VAL_UINT;
	v->u = codec_number(p, bytes);
	return p + bytes;
}

/* What is not negative is a VAL_UINT. */
static const unsigned char *
build_int(struct val *v, const unsigned char *p, unsigned bytes)
{
	unsigned shift = 64 - 8 * bytes;

	v->i = (int64_t)(codec_number(p, bytes) << shift) >> shift;
	v->type = v->i < 0 ? VAL_INT : VAL_UINT;
	return p + bytes;
}

static const unsigned char *
build_double(struct val *v, const unsigned char *p, unsigned bytes)
{
	uint64_t u = codec_number(p, bytes);
	uint32_t half = (uint32_t)u;
	float f;

	v->type = VAL_DOUBLE;
	memcpy(&v->d, &u, sizeof(v->d));
	memcpy(&f, &half, sizeof(f));
	if (bytes == sizeof(f))
		v->d = (double)f;
	return p + bytes;
}

/* Copies a string behind the nodes. */
static const unsigned char *
build_string(struct codec_arena *a, struct val *v, enum val_type type,
    size_t n, const unsigned char *p)
{
	v->type = type;
	v->s.ptr = a->text;
	v->s.len = n;
	memcpy(a->text, p, n);
	a->text += n;
	return p + n;
}

/* What begins with a byte from 0xc0 to 0xdf, which is behind us. */
static const unsigned char *
build_wide(struct codec_arena *a, struct val *v, unsigned char c,
    const unsigned char *p)
{
	unsigned bytes = 1u << (c & 3); /* of a number */

	switch (c) {
	case 0xc0:
		v->type = VAL_NIL;
		return p;
	case 0xc2:
	case 0xc3:
		v->type = VAL_BOOL;
		v->b = c & 1;
		return p;
	case 0xc4:
	case 0xc5:
	case 0xc6:
		return build_string(a, v, VAL_BIN, codec_number(p, bytes),
		    p + bytes);
	case 0xca:
	case 0xcb:
		return build_double(v, p, c == 0xca ? 4 : 8);
	case 0xcc:
	case 0xcd:
	case 0xce:
	case 0xcf:
		return build_uint(v, p, bytes);
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		return build_int(v, p, bytes);
	case 0xd9:
	case 0xda:
	case 0xdb:
		bytes = 1u << (c - 0xd9);
		return build_string(a, v, VAL_STR, codec_number(p, bytes),
		    p + bytes);
	default: /* the scan has refused the others */
		bytes = c & 1 ? 4 : 2;
		return build_items(a, v, c >= 0xde, codec_number(p, bytes),
		    p + bytes);
	}
}

/* A value of the bytes at p: where they end. */
static const unsigned char *
build(struct codec_arena *a, struct val *v, const unsigned char *p)
{
	unsigned char c = *p++;

	if (c < 0x80) {
		v->type = VAL_UINT;
		v->u = c;
		return p;
	}
	if (c < 0xa0)
		return build_items(a, v, c < 0x90, c & 15u, p);
	if (c < 0xc0)
		return build_string(a, v, VAL_STR, c & 31u, p);
	if (c < 0xe0)
		return build_wide(a, v, c, p);
	v->type = VAL_INT;
	v->i = (int8_t)c;
	return p;
}

/* A tree of what the scan has passed. */
static enum codec_error
decode_scanned(const void *buf, const struct codec_extent *extent,
    struct codec_arena **ret_arena)
{
	struct codec_arena *a;

	a = malloc(sizeof(*a) + extent->values * sizeof(struct val) +
	    extent->string_bytes + KEY_WORD);
	if (a == NULL)
		return CODEC_NOMEM;
	a->next = a->nodes + 1;
	a->text = (char *)(a->nodes + extent->values);
	a->failed = false;
	a->twice = NULL;
	CHECK(build(a, a->nodes, buf) ==
	    (const unsigned char *)buf + extent->used);
	if (a->failed) {
		free(a);
		return CODEC_NOMEM;
	}
	*ret_arena = a;
	return CODEC_OK;
}

enum codec_error
codec_decode_more(struct codec_walk *w, const void *buf, size_t size,
    const struct codec_limits *limits, struct codec_extent *ret,
    struct codec_arena **ret_arena, const struct val **ret_val)
{
	struct codec_arena *a;
	enum codec_error error;

	error = codec_walk(w, buf, size, limits, ret);
	if (error != CODEC_OK)
		return error;
	error = decode_scanned(buf, ret, &a);
	if (error == CODEC_NOMEM && reserve_give_up())
		error = decode_scanned(buf, ret, &a);
	if (error != CODEC_OK) {
		(void)snprintf(w->why, sizeof(w->why), "out of memory");
		return error;
	}
	if (a->twice != NULL) {
		/* The key is a stranger's: whoever shows `why` escapes it. */
		(void)snprintf(w->why, sizeof(w->why),
		    "the key \"%.*s\" stands twice in one map",
		    (int)(a->twice->s.len < 64 ? a->twice->s.len : 64),
		    a->twice->s.ptr);
		codec_arena_free(&a);
		return CODEC_MALFORMED;
	}
	*ret_arena = a;
	*ret_val = a->nodes;
	return CODEC_OK;
}

enum codec_error
codec_decode(const void *buf, size_t size, const struct codec_limits *limits,
    size_t *ret_used, struct codec_arena **ret_arena,
    const struct val **ret_val, char *why, size_t why_size)
{
	struct codec_walk w = { 0 };
	struct codec_extent extent;
	enum codec_error error = codec_decode_more(&w, buf, size, limits,
	    &extent, ret_arena, ret_val);

	*ret_used = extent.used;
	if (w.why[0] != '\0' && why_size > 0)
		(void)snprintf(why, why_size, "%s", w.why);
	return error;
}

void
codec_arena_wipe(struct codec_arena **arena)
{
	char *texts = (char *)(*arena)->next; /* behind the last value */

	explicit_bzero(texts, (size_t)((*arena)->text - texts));
	codec_arena_free(arena);
}

void
codec_arena_free(struct codec_arena **arena)
{
	free(*arena);
	*arena = NULL;
}
