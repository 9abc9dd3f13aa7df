/* SPDX-License-Identifier: MIT */
/*
 * Reading decoded maps. Every function takes what a stranger sent: an absent
 * key, another type or no map at all give the default.
 */
#include <string.h>

#include "codec.h"

const struct val *
val_get(const struct val *map, const char *key)
{
	size_t i;

	if (map == NULL || map->type != VAL_MAP)
		return NULL;
	for (i = 0; i < map->a.count; i++) {
		if (val_is_str(&map->a.items[2 * i], key))
			return &map->a.items[2 * i + 1];
	}
	return NULL;
}

bool
val_is_str(const struct val *v, const char *text)
{
	size_t n = strlen(text);

	return v != NULL && v->type == VAL_STR && v->s.len == n &&
	    memcmp(v->s.ptr, text, n) == 0;
}

uint64_t
val_uint(const struct val *map, const char *key, uint64_t dflt)
{
	const struct val *v = val_get(map, key);

	return v != NULL && v->type == VAL_UINT ? v->u : dflt;
}

int64_t
val_int(const struct val *map, const char *key, int64_t dflt)
{
	const struct val *v = val_get(map, key);

	if (v != NULL && v->type == VAL_INT)
		return v->i;
	if (v != NULL && v->type == VAL_UINT && v->u <= INT64_MAX)
		return (int64_t)v->u;
	return dflt;
}

bool
val_bool(const struct val *map, const char *key, bool dflt)
{
	const struct val *v = val_get(map, key);

	return v != NULL && v->type == VAL_BOOL ? v->b : dflt;
}

double
val_num(const struct val *map, const char *key, double dflt)
{
	const struct val *v = val_get(map, key);

	if (v != NULL && v->type == VAL_DOUBLE)
		return v->d;
	if (v != NULL && v->type == VAL_INT)
		return (double)v->i;
	if (v != NULL && v->type == VAL_UINT)
		return (double)v->u;
	return dflt;
}

struct val_str
val_str(const struct val *map, const char *key)
{
	const struct val *v = val_get(map, key);
	struct val_str s = { NULL, 0 };

	if (v != NULL && (v->type == VAL_STR || v->type == VAL_BIN)) {
		s.ptr = v->s.ptr;
		s.len = v->s.len;
	}
	return s;
}

size_t
val_copy(const struct val *map, const char *key, char *buf, size_t size)
{
	struct val_str s = val_str(map, key);
	size_t n = s.len;

	if (size == 0)
		return s.len;
	if (n > size - 1)
		n = size - 1;
	if (s.ptr != NULL && n > 0)
		memcpy(buf, s.ptr, n);
	buf[n] = '\0';
	return s.len;
}

uint64_t
val_hash_bytes(uint64_t h, const void *p, size_t n)
{
	const unsigned char *at = p;
	uint64_t word;

	h = (h ^ n) * 0x9e3779b97f4a7c15u;
	for (; n > 0; at += sizeof(word)) {
		size_t some = n < sizeof(word) ? n : sizeof(word);

		word = 0;
		memcpy(&word, at, some);
		n -= some;
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 32;
	}
	return h;
}

uint64_t
val_hash(uint64_t h, const struct val *v)
{
	size_t n = v->type == VAL_MAP ? 2 * v->a.count : v->a.count;

	h = val_hash_bytes(h, &v->type, sizeof(v->type));
	switch (v->type) {
	case VAL_NIL:
		return h;
	case VAL_BOOL:
		return val_hash_bytes(h, &v->b, sizeof(v->b));
	case VAL_INT:
	case VAL_UINT:
	case VAL_DOUBLE:
		return val_hash_bytes(h, &v->u, sizeof(v->u));
	case VAL_STR:
	case VAL_BIN:
		return val_hash_bytes(h, v->s.ptr, v->s.len);
	case VAL_ARRAY:
	case VAL_MAP:
		h = val_hash_bytes(h, &n, sizeof(n));
		for (size_t i = 0; i < n; i++)
			h = val_hash(h, &v->a.items[i]);
		return h;
	}
	return h;
}
