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
