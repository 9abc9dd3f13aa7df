/* SPDX-License-Identifier: MIT */
/*
 * Does a line of output hold a text, or does a regular expression match it, as
 * it is shown? The line comes in pieces. For show.c.
 */
#ifndef PSUP_SUPERVISOR_SEARCH_FIND_H
#define PSUP_SUPERVISOR_SEARCH_FIND_H

#include "common/match.h"
#include "supervisor/words/sbuf.h"

/* The first three are the caller's; it begins as {0} with them. */
struct log_find {
	char *grep;              /* NULL: by spec; both are freed with it */
	size_t grep_len;
	struct match_spec *spec;

	bool found;              /* in this line */
	bool busy;               /* there is more of it to look at */
	struct match *match;
	struct sbuf line;        /* what was not looked at yet */
	uint64_t fed;
};

/* The next line begins. -ENOMEM */
int log_find_begin(struct log_find *f);
/* Looks at some more of it, behind what is left of the last piece. A hard
 * expression may leave it `busy`: then again, with nothing. `ended`: the line
 * has no more. -ENOMEM */
int log_find_look(struct log_find *f, const char *s, size_t n, bool ended);
void log_find_fini(struct log_find *f);

#endif
