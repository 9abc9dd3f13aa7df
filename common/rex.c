/* SPDX-License-Identifier: MIT */
/*
 * Runs a program over characters as they come: a list of threads, each at an
 * instruction, at most one at each, in the order of where they began. So a
 * character costs as many steps as there are instructions at most, and the
 * first thread that comes to an instruction is the one that began first.
 *
 * After a character the threads stand before instructions that take one, or
 * before a border (^ $ \b) that the next character decides: rex_feed() first
 * decides these (`mid`), then lets the threads take the character (`cur`).
 */
#include "rex_prog.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

struct rex_thread {
	uint32_t pc;
	uint64_t start;
};

size_t
rex_size(const struct rex *re)
{
	return re->count;
}

bool
rex_looks_ahead(const struct rex *re)
{
	return re->looks_ahead;
}

int
rex_run_init(struct rex_run *r, const struct rex *re)
{
	*r = (struct rex_run){.re = re, .prev = REX_EDGE};
	r->cur = calloc(re->count, sizeof(*r->cur));
	r->mid = calloc(re->count, sizeof(*r->mid));
	r->mark = calloc(re->count, sizeof(*r->mark));
	r->stack = calloc(re->count + 1, sizeof(*r->stack));
	if (r->cur != NULL && r->mid != NULL && r->mark != NULL &&
	    r->stack != NULL)
		return 0;
	rex_run_fini(r);
	return -ENOMEM;
}

void
rex_run_fini(struct rex_run *r)
{
	free(r->cur);
	free(r->mid);
	free(r->mark);
	free(r->stack);
	r->cur = r->mid = NULL;
	r->mark = r->stack = NULL;
}

void
rex_run_reset(struct rex_run *r)
{
	r->count = 0;
	r->prev = REX_EDGE;
}

/* A letter, digit or underscore? */
static bool
is_word(uint32_t c)
{
	return c < 128 && (isalnum((int)c) || c == '_');
}

/* Is this border between the two characters? */
static bool
holds(enum rex_op op, uint32_t prev, uint32_t next)
{
	switch (op) {
	case REX_BOL:
		return prev == REX_EDGE || prev == '\n';
	case REX_EOL:
		return next == REX_EDGE || next == '\n';
	case REX_WORD:
		return is_word(prev) != is_word(next);
	default:
		return is_word(prev) == is_word(next);
	}
}

/* Does the instruction take this character? */
static bool
takes(const struct rex *re, const struct rex_insn *in, uint32_t c)
{
	switch (in->op) {
	case REX_CHAR:
		return c == in->x;
	case REX_ANY:
		return c != '\n';
	case REX_SET:
		return rex_in_set(&re->sets[in->x], c);
	default:
		return false;
	}
}

/* Where threads are being collected. */
struct collect {
	struct rex_thread *list;
	uint32_t count;
	bool decide;         /* borders, by: */
	uint32_t prev, next;
	uint64_t end;        /* a match reached now ends here */
};

/* Of those that begin first the longest. */
static void
note_match(struct rex_run *r, uint64_t start, uint64_t end)
{
	if (r->matched &&
	    (start > r->at || (start == r->at && end <= r->end)))
		return;
	r->matched = true;
	r->at = start;
	r->end = end;
}

/* Follows a thread to where it takes a character, or to a border that is not
 * decided here. */
static void
follow(struct rex_run *r, struct collect *c, uint32_t pc, uint64_t start)
{
	const struct rex_insn *code = r->re->code;
	uint32_t n = 0;

	r->stack[n++] = pc;
	while (n > 0) {
		const struct rex_insn *in = &code[pc = r->stack[--n]];

		if (r->mark[pc] == r->generation)
			continue;
		r->mark[pc] = r->generation;
		r->work++;
		switch (in->op) {
		case REX_JUMP:
			r->stack[n++] = in->x;
			break;
		case REX_SPLIT:
			r->stack[n++] = in->y;
			r->stack[n++] = in->x;
			break;
		case REX_BOL:
		case REX_EOL:
		case REX_WORD:
		case REX_NOT_WORD:
			if (c->decide && holds(in->op, c->prev, c->next))
				r->stack[n++] = pc + 1;
			else if (!c->decide)
				c->list[c->count++] =
				    (struct rex_thread){pc, start};
			break;
		case REX_MATCH:
			note_match(r, start, c->end);
			break;
		default:
			c->list[c->count++] = (struct rex_thread){pc, start};
		}
	}
}

