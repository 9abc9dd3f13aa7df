/* SPDX-License-Identifier: MIT */
/*
 * Values to MessagePack, appended to one growing buffer. What rows of list are
 * full of, strings, small numbers and booleans, is written here, the rest is
 * packed by msgpack-c; a map or array that is still open has a 32-bit
 * count, which is patched at its end. Running out of memory is remembered and
 * asked for once, at the end.
 */
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "codec.h"
#include "reserve.h"

#define ENC_FIRST_CAP 512

void
enc_fini(struct enc *e)
{
	free(e->buf);
	memset(e, 0, sizeof(*e));
}

void
enc_reset(struct enc *e)
{
	e->len = 0;
	e->depth = 0;
	e->failed = false;
}

/* Memory for n more bytes. */
static bool
enc_grow(struct enc *e, size_t n)
{
	size_t cap = e->cap > 0 ? e->cap : ENC_FIRST_CAP;
	char *buf;

	while (cap - e->len < n) {
		if (cap > SIZE_MAX / 4) {
			e->failed = true;
			return false;
		}
		cap *= 2;
	}
	buf = reserve_realloc(e->buf, cap);
	if (buf == NULL) {
		e->failed = true;
		return false;
	}
	e->buf = buf;
	e->cap = cap;
	return true;
}

/* Room for n more bytes; false: out of memory, now or before. */
static inline bool
enc_reserve(struct enc *e, size_t n)
{
	return !e->failed && (n <= e->cap - e->len || enc_grow(e, n));
}

/* Where msgpack-c writes to. */
static int
enc_write(void *data, const char *p, size_t n)
{
	struct enc *e = data;

	if (!enc_reserve(e, n))
		return -1;
	if (n > 0)
		memcpy(e->buf + e->len, p, n);
	e->len += n;
	return 0;
}

/* A packer of msgpack-c for one value. */
static msgpack_packer
packer(struct enc *e)
{
	msgpack_packer pk;

	msgpack_packer_init(&pk, e, enc_write);
	return pk;
}

/* Counts one value, or one key, into what is open. */
static void
enc_count(struct enc *e)
{
	if (e->depth > 0)
		e->open[e->depth - 1].count++;
}

/* Appends a first byte, a number of `size` bytes, the highest first, and room for
 * `body` more, which is returned; NULL: no memory. */
static inline char *
enc_head(struct enc *e, unsigned char first, uint64_t number, unsigned size,
    size_t body)
{
	char *p;

	if (!enc_reserve(e, 1 + size + body))
		return NULL;
	p = e->buf + e->len;
	*p++ = (char)first;
	for (unsigned shift = 8 * size; shift > 0; shift -= 8)
		*p++ = (char)(number >> (shift - 8));
	e->len += 1 + size + body;
	return p;
}

static inline void
enc_byte(struct enc *e, unsigned char v)
{
	if (enc_reserve(e, 1))
		e->buf[e->len++] = (char)v;
}

/* Opens what has a 32-bit count, which is written at its end. */
static void
enc_open(struct enc *e, unsigned char first)
{
	const char head[5] = { (char)first, 0, 0, 0, 0 };

	CHECK(e->depth < NELEMS(e->open));
	enc_count(e);
	e->open[e->depth].at = e->len + 1;
	e->open[e->depth].count = 0;
	e->open[e->depth].map = first == 0xdf;
	e->depth++;
	(void)enc_write(e, head, sizeof(head));
}

/* Its count is known, and it is not open any more. */
static void
enc_close(struct enc *e, size_t count)
{
	e->depth--;
	e->failed |= count > UINT32_MAX;
	for (int i = 3; i >= 0 && !e->failed; i--, count >>= 8)
		e->buf[e->open[e->depth].at + (size_t)i] = (char)(count & 255);
}

void
enc_map(struct enc *e)
{
	enc_open(e, 0xdf);
}

void
enc_array(struct enc *e)
{
	enc_open(e, 0xdd);
}

void
enc_end(struct enc *e)
{
	uint32_t count;

	CHECK(e->depth > 0);
	count = e->open[e->depth - 1].count;
	if (e->open[e->depth - 1].map) {
		CHECK(count % 2 == 0); /* a key without a value */
		count /= 2;
	}
	enc_close(e, count);
}

void
enc_str_begin(struct enc *e)
{
	enc_open(e, 0xdb);
}

char *
enc_room(struct enc *e, size_t n)
{
	return enc_reserve(e, n) ? e->buf + e->len : NULL;
}

