/* SPDX-License-Identifier: MIT */
/* Who gets the sessions of a dead worker, and what of them. Called by procs.c. */

#include "common/fault.h"
#include "common/procfs.h"
#include "supervisor/keeper/state.h"

#define OOM_FRESH_NS NSEC_PER_SEC

/* Who gets the sessions of a dead worker: the standby, ready if possible,
 * else its own replacement. */
static struct proc *
heir_of(struct keeper *k, struct proc *dead)
{
	struct proc *best = dead;
	uint32_t i;

	for (i = 0; i < k->slots; i++) {
		struct proc *p = &k->slot[i];

		if (p->role != HERITAGE_STANDBY || p == dead)
			continue;
		if (p->state == PROC_READY)
			return p;
		if (p->state == PROC_STARTING)
			best = p;
	}
	return best;
}

/* The worker may have died before it made the command the OOM killer's
 * choice; doing it twice does no harm. */
static void
set_oom_adj(const struct keeper *k, const struct proc *dead)
{
	uint64_t now = clock_boot_ns();
	const struct row *r;

	if (!k->opt->config.child_oom_score_adj)
		return;
	for (uint32_t i = 0; i < table_high(k->table); i++) {
		r = table_at(k->table, i);
		if (r != NULL && wid_eq(r->prev, dead->wid) &&
		    r->exit.code == 0 && now - r->spawned_ns <= OOM_FRESH_NS)
			(void)procfs_write(r->pid, "oom_score_adj", "1000");
	}
}

/* Hands over what has a pid, and drops what never ran, if that is sure. */
static void
give_rows(struct keeper *k, struct proc *dead, uint32_t heir, bool sure)
{
	uint32_t n = table_owned(k->table, dead->wid.slot);
	struct row *r;

	while (n-- > 0) {
		r = table_first_owned(k->table, dead->wid.slot);
		if (r->pid == 0 && sure) {
			log_event(LOG_NOTE, "session-never-ran",
			    KV("session", r->sid.v));
			reap_forget(k, r);
			continue;
		}
		if (r->pid == 0) { /* to the list's end */
			table_set_owner(k->table, r, dead->wid.slot);
			continue;
		}
		table_unmark(k->table, r, ROW_TELL);
		table_mark(k->table, r, ROW_GIVE);
		r->prev = dead->wid;
		r->turn++;
		/* to its own replacement too: moves it to the list's end */
		table_set_owner(k->table, r, heir);
	}
}

/* A ready heir goes on with what is known before the rest is looked for: the
 * look at a command that was just cloned takes a tenth of a millisecond. */
static void
hand_over(struct keeper *k, struct proc *dead, struct proc *heir)
{
	if (heir->state == PROC_READY) {
		give_rows(k, dead, heir->wid.slot, false);
		send_to(k, heir);
	}
	pids_find(k, dead);
	give_rows(k, dead, heir->wid.slot, true);
	set_oom_adj(k, dead);
}

/* An active worker is gone for sure: heir, sessions, word to the master. */
void
heirs_succeed(struct keeper *k, struct proc *dead, const struct down *d)
{
	struct proc *heir = dead;

	if (dead->role == HERITAGE_WORKER && k->stop <= STOP_LADDER)
		heir = heir_of(k, dead);
	if (heir != dead) {
		heir->role = HERITAGE_WORKER;
		heir->todo |= TODO_ROLE;
		if (k->stop != STOP_NO)
			heir->todo |= TODO_STOP; /* for what it inherits */
		heir->tell_role = heir->state == PROC_READY;
		dead->role = HERITAGE_STANDBY;
		procs_note_page(heir);
	}
	log_event(LOG_NOTE, "worker-succeeded", KV_PROC(dead),
	    KV("sessions", table_owned(k->table, dead->wid.slot)),
	    KV("heir_slot", heir->wid.slot));
	FAULT("keeper.before-hand-over");
	hand_over(k, dead, heir);
	FAULT("keeper.after-hand-over");
	send_down(k, d);
}

void
heirs_note(struct keeper *k, const struct row *r)
{
	const struct proc *dead = &k->slot[r->prev.slot];
	uint64_t now = clock_boot_ns();

	if (r->prev.slot < k->slots && dead->died_ns != 0 &&
	    now >= dead->died_ns)
		stats_observe(&k->stats[0].heir, METRIC_CUT_WORK,
		    (now - dead->died_ns) / NSEC_PER_USEC);
}
