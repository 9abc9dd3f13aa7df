/* SPDX-License-Identifier: MIT */
/*
 * From a pattern to a program, by way of rex_parse.c's tree: counts are written
 * out. Called by match.c for `wait`. Runs nothing; rex.c does.
 */
#include "grow.h"
#include "rex_parse.h"

#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "text.h"

/* Appends an instruction; its place. */
static uint32_t
emit(struct rex_parse *p, enum rex_op op, uint32_t x, uint32_t y)
{
	struct rex *re = p->re;

	if (p->error != 0)
		return 0;
	if (re->count == REX_PROGRAM_MAX) {
		(void)rex_fail_at(p, 0, -E2BIG,
		    "too large: over 2000 steps, counts written out");
		return 0;
	}
	if (!GROW(re->code, re->cap, re->count + 1, 64)) {
		(void)rex_fail_at(p, 0, -ENOMEM, "no memory");
		return 0;
	}
	re->code[re->count] = (struct rex_insn){op, x, y};
	return (uint32_t)re->count++;
}

static void emit_node(struct rex_parse *p, int at);

/* Where the next instruction will be. */
static uint32_t
here(const struct rex_parse *p)
{
	return (uint32_t)p->re->count;
}

/* Sets the second way of a split that was emitted. */
static void
patch(struct rex_parse *p, uint32_t split, uint32_t y)
{
	if (p->error == 0)
		p->re->code[split].y = y;
}

/* x{min,max}: written out. */
static void
emit_repeat(struct rex_parse *p, const struct rex_node *n)
{
	uint32_t split, first[REX_REPEAT_MAX], optional;

	for (uint32_t i = 0; i < n->min && p->error == 0; i++) {
		uint32_t before = here(p);

		emit_node(p, n->left);
		if (here(p) == before)
			break; /* nothing, however often */
	}
	if (n->max == UINT32_MAX) {
		split = emit(p, REX_SPLIT, here(p) + 1, 0);
		emit_node(p, n->left);
		(void)emit(p, REX_JUMP, split, 0);
		patch(p, split, here(p));
		return;
	}
	optional = n->max - n->min;
	for (uint32_t i = 0; i < optional && p->error == 0; i++) {
		first[i] = emit(p, REX_SPLIT, here(p) + 1, 0);
		emit_node(p, n->left);
	}
	for (uint32_t i = 0; i < optional && p->error == 0; i++)
		patch(p, first[i], here(p));
}

/* a|b */
static void
emit_alt(struct rex_parse *p, const struct rex_node *n)
{
	uint32_t split = emit(p, REX_SPLIT, here(p) + 1, 0), jump;

	emit_node(p, n->left);
	jump = emit(p, REX_JUMP, 0, 0);
	patch(p, split, here(p));
	emit_node(p, n->right);
	if (p->error == 0)
		p->re->code[jump].x = here(p);
}

/* Writes a part out. Nodes do not move any more. */
static void
emit_node(struct rex_parse *p, int at)
{
	const struct rex_node *n = &p->nodes[at];

	if (p->error != 0)
		return;
	switch (n->kind) {
	case N_EMPTY:
		break;
	case N_LEAF:
		(void)emit(p, n->leaf.op, n->leaf.x, 0);
		break;
	case N_CAT:
		emit_node(p, n->left);
		emit_node(p, n->right);
		break;
	case N_ALT:
		emit_alt(p, n);
		break;
	case N_REPEAT:
		emit_repeat(p, n);
		break;
	}
}

/* Could it be there without a character and without a border of anything? */
static bool
is_nothing(const struct rex_parse *p, int at)
{
	const struct rex_node *n = &p->nodes[at];

	switch (n->kind) {
	case N_EMPTY:
		return true;
	case N_LEAF:
		return false;
	case N_CAT:
		return is_nothing(p, n->left) && is_nothing(p, n->right);
	case N_ALT:
		return is_nothing(p, n->left) || is_nothing(p, n->right);
	case N_REPEAT:
		return n->min == 0 || is_nothing(p, n->left);
	}
	UNREACHABLE();
}

/* ------------------------------------------------------------------ public */

int
rex_compile(const char *pattern, size_t len, struct rex **ret, size_t *ret_at,
    const char **ret_why)
{
	struct rex_parse p = {.p = pattern, .len = len};
	int root = 0;

	p.re = calloc(1, sizeof(*p.re));
	if (p.re == NULL) {
		*ret_at = 0;
		*ret_why = "no memory";
		return -ENOMEM;
	}
	if (len > REX_PATTERN_MAX)
		(void)rex_fail_at(&p, REX_PATTERN_MAX, -E2BIG,
		    "too long: over 2048 bytes");
	else if (!text_is_utf8(pattern, len))
		(void)rex_fail_at(&p, 0, -EINVAL, "no UTF-8");
	if (p.error == 0)
		root = rex_parse(&p);
	if (p.error == 0 && is_nothing(&p, root))
		(void)rex_fail_at(&p, 0, -EINVAL,
		    "it matches nothing at all, so it is always there");
	if (p.error == 0) {
		emit_node(&p, root);
		(void)emit(&p, REX_MATCH, 0, 0);
	}
	free(p.nodes);
	if (p.error != 0) {
		*ret_at = p.error_at;
		*ret_why = p.why;
		rex_free(&p.re);
		return p.error;
	}
	rex_find_first(p.re);
	*ret = p.re;
	return 0;
}

void
rex_free(struct rex **re)
{
	struct rex *x = *re;

	if (x == NULL)
		return;
	for (size_t i = 0; i < x->set_count; i++)
		free(x->sets[i].more);
	free(x->sets);
	free(x->code);
	free(x);
	*re = NULL;
}
