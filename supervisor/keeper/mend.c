/* SPDX-License-Identifier: MIT */
/*
 * What a stray write of a command does to the runtime directory: stats pages,
 * lock, incarnation and socket are made again. The loop calls it every few
 * seconds, and at once after a SIGBUS. Nothing the keeper decides by lies in a
 * file alone; rings, board and index are their owners' to mend.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/lent_map.h"
#include "supervisor/keeper/state.h"

/* Says what came of it: `r` is 1 for done, 0 for nothing to do, or -errno. */
static bool
mended(const char *file, int r)
{
	if (r > 0)
		log_event(LOG_ERROR, "file-made-again", KV("file", file),
		    KV("why", "it was damaged or deleted"));
	else if (r < 0)
		log_event(LOG_ERROR, "file-stays-damaged", KV("file", file),
		    KV("error", strerror(-r)));
	return r > 0;
}

/* Pages that were lost know nothing of who is there. */
void
mend_stats(struct keeper *k)
{
	if (mended("stats", stats_mend_all(k->dir, k->stats)))
		procs_note_pages(k);
}

/* Clients find no other name; the master gets the new listener at its start,
 * and loses nothing by that. */
static int
mend_socket(struct keeper *k)
{
	struct stat st;
	int old = k->listener;

	if (k->listener_passed || k->stop != STOP_NO ||
	    (fstatat(k->dir, "sock", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISSOCK(st.st_mode)))
		return 0;
	if (rundir_listen(k) != 0) {
		if (k->listener >= 0 && k->listener != old)
			(void)close(k->listener);
		k->listener = old;
		return -EIO;
	}
	(void)close(old);
	procs_signal(&k->master, SIGKILL);
	return 1;
}

void
mend_all(struct keeper *k)
{
	mend_stats(k);
	(void)mended("lock", rundir_lock_mend(k));
	(void)mended("incarnation", leftover_mend(k->dir, k->incarnation));
	(void)mended("sock", mend_socket(k));
}

/* After each turn: was a page lost in it? */
void
mend_lost(struct keeper *k)
{
	static unsigned seen;

	if (seen == lent_maps_lost())
		return;
	seen = lent_maps_lost();
	mend_stats(k);
}
