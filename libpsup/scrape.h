/* SPDX-License-Identifier: MIT */
/* What one scrape of the metrics finds: who is there, and the lanes. */
#ifndef PSUP_LIBPSUP_SCRAPE_H
#define PSUP_LIBPSUP_SCRAPE_H

#include "exposition.h"
#include "internal.h"
#include "shm/board.h"
#include "shm/stats.h"

/* A lane's row, or that of several. */
struct lane_row {
	char name[40];
	uint64_t lanes, width, active, queued, paused;
};

struct scrape {
	struct expo out;
	struct psup_view *view; /* NULL: there is no server */
	const struct board *board;
	const struct board_header *hdr;
	uint64_t now_ns;
	int32_t alive[STATS_PAGES]; /* pid; 0: none */
	bool used[STATS_PAGES];     /* somebody is, or was, there */
	struct lane_row lanes[BOARD_LANES];
	size_t lane_count;
};

const struct stats_page *scrape_page(const struct scrape *s, uint32_t i);
/* Looks at the view of a server, which has stats pages. */
void scrape_take(struct scrape *s, struct psup_view *v);

#endif
