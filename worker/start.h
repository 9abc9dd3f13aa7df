/* SPDX-License-Identifier: MIT */
/* START and GIVE: how a worker comes by a session. */
#ifndef PSUP_WORKER_START_H
#define PSUP_WORKER_START_H

#include "worker/child.h"

#define START_TRIES     3u
#define START_OOM_NS    UINT64_C(100000000) /* of a command's life */
#define START_OOM_LOOKS 4u /* 0.1, 0.2, 0.4, 0.8 s later: where it has children */
#define START_OOM_TRIES 20u /* a millisecond apart */
#define START_MS        10000u /* to the exec, where the order does not say */

/* A new session, as the master orders it. Takes over nothing of msg. */
void start_session(struct worker *w, struct ctl_msg *msg);
/* SPAWNING: its retry is due. */
void start_retry(struct child *c);
/* It was cloned: looks whether it has exec'd, now and then again. */
void start_wait(struct child *c);
/* As start_wait() for all that have not. Between two turns. */
void start_wait_all(struct worker *w);
/* With each beat: no crowd any more? */
void start_rest(struct worker *w);
/* A porter that is over and that the keeper was not told of; 0: there is none. */
int32_t start_porter_over(const struct worker *w);
/* Something came that waits for its exec. */
void start_look_now(struct child *c);
/* Cloned, and not known to have exec'd? */
bool start_is_under_way(const struct child *c);
/* Does somebody wait to hear that it runs? */
bool start_is_awaited(const struct child *c);
/* Under way: the ladder begins after the exec, or it is killed before. */
void start_stop(struct child *c, int sig, uint32_t grace_ms,
    enum end_reason reason);
/* Under way: a dead worker had cloned it. */
void start_adopt(struct child *c);
/* More stdin, or credit, before its program runs. */
void start_note_stdin(struct child *c, uint64_t end, bool eof);
void start_note_credit(struct child *c, uint64_t credit);
/* Its program runs. */
void start_succeeded(struct child *c);
/* It does not, and nothing of it will: another try, or the end. */
void start_failed(struct child *c, int error, unsigned stage);

/* start_prepare.c: everything a command needs that can be had before the clone.
 * What exists already from a try before stays. 0; -errno and the stage. */
int start_prepare(struct child *c, unsigned *ret_stage);
/* Makes a command one of the first to go when memory is short. */
void start_oom_score(struct child *c);
/* The spawn is given up; before start_plan_free(). */
void start_undo(struct child *c);

/* A dead worker's session, as the keeper gives it; takes over the
 * descriptors. */
void start_take_over(struct worker *w, struct ctl_msg *msg);
/* One that was under way when its worker died runs. */
void start_taken_over(struct child *c);

#endif
