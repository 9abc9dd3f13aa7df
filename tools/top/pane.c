/* SPDX-License-Identifier: MIT */
/* The lines of a pane. Called by what fills one. */
#include <stdlib.h>
#include <string.h>

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
	size_t room = p->room == 0 ? 32 : 2 * p->room;
	struct line *more;

	if (p->count == p->room) {
		more = reallocarray(p->lines, room, sizeof(*more));
		if (more == NULL)
			return NULL;
		p->lines = more;
		p->room = room;
	}
	line_init(&p->lines[p->count], width);
	return &p->lines[p->count++];
}

void
pane_add_hit(struct pane *p, size_t before_last)
{
	size_t room = p->hit_room == 0 ? 64 : 2 * p->hit_room, *more;

	if (p->hit_count == p->hit_room) {
		more = reallocarray(p->hits, room, sizeof(*more));
		if (more == NULL)
			return;
		p->hits = more;
		p->hit_room = room;
	}
	p->hits[p->hit_count++] = before_last;
}
