/* SPDX-License-Identifier: MIT */
/* The end of everything: commands, then workers, then the master. Called by
 * loop.c, and keeper_stop() by recv.c for a shutdown. */
#include <signal.h>
#include <sys/socket.h>

#include "supervisor/keeper/notify.h"
#include "supervisor/keeper/state.h"

#define STOP_EXTRA_NS  (2 * NSEC_PER_SEC)
#define STOP_SECOND_NS NSEC_PER_SEC
#define PHASE_NS       NSEC_PER_SEC
#define KILLED_NS      (NSEC_PER_SEC / 2)

/* It is told to stop, or not started again. */
static void
stop_one(struct proc *p)
{
	p->todo |= TODO_STOP;
	if (p->state == PROC_NONE)
		p->next_start_ns = NEVER;
}

/* Begins the end, or hastens it. */
void
keeper_stop(struct keeper *k, uint32_t grace_ms, uint32_t sig)
{
	uint64_t now = clock_boot_ns();
	uint32_t i;

	if (k->stop == STOP_NO) {
		notify_stopping(k);
		log_event(LOG_NOTE, "stopping", KV("grace_ms", grace_ms),
		    KV("signal", sig), KV("sessions", table_count(k->table)));
		k->stop = STOP_LADDER;
		k->stop_ns = now + grace_ms * NSEC_PER_MSEC + STOP_EXTRA_NS;
	} else if (k->stop == STOP_LADDER) {
		log_event(LOG_NOTE, "stopping-at-once");
		grace_ms = 0;
		if (k->stop_ns > now + STOP_SECOND_NS)
			k->stop_ns = now + STOP_SECOND_NS;
	} else {
		return;
	}
	k->stop_grace_ms = grace_ms;
	k->stop_signal = sig;
	stop_one(&k->master);
	for (i = 0; i < k->slots; i++)
		stop_one(&k->slot[i]);
}

/* SIGKILL to every command in the table, group and leader. */
static void
kill_rows(struct keeper *k)
{
	uint32_t i;

	pids_read_all(k);
	for (i = 0; i < table_high(k->table); i++) {
		struct row *r = table_at(k->table, i);

		if (r == NULL || r->pid <= 1)
			continue;
		/* not reaped, so both numbers are still its own */
		(void)kill(-r->pid, SIGKILL);
		(void)kill(r->pid, SIGKILL);
	}
}

/* Is any worker not completely dead? */
static bool
workers_left(const struct keeper *k)
{
	uint32_t i;

	for (i = 0; i < k->slots; i++) {
		if (k->slot[i].state != PROC_NONE)
			return true;
	}
	return false;
}

/* Tells a process that its time is over: EOF on its channel. */
static void
hang_up(struct proc *p)
{
	if (p->chan >= 0)
		(void)shutdown(p->chan, SHUT_WR);
}

/* Moves to the next phase of the end. */
static void
stop_phase(struct keeper *k, enum stop_phase phase, uint64_t until)
{
	k->stop = phase;
	k->stop_ns = until;
}

/* SIGKILL to those workers that are left. */
static void
kill_workers(struct keeper *k)
{
	uint32_t i;

	for (i = 0; i < k->slots; i++)
		procs_signal(&k->slot[i], SIGKILL);
}

/* Have all who can run sessions been told to stop? */
static bool
all_told(const struct keeper *k)
{
	uint32_t i;

	for (i = 0; i < k->slots; i++) {
		if (k->slot[i].state == PROC_READY &&
		    (k->slot[i].todo & TODO_STOP))
			return false;
	}
	return true;
}

/* The end, step by step: ladder, what is left, workers, master. */
void
keeper_stop_run(struct keeper *k, uint64_t now)
{
	uint32_t i;
	bool late = now >= k->stop_ns;

	if (k->stop == STOP_LADDER) {
		if (table_count(k->table) == 0 && all_told(k)) {
			stop_phase(k, STOP_KILLED, now);
			late = true;
		} else if (late) {
			log_event(LOG_WARN, "grace-is-over",
			    KV("sessions", table_count(k->table)));
			kill_rows(k);
			stop_phase(k, STOP_KILLED, now + KILLED_NS);
			late = false;
		}
	}
	if (k->stop == STOP_KILLED && (late || table_count(k->table) == 0)) {
		for (i = 0; i < k->slots; i++)
			hang_up(&k->slot[i]);
		stop_phase(k, STOP_WORKERS, now + PHASE_NS);
		late = false;
	}
	if (k->stop == STOP_WORKERS) {
		if (late) {
			kill_workers(k);
			k->stop_ns = now + PHASE_NS;
		}
		if (workers_left(k))
			return;
		kill_rows(k);
		hang_up(&k->master);
		procs_signal(&k->master, SIGTERM);
		stop_phase(k, STOP_MASTER, now + PHASE_NS);
		late = false;
	}
	if (k->stop == STOP_MASTER) {
		if (late) {
			procs_signal(&k->master, SIGKILL);
			k->stop_ns = now + PHASE_NS;
		}
		if (k->master.state == PROC_NONE)
			k->stop = STOP_DONE;
	}
}