/* A new list: every instruction may be come to again. */
static void
next_generation(struct rex_run *r)
{
	if (++r->generation == 0) {
		for (size_t i = 0; i < r->re->count; i++)
			r->mark[i] = 0;
		r->generation = 1;
	}
}

/* Is there any sense in beginning a match at this character? */
static bool
may_begin(const struct rex *re, uint32_t c)
{
	if (c == REX_EDGE)
		return true;
	return c < 128 ? (re->first[c >> 6] >> (c & 63) & 1) != 0
		       : re->any_first;
}

/* Decides borders between what came last and `next`, and begins a thread. */
static uint32_t
decide(struct rex_run *r, uint32_t next, uint64_t at)
{
	struct collect c = {.list = r->mid, .decide = true, .prev = r->prev,
	    .next = next, .end = at};

	next_generation(r);
	for (uint32_t i = 0; i < r->count; i++)
		follow(r, &c, r->cur[i].pc, r->cur[i].start);
	if (!r->matched && may_begin(r->re, next))
		follow(r, &c, 0, at);
	return c.count;
}

void
rex_feed(struct rex_run *r, uint32_t ch, uint64_t at, uint64_t next)
{
	const struct rex *re = r->re;
	struct collect c = {.list = r->cur, .end = next};
	uint32_t n;

	r->work++;
	if (r->count == 0 && (r->matched || !may_begin(re, ch))) {
		r->prev = ch;
		return;
	}
	n = decide(r, ch, at);
	next_generation(r);
	for (uint32_t i = 0; i < n; i++) {
		const struct rex_thread *t = &r->mid[i];

		if (r->matched && t->start > r->at)
			break; /* later ones began later */
		if (takes(re, &re->code[t->pc], ch))
			follow(r, &c, t->pc + 1, t->start);
	}
	r->count = c.count;
	r->prev = ch;
}

void
rex_at_end(struct rex_run *r, uint64_t at)
{
	if (r->re->looks_ahead)
		(void)decide(r, REX_EDGE, at);
}

/* What an instruction that takes a character takes first. */
static void
add_first(struct rex *re, const struct rex_insn *in)
{
	for (uint32_t ch = 0; ch < 128; ch++)
		if (takes(re, in, ch))
			re->first[ch >> 6] |= UINT64_C(1) << (ch & 63);
	if (in->op == REX_CHAR)
		re->any_first = re->any_first || in->x >= 128;
	else
		re->any_first = true;
}

void
rex_find_first(struct rex *re)
{
	bool seen[REX_PROGRAM_MAX] = {false};
	uint32_t stack[REX_PROGRAM_MAX + 1], n = 0;

	stack[n++] = 0;
	while (n > 0) {
		uint32_t pc = stack[--n];
		const struct rex_insn *in = &re->code[pc];

		if (seen[pc])
			continue;
		seen[pc] = true;
		switch (in->op) {
		case REX_JUMP:
			stack[n++] = in->x;
			break;
		case REX_SPLIT:
			stack[n++] = in->y;
			stack[n++] = in->x;
			break;
		case REX_BOL:
		case REX_EOL:
		case REX_WORD:
		case REX_NOT_WORD:
			stack[n++] = pc + 1;
			break;
		case REX_MATCH: /* borders alone: anywhere */
			re->first[0] = re->first[1] = UINT64_MAX;
			re->any_first = true;
			break;
		default:
			add_first(re, in);
		}
	}
}
