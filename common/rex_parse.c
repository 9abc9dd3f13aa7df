/* SPDX-License-Identifier: MIT */
/*
 * From a pattern to a tree of its parts, in one go. Called by rex_compile.c.
 */
#include "rex_parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "text.h"

#define UNICODE_MAX 0x10ffffu

int
rex_fail_at(struct rex_parse *p, size_t at, int error, const char *why)
{
	if (p->error == 0) {
		p->error = error;
		p->error_at = at;
		p->why = why;
	}
	return 0;
}

static int
fail(struct rex_parse *p, const char *why)
{
	return rex_fail_at(p, p->at, -EINVAL, why);
}

/* A new node. */
static int
node(struct rex_parse *p, struct rex_node n)
{
	if (p->node_count == p->node_cap) {
		size_t cap = p->node_cap == 0 ? 64 : p->node_cap * 2;
		struct rex_node *v = reallocarray(p->nodes, cap, sizeof(*v));

		if (v == NULL)
			return rex_fail_at(p, p->at, -ENOMEM, "no memory");
		p->nodes = v;
		p->node_cap = cap;
	}
	p->nodes[p->node_count] = n;
	return (int)p->node_count++;
}

static int
leaf(struct rex_parse *p, enum rex_op op, uint32_t x)
{
	return node(p, (struct rex_node){.kind = N_LEAF, .leaf = {op, x, 0}});
}

/* Is there more, and what is it? '\0' at the end. */
static char
peek(const struct rex_parse *p)
{
	return p->at < p->len ? p->p[p->at] : '\0';
}

static bool
take(struct rex_parse *p, const char *text)
{
	size_t n = strlen(text);

	if (p->len - p->at < n || memcmp(p->p + p->at, text, n) != 0)
		return false;
	p->at += n;
	return true;
}

/* The next character, which is valid UTF-8: rex_compile() looked. */
static uint32_t
take_char(struct rex_parse *p)
{
	const unsigned char *s = (const unsigned char *)p->p + p->at;
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	uint32_t c = n == 1 ? s[0] : s[0] & (0x7fu >> n);

	for (size_t i = 1; i < n; i++)
		c = c << 6 | (s[i] & 0x3f);
	p->at += n;
	return c;
}

/* ------------------------------------------------------------------- sets */

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

	for (; n < max && isxdigit((unsigned char)peek(p)); n++) {
		char c = peek(p);

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
static uint32_t
char_escape(struct rex_parse *p)
{
	static const char from[] = "ntrfvea0";
	static const char to[] = "\n\t\r\f\v\033\a";
	char c = peek(p);
	const char *s;
	uint32_t v;

	if (p->at == p->len) {
		p->at--;
		(void)fail(p, "a backslash at the end");
		return 0;
	}
	if (c == 'x') {
		p->at++;
		if (take(p, "{")) {
			if (take_hex(p, 6, &v) && take(p, "}"))
				return v;
		} else if (take_hex(p, 2, &v)) {
			return v;
		}
		(void)fail(p, "expected \\xHH or \\x{H...}");
		return 0;
	}
	s = c != '\0' ? strchr(from, c) : NULL;
	if (s != NULL) {
		p->at++;
		return (uint32_t)(unsigned char)to[s - from];
	}
	if (isdigit((unsigned char)c))
		(void)fail(p, "a backreference cannot be matched in linear "
			      "time");
	else if (isalpha((unsigned char)c))
		(void)fail(p, "no such escape");
	else
		return take_char(p);
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
		if (!take(p, classes[i].name))
			continue;
		for (uint32_t c = 0; c < 128; c++)
			if (classes[i].is((int)c))
				set_add(p, s, c, c);
		return;
	}
	(void)fail(p, "no such class of characters");
}

/* One member of a set, or a range of them. */
static void
set_item(struct rex_parse *p, struct rex_set *s)
{
	uint32_t lo, hi;

	if (take(p, "[:")) {
		named_class(p, s);
		return;
	}
	if (peek(p) == '\\' && p->at + 1 < p->len &&
	    class_escape(p, p->p[p->at + 1], s)) {
		p->at += 2;
		return;
	}
	if (take(p, "\\"))
		lo = peek(p) == 'b' ? (p->at++, 8u) : char_escape(p);
	else
		lo = take_char(p);
	hi = lo;
	if (p->at + 1 < p->len && peek(p) == '-' && p->p[p->at + 1] != ']') {
		p->at++;
		hi = take(p, "\\") ? char_escape(p) : take_char(p);
		if (hi < lo)
			(void)fail(p, "a range that ends before it begins");
	}
	if (p->error == 0)
		set_add(p, s, lo, hi);
}

/* [...]; its bracket is taken. */
static int
parse_set(struct rex_parse *p)
{
	size_t begun = p->at - 1;
	struct rex_set s = {0}, *slot;
	bool first = true;
	uint32_t i = 0;

	s.negated = take(p, "^");
	while (p->error == 0 && (first || peek(p) != ']')) {
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
	return leaf(p, REX_SET, i);
}

/* A set of one class or of a letter's two cases. */
static int
small_set(struct rex_parse *p, char class, uint32_t c)
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
	return leaf(p, REX_SET, i);
}

/* ----------------------------------------------------------------- the tree */

static int parse_alt(struct rex_parse *p);

/* A character as it is. */
static int
literal(struct rex_parse *p, uint32_t c)
{
	if (p->fold && c < 128 && isalpha((int)c))
		return small_set(p, '\0', c);
	return leaf(p, REX_CHAR, c);
}

