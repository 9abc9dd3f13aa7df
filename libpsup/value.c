/* SPDX-License-Identifier: MIT */
/*
 * Readers of what a server answered: a psup_value is a struct val of the
 * codec under another name. Called by programs; changes nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* The codec's view of a public value. */
static const struct val *
val_of(const psup_value *v)
{
	return (const struct val *)(const void *)v;
}

/* The public view of a decoded value. */
static const psup_value *
value_of(const struct val *v)
{
	return (const psup_value *)(const void *)v;
}

enum psup_type
psup_value_type(const psup_value *v)
{
	static const enum psup_type types[] = {
		[VAL_NIL] = PSUP_NIL, [VAL_BOOL] = PSUP_BOOL,
		[VAL_INT] = PSUP_INT, [VAL_UINT] = PSUP_INT,
		[VAL_DOUBLE] = PSUP_DOUBLE, [VAL_STR] = PSUP_STR,
		[VAL_BIN] = PSUP_BYTES, [VAL_ARRAY] = PSUP_ARRAY,
		[VAL_MAP] = PSUP_MAP,
	};

	return v == NULL ? PSUP_NIL : types[val_of(v)->type];
}

const psup_value *
psup_value_get(const psup_value *map, const char *key)
{
	return value_of(val_get(val_of(map), key));
}

size_t
psup_value_count(const psup_value *v)
{
	enum psup_type type = psup_value_type(v);

	if (type != PSUP_ARRAY && type != PSUP_MAP)
		return 0;
	return val_of(v)->a.count;
}

const psup_value *
psup_value_at(const psup_value *v, size_t i)
{
	if (i >= psup_value_count(v))
		return NULL;
	if (val_of(v)->type == VAL_MAP)
		i = 2 * i + 1;
	return value_of(&val_of(v)->a.items[i]);
}

const char *
psup_value_key(const psup_value *map, size_t i, size_t *ret_len)
{
	if (psup_value_type(map) != PSUP_MAP || i >= psup_value_count(map))
		return NULL;
	return psup_value_str(value_of(&val_of(map)->a.items[2 * i]), ret_len);
}

bool
psup_value_bool(const psup_value *v, bool dflt)
{
	return psup_value_type(v) == PSUP_BOOL ? val_of(v)->b : dflt;
}

int64_t
psup_value_int(const psup_value *v, int64_t dflt)
{
	const struct val *x = val_of(v);

	if (x == NULL)
		return dflt;
	switch (x->type) {
	case VAL_INT:
		return x->i;
	case VAL_UINT:
		return x->u > INT64_MAX ? INT64_MAX : (int64_t)x->u;
	case VAL_DOUBLE:
		if (x->d != x->d)
			return dflt;
		if (x->d >= 9223372036854775807.0)
			return INT64_MAX;
		if (x->d <= -9223372036854775808.0)
			return INT64_MIN;
		return (int64_t)x->d;
	default:
		return dflt;
	}
}

double
psup_value_double(const psup_value *v, double dflt)
{
	const struct val *x = val_of(v);

	if (x == NULL)
		return dflt;
	switch (x->type) {
	case VAL_INT:
		return (double)x->i;
	case VAL_UINT:
		return (double)x->u;
	case VAL_DOUBLE:
		return x->d;
	default:
		return dflt;
	}
}

const char *
psup_value_str(const psup_value *v, size_t *ret_len)
{
	enum psup_type type = psup_value_type(v);

	if (type != PSUP_STR && type != PSUP_BYTES) {
		if (ret_len != NULL)
			*ret_len = 0;
		return NULL;
	}
	if (ret_len != NULL)
		*ret_len = val_of(v)->s.len;
	return val_of(v)->s.ptr;
}

bool
psup_get_bool(const psup_value *map, const char *key, bool dflt)
{
	return psup_value_bool(psup_value_get(map, key), dflt);
}

int64_t
psup_get_int(const psup_value *map, const char *key, int64_t dflt)
{
	return psup_value_int(psup_value_get(map, key), dflt);
}

double
psup_get_double(const psup_value *map, const char *key, double dflt)
{
	return psup_value_double(psup_value_get(map, key), dflt);
}

const char *
psup_get_str(const psup_value *map, const char *key, size_t *ret_len)
{
	return psup_value_str(psup_value_get(map, key), ret_len);
}

size_t
psup_get_copy(const psup_value *map, const char *key, char *buf, size_t size)
{
	size_t len, n;
	const char *s = psup_get_str(map, key, &len);

	if (size == 0)
		return len;
	n = len < size - 1 ? len : size - 1;
	if (s != NULL && n > 0)
		memcpy(buf, s, n);
	buf[n] = '\0';
	return len;
}

bool
psup_get_is(const psup_value *map, const char *key, const char *text)
{
	size_t len;
	const char *s = psup_get_str(map, key, &len);

	return s != NULL && len == strlen(text) && memcmp(s, text, len) == 0;
}

const psup_value *
psup_reply_value(const struct psup_reply *r)
{
	return r == NULL ? NULL : value_of(r->value);
}

const char *
psup_reply_text(const struct psup_reply *r, size_t *ret_len)
{
	return psup_get_str(psup_reply_value(r), "text", ret_len);
}

const psup_value *
psup_reply_details(const struct psup_reply *r)
{
	return psup_value_get(psup_reply_value(r), "details");
}

bool
psup_reply_is_error(const struct psup_reply *r)
{
	return psup_get_bool(psup_reply_value(r), "isError", false);
}

void
psup_reply_free(struct psup_reply **r)
{
	if (r == NULL || *r == NULL)
		return;
	codec_arena_free(&(*r)->arena);
	free(*r);
	*r = NULL;
}
