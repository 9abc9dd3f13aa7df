/* SPDX-License-Identifier: MIT */
/*
 * What stands between "its turn has come" and "it starts": the bounds on
 * running sessions, on starts a second and on memory pressure. The decisions
 * are admission.c's; this is where they are carried out and shown.
 */
#ifndef PSUP_SUPERVISOR_GATE_GATE_H
#define PSUP_SUPERVISOR_GATE_GATE_H

#include <sys/queue.h>

#include "supervisor/gate/psi.h"
#include "supervisor/lane/admission.h"

struct enc;
struct event;
struct master;
struct proto_problem;
struct session;

struct gate {
	struct admission *admission;
	struct event *timer, *warn_timer;
	TAILQ_HEAD(, session) unwarned; /* that wait, the longest first */
	uint64_t psi_at_ms;  /* of the last look; 0: none yet */
	uint32_t psi_centi;  /* what it said */
	int psi_error;       /* -errno of it */
};

int gate_init(struct master *m);
void gate_fini(struct master *m);
/* New values of psup.conf. */
void gate_configure(struct master *m);
/* Starts the session or lets it wait as queued. One that has just come
 * (`arrives`) may be refused, as configured; one that was accepted never is:
 * then `why` may be NULL. -EBUSY, -EDEADLK, -ENOMEM: it
 * has no place, *why says so. */
int gate_enter(struct master *m, struct session *s, bool arrives,
    const char *reason, struct proto_problem *why);
/* Started before this master: holds a place, beyond the bounds, too. */
void gate_restore(struct master *m, struct session *s);
/* Waited for a place without a lane before this master. -ENOMEM */
int gate_restore_waiting(struct master *m, struct session *s);
/* It ended, or is being forgotten. */
void gate_leave(struct master *m, struct session *s);
/* Starts whoever may start now. */
void gate_pump(struct master *m);

/* ----------------------------------------------------------- wait.c */
/* -EDEADLK and why: only its ancestors hold the places it could have. */
int gate_deadlock_refuse(struct master *m, const struct session *s,
    struct proto_problem *why);
/* Ends one that waits, for the same reason; false: there is none. */
bool gate_deadlock_end(struct master *m, struct session *s);
/* Is a bound reached, though this one has left its place? */
bool gate_still_full(struct master *m, const struct session *s);
/* Looks at all who wait: a bound may have become too narrow. */
void gate_deadlock_look(struct master *m);
/* Somebody is to be warned about it, when its time comes; nobody any more. */
void gate_wait_begin(struct master *m, struct session *s, uint64_t waited_ms);
void gate_wait_over(struct master *m, struct session *s);
/* A new value of lane_warn_ms. */
void gate_wait_configure(struct master *m);

/* ---------------------------------------------------------------- gate.c */
/* What a queued session waits for: lane, max-running, scope-max-running,
 * spawn-rate or pressure. */
const char *gate_queued_for(struct master *m, const struct session *s);
/* Its place, in its lane or among its scope's; 1 first. */
uint32_t gate_position(struct master *m, const struct session *s);
/* "admission" of status; scope NULL: of all. */
void gate_status(struct master *m, const char *scope, struct enc *e);
/* An item of status's "unavailable", where there is one. */
void gate_unavailable(struct master *m, struct enc *e);

#endif
