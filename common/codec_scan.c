/* SPDX-License-Identifier: MIT */
/*
 * A frame from a stranger is judged here before a byte is allocated for it.
 *
 * The budget shrinks over all nesting levels together: `outstanding` counts
 * the values that headers have announced and that have not come yet. Each
 * takes a byte at least, so position + outstanding is a lower bound of the
 * frame's size, and a header that lies is found out where it stands.
 *
 * After the first broken limit the walk goes on without a stack, only to find
 * the end of the object, so that the connection can skip it.
 */
#include "codec_scan.h"

#include <stdio.h>

#include "check.h"
#include "format.h"

struct scan {
	const unsigned char *buf;
	size_t size;
	const struct codec_limits *limits;
	struct codec_walk *w;
};

/* What one header says. */
struct head {
	enum { H_SCALAR, H_STR, H_BIN, H_ARRAY, H_MAP, H_EXT, H_BAD } kind;
	unsigned char len_bytes;  /* width of the length or count field */
	unsigned char body_bytes; /* fixed body of a scalar or fixext */
	uint32_t count;           /* of a fix form */
};

/* 0xc0 .. 0xdf; the others are fix forms. */
static const struct head heads[32] = {
	{ H_SCALAR, 0, 0, 0 }, { H_BAD, 0, 0, 0 }, /* nil, never used */
	{ H_SCALAR, 0, 0, 0 }, { H_SCALAR, 0, 0, 0 }, /* false, true */
	{ H_BIN, 1, 0, 0 }, { H_BIN, 2, 0, 0 }, { H_BIN, 4, 0, 0 },
	{ H_EXT, 1, 1, 0 }, { H_EXT, 2, 1, 0 }, { H_EXT, 4, 1, 0 },
	{ H_SCALAR, 0, 4, 0 }, { H_SCALAR, 0, 8, 0 }, /* float */
	{ H_SCALAR, 0, 1, 0 }, { H_SCALAR, 0, 2, 0 }, /* uint */
	{ H_SCALAR, 0, 4, 0 }, { H_SCALAR, 0, 8, 0 },
	{ H_SCALAR, 0, 1, 0 }, { H_SCALAR, 0, 2, 0 }, /* int */
	{ H_SCALAR, 0, 4, 0 }, { H_SCALAR, 0, 8, 0 },
	{ H_EXT, 0, 2, 0 }, { H_EXT, 0, 3, 0 }, { H_EXT, 0, 5, 0 },
	{ H_EXT, 0, 9, 0 }, { H_EXT, 0, 17, 0 }, /* fixext */
	{ H_STR, 1, 0, 0 }, { H_STR, 2, 0, 0 }, { H_STR, 4, 0, 0 },
	{ H_ARRAY, 2, 0, 0 }, { H_ARRAY, 4, 0, 0 },
	{ H_MAP, 2, 0, 0 }, { H_MAP, 4, 0, 0 },
};

/* The header that a first byte announces. */
static struct head
head_of(unsigned char c)
{
	struct head h = { H_SCALAR, 0, 0, 0 };

	if (c >= 0xc0 && c <= 0xdf)
		return heads[c - 0xc0];
	if (c >= 0x80 && c <= 0x8f) {
		h.kind = H_MAP;
		h.count = c & 15u;
	} else if (c >= 0x90 && c <= 0x9f) {
		h.kind = H_ARRAY;
		h.count = c & 15u;
	} else if (c >= 0xa0 && c <= 0xbf) {
		h.kind = H_STR;
		h.count = c & 31u;
	}
	return h;
}

/* Notes the first broken limit; the walk goes on to find the end. */
__attribute__((format(printf, 3, 4))) static void
broken(struct scan *s, enum codec_error error, const char *fmt, ...)
{
	if (s->w->broken != CODEC_OK)
		return;
	s->w->broken = error;
	(void)FORMATTED(s->w->why, sizeof(s->w->why), fmt);
}

/* Is this value a map's key, and if so, is it a string? */
static void
check_key(struct scan *s, const struct head *h)
{
	const struct codec_level *level;

	if (s->w->broken != CODEC_OK || s->w->depth == 0)
		return;
	level = &s->w->levels[s->w->depth - 1];
	if (level->map && level->left % 2 == 0 && h->kind != H_STR)
		broken(s, CODEC_MALFORMED,
		    "a map key at byte %zu is no string; expected str", s->w->pos);
}

