/* SPDX-License-Identifier: MIT */
/*
 * What a session uses. Of an ended one the kernel's account, as the keeper got
 * it; of a running one a sample, taken when somebody asks and at no other time.
 * A process costs 30 us and a session may have many, so it is taken in slices.
 */
#ifndef PSUP_SUPERVISOR_SESSION_USAGE_H
#define PSUP_SUPERVISOR_SESSION_USAGE_H

#include "supervisor/master.h"

#define USAGE_PIDS_MAX 1024u /* more are counted, not looked at */

/* Of one session at a time; all 0: of none yet. */
struct usage_sample {
	struct sid sid;
	bool live;    /* it ran when this was begun */
	bool in_leaf; /* its control group names all of them */
	size_t at;    /* so many are in the sums */
	uint64_t pids;
	uint64_t cpu_ms, rss_bytes, io_bytes;
	uint64_t max_rss_bytes; /* of the one process that had most */
	int32_t pid[USAGE_PIDS_MAX];
};

/* Goes on with the sample of this session until `until` (boot, ns), one process
 * at least; begins anew where it was of another one, or of one that has ended
 * since. True: it is whole. */
bool usage_sample(struct master *m, struct session *s, struct usage_sample *u,
    uint64_t until);
/* "usage": {cpuMs, maxRssBytes, rssBytes, ioBytes, pids}. Of a running one by
 * the whole sample, without one nothing; of an ended one pids is who outlived
 * it, and rssBytes theirs, left out where nobody looked. */
void usage_encode(const struct session *s, const struct usage_sample *u,
    struct enc *e);
/* The processes of a running session; pids has room for `max`. How many were
 * written. */
size_t usage_pids(struct master *m, struct session *s, int32_t *pids,
    size_t max);

#endif
