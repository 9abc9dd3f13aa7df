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
/* Readers: maps all pages read-only. -ENOENT, -EPROTO (another version),
 * -EBADMSG, -errno. */
int stats_attach(int dirfd, const struct stats_page **ret_pages);
/* For what stats_attach() or stats_create() mapped; an own page stays mapped
 * for the life of its process. */
void stats_detach(const struct stats_page *pages);

/* For counters and histograms of an own page: one writer, no lock. */
static inline void
stats_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter,
	    atomic_load_explicit(counter, memory_order_relaxed) + n,
	    memory_order_relaxed);
}
void stats_observe(struct stats_hist *h, enum metric_cut cut, uint64_t us);

/* Points check_last_words at this page. */
void stats_keep_last_words(struct stats_page *own);

#endif
