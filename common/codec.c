/* SPDX-License-Identifier: MIT */
/*
 * MessagePack to trees. Only this file and codec_enc.c know msgpack-c.
 *
 * A decode is: scan (codec_scan.c: limits, end, memory needed), msgpack-c
 * parses, its objects are copied into one block with their strings behind
 * them. msgpack-c allocates what a header claims, which is harmless here
 * because the scan has seen the bytes behind every claim.
 */
#include "codec.h"

#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "codec_scan.h"
#include "reserve.h"

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
	struct val nodes[];
};

/* Copies a string behind the nodes. */
static void
build_string(struct codec_arena *a, struct val *v, const char *p, size_t n)
{
	v->s.ptr = a->text;
	v->s.len = n;
	if (n > 0)
		memcpy(a->text, p, n);
	a->text += n;
}

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
	size_t n = key->s.len < 8 ? key->s.len : 8;
	uint64_t first = 0, last = 0;

	if (n > 0) {
		memcpy(&first, key->s.ptr, n);
		memcpy(&last, key->s.ptr + key->s.len - n, n);
	}
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
static bool
find_twice_sorted(struct codec_arena *a, const struct val *map)
{
	size_t i, n = map->a.count;
	struct val *keys = calloc(n, sizeof(*keys));

	if (keys == NULL)
		return false;
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
	return true;
}

/* Notes a key that stands twice. False: out of memory. */
static bool
find_twice(struct codec_arena *a, const struct val *map)
{
	const struct val *keys = map->a.items;
	size_t i, k;

	if (a->twice != NULL)
		return true;
	if (map->a.count > FEW_KEYS)
		return all_differ(map) || find_twice_sorted(a, map);
	for (i = 1; i < map->a.count; i++) {
		for (k = 0; k < i; k++) {
			if (compare_keys(&keys[2 * i], &keys[2 * k]) == 0)
				a->twice = &keys[2 * i];
		}
	}
	return true;
}

static bool build(struct codec_arena *a, struct val *v,
    const msgpack_object *o);

/* Children lie side by side, before the children's own children. */
static bool
build_items(struct codec_arena *a, struct val *v, const msgpack_object *o)
{
	bool map = o->type == MSGPACK_OBJECT_MAP;
	size_t i, n = map ? o->via.map.size : o->via.array.size;
	struct val *items = a->next;

	v->type = map ? VAL_MAP : VAL_ARRAY;
	v->a.items = items;
	v->a.count = n;
	a->next += map ? 2 * n : n;
	for (i = 0; i < n; i++) {
		if (!map) {
			if (!build(a, &items[i], &o->via.array.ptr[i]))
				return false;
			continue;
		}
		if (!build(a, &items[2 * i], &o->via.map.ptr[i].key) ||
		    !build(a, &items[2 * i + 1], &o->via.map.ptr[i].val))
			return false;
	}
	return !map || find_twice(a, v);
}

/* One object of msgpack-c as one of ours. False: out of memory. */
static bool
build(struct codec_arena *a, struct val *v, const msgpack_object *o)
{
	switch (o->type) {
	case MSGPACK_OBJECT_NIL:
		v->type = VAL_NIL;
		return true;
	case MSGPACK_OBJECT_BOOLEAN:
		v->type = VAL_BOOL;
		v->b = o->via.boolean;
		return true;
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		v->type = VAL_UINT;
		v->u = o->via.u64;
		return true;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		v->type = VAL_INT;
		v->i = o->via.i64;
		return true;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		v->type = VAL_DOUBLE;
		v->d = o->via.f64;
		return true;
	case MSGPACK_OBJECT_STR:
		v->type = VAL_STR;
		build_string(a, v, o->via.str.ptr, o->via.str.size);
		return true;
	case MSGPACK_OBJECT_BIN:
		v->type = VAL_BIN;
		build_string(a, v, o->via.bin.ptr, o->via.bin.size);
		return true;
	case MSGPACK_OBJECT_ARRAY:
	case MSGPACK_OBJECT_MAP:
		return build_items(a, v, o);
	case MSGPACK_OBJECT_EXT:
		break; /* the scan has refused it */
	}
	UNREACHABLE();
}

/* Lets msgpack-c parse what the scan has passed, and copies it. */
static enum codec_error
decode_scanned(const void *buf, const struct codec_extent *extent,
    struct codec_arena **ret_arena)
{
	struct codec_arena *a;
	msgpack_unpacked parsed;
	size_t offset = 0;
	bool ok;

	a = malloc(sizeof(*a) + extent->values * sizeof(struct val) +
	    extent->string_bytes);
	if (a == NULL)
		return CODEC_NOMEM;
	a->next = a->nodes + 1;
	a->text = (char *)(a->nodes + extent->values);
	a->twice = NULL;
	msgpack_unpacked_init(&parsed);
	ok = msgpack_unpack_next(&parsed, buf, extent->used, &offset) ==
	    MSGPACK_UNPACK_SUCCESS;
	if (ok) {
		CHECK(offset == extent->used);
		ok = build(a, a->nodes, &parsed.data);
	}
	msgpack_unpacked_destroy(&parsed);
	if (!ok) {
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
codec_arena_free(struct codec_arena **arena)
{
	free(*arena);
	*arena = NULL;
}
