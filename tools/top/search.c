/* SPDX-License-Identifier: MIT */
/* From hit to hit of what is searched for in the output. Pure. Called by
 * display.c, which reads the pane, and by keys.c. */

#include "ui.h"

void
ui_search_end(struct ui *u)
{
	u->search[0] = '\0';
	u->hit = u->hit_count = 0;
	u->seek = SEEK_NONE;
}

/* The hit to go to, from 1: the next one, or at the beginning the first that is
 * seen or older. More than there are, or 0: there is none. */
static size_t
next_hit(const struct ui *u, const struct pane *p)
{
	size_t i = 0;

	if (u->hit > 0)
		return u->seek == SEEK_OLDER ? u->hit + 1 : u->hit - 1;
	while (i + 1 < p->hit_count && p->hits[i] < u->back)
		i++;
	return i + 1;
}

bool
ui_seek_hit(struct ui *u, const struct pane *p)
{
	size_t lines = ui_pane_lines(u) - 1, to;
	bool older = u->seek == SEEK_OLDER;

	u->hit_count = p->hit_count;
	if (u->hit > u->hit_count)
		u->hit = u->hit_count;
	if (u->seek == SEEK_NONE)
		return false;
	to = next_hit(u, p);
	u->seek = SEEK_NONE;
	if (p->hit_count == 0 || to == 0 || to > p->hit_count) {
		ui_say(u, true, "%s",
		    p->hit_count == 0 ? "what is kept of the output does not have it"
		        : older       ? "there is no older one"
		                      : "there is no newer one");
		return false;
	}
	u->hit = to;
	u->hit_line = p->hits[to - 1];
	/* one that is out of sight comes to the middle */
	if (u->hit_line < u->back || u->hit_line >= u->back + lines)
		u->back = u->hit_line > lines / 2 ? u->hit_line - lines / 2 : 0;
	if (u->back > p->back_max)
		u->back = p->back_max;
	return true;
}
