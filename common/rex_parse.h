/* SPDX-License-Identifier: MIT */
/* The tree of a regular expression's parts; for rex_parse.c, rex_set.c and
 * rex_compile.c alone. */
#ifndef PSUP_REX_PARSE_H
#define PSUP_REX_PARSE_H

#include "rex_prog.h"

#define REX_REPEAT_MAX 1000u

enum rex_kind { N_EMPTY, N_LEAF, N_CAT, N_ALT, N_REPEAT };

/* A part of the pattern. */
struct rex_node {
	enum rex_kind kind;
	struct rex_insn leaf;
	int left, right;     /* nodes */
	uint32_t min, max;   /* UINT32_MAX: no end */
};

struct rex_parse {
	const char *p;
	size_t len, at;
	struct rex *re;
	struct rex_node *nodes;
	size_t node_count, node_cap;
	unsigned depth;
	bool fold;         /* (?i) */
	int error;
	size_t error_at;
	const char *why;
};

/* Notes the first mistake. Returns a node number that nobody uses. */
int rex_fail_at(struct rex_parse *p, size_t at, int error, const char *why);
/* The same for a wrong pattern, here. */
int rex_fail(struct rex_parse *p, const char *why);
/* A part without parts. */
int rex_leaf(struct rex_parse *p, enum rex_op op, uint32_t x);
/* The next byte; '\0' at the end. */
char rex_peek(const struct rex_parse *p);
/* Goes over that text, where it comes next. */
bool rex_take(struct rex_parse *p, const char *text);
uint32_t rex_take_char(struct rex_parse *p);

/* [...]; its bracket is taken. */
int rex_set_parse(struct rex_parse *p);
/* A set of one class (d, W, ...) or, where class is '\0', of a letter's two
 * cases. */
int rex_set_small(struct rex_parse *p, char class, uint32_t c);
/* The character that an escape stands for; its backslash is taken. */
uint32_t rex_escape(struct rex_parse *p);

/* Parses the pattern, valid UTF-8, from p->p; its sets go into p->re. Returns
 * the root's number; p->error where there was a mistake. */
int rex_parse(struct rex_parse *p);

#endif
