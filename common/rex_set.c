/* SPDX-License-Identifier: MIT */
/*
 * Sets of characters in a regular expression, [...] and \d and their like, and
 * the characters that escapes stand for. Called by rex_parse.c.
 */
#include "rex_parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define UNICODE_MAX 0x10ffffu

/* Adds lo..hi, each ASCII letter in both cases where (?i) says so. */
static void
set_add(struct rex_parse *p, struct rex_set *s, uint32_t lo, uint32_t hi)
{
	struct rex_range *v;

	for (uint32_t c = lo; c <= hi && c < 128; c++) {
		s->ascii[c >> 6] |= UINT64_C(1) << (c & 63);
		if (p->fold && isalpha((int)c)) {
			uint32_t o = c ^ 0x20;

			s->ascii[o >> 6] |= UINT64_C(1) << (o & 63);
		}
	}
	if (hi < 128)
		return;
	v = reallocarray(s->more, s->more_count + 1, sizeof(*v));
	if (v == NULL) {
		(void)rex_fail_at(p, p->at, -ENOMEM, "no memory");
		return;
	}
	s->more = v;
	v[s->more_count++] =
	    (struct rex_range){lo < 128 ? 128 : lo, hi};
}

static bool
is_word(int c)
{
	return isalnum(c) || c == '_';
}

static bool
is_blank(int c)
{
	return isspace(c);
}

static bool
is_decimal(int c)
{
	return isdigit(c);
}

/* Adds a class of ASCII, or all that is not in it. */
static void
set_add_class(struct rex_parse *p, struct rex_set *s, bool (*is)(int), bool not)
{
	for (uint32_t c = 0; c < 128; c++)
		if (is((int)c) != not)
			set_add(p, s, c, c);
	if (not)
		set_add(p, s, 128, UNICODE_MAX);
}

/* \d and its like; false: it is none of them. */
static bool
class_escape(struct rex_parse *p, char c, struct rex_set *s)
{
	switch (tolower((unsigned char)c)) {
	case 'd':
		set_add_class(p, s, is_decimal, c == 'D');
		return true;
	case 'w':
		set_add_class(p, s, is_word, c == 'W');
		return true;
	case 's':
		set_add_class(p, s, is_blank, c == 'S');
		return true;
	default:
		return false;
	}
}

/* A new set of the program. */
static struct rex_set *
set_new(struct rex_parse *p, uint32_t *ret)
{
	struct rex *re = p->re;
	struct rex_set *v = reallocarray(re->sets, re->set_count + 1,
	    sizeof(*v));

	if (v == NULL) {
		(void)rex_fail_at(p, p->at, -ENOMEM, "no memory");
		return NULL;
	}
	re->sets = v;
	v[re->set_count] = (struct rex_set){0};
	*ret = (uint32_t)re->set_count++;
	return &v[*ret];
}

/* Hex digits, at most `max` of them. */
static bool
take_hex(struct rex_parse *p, unsigned max, uint32_t *ret)
{
	uint32_t v = 0;
	unsigned n = 0;

	for (; n < max && isxdigit((unsigned char)rex_peek(p)); n++) {
		char c = rex_peek(p);

		v = v << 4 |
		    (uint32_t)(isdigit((unsigned char)c)
			    ? c - '0'
			    : tolower((unsigned char)c) - 'a' + 10);
		p->at++;
	}
	*ret = v;
	return n > 0 && v <= UNICODE_MAX;
}

