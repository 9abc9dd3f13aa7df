/* SPDX-License-Identifier: MIT */
/* START and GIVE: how a worker comes by a session. */
#ifndef PSUP_WORKER_START_H
#define PSUP_WORKER_START_H

#include "worker/child.h"

#define START_TRIES     3u
#define START_OOM_TRIES 20u /* a millisecond apart */

/* A new session, as the master orders it. Takes over nothing of msg. */
void start_session(struct worker *w, struct ctl_msg *msg);
/* SPAWNING: its retry is due. */
void start_retry(struct child *c);
/* Makes a command one of the first to go when memory is short. */
void start_oom_score(struct child *c);
/* The spawn is given up; before start_plan_free(). */
void start_undo(struct child *c);

/* A dead worker's session, as the keeper gives it; takes over the
 * descriptors. */
void start_take_over(struct worker *w, struct ctl_msg *msg);

#endif