void
enc_add(struct enc *e, size_t n)
{
	CHECK(n <= e->cap - e->len);
	e->len += n;
}

void
enc_str_end(struct enc *e)
{
	CHECK(e->depth > 0);
	enc_close(e, e->failed ? 0 : e->len - e->open[e->depth - 1].at - 4);
}

void
enc_keyn(struct enc *e, const char *key, size_t n)
{
	CHECK(e->depth > 0 && e->open[e->depth - 1].map &&
	    e->open[e->depth - 1].count % 2 == 0);
	enc_strn(e, key, n);
}

void
enc_nil(struct enc *e)
{
	msgpack_packer pk = packer(e);

	enc_count(e);
	msgpack_pack_nil(&pk);
}

void
enc_bool(struct enc *e, bool v)
{
	enc_count(e);
	enc_byte(e, v ? 0xc3 : 0xc2);
}

void
enc_int(struct enc *e, int64_t v)
{
	msgpack_packer pk;

	if (v >= 0) {
		enc_uint(e, (uint64_t)v);
		return;
	}
	pk = packer(e);
	enc_count(e);
	msgpack_pack_int64(&pk, v);
}

void
enc_uint(struct enc *e, uint64_t v)
{
	enc_count(e);
	if (v < 1u << 7)
		enc_byte(e, (unsigned char)v);
	else if (v < 1u << 8)
		(void)enc_head(e, 0xcc, v, 1, 0);
	else if (v < 1u << 16)
		(void)enc_head(e, 0xcd, v, 2, 0);
	else if (v <= UINT32_MAX)
		(void)enc_head(e, 0xce, v, 4, 0);
	else
		(void)enc_head(e, 0xcf, v, 8, 0);
}

void
enc_double(struct enc *e, double v)
{
	msgpack_packer pk = packer(e);

	enc_count(e);
	msgpack_pack_double(&pk, v);
}

void
enc_strn(struct enc *e, const char *s, size_t n)
{
	char *p;

	enc_count(e);
	if (n < 32) /* as nearly all keys and most values are */
		p = enc_head(e, (unsigned char)(0xa0 | n), 0, 0, n);
	else if (n < 1u << 8)
		p = enc_head(e, 0xd9, n, 1, n);
	else if (n < 1u << 16)
		p = enc_head(e, 0xda, n, 2, n);
	else
		p = enc_head(e, 0xdb, n, 4, n);
	e->failed |= n > UINT32_MAX;
	if (p != NULL && n > 0)
		memcpy(p, s, n);
}

void
enc_str(struct enc *e, const char *s)
{
	enc_strn(e, s, strlen(s));
}

void
enc_bin(struct enc *e, const void *p, size_t n)
{
	msgpack_packer pk = packer(e);

	enc_count(e);
	if (n > UINT32_MAX) {
		e->failed = true;
		return;
	}
	msgpack_pack_bin(&pk, n);
	msgpack_pack_bin_body(&pk, p, n);
}

void
enc_raw(struct enc *e, const void *p, size_t n)
{
	enc_count(e);
	(void)enc_write(e, p, n);
}

/* The count of a decoded array or map is known, so its head is the shortest;
 * the depth is what decoding allowed. */
static void
enc_items(struct enc *e, const struct val *v)
{
	bool map = v->type == VAL_MAP;
	msgpack_packer pk = packer(e);
	uint32_t depth = e->depth;
	size_t i, n = map ? 2 * v->a.count : v->a.count;

	enc_count(e);
	if (map)
		msgpack_pack_map(&pk, v->a.count);
	else
		msgpack_pack_array(&pk, v->a.count);
	e->depth = 0; /* the items count into nothing that is open */
	for (i = 0; i < n; i++)
		enc_val(e, &v->a.items[i]);
	e->depth = depth;
}

void
enc_val(struct enc *e, const struct val *v)
{
	switch (v->type) {
	case VAL_NIL:
		enc_nil(e);
		break;
	case VAL_BOOL:
		enc_bool(e, v->b);
		break;
	case VAL_INT:
		enc_int(e, v->i);
		break;
	case VAL_UINT:
		enc_uint(e, v->u);
		break;
	case VAL_DOUBLE:
		enc_double(e, v->d);
		break;
	case VAL_STR:
		enc_strn(e, v->s.ptr, v->s.len);
		break;
	case VAL_BIN:
		enc_bin(e, v->s.ptr, v->s.len);
		break;
	case VAL_ARRAY:
	case VAL_MAP:
		enc_items(e, v);
		break;
	}
}
