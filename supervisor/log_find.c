/* SPDX-License-Identifier: MIT */
/*
 * Searches retained output line by line. Called by api_log.c with a copy that
 * no longer changes, so a search may stop anywhere, in the middle of a line
 * too, and go on in a later turn. An expression costs at most one step for each
 * of its instructions and each character (common/rex.h); a text is so cheap
 * that only whole lines are counted.
 */
#include "supervisor/log_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

#define BUDGET 20000u /* steps of matching between looks at the clock */

enum verdict { NO, YES, NOT_YET };

/* Takes the next line, as it is shown. false: none is left, or no memory. */
static bool
take_line(struct log_find *f)
{
	struct sbuf *b = &f->line;

	if (!lines_next(f->k, &f->w))
		return false;
	b->len = 0;
	if (!sbuf_reserve(b, 4 * (f->w.end - f->w.begin) + 1))
		return false;
	b->len = lines_clean(f->k, &f->w, f->rule, f->more, b->p);
	f->fed = 0;
	f->in_line = true;
	if (f->match != NULL)
		match_restart(f->match);
	return true;
}

/* Looks at some more of the line. */
static enum verdict
look(struct log_find *f)
{
	const struct sbuf *b = &f->line;
	bool final, held;

	if (f->grep != NULL)
		return memmem(b->p, b->len, f->grep, f->grep_len) != NULL ? YES
									  : NO;
	f->fed += match_feed(f->match, b->p + f->fed, b->len - f->fed, f->fed,
	    false, BUDGET, &held);
	if (f->fed == b->len)
		match_at_end(f->match, f->fed);
	if (match_result(f->match, NULL, NULL, &final) != MATCH_NOTHING)
		return YES;
	return f->fed == b->len ? NO : NOT_YET;
}

/* Notes the line. */
static int
add_hit(struct log_find *f)
{
	if (f->hit_count == f->room) {
		uint64_t room = f->room == 0 ? 64 : 2 * f->room;
		struct log_hit *grown =
		    reallocarray(f->hits, room, sizeof(*grown));

		if (grown == NULL)
			return -ENOMEM;
		f->hits = grown;
		f->room = room;
	}
	f->hits[f->hit_count++] =
	    (struct log_hit){.number = f->w.number, .begin = f->w.begin};
	return 0;
}

/* Before the first line. */
static int
prepare(struct log_find *f)
{
	if (f->grep == NULL && f->match == NULL)
		f->match = match_new(f->spec);
	return f->grep == NULL && f->match == NULL ? -ENOMEM : 0;
}

int
log_find_step(struct log_find *f, uint64_t until_ns)
{
	int r = prepare(f);

	while (r == 0) {
		enum verdict v;

		if (!f->in_line && !take_line(f))
			return f->line.failed ? -ENOMEM : 1;
		v = look(f);
		f->in_line = v == NOT_YET;
		if (v == YES)
			r = add_hit(f);
		if (r == 0 && clock_boot_ns() >= until_ns)
			return 0;
	}
	return r;
}

void
log_find_fini(struct log_find *f)
{
	match_free(&f->match);
	match_spec_free(&f->spec);
	sbuf_fini(&f->line);
	free(f->hits);
	free(f->grep);
}
