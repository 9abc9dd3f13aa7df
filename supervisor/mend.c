/* SPDX-License-Identifier: MIT */
/*
 * The master's shared files after a stray write: its stats page, the board and
 * the index, looked at with each heartbeat. What can be made again from memory
 * is; an index that was cut short ends this master, and the next one sets it
 * aside and asks rings, board and keeper.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/log.h"
#include "shm/stats.h"
#include "supervisor/master.h"
#include "supervisor/master.h"

/* Loudly. */
static void
say_mended(const char *file)
{
	log_event(LOG_ERROR, "file-made-again", KV("file", file),
	    KV("why", "it was damaged or deleted"));
}

/* A board with nothing on it, in place of one that is no good. */
static int
board_make(struct master *m, uint32_t slots, struct board *ret)
{
	int r = board_create(m->dirfd, slots, m->h.incarnation);

	if (r == 0)
		r = board_attach(m->dirfd, true, ret);
	if (r == 0)
		say_mended("board");
	else
		log_event(LOG_ERROR, "file-stays-damaged",
		    KV("file", "board"), KV("error", strerror(-r)));
	return r;
}

int
mend_board_open(struct master *m)
{
	int r = board_attach(m->dirfd, true, &m->board);

	/* the keeper has made it, and no build that cannot read it gets here */
	if (r == -ENOENT || r == -EBADMSG || r == -EPROTO)
		r = board_make(m, board_slots_for(m->dirfd), &m->board);
	return r;
}

/* The counts of all sessions that were, from our own. */
static void
board_totals(struct master *m)
{
	struct board_header *h = m->board.hdr;
	uint64_t ended = 0;

	for (size_t i = 0; i < END_REASONS; i++)
		ended += m->tally[TALLY_ENDED + i];
	atomic_store(&h->started_total, m->tally[TALLY_STARTED]);
	atomic_store(&h->failed_total, m->tally[TALLY_SPAWN_FAILED]);
	atomic_store(&h->ended_total, ended);
	atomic_store(&h->budget_bytes, m->budget);
	atomic_store(&h->master_generation, m->h.wid.generation);
}

/* Everything that the old one showed, on a new one. */
static void
board_mend(struct master *m)
{
	struct session *s;
	struct board b;

	if (board_is_sound(m->dirfd, &m->board) ||
	    board_make(m, m->board.slot_count, &b) < 0)
		return;
	board_detach(&m->board);
	m->board = b;
	board_totals(m);
	m->lanes_shown = lanes_changes(m->lanes) - 1;
	for (s = registry_first(m); s != NULL; s = registry_next(m, s))
		board_show(m, s);
	lane_admin_show(m);
}

/* The page of this process, and the others' to look at. */
static void
stats_mend(struct master *m)
{
	if (stats_mend_own(m->dirfd, m->stats) == 1) {
		m->tally_dirty = true; /* shown after the next commit */
		SET_RELAXED(m->stats->connections, conn_count(m));
	}
	(void)stats_follow(m->dirfd, m->pages);
}

void
mend_look(struct master *m)
{
	struct stat st;
	int r;

	/* nothing can be made in a directory that was deleted: the keeper says
	 * so, and what runs ends with the pages that are mapped */
	if (fstat(m->dirfd, &st) == 0 && st.st_nlink == 0)
		return;
	stats_mend(m);
	board_mend(m);
	r = index_mend(m->ix);
	if (r == 1)
		say_mended("index/data.mdb");
	else if (r < 0 && r != -EAGAIN)
		master_give_up(m, "the index was damaged under it");
}
