/* SPDX-License-Identifier: MIT */
/*
 * Regular expressions over a stream of characters, in linear time: each
 * character costs at most one step for each instruction of the program,
 * whatever the pattern and whatever was seen before. Nothing goes back in the
 * text, so a match may begin in one piece of output and end in another.
 *
 *     .  [a-z]  [^...]  [[:digit:]]  \d \w \s \D \W \S  \n \t \r \f \v \e \a
 *     \xHH \x{H...}  (...)  (?:...)  a|b  * + ? {n} {n,} {n,m}  ^ $ \b \B
 *     (?i) at the beginning: ASCII letters match in both cases
 *
 * `.` is any character but a line's end; ^ and $ are the beginning and the end
 * of a line. Lazy quantifiers (*? and so on) are read and mean the same: of the
 * matches that begin first the longest is given. What needs to go back is
 * refused: backreferences, look-around, atomic groups, possessive quantifiers.
 */
#ifndef PSUP_REX_H
#define PSUP_REX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REX_PATTERN_MAX 2048u /* bytes */
#define REX_PROGRAM_MAX 2000u /* instructions, counts written out */
#define REX_DEPTH_MAX   100u  /* groups in groups */

struct rex;

/* Compiles. -EINVAL: *ret_at is the byte where it is wrong, *ret_why a few
 * words of fixed text. -E2BIG: the same, too large a program. -ENOMEM. A
 * pattern that matches the empty text anywhere is refused. */
int rex_compile(const char *pattern, size_t len, struct rex **ret,
    size_t *ret_at, const char **ret_why);
void rex_free(struct rex **re);
size_t rex_size(const struct rex *re); /* instructions */
/* Can it match only because a line, or the output, ends? */
bool rex_looks_ahead(const struct rex *re);

/* One search. */
struct rex_run {
	const struct rex *re;
	struct rex_thread *cur, *mid; /* ascending by start */
	uint32_t *mark, *stack;
	uint32_t count, generation;
	uint32_t prev;      /* the character before; REX_EDGE: none */
	bool matched;
	uint64_t at, end;   /* of the match so far */
	uint64_t work;      /* steps, ever */
};
#define REX_EDGE 0xffffffffu

/* 0 or -ENOMEM; takes 40 bytes for each instruction. */
int rex_run_init(struct rex_run *r, const struct rex *re);
void rex_run_fini(struct rex_run *r);
/* Something is missing in the text from here on: a match cannot go across. */
void rex_run_reset(struct rex_run *r);
/* The next character, at position `at`; the next one begins at `next`. */
void rex_feed(struct rex_run *r, uint32_t c, uint64_t at, uint64_t next);
/* What if the text ended here, at `at`? May set matched, changes no more. */
void rex_at_end(struct rex_run *r, uint64_t at);
/* Matched, and more text cannot make it longer. */
static inline bool
rex_done(const struct rex_run *r)
{
	return r->matched && r->count == 0;
}

#endif
