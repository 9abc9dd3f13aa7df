/* SPDX-License-Identifier: MIT */
/* The lines of a pane. Called by what fills one. */
#include <stdlib.h>
#include <string.h>

#include "pane.h"

void
pane_fini(struct pane *p)
{
	free(p->lines);
	memset(p, 0, sizeof(*p));
}

void
pane_clear(struct pane *p)
{
	p->count = 0;
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
