/* SPDX-License-Identifier: MIT */
/*
 * What a session uses. Of an ended one the kernel's account, as the keeper got
 * it; of a running one a sample, taken when somebody asks and at no other time.
 */
#ifndef PSUP_SUPERVISOR_SESSION_USAGE_H
#define PSUP_SUPERVISOR_SESSION_USAGE_H

#include "supervisor/master.h"

/* "usage": {cpuMs, maxRssBytes, rssBytes, ioBytes, pids}. Of a running one
 * where `sample`, else nothing; of an ended one pids is who outlived it, and
 * rssBytes theirs, left out where nobody looked. */
void usage_encode(struct master *m, struct session *s, bool sample,
    struct enc *e);
/* The processes of a running session; pids has room for `max`. How many were
 * written. */
size_t usage_pids(struct master *m, struct session *s, int32_t *pids,
    size_t max);

#endif
