/* SPDX-License-Identifier: MIT */
/*
 * One stats page per process (layout.h), in the file `stats`, allocated at
 * creation. A process maps its own page read-write, readers map the file.
 */
#ifndef PSUP_SHM_STATS_H
#define PSUP_SHM_STATS_H

#include "common/metrics.h"
#include "shm/layout.h"

/* Keeper: creates the file with STATS_PAGES pages and maps all of them.
 * The pages stay mapped for the keeper's life. -ENOSPC, -errno. */
int stats_create(int dirfd, struct stats_page **ret_pages);
/* Keeper, after it took over from another: maps what is there for writing. */
int stats_attach_all(int dirfd, struct stats_page **ret_pages);
/* The owner of a page says of which build it is. */
void stats_sign(struct stats_page *own);
/* Master, worker: maps page i read-write and signs it. -EBADMSG, -errno. */
int stats_attach_own(int dirfd, uint32_t i, struct stats_page **ret);
/* Master: maps all pages read-only. -ENOENT, -EPROTO (another version),
 * -EBADMSG, -errno. */
int stats_attach(int dirfd, const struct stats_page **ret_pages);
/* For what any of the above mapped; an own page stays mapped for the life of
 * its process. */
void stats_detach(const struct stats_page *pages);
/* Readers outside of the server: a copy of all STATS_PAGES pages. Same errors
 * as stats_attach(). */
int stats_read(int dirfd, struct stats_page *ret_pages);

/*
 * The file may be cut short, overwritten or deleted by anybody of our uid.
 * Each of these looks once and mends; addresses stay. 1: something was made
 * again, and gauges must be set; 0: all is well; -errno: not yet.
 */
/* Keeper: makes file and pages again. Its fields are the caller's to write. */
int stats_mend_all(int dirfd, struct stats_page *pages);
/* Owner of one page: goes to the file that is there now, with what it has
 * counted, where that is not lost. */
int stats_mend_own(int dirfd, struct stats_page *own);
/* Master: the same for stats_attach()'s pages. 0 or -errno. */
int stats_follow(int dirfd, const struct stats_page *pages);

/* For counters and histograms of an own page: one writer, no lock. */
static inline void
stats_add(_Atomic uint64_t *counter, uint64_t n)
{
	COUNT_UP(*counter, n);
}
/* A turn of the loop of this page's owner is over. *cpu_ns: the processor time
 * that it had taken at the end of the one before; 0: there was none. */
void stats_turn_cpu(struct stats_page *own, uint64_t *cpu_ns);
void stats_observe(struct stats_hist *h, enum metric_cut cut, uint64_t us);

/* Points check_last_words at this page. */
void stats_keep_last_words(struct stats_page *own);

#endif