/* Opens an array or map of `count` values. */
static void
open_level(struct scan *s, const struct head *h, uint32_t count)
{
	const struct codec_limits *limits = s->limits;
	bool map = h->kind == H_MAP;

	s->w->outstanding += map ? 2 * (uint64_t)count : count;
	if (s->w->depth >= limits->depth)
		broken(s, CODEC_LIMIT, "nested deeper than %u levels",
		    limits->depth);
	if (map && count > limits->map_keys)
		broken(s, CODEC_LIMIT, "a map of %u keys; at most %u", count,
		    limits->map_keys);
	if (!map && count > limits->array)
		broken(s, CODEC_LIMIT, "an array of %u items; at most %u",
		    count, limits->array);
	if (s->w->values + s->w->outstanding > limits->elements)
		broken(s, CODEC_LIMIT, "%llu elements in all; at most %u",
		    (unsigned long long)(s->w->values + s->w->outstanding),
		    limits->elements);
	if (s->w->broken != CODEC_OK)
		return;
	s->w->levels[s->w->depth].left = map ? 2 * count : count;
	s->w->levels[s->w->depth].map = map;
	s->w->depth++;
}

/* Leaves the levels that have got all their values. */
static void
close_levels(struct codec_walk *w)
{
	while (w->depth > 0 && w->levels[w->depth - 1].left == 0)
		w->depth--;
}

/* One value's header, which is there, and, for what has one, its body: what it
 * adds to pos. */
static uint64_t
take_head(struct scan *s, const struct head *h)
{
	uint32_t count = h->count;
	uint64_t n = 1 + (uint64_t)h->len_bytes + h->body_bytes;

	if (h->len_bytes > 0)
		count = (uint32_t)codec_number(s->buf + s->w->pos + 1,
		    h->len_bytes);
	switch (h->kind) {
	case H_STR:
	case H_BIN:
		if (count > s->limits->string)
			broken(s, CODEC_LIMIT,
			    "a string of %u bytes; at most %u", count,
			    s->limits->string);
		s->w->string_bytes += count;
		return n + count;
	case H_EXT:
		broken(s, CODEC_MALFORMED,
		    "an ext type at byte %zu; none are known", s->w->pos);
		return n + count;
	case H_ARRAY:
	case H_MAP:
		open_level(s, h, count);
		return n;
	case H_SCALAR:
	case H_BAD:
		break;
	}
	return n;
}

/* The frame cannot be, whatever comes. */
static enum codec_error
too_large(struct scan *s, uint64_t least)
{
	(void)snprintf(s->w->why, sizeof(s->w->why),
	    "a frame of %llu bytes or more; at most %u",
	    (unsigned long long)least, s->limits->bytes);
	return CODEC_TOO_LARGE;
}

/* Values in a frame that is only being skipped: it must not cost more than
 * one that is taken. */
static bool
is_hopeless(const struct scan *s)
{
	return s->w->broken != CODEC_OK &&
	    s->w->values > 4 * (uint64_t)s->limits->elements;
}

/* Takes the next value, as far as it is there. CODEC_OK: go on;
 * CODEC_INCOMPLETE: it is not; else the end. */
static enum codec_error
take_value(struct scan *s)
{
	struct codec_walk *w = s->w;
	struct head h;
	uint64_t n;

	if (w->pos >= s->size)
		return CODEC_INCOMPLETE;
	h = head_of(s->buf[w->pos]);
	if (h.kind == H_BAD) {
		broken(s, CODEC_MALFORMED,
		    "byte %zu is 0xc1, which begins nothing", w->pos);
		return w->broken;
	}
	if (s->size - w->pos < (size_t)1 + h.len_bytes)
		return CODEC_INCOMPLETE;
	check_key(s, &h);
	if (w->depth > 0)
		w->levels[w->depth - 1].left--;
	n = take_head(s, &h);
	w->outstanding--;
	w->values++;
	if (w->pos + n + w->outstanding > s->limits->bytes)
		return too_large(s, w->pos + n + w->outstanding);
	if (is_hopeless(s))
		return w->broken;
	w->pos += n; /* it may be beyond what is there */
	close_levels(w);
	return CODEC_OK;
}

/* The bytes of a value that holds no others, is known by its first byte or two and
 * is there; its string's in *ret_text. 0: it is none of these. */
