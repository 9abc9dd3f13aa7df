/* SPDX-License-Identifier: MIT */
/*
 * From a pattern to a tree of its parts, in one go. Called by rex_compile.c.
 */
#include "rex_parse.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "grow.h"
#include "text.h"

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

int
rex_fail(struct rex_parse *p, const char *why)
{
	return rex_fail_at(p, p->at, -EINVAL, why);
}

/* A new node. */
static int
node(struct rex_parse *p, struct rex_node n)
{
	if (!GROW(p->nodes, p->node_cap, p->node_count + 1, 64))
		return rex_fail_at(p, p->at, -ENOMEM, "no memory");
	p->nodes[p->node_count] = n;
	return (int)p->node_count++;
}

int
rex_leaf(struct rex_parse *p, enum rex_op op, uint32_t x)
{
	return node(p, (struct rex_node){.kind = N_LEAF, .leaf = {op, x, 0}});
}

/* Is there more, and what is it? '\0' at the end. */
char
rex_peek(const struct rex_parse *p)
{
	return p->at < p->len ? p->p[p->at] : '\0';
}

bool
rex_take(struct rex_parse *p, const char *text)
{
	size_t n = strlen(text);

	if (p->len - p->at < n || memcmp(p->p + p->at, text, n) != 0)
		return false;
	p->at += n;
	return true;
}

/* The next character, which is valid UTF-8: rex_compile() looked. */
uint32_t
rex_take_char(struct rex_parse *p)
{
	const char *s = p->p + p->at;
	unsigned char first = (unsigned char)*s;

	p->at += first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	return text_code_point(s, p->len - (size_t)(s - p->p));
}

/* ----------------------------------------------------------------- the tree */

static int parse_alt(struct rex_parse *p);

/* A character as it is. */
static int
literal(struct rex_parse *p, uint32_t c)
{
	if (p->fold && c < 128 && isalpha((int)c))
		return rex_set_small(p, '\0', c);
	return rex_leaf(p, REX_CHAR, c);
}

/* Outside of a set; the backslash is taken. */
static int
parse_escape(struct rex_parse *p)
{
	char c = rex_peek(p);

	if (c != '\0' && strchr("dDwWsS", c) != NULL) {
		p->at++;
		return rex_set_small(p, c, 0);
	}
	if (c == 'b' || c == 'B') {
		p->at++;
		p->re->asserts = p->re->looks_ahead = true;
		return rex_leaf(p, c == 'b' ? REX_WORD : REX_NOT_WORD, 0);
	}
	return literal(p, rex_escape(p));
}

/* A group; its bracket is taken. */
static int
parse_group(struct rex_parse *p)
{
	size_t begun = p->at - 1;
	int n;

	if (rex_peek(p) == '?') {
		const char *gt;

		if (rex_take(p, "?P<") ||
		    (p->at + 2 < p->len && p->p[p->at + 2] != '=' &&
			p->p[p->at + 2] != '!' && rex_take(p, "?<"))) {
			gt = memchr(p->p + p->at, '>', p->len - p->at);
			if (gt == NULL)
				return rex_fail(p, "no > after a group's name");
			p->at = (size_t)(gt - p->p) + 1;
		} else if (!rex_take(p, "?:")) {
			return rex_fail(p, "only (?:...), named groups, and (?i) "
				       "at the beginning: the rest cannot be "
				       "matched in linear time");
		}
	}
	if (++p->depth > REX_DEPTH_MAX)
		return rex_fail_at(p, begun, -E2BIG, "too many groups in groups");
	n = parse_alt(p);
	p->depth--;
	if (p->error == 0 && !rex_take(p, ")"))
		return rex_fail_at(p, begun, -EINVAL, "no ) for this (");
	return n;
}

/* One thing that may be repeated. */
static int
parse_atom(struct rex_parse *p)
{
	if (rex_take(p, "("))
		return parse_group(p);
	if (rex_take(p, "["))
		return rex_set_parse(p);
	if (rex_take(p, "\\"))
		return parse_escape(p);
	if (rex_take(p, "."))
		return rex_leaf(p, REX_ANY, 0);
	if (rex_take(p, "^")) {
		p->re->asserts = true;
		return rex_leaf(p, REX_BOL, 0);
	}
	if (rex_take(p, "$")) {
		p->re->asserts = p->re->looks_ahead = true;
		return rex_leaf(p, REX_EOL, 0);
	}
	if (strchr("*+?", rex_peek(p)) != NULL)
		return rex_fail(p, "nothing to repeat");
	return literal(p, rex_take_char(p));
}

/* Digits. */
static bool
take_number(struct rex_parse *p, uint32_t *ret)
{
	uint32_t v = 0;
	size_t from = p->at;

	for (; isdigit((unsigned char)rex_peek(p)); p->at++)
		if (v <= REX_REPEAT_MAX)
			v = v * 10 + (uint32_t)(rex_peek(p) - '0');
	*ret = v;
	return p->at > from;
}

/* {n}, {n,}, {n,m}; false: the brace is a character. */
static bool
take_count(struct rex_parse *p, uint32_t *min, uint32_t *max)
{
	size_t from = p->at;
	bool open;

	if (rex_take(p, "{") && take_number(p, min)) {
		*max = *min;
		open = rex_take(p, ",");
		if (open && !take_number(p, max))
			*max = UINT32_MAX;
		if (rex_take(p, "}"))
			return true;
	}
	p->at = from;
	return false;
}

/* How often; false: once. */
static bool
take_quantifier(struct rex_parse *p, uint32_t *min, uint32_t *max)
{
	*min = rex_peek(p) == '+';
	*max = rex_peek(p) == '?' ? 1 : UINT32_MAX;
	if (rex_take(p, "*") || rex_take(p, "+") || rex_take(p, "?"))
		return true;
	return rex_peek(p) == '{' && take_count(p, min, max);
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
	(void)rex_take(p, "?"); /* lazy: the same matches */
	if (rex_peek(p) == '+')
		return rex_fail(p, "possessive quantifiers are not known");
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

	while (p->error == 0 && p->at < p->len && rex_peek(p) != '|' &&
	    rex_peek(p) != ')') {
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

	while (p->error == 0 && rex_take(p, "|")) {
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

	p->fold = rex_take(p, "(?i)");
	root = parse_alt(p);
	if (p->error == 0 && p->at < p->len)
		(void)rex_fail(p, "a ) without its (");
	return root;
}
