/* SPDX-License-Identifier: MIT */
/*
 * Searches a line that comes in pieces. An expression costs at most one step for
 * each of its instructions and each character (common/rex.h), and stops after
 * BUDGET of them; a text is looked for in a piece and the end of the one before.
 */
#include "supervisor/search/find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET 20000u /* steps of matching: some hundred us */

int
log_find_begin(struct log_find *f)
{
	f->found = f->busy = false;
	f->line.len = 0;
	f->fed = 0;
	if (f->grep != NULL)
		return 0;
	if (f->match != NULL)
		match_restart(f->match);
	else
		f->match = match_new(f->spec);
	return f->match != NULL ? 0 : -ENOMEM;
}

/* So many of its bytes need not be looked at again. */
static void
pass(struct log_find *f, size_t n)
{
	memmove(f->line.p, f->line.p + n, f->line.len - n);
	f->line.len -= n;
}

static void
look_text(struct log_find *f)
{
	size_t keep = f->grep_len - 1;

	f->found = memmem(f->line.p, f->line.len, f->grep, f->grep_len) != NULL;
	if (f->line.len > keep)
		pass(f, f->line.len - keep);
}

static void
look_regex(struct log_find *f, bool ended)
{
	bool final, held = false;
	size_t used = match_feed(f->match, f->line.p, f->line.len, f->fed,
	    !ended, BUDGET, &held);

	f->fed += used;
	pass(f, used);
	if (ended && f->line.len == 0)
		match_at_end(f->match, f->fed);
	f->found = match_result(f->match, NULL, NULL, &final) != MATCH_NOTHING;
	f->busy = !f->found && f->line.len > 0 && !held;
}

int
log_find_look(struct log_find *f, const char *s, size_t n, bool ended)
{
	if (f->found)
		return 0;
	sbuf_addn(&f->line, s, n);
	if (f->line.failed || !sbuf_reserve(&f->line, 1))
		return -ENOMEM;
	if (f->grep != NULL)
		look_text(f);
	else
		look_regex(f, ended);
	return 0;
}

void
log_find_fini(struct log_find *f)
{
	match_free(&f->match);
	match_spec_free(&f->spec);
	sbuf_fini(&f->line);
	free(f->grep);
}
