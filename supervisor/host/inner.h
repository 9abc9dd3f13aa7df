/* SPDX-License-Identifier: MIT */
/* What the files of this room share. */
#ifndef PSUP_SUPERVISOR_HOST_INNER_H
#define PSUP_SUPERVISOR_HOST_INNER_H

#include "supervisor/host/boxes.h"

/* set.c: that of a key which still takes somebody in, or a new one: who is inside
 * of one that is drained may stay there for ever. NULL: no memory. */
struct host_box *
boxes_of(struct master *m, const char *key, const char *scope);
/* One of which nothing is there yet; NULL: no memory. */
struct host_box *
boxes_new(struct master *m, const char *key, const char *scope);
/* That whose session it is; NULL. */
struct host_box *boxes_by_sid(struct master *m, struct sid sid);
bool boxes_is_of_session(const struct host_box *bx);
/* That which is one session's alone; NULL. */
struct host_box *boxes_of_session(struct master *m, struct sid sid);
/* Its session is known by now. */
void boxes_is(struct master *m, struct host_box *bx, struct sid sid);
/* What its life says has changed. */
void boxes_place(struct master *m, struct host_box *bx);
/* Forgets it where nobody is to hear of it any more. */
void boxes_settle(struct master *m, struct host_box *bx);

/* boxes.c: has pid 1 exited, or does it? The kernel then kills all in the box, and
 * waits in there until the last of them is reaped. */
bool boxes_is_dying(const struct host_box *bx);
/* ... tells its life what has happened, and does what is to be done. */
void boxes_tell(struct master *m, struct host_box *bx, enum box_event event);

/* recover.c: the label of a box's session, by which the next master knows how it
 * was made, and with whose share its sessions count. NULL: no memory. */
char *boxes_label(const struct host_box *bx);

/* said.c: which process is its pid 1, if it has said so. */
void boxes_look(struct master *m, struct host_box *bx, struct session *s);

#endif