static size_t
plain_size(const unsigned char *p, size_t size, size_t *ret_text)
{
	unsigned char c = *p;
	size_t n;

	*ret_text = 0;
	if (c < 0x80 || c >= 0xe0)
		return 1;
	if (c >= 0xa0 && c <= 0xbf) {
		*ret_text = c & 31u;
		n = 1 + *ret_text;
	} else if (c == 0xd9 && size > 1) {
		*ret_text = p[1];
		n = 2 + *ret_text;
	} else if (c >= 0xc0 && heads[c - 0xc0].kind == H_SCALAR) {
		n = (size_t)1 + heads[c - 0xc0].body_bytes;
	} else {
		return 0;
	}
	return n <= size ? n : 0;
}

/* Takes what is plain within a map or array, but for its last value: nearly all
 * of every object, and without a look at what none of it can break. */
static void
take_plain(struct scan *s)
{
	struct codec_walk *w = s->w;
	struct codec_level *level = &w->levels[w->depth > 0 ? w->depth - 1 : 0];
	uint32_t left = level->left, taken;
	size_t n, text, pos = w->pos;

	if (w->broken != CODEC_OK || w->depth == 0 ||
	    s->limits->string < UINT8_MAX)
		return;
	for (; left > 1 && pos < s->size; left--, pos += n) {
		n = plain_size(s->buf + pos, s->size - pos, &text);
		if (n == 0 || (level->map && left % 2 == 0 &&
			(s->buf[pos] < 0xa0 || s->buf[pos] > 0xbf)))
			break;
		w->string_bytes += text;
	}
	taken = level->left - left;
	level->left = left;
	w->outstanding -= taken;
	w->values += taken;
	w->pos = pos;
}

/* A walk ends: its words stay. */
static enum codec_error
walk_end(struct codec_walk *w, enum codec_error e)
{
	const struct codec_walk none = {0};

	memcpy(w, &none, offsetof(struct codec_walk, why));
	return e;
}

enum codec_error
codec_walk(struct codec_walk *w, const unsigned char *buf, size_t size,
    const struct codec_limits *limits, struct codec_extent *ret)
{
	struct scan s = { .buf = buf, .size = size, .limits = limits, .w = w };
	enum codec_error e = CODEC_OK;

	CHECK(limits->depth <= CODEC_DEPTH_MAX);
	if (!w->begun)
		*w = (struct codec_walk){ .begun = true, .outstanding = 1 };
	ret->used = 0;
	ret->broken = CODEC_OK;
	while (e == CODEC_OK && w->outstanding > 0) {
		take_plain(&s);
		e = take_value(&s);
	}
	if (e != CODEC_OK && e != CODEC_INCOMPLETE)
		return walk_end(w, e);
	if (w->outstanding > 0 || w->pos > size) {
		ret->broken = w->broken;
		ret->used = w->pos + w->outstanding;
		if (ret->used <= size) /* a header is cut off */
			ret->used = size + 1;
		return CODEC_INCOMPLETE;
	}
	ret->used = w->pos;
	ret->values = w->values;
	ret->string_bytes = w->string_bytes;
	return walk_end(w, w->broken);
}

/* The bytes of a header that announces an array of four; 0: it does not. */
static size_t
head_of_four(const unsigned char *p, size_t size)
{
	static const unsigned char wide[] = { 0xdd, 0, 0, 0, 4 };
	static const unsigned char mid[] = { 0xdc, 0, 4 };

	if (size >= 1 && p[0] == 0x94)
		return 1;
	if (size >= sizeof(mid) && memcmp(p, mid, sizeof(mid)) == 0)
		return sizeof(mid);
	if (size >= sizeof(wide) && memcmp(p, wide, sizeof(wide)) == 0)
		return sizeof(wide);
	return 0;
}

bool
codec_peek_msgid(const void *buf, size_t size, uint64_t *ret_msgid)
{
	const unsigned char *p = buf;
	size_t at = head_of_four(p, size);
	uint64_t msgid = 0;
	size_t i, n;

	if (at == 0 || size < at + 2 || p[at] != 0)
		return false;
	at++;
	if (p[at] < 0x80) {
		*ret_msgid = p[at];
		return true;
	}
	if (p[at] < 0xcc || p[at] > 0xcf)
		return false;
	n = (size_t)1 << (p[at] - 0xcc);
	if (size < at + 1 + n)
		return false;
	for (i = 0; i < n; i++)
		msgid = msgid << 8 | p[at + 1 + i];
	*ret_msgid = msgid;
	return true;
}
