/* SPDX-License-Identifier: MIT */
/*
 * Where a session's output is kept, as its exec asked: how much of its
 * beginning and end stays in memory, and a file for all of it.
 */
#ifndef PSUP_SUPERVISOR_SESSION_RETAIN_H
#define PSUP_SUPERVISOR_SESSION_RETAIN_H

#include "supervisor/master.h"

/* `retain` and `spill` of exec into what has a cwd, of what has a slug. 0, or
 * -EINVAL, -ENOMEM, -ENOSPC with *why filled. */
int retain_take(struct master *m, const struct val *params,
    const struct session_id *id, struct session_wish *w,
    struct proto_problem *why);
/* The same into details: retain, and spill with how far it has come. */
void retain_encode(struct master *m, struct session *s, struct enc *e);
/* The second alone. */
void spill_encode(struct master *m, struct session *s, struct enc *e);

#endif
