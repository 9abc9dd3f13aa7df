/* SPDX-License-Identifier: MIT */
/*
 * Small rings of sessions that are over here, kept open: where the master has
 * forgotten one it may offer the file to the next START, which then has nothing
 * to create, allocate or map. A bounded number, the oldest goes first; all of
 * them where none was used for a while or descriptors are short.
 */
#ifndef PSUP_WORKER_SPARE_H
#define PSUP_WORKER_SPARE_H

#include <stdbool.h>

#include "common/ids.h"
#include "shm/ring.h"

struct ctl_start;
struct worker;

/* Is it worth keeping? */
bool spare_may(const struct worker *w, const struct ring_writer *ring);
/* Its session is over: takes the ring over. */
void spare_keep(struct sid sid, struct ring_writer *ring);
/* The ring of the forgotten session that START names is `sid`'s from here on.
 * False: it was not kept, or is damaged; its file is gone. */
bool spare_take(struct worker *w, const struct ctl_start *o, struct sid sid,
    const struct ring_geometry *geo, struct ring_writer *ret);
/* Once a second. */
void spare_rest(void);
/* Closes all. */
void spare_drop_all(void);

#endif
