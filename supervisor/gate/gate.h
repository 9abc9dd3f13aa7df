/* SPDX-License-Identifier: MIT */
/*
 * Who may run, and why somebody waits. gate.c stands between "its turn has come"
 * and "it starts": the bounds on running sessions, on starts a second and on
 * memory pressure. The decisions are admission.c's; this is where they are
 * carried out and shown. A session that waits does so in its lane, or, where
 * that has let it through, at the gate: in the lane of its scope among the places
 * to run. Whoever warns, names who blocks or looks for a deadlock asks either of
 * the two in the same way.
 */
#ifndef PSUP_SUPERVISOR_GATE_GATE_H
#define PSUP_SUPERVISOR_GATE_GATE_H

#include "supervisor/gate/psi.h"
#include "supervisor/lane/admission.h"

struct enc;
struct event;
struct master;
struct proto_problem;
struct sbuf;
struct session;

struct gate {
	struct admission *admission;
	struct event *timer;
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
/* Somebody was told that it waits; it is to end, for only its own ancestors have
 * places. */
void gate_warned(struct session *s);
void gate_deadlocked(struct session *s);
/* It ended, or is being forgotten. true: it had a place, and even without it more
 * run than may. */
bool gate_leave(struct master *m, const struct session *s);
/* Starts whoever may start now. */
void gate_pump(struct master *m);

/* What a queued session waits for: lane, max-running, scope-max-running,
 * spawn-rate or pressure. */
const char *gate_queued_for(struct master *m, const struct session *s);
/* Its place, in its lane or among its scope's; 1 first. */
uint32_t gate_position(struct master *m, const struct session *s);
/* "admission" of status; scope NULL: of all. */
void gate_status(struct master *m, const char *scope, struct enc *e);
/* An item of status's "unavailable", where there is one. */
void gate_unavailable(struct master *m, struct enc *e);

/* ------------------------------------------------------------ deadlock.c */
/* The lanes in which it waits or is to wait, its own or the places, and the name
 * of its lane there. */
struct lanes *gate_queue_of(struct master *m, const struct session *s,
    char ret[LANE_NAME_MAX]);
/* -EDEADLK and why: only its ancestors, named as a connection of `scope` (NULL:
 * admin) may know them, hold what it is to wait for. */
int deadlock_refuse(struct master *m, const struct session *s,
    const char *scope, struct proto_problem *why);
/* Ends a queued one for the same reason; false: there is none. */
bool deadlock_end(struct master *m, struct session *s);
/* Looks at who waits in a lane that may have become too narrow; in all. */
void deadlock_look(struct master *m, struct lanes *ls, const char *lane);
void deadlock_look_all(struct master *m, struct lanes *ls);

/* ------------------------------------------------------------ blockers.c */
/* For how long one that holds a place has run, or waited to. */
uint64_t blocker_age_ms(const struct session *s);
/* Sessions that keep a lane's first from starting, as a connection of `scope`
 * (NULL: admin) may know them: an array of at most 16; and up to 3 in words. */
void blockers_encode(struct master *m, const char *scope, struct lanes *ls,
    const char *lane, struct enc *e);
void blockers_text(struct master *m, const char *scope, struct lanes *ls,
    const char *lane, struct sbuf *text);

/* ---------------------------------------------------------------- wait.c */
/* Whoever has waited too long there, each once; some, the others a turn later.
 * `now`: of the clock that `ls` was told. */
void wait_warn(struct master *m, struct lanes *ls, uint64_t now);

/* --------------------------------------------------------------- lanes.c */
/* Into its lane, which may know it by the number that it gave it before.
 * `since_ms`: since when it waits (wall). */
enum lane_verdict lane_enter(struct master *m, struct session *s,
    int priority, uint64_t since_ms);
/* An operator's wish: in force at once, in the index with this turn. */
int lane_admin_put(struct master *m, const char *name,
    const struct lane_state *state);
/* What the lanes' states are now; false: there is no such lane, and *ret is
 * that of a fresh one. */
bool lane_admin_state(struct master *m, const char *name,
    struct lane_state *ret);
/* The lane is as good as new, whatever became of those who hold it: it has a new
 * generation. */
void lane_admin_reset(struct master *m, const char *name);
int lane_admin_load(struct master *m);
int lane_admin_write(struct master *m);
void lane_admin_written(struct master *m);
/* Brings the board's lanes up to date. */
void lane_admin_show(struct master *m);

#endif
