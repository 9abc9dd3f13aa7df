/* SPDX-License-Identifier: MIT */
/*
 * Output into a file beside the ring, from the first byte up to a cap. The
 * file's offset is the output's position, so what a dead worker had written
 * may be written again.
 */
#ifndef PSUP_WORKER_SPILL_H
#define PSUP_WORKER_SPILL_H

#include "worker/child.h"

/* Makes the file, which must not be there, and notes it in the ring. `again`:
 * an attempt before this one may have made it. 0 or -errno. */
int spill_create(struct child *c, const char *path, uint64_t max, bool again);
/* Nothing ran: the empty file goes. */
void spill_undo(struct child *c, const char *path);
/* Opens the file of a dead worker's session and goes on. */
void spill_take_over(struct child *c);
/* Writes what was published; before the next splice could overwrite it. */
void spill_step(struct child *c);
void spill_close(struct child *c);

#endif
