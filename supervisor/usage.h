/* SPDX-License-Identifier: MIT */
/*
 * What a session uses. Of an ended one the kernel's account, as the keeper got
 * it; of a running one a sample, taken when somebody asks and at no other time.
 */
#ifndef PSUP_USAGE_H
#define PSUP_USAGE_H

#include "supervisor/master.h"

/* "usage": {...}. Ended: cpuMs, maxRssBytes, ioBytes. Running, where `sample`:
 * cpuMs, rssBytes, ioBytes, pids; else nothing. */
void usage_encode(struct master *m, struct session *s, bool sample,
    struct enc *e);

#endif