/* Outside of a set; the backslash is taken. */
static int
parse_escape(struct rex_parse *p)
{
	char c = peek(p);

	if (c != '\0' && strchr("dDwWsS", c) != NULL) {
		p->at++;
		return small_set(p, c, 0);
	}
	if (c == 'b' || c == 'B') {
		p->at++;
		p->re->asserts = p->re->looks_ahead = true;
		return leaf(p, c == 'b' ? REX_WORD : REX_NOT_WORD, 0);
	}
	return literal(p, char_escape(p));
}

/* A group; its bracket is taken. */
static int
parse_group(struct rex_parse *p)
{
	size_t begun = p->at - 1;
	int n;

	if (peek(p) == '?') {
		const char *gt;

		if (take(p, "?P<") ||
		    (p->at + 2 < p->len && p->p[p->at + 2] != '=' &&
			p->p[p->at + 2] != '!' && take(p, "?<"))) {
			gt = memchr(p->p + p->at, '>', p->len - p->at);
			if (gt == NULL)
				return fail(p, "no > after a group's name");
			p->at = (size_t)(gt - p->p) + 1;
		} else if (!take(p, "?:")) {
			return fail(p, "only (?:...), named groups, and (?i) "
				       "at the beginning: the rest cannot be "
				       "matched in linear time");
		}
	}
	if (++p->depth > REX_DEPTH_MAX)
		return rex_fail_at(p, begun, -E2BIG, "too many groups in groups");
	n = parse_alt(p);
	p->depth--;
	if (p->error == 0 && !take(p, ")"))
		return rex_fail_at(p, begun, -EINVAL, "no ) for this (");
	return n;
}

/* One thing that may be repeated. */
static int
parse_atom(struct rex_parse *p)
{
	if (take(p, "("))
		return parse_group(p);
	if (take(p, "["))
		return parse_set(p);
	if (take(p, "\\"))
		return parse_escape(p);
	if (take(p, "."))
		return leaf(p, REX_ANY, 0);
	if (take(p, "^")) {
		p->re->asserts = true;
		return leaf(p, REX_BOL, 0);
	}
	if (take(p, "$")) {
		p->re->asserts = p->re->looks_ahead = true;
		return leaf(p, REX_EOL, 0);
	}
	if (strchr("*+?", peek(p)) != NULL)
		return fail(p, "nothing to repeat");
	return literal(p, take_char(p));
}

/* Digits. */
static bool
take_number(struct rex_parse *p, uint32_t *ret)
{
	uint32_t v = 0;
	size_t from = p->at;

	for (; isdigit((unsigned char)peek(p)); p->at++)
		if (v <= REX_REPEAT_MAX)
			v = v * 10 + (uint32_t)(peek(p) - '0');
	*ret = v;
	return p->at > from;
}

/* {n}, {n,}, {n,m}; false: the brace is a character. */
static bool
take_count(struct rex_parse *p, uint32_t *min, uint32_t *max)
{
	size_t from = p->at;
	bool open;

	if (take(p, "{") && take_number(p, min)) {
		*max = *min;
		open = take(p, ",");
		if (open && !take_number(p, max))
			*max = UINT32_MAX;
		if (take(p, "}"))
			return true;
	}
	p->at = from;
	return false;
}

/* How often; false: once. */
static bool
take_quantifier(struct rex_parse *p, uint32_t *min, uint32_t *max)
{
	*min = peek(p) == '+';
	*max = peek(p) == '?' ? 1 : UINT32_MAX;
	if (take(p, "*") || take(p, "+") || take(p, "?"))
		return true;
	return peek(p) == '{' && take_count(p, min, max);
}

/* An atom and how often. */
static int
parse_repeat(struct rex_parse *p)
{
	int n = parse_atom(p);
	size_t at = p->at;
	uint32_t min, max;

	if (p->error != 0 || !take_quantifier(p, &min, &max))
		return n;
	if (min > REX_REPEAT_MAX || (max != UINT32_MAX && max > REX_REPEAT_MAX))
		return rex_fail_at(p, at, -E2BIG, "a count over 1000");
	if (max < min)
		return rex_fail_at(p, at, -EINVAL,
		    "a count that ends before it begins");
	(void)take(p, "?"); /* lazy: the same matches */
	if (peek(p) == '+')
		return fail(p, "possessive quantifiers are not known");
	at = p->at;
	if (take_quantifier(p, &(uint32_t){0}, &(uint32_t){0}))
		return rex_fail_at(p, at, -EINVAL, "a repeat of a repeat");
	return node(p, (struct rex_node){.kind = N_REPEAT, .left = n, .min = min,
			   .max = max});
}

/* Things one after the other. */
static int
parse_cat(struct rex_parse *p)
{
	int n = -1;

	while (p->error == 0 && p->at < p->len && peek(p) != '|' &&
	    peek(p) != ')') {
		int next = parse_repeat(p);

		n = n < 0 ? next
			  : node(p, (struct rex_node){.kind = N_CAT, .left = n,
					.right = next});
	}
	return n < 0 ? node(p, (struct rex_node){.kind = N_EMPTY}) : n;
}

/* Things of which one is there. */
static int
parse_alt(struct rex_parse *p)
{
	int n = parse_cat(p);

	while (p->error == 0 && take(p, "|")) {
		int other = parse_cat(p);

		n = node(p, (struct rex_node){.kind = N_ALT, .left = n,
				.right = other});
	}
	return n;
}

/* ------------------------------------------------------------------ public */

int
rex_parse(struct rex_parse *p)
{
	int root;

	p->fold = take(p, "(?i)");
	root = parse_alt(p);
	if (p->error == 0 && p->at < p->len)
		(void)fail(p, "a ) without its (");
	return root;
}
