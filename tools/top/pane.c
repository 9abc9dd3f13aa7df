/* SPDX-License-Identifier: MIT */
/* The lines of a pane. Called by what fills one. */
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "pane.h"

void
pane_fini(struct pane *p)
{
	free(p->lines);
	free(p->hits);
	memset(p, 0, sizeof(*p));
}

void
pane_clear(struct pane *p)
{
	p->count = p->hit_count = 0;
	p->back_max = 0;
	p->screen = false;
}

struct line *
pane_add(struct pane *p, int width)
{
	if (!GROW(p->lines, p->room, p->count + 1, 32))
		return NULL;
	line_init(&p->lines[p->count], width);
	return &p->lines[p->count++];
}

void
pane_add_hit(struct pane *p, size_t before_last)
{
	if (GROW(p->hits, p->hit_room, p->hit_count + 1, 64))
		p->hits[p->hit_count++] = before_last;
}
