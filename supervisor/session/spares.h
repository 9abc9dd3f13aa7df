/* SPDX-License-Identifier: MIT */
/*
 * Rings of forgotten sessions. To make a ring and throw it away costs as much as
 * a quarter of what psup does for a short command, so a worker keeps small ones
 * open (worker/spare.h) and says so with their END. Where such a session is
 * forgotten its file is not unlinked, and the next START for that worker offers it.
 * The file is the worker's from then on. Until then it keeps its name, and our page
 * says that it is a forgotten session's, as far as there is room for that.
 *
 * What is not asked for goes after a few seconds, with its worker, or with this
 * master: the next one unlinks what it finds.
 */
#ifndef PSUP_SUPERVISOR_SESSION_SPARES_H
#define PSUP_SUPERVISOR_SESSION_SPARES_H

#include <stdbool.h>

#include "common/ids.h"

struct master;
struct session;
struct worker;

/* w has said END: has it kept the session's ring open, and is it the one that
 * has the session? */
void spares_ended(struct worker *w, struct session *s, bool kept, bool own);
/* The session is being forgotten: is its ring put aside? Else it is the caller's
 * to unlink. */
bool spares_keep(struct master *m, const struct session *s);
/* START is about to be made for w: which one does it offer? */
void spares_take(struct master *m, struct worker *w, struct session *s);
/* It runs: what START offered is its worker's, and has its name. */
void spares_used(struct master *m, struct session *s);
/* Nobody will use what START offered. */
void spares_lost(struct master *m, struct session *s);
/* The worker is gone: so are those that it had open. */
void spares_drop(struct master *m, struct worker *w);
/* Has that session been forgotten, and its ring awaits another one? */
bool spares_has(const struct master *m, struct sid sid);
/* A new master has read its records: unlinks what the last one had left. */
void spares_recover(struct master *m);
/* Once a second. */
void spares_rest(struct master *m);

#endif