/* The character that an escape stands for; its backslash is taken. */
uint32_t
rex_escape(struct rex_parse *p)
{
	static const char from[] = "ntrfvea0";
	static const char to[] = "\n\t\r\f\v\033\a";
	char c = rex_peek(p);
	const char *s;
	uint32_t v;

	if (p->at == p->len) {
		p->at--;
		(void)rex_fail(p, "a backslash at the end");
		return 0;
	}
	if (c == 'x') {
		p->at++;
		if (rex_take(p, "{")) {
			if (take_hex(p, 6, &v) && rex_take(p, "}"))
				return v;
		} else if (take_hex(p, 2, &v)) {
			return v;
		}
		(void)rex_fail(p, "expected \\xHH or \\x{H...}");
		return 0;
	}
	s = c != '\0' ? strchr(from, c) : NULL;
	if (s != NULL) {
		p->at++;
		return (uint32_t)(unsigned char)to[s - from];
	}
	if (isdigit((unsigned char)c))
		(void)rex_fail(p, "a backreference cannot be matched in linear "
			      "time");
	else if (isalpha((unsigned char)c))
		(void)rex_fail(p, "no such escape");
	else
		return rex_take_char(p);
	return 0;
}

/* [:name:] within a set; its "[:" is taken. */
static void
named_class(struct rex_parse *p, struct rex_set *s)
{
	static const struct {
		const char *name;
		int (*is)(int);
	} classes[] = {{"alnum:]", isalnum}, {"alpha:]", isalpha},
	    {"blank:]", isblank}, {"cntrl:]", iscntrl}, {"digit:]", isdigit},
	    {"graph:]", isgraph}, {"lower:]", islower}, {"print:]", isprint},
	    {"punct:]", ispunct}, {"space:]", isspace}, {"upper:]", isupper},
	    {"xdigit:]", isxdigit}};

	for (size_t i = 0; i < NELEMS(classes); i++) {
		if (!rex_take(p, classes[i].name))
			continue;
		for (uint32_t c = 0; c < 128; c++)
			if (classes[i].is((int)c))
				set_add(p, s, c, c);
		return;
	}
	(void)rex_fail(p, "no such class of characters");
}

/* One member of a set, or a range of them. */
static void
set_item(struct rex_parse *p, struct rex_set *s)
{
	uint32_t lo, hi;

	if (rex_take(p, "[:")) {
		named_class(p, s);
		return;
	}
	if (rex_peek(p) == '\\' && p->at + 1 < p->len &&
	    class_escape(p, p->p[p->at + 1], s)) {
		p->at += 2;
		return;
	}
	if (rex_take(p, "\\"))
		lo = rex_peek(p) == 'b' ? (p->at++, 8u) : rex_escape(p);
	else
		lo = rex_take_char(p);
	hi = lo;
	if (p->at + 1 < p->len && rex_peek(p) == '-' && p->p[p->at + 1] != ']') {
		p->at++;
		hi = rex_take(p, "\\") ? rex_escape(p) : rex_take_char(p);
		if (hi < lo)
			(void)rex_fail(p, "a range that ends before it begins");
	}
	if (p->error == 0)
		set_add(p, s, lo, hi);
}

/* [...]; its bracket is taken. */
int
rex_set_parse(struct rex_parse *p)
{
	size_t begun = p->at - 1;
	struct rex_set s = {0}, *slot;
	bool first = true;
	uint32_t i = 0;

	s.negated = rex_take(p, "^");
	while (p->error == 0 && (first || rex_peek(p) != ']')) {
		if (p->at == p->len)
			(void)rex_fail_at(p, begun, -EINVAL, "no ] for this [");
		else
			set_item(p, &s);
		first = false;
	}
	p->at++;
	slot = p->error == 0 ? set_new(p, &i) : NULL;
	if (slot == NULL) {
		free(s.more);
		return 0;
	}
	*slot = s;
	return rex_leaf(p, REX_SET, i);
}

/* A set of one class or of a letter's two cases. */
int
rex_set_small(struct rex_parse *p, char class, uint32_t c)
{
	struct rex_set *s;
	uint32_t i = 0;

	s = set_new(p, &i);
	if (s == NULL)
		return 0;
	if (class != '\0')
		(void)class_escape(p, class, s);
	else
		set_add(p, s, c, c);
	return rex_leaf(p, REX_SET, i);
}
