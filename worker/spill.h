/* SPDX-License-Identifier: MIT */
/*
 * Output into a file beside the ring, from the first byte up to a cap. The
 * file's offset is the output's position, so what a dead writer had written
 * may be written again.
 */
#ifndef PSUP_WORKER_SPILL_H
#define PSUP_WORKER_SPILL_H

#include "common/clock.h"
#include "worker/child.h"

#define SPILL_LOOK_NS NSEC_PER_MSEC

/* Has the file made, which must not be there, and notes it in the ring.
 * `again`: an attempt before this one may have made it. 0: it is there;
 * -EINPROGRESS: ask again; -errno. */
int spill_create(struct child *c, const char *path, uint64_t max, bool again);
/* Nothing ran: the empty file goes. Has it? Else ask again at spill_ns. */
void spill_undo(struct child *c);
bool spill_undone(struct child *c);
/* Goes on with the file of a dead worker's session, at spill_ns. */
void spill_take_over(struct child *c);
/* It is spill_ns. */
void spill_due(struct child *c);
/* Something was published. */
void spill_step(struct child *c);
/* How many of max bytes may be moved before what is not written would be
 * overwritten; 0: ask again after SPILL_LOOK_NS. */
size_t spill_room(struct child *c, size_t max);
/* Is it behind the output? Then child_step() comes again. */
bool spill_waits(struct child *c);
void spill_close(struct child *c);
/* With each beat: those that are done. */
void spill_reap(void);

#endif
