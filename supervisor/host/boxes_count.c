/* SPDX-License-Identifier: MIT */
/* How many boxes there are, or why none, for status and metrics. */
#include "supervisor/host/boxes.h"

#include <string.h>

#include "supervisor/master.h"

void
boxes_count(const struct master *m, struct boxes_count *ret)
{
	const struct host_box *bx;

	memset(ret, 0, sizeof(*ret));
	LIST_FOREACH(bx, &m->boxes.list, link)
	{
		if (bx->life.state == BOX_GONE)
			continue;
		ret->total++;
		ret->by_state[bx->life.state]++;
		ret->inside += bx->life.inside;
	}
}

/* What bwrap refuses is known once it was tried, and no more once a box is up. */
const char *
boxes_why(const struct master *m)
{
	struct boxes_count n;

	boxes_count(m, &n);
	return m->sandbox_why[0] != '\0' || n.by_state[BOX_READY] > 0
	    ? m->sandbox_why
	    : m->boxes.why;
}

void
boxes_show(struct master *m)
{
	struct boxes_count n;

	boxes_count(m, &n);
	SET_RELAXED(m->stats->boxes, n.total);
	SET_RELAXED(m->stats->boxed, n.inside);
}
