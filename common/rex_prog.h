/* SPDX-License-Identifier: MIT */
/* The program of a regular expression; for rex.c and rex_compile.c alone. */
#ifndef PSUP_REX_PROG_H
#define PSUP_REX_PROG_H

#include "rex.h"

enum rex_op {
	REX_CHAR,  /* x: the character */
	REX_ANY,   /* all but LF */
	REX_SET,   /* x: which set */
	REX_SPLIT, /* x, y: go on at both */
	REX_JUMP,  /* x */
	REX_BOL, REX_EOL, REX_WORD, REX_NOT_WORD,
	REX_MATCH
};

struct rex_insn {
	enum rex_op op;
	uint32_t x, y;
};

struct rex_range {
	uint32_t lo, hi;
};

struct rex_set {
	bool negated;
	uint64_t ascii[2];
	struct rex_range *more; /* of those from 0x80 on */
	size_t more_count;
};

struct rex {
	struct rex_insn *code;
	size_t count, cap;
	struct rex_set *sets;
	size_t set_count;
	bool asserts;     /* has any of BOL .. NOT_WORD */
	bool looks_ahead; /* has EOL or a word's border */
	bool any_first;   /* a character from 0x80 on may begin a match */
	uint64_t first[2]; /* ASCII that may */
};

/* Which characters may begin a match (rex.c). */
void rex_find_first(struct rex *re);

/* Is it in the set? */
static inline bool
rex_in_set(const struct rex_set *s, uint32_t c)
{
	bool in = false;

	if (c < 128) {
		in = (s->ascii[c >> 6] >> (c & 63) & 1) != 0;
	} else {
		for (size_t i = 0; !in && i < s->more_count; i++)
			in = c >= s->more[i].lo && c <= s->more[i].hi;
	}
	return in != s->negated;
}

#endif
