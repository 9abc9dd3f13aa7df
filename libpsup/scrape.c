/* SPDX-License-Identifier: MIT */
/* See scrape.h. Called by metrics.c. */
#include "scrape.h"

#include <stdio.h>

#include "common/procfs.h"

const struct stats_page *
scrape_page(const struct scrape *s, uint32_t i)
{
	return (const struct stats_page *)(const void *)((const char *)
	        view_stats(s->view) + (size_t)i * SHM_PAGE);
}

/* Does this pid still belong to a process of psup's, and a living one? It may
 * be anybody's once the keeper is gone, which is who writes 0 there. */
static bool
is_ours(int32_t pid)
{
	struct procfs_stat st;

	return pid > 0 && procfs_alive(pid, &st) &&
	    strncmp(st.name, "psup", 4) == 0 && st.name[4] != '\0';
}

static void
find_processes(struct scrape *s)
{
	for (uint32_t i = 0; i < STATS_PAGES; i++) {
		int32_t pid = RELAXED(scrape_page(s, i)->pid);

		s->used[i] = pid != 0 ||
		    RELAXED(scrape_page(s, i)->generation) != 0;
		s->alive[i] = is_ours(pid) ? pid : 0;
	}
}

/* What a lane is called here. Names that come and go with conversations and
 * jobs would make a series each, for ever. */
static void
lane_label(const struct board_lane *l, char ret[40])
{
	const char *colon = strchr(l->name, ':');

	if (l->flags & BOARD_LANE_CONFIGURED)
		snprintf(ret, 40, "%s", l->name);
	else if (colon != NULL)
		snprintf(ret, 40, "%.*s:*", (int)(colon - l->name), l->name);
	else
		snprintf(ret, 40, "*");
}

/* The row of a label, made where there is none. */
static struct lane_row *
lane_row(struct scrape *s, const char *label)
{
	size_t i;

	for (i = 0; i < s->lane_count; i++)
		if (strcmp(s->lanes[i].name, label) == 0)
			return &s->lanes[i];
	s->lane_count++;
	snprintf(s->lanes[i].name, sizeof(s->lanes[i].name), "%s", label);
	return &s->lanes[i];
}

/* The board's lanes, summed up. */
static void
find_lanes(struct scrape *s)
{
	const struct board *b = s->board;
	struct board_lane l;
	struct lane_row *row;
	char label[40];

	for (uint32_t i = 0; i < BOARD_LANES; i++) {
		if (board_get_lane(b, i, &l) != 1 || l.name[0] == '\0')
			continue;
		l.name[sizeof(l.name) - 1] = '\0';
		lane_label(&l, label);
		row = lane_row(s, label);
		row->lanes++;
		row->width += l.width;
		row->active += l.active;
		row->queued += l.queued;
		row->paused += (l.flags & BOARD_LANE_PAUSED) != 0;
	}
}

void
scrape_take(struct scrape *s, struct psup_view *v)
{
	view_refresh(v);
	s->view = v;
	s->board = view_board(v);
	s->hdr = s->board->hdr;
	s->out.created_ms = s->hdr->created_ms;
	find_processes(s);
	find_lanes(s);
}
