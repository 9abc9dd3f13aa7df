/* SPDX-License-Identifier: MIT */
/* The read-only view of the server itself: its processes, lanes and totals. */
#include <string.h>

#include <psup/view.h>

#include "common/clock.h"
#include "common/heritage.h"
#include "internal.h"
#include "shm/board.h"
#include "shm/state_names.h"
#include "shm/stats.h"

/* -------------------------------------------------------------- processes */

/* A stats page's role, by its place and what its owner says. */
static const char *
process_role(size_t page, uint32_t role)
{
	if (page == 0)
		return "keeper";
	if (page == 1)
		return "master";
	return role == HERITAGE_STANDBY ? "standby" : "worker";
}

int
psup_view_next_process(struct psup_view *v, size_t *cursor,
    struct psup_view_process *ret)
{
	const struct stats_page *s;
	uint64_t now = clock_boot_ns(), beat;
	size_t page;

	if (*cursor == 0)
		view_refresh(v);
	while (view_stats(v) != NULL && *cursor < STATS_PAGES) {
		page = (*cursor)++;
		s = (const struct stats_page *)(const void *)((const char *)
		        view_stats(v) + page * SHM_PAGE);
		if (s->generation == 0 && s->pid == 0)
			continue; /* nobody was ever there */
		memset(ret, 0, sizeof(*ret));
		ret->role = process_role(page, s->role);
		ret->pid = s->pid;
		ret->slot = page < 2 ? -1 : (int)page - 2;
		ret->generation = s->generation;
		ret->restarts = s->restarts;
		ret->started_ms = s->started_ms;
		beat = s->heartbeat_ns;
		ret->heartbeat_age_ms = beat == 0 ? UINT64_MAX
		    : beat > now                  ? 0
		                : (now - beat) / NSEC_PER_MSEC;
		ret->sessions = s->sessions;
		ret->spawned = s->spawned;
		ret->spawn_failed = s->spawn_failed;
		ret->ended = s->ended;
		ret->bytes_moved = s->bytes_moved;
		ret->requests = s->requests;
		COPY_TEXT(ret->last_words, s->last_words);
		return 1;
	}
	return 0;
}

/* ------------------------------------------------------- lanes and totals */

int
psup_view_next_lane(struct psup_view *v, size_t *cursor,
    struct psup_view_lane *ret)
{
	struct board_lane lane;

	if (*cursor == 0)
		view_refresh(v);
	while (*cursor < BOARD_LANES) {
		if (board_get_lane(view_board(v), (uint32_t)(*cursor)++, &lane) !=
		        1 ||
		    lane.name[0] == '\0')
			continue;
		memset(ret, 0, sizeof(*ret));
		COPY_TEXT(ret->name, lane.name);
		ret->width = lane.width;
		ret->active = lane.active;
		ret->queued = lane.queued;
		ret->generation = lane.generation;
		ret->paused = (lane.flags & BOARD_LANE_PAUSED) != 0;
		ret->draining = (lane.flags & BOARD_LANE_DRAINING) != 0;
		ret->blocked_by = lane_block_name(BOARD_LANE_BLOCK(lane.flags));
		if (ret->blocked_by == NULL)
			ret->blocked_by = "";
		return 1;
	}
	return 0;
}

void
psup_view_totals(struct psup_view *v, struct psup_view_totals *ret)
{
	const struct stats_page *pages;
	const struct board_header *h;

	view_refresh(v);
	h = view_board(v)->hdr;
	pages = view_stats(v);
	*ret = (struct psup_view_totals){
		.queued = h->counts[STATE_QUEUED],
		.starting = h->counts[STATE_STARTING],
		.running = h->counts[STATE_RUNNING],
		.exited = h->counts[STATE_EXITED],
		.ended = h->counts[STATE_ENDED],
		.started_ever = h->started_total,
		.ended_ever = h->ended_total,
		.failed_ever = h->failed_total,
		.budget_bytes = h->budget_bytes,
		.budget_used = h->budget_used,
		.incarnation = h->incarnation,
		.created_ms = h->created_ms,
		.master_generation = h->master_generation,
		.boxes = pages != NULL ? pages[1].boxes : 0,
		.boxed = pages != NULL ? pages[1].boxed : 0,
	};
}
