/* SPDX-License-Identifier: MIT */
/*
 * What a worker says to keeper and master. A message is not queued as bytes:
 * a session carries a bit per kind of message, and the message is made from
 * the session when there is room in the channel. So a peer that does not read
 * costs no memory, and what it reads late is fresh.
 */
#ifndef PSUP_WORKER_LINK_H
#define PSUP_WORKER_LINK_H

#include "worker/child.h"
#include "worker/worker.h"

void link_init(struct worker *w, enum link_to to);
/* Takes over `fd`; what arrives is given to recv.c by `cb`. */
int link_open(struct worker *w, enum link_to to, int fd, event_callback_fn cb);
/* Forgets everything that was to be said and closes. */
void link_close(struct worker *w, enum link_to to);

/* Marks SAY_* or TELL_* bits, which are sent at the end of the turn: each
 * message wakes its reader, and many a turn has something to say of several
 * sessions. Without a peer nothing is marked. While a dead worker's sessions
 * arrive, that they run waits for the last of them. */
void link_say(struct child *c, enum link_to to, unsigned bits);
/* What can wait: with the next message, or a little later by itself. */
void link_say_late(struct child *c, enum link_to to, unsigned bits);
/* When something that waits is to be sent; `latest` where nothing is before. */
uint64_t link_due_ns(const struct worker *w, uint64_t latest);
/* Sends what was marked in this turn. */
void link_turn_end(struct worker *w);
/* Sends as much as the channel takes. */
void link_flush(struct worker *w, enum link_to to);
/* Takes the session out of both queues. */
void link_forget(struct child *c);

#endif
