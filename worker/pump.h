/* SPDX-License-Identifier: MIT */
/* Output: from the pipes of stdout and stderr into the ring, by splice(2). */
#ifndef PSUP_WORKER_PUMP_H
#define PSUP_WORKER_PUMP_H

#include "worker/child.h"

#define PUMP_TURN_BYTES (256u * 1024u) /* per session and turn of the loop */
#define PUMP_REFILL_MS  50u   /* tmpfs full: how often to look */
#define PUMP_STALL_MS   1000u /* ... and how long before bytes are dropped */

/* Watches the streams that are open; of a command that is dead by now only
 * once pump_finish() has found that somebody else has them open. */
void pump_start(struct child *c);
/* The command is dead: moves what it left, and sees whether that is all. */
void pump_finish(struct child *c);
/* Stops watching and closes both. */
void pump_stop(struct child *c);
/* Its ring is lost: as if nobody could write to either any more. */
void pump_give_up(struct child *c);
/* The credit was raised or lifted, or space may be there again. */
void pump_resume(struct child *c);
/* One-shot: SAY_OUTPUT when head > pos. */
void pump_watch(struct child *c, uint64_t pos);
bool pump_is_open(const struct child *c);

#endif
