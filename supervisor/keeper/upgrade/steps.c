/* SPDX-License-Identifier: MIT */
/*
 * Another build takes over, while sessions run and clients are connected. The
 * loop calls upgrade_run() each turn; one step waits for what the last one
 * began. Who leaves is replaced by the ways of a death: its sessions are given
 * to an heir, a new master reconciles.
 *
 *     PROGRAMS   a process apart looks for the three new programs; then they
 *                say their versions: they must be of one build, and that and
 *                ours must read each other
 *     CHECK      the new psupd reads this keeper's state, in a process apart
 *     WORKERS    one by one, the standby first, each ready before the next
 *     MASTER     leaves after a commit; its successor reconciles
 *     KEEPER     in a quiet moment: the check again, then exec in place
 *
 * Until WORKERS nothing is changed. Then a new program that does not come up
 * brings the old ones back, by the same steps. The keeper comes last, because
 * from its exec there is no way back.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fault.h"
#include "common/format.h"
#include "supervisor/keeper/notify.h"
#include "supervisor/keeper/upgrade/save.h"

#define LEAVE_NS    (5 * NSEC_PER_SEC)
#define QUIET_NS    (30 * NSEC_PER_SEC)
#define POLL_NS     (20 * NSEC_PER_MSEC)
#define YOUNG_KILLS 5u

bool
upgrade_active(const struct keeper *k)
{
	return k->upgrade.phase > CTL_UPGRADE_NONE &&
	    k->upgrade.phase < CTL_UPGRADE_DONE;
}

/* The next step, which the master is told. */
static void
set_phase(struct keeper *k, enum ctl_upgrade_phase phase)
{
	struct upgrade *u = &k->upgrade;

	log_event(LOG_NOTE, "upgrade-phase",
	    KV("from", ctl_upgrade_phase_name(u->phase)),
	    KV("to", ctl_upgrade_phase_name(phase)),
	    KV("why", u->why[0] != '\0' ? u->why : NULL));
	u->phase = phase;
	u->step_ns = clock_boot_ns() + QUIET_NS;
	k->master.todo |= TODO_UPGRADED;
}

/* It is over. What is in no use any more is closed. */
void
upgrade_over(struct keeper *k, enum ctl_upgrade_phase phase)
{
	struct upgrade *u = &k->upgrade;

	u->ended_ns = clock_boot_ns();
	trial_end(k, &u->trial);
	set_phase(k, phase);
	programs_close(&k->set[SET_NEW]);
}

/* Nothing was changed, and nothing will be. */
static void
refuse(struct keeper *k, const char *what, const char *why)
{
	(void)snprintf(k->upgrade.why, sizeof(k->upgrade.why), "%s%s%s", what,
	    what[0] != '\0' ? ": " : "", why);
	upgrade_over(k, CTL_UPGRADE_REFUSED);
}

/* Whoever waits for its turn to start gets it at once, and a fresh mind. */
static void
start_now(struct proc *p)
{
	p->faults = p->killed = 0;
	if (p->state == PROC_NONE)
		p->next_start_ns = 0;
}

/* Back to the old programs; where nothing was replaced that is quick. */
__attribute__((format(printf, 2, 3))) static void
go_back(struct keeper *k, const char *fmt, ...)
{
	char *why = k->upgrade.why;
	uint32_t i;

	if (k->upgrade.phase == CTL_UPGRADE_BACK)
		return;
	(void)FORMATTED(why, sizeof(k->upgrade.why), fmt);
	log_event(LOG_ERROR, "upgrade-fails", KV("to", k->upgrade.to),
	    KV("why", why), KV("msg", "the old programs again"));
	trial_end(k, &k->upgrade.trial);
	k->use_master = k->use_workers = SET_OLD;
	start_now(&k->master);
	for (i = 0; i < k->slots; i++)
		start_now(&k->slot[i]);
	set_phase(k, CTL_UPGRADE_BACK);
}

/* Asks the next of the new programs for its versions. */
static void
ask_program(struct keeper *k)
{
	struct upgrade *u = &k->upgrade;
	const char *name = programs_name((enum program)u->program);
	int r = trial_start(k, &u->trial, k->set[SET_NEW].fd[u->program],
	    name, "--versions", -1);

	if (r < 0)
		refuse(k, k->set[SET_NEW].path[u->program], strerror(-r));
}

/* Has the new keeper read our state as it is now. */
static int
ask_state(struct keeper *k)
{
	int info = save_state(k), r;

	if (info < 0)
		return info;
	r = trial_start(k, &k->upgrade.trial,
	    k->set[SET_NEW].fd[PROGRAM_KEEPER], "psupd", "--check-state",
	    info);
	(void)close(info);
	return r;
}

/* A master asks for it. */
void
upgrade_begin(struct keeper *k, const struct ctl_upgrade *m)
{
	struct upgrade *u = &k->upgrade;
	int r;

	if (m->id == u->id || upgrade_active(k)) {
		if (m->id != u->id)
			log_event(LOG_NOTE, "upgrade-busy");
		k->master.todo |= TODO_UPGRADED;
		return;
	}
	*u = (struct upgrade){ .id = m->id, .began_ns = clock_boot_ns(),
		.ready_ms = m->ready_ms, .program = PROGRAMS,
		.trial = { .pidfd = -1, .out = -1 } };
	(void)snprintf(u->from, sizeof(u->from), "%s", abi_build());
	log_event(LOG_NOTE, "upgrade-asked",
	    KV("path", m->dir[0] != '\0' ? m->dir : "same place"));
	if (k->stop != STOP_NO) {
		refuse(k, "", "the server is stopping");
		return;
	}
	(void)snprintf(u->dir, sizeof(u->dir), "%s", m->dir);
	set_phase(k, CTL_UPGRADE_PROGRAMS);
	r = trial_search(k, &u->trial, u->dir);
	if (r < 0)
		refuse(k, u->dir, strerror(-r));
}

/* The search is over: where it came back, so will the same of ours. */
static void
search_said(struct keeper *k, enum trial_verdict verdict)
{
	struct upgrade *u = &k->upgrade;
	char why[sizeof(u->why)];

	if (verdict == TRIAL_FAILED) /* it may not have said where */
		refuse(k, u->trial.len == 0 ? u->dir : "", u->trial.text);
	else if (programs_find(k, u->dir, why, sizeof(why)) < 0)
		refuse(k, "", why);
	else {
		u->program = 0;
		ask_program(k);
	}
}

/* One of the new programs has answered. */
static void
program_said(struct keeper *k, enum trial_verdict verdict)
{
	struct upgrade *u = &k->upgrade;
	const char *path = k->set[SET_NEW].path[u->program];
	struct abi_other other;
	char why[300];
	int r;

	if (verdict == TRIAL_FAILED) {
		refuse(k, path, u->trial.text);
		return;
	}
	if (!abi_parse(u->trial.text, programs_name((enum program)u->program),
		&other, why, sizeof(why)) || !abi_agrees(&other, why,
		sizeof(why))) {
		refuse(k, path, why);
		return;
	}
	if (u->program == PROGRAM_KEEPER) {
		u->first = other;
		memcpy(u->to, other.build, sizeof(u->to));
	} else if (!abi_same(&u->first, &other)) {
		(void)snprintf(why, sizeof(why), "it is psup %s, psupd there "
		    "is %s", other.build, u->to);
		refuse(k, path, why);
		return;
	}
	if (++u->program < PROGRAMS) {
		ask_program(k);
		return;
	}
	FAULT("upgrade.after-versions");
	set_phase(k, CTL_UPGRADE_CHECK);
	r = ask_state(k);
	if (r < 0)
		refuse(k, "the state of this keeper", strerror(-r));
}

/* The new keeper has read our state: from here on something changes. */
static void
state_said(struct keeper *k, enum trial_verdict verdict)
{
	struct upgrade *u = &k->upgrade;
	uint32_t i;

	if (verdict == TRIAL_FAILED) {
		refuse(k, "it cannot take over this keeper's state",
		    u->trial.text);
		return;
	}
	pids_read_all(k);
	for (i = 0; i < table_high(k->table); i++) {
		const struct row *r = table_at(k->table, i);

		u->sessions += r != NULL && r->pid != 0;
	}
	FAULT("upgrade.after-check");
	k->use_master = k->use_workers = SET_NEW;
	notify_reloading(k);
	set_phase(k, CTL_UPGRADE_WORKERS);
}

/* Has everybody heard everything? Then one more may leave. */
static bool
is_quiet(const struct keeper *k)
{
	uint32_t i;

	if (k->master.state != PROC_READY || k->master.leaving ||
	    k->dump != DUMP_DONE || k->downs_count > 0 || k->stop != STOP_NO)
		return false;
	for (i = 0; i < k->slots; i++) {
		const struct proc *p = &k->slot[i];

		if (p->state != PROC_READY || p->leaving || p->tell_role ||
		    p->peer_fd >= 0 || p->master_fd >= 0)
			return false;
	}
	return true;
}

/* Tells one to leave. */
static void
ask_leave(struct keeper *k, struct proc *p)
{
	FAULT("upgrade.before-leave");
	p->leaving = true;
	p->todo |= TODO_LEAVE;
	k->upgrade.leave_ns = clock_boot_ns() + LEAVE_NS;
	log_event(LOG_NOTE, "process-may-leave", KV_PROC(p));
}

/* A new process that is not ready in time, or one of the wrong set that starts
 * while the others come back. True: it was seen to. */
static bool
end_slow(struct keeper *k, struct proc *p, enum set_id want, uint64_t now)
{
	if (p->state != PROC_STARTING || p->set != SET_NEW)
		return false;
	if (want == SET_NEW) {
		if (now < p->started_ns + k->upgrade.ready_ms * NSEC_PER_MSEC)
			return false;
		go_back(k, "the new %s is not ready after %u ms",
		    procs_name(p), k->upgrade.ready_ms);
	}
	procs_signal(p, SIGKILL);
	return true;
}

/* One that was told to leave and has not. */
static void
end_staying(struct keeper *k, struct proc *p, uint64_t now)
{
	if (!p->leaving || !procs_alive(p) || now < k->upgrade.leave_ns)
		return;
	log_event(LOG_WARN, "process-stays", KV_PROC(p));
	k->upgrade.leave_ns = NEVER;
	procs_signal(p, SIGKILL);
}

/* Does one step towards everybody being of that set; true: they are. */
static bool
replace(struct keeper *k, enum set_id set, bool master, uint64_t now)
{
	struct proc *next = NULL;
	uint32_t i;

	if (end_slow(k, &k->master, set, now))
		return false;
	for (i = 0; i < k->slots; i++) {
		struct proc *p = &k->slot[i];

		if (end_slow(k, p, set, now))
			return false;
		end_staying(k, p, now);
		if (p->set != set && p->state == PROC_READY &&
		    (next == NULL || p->role == HERITAGE_STANDBY))
			next = p;
	}
	end_staying(k, &k->master, now);
	if (!is_quiet(k))
		return false;
	if (next == NULL && master && k->master.set != set)
		next = &k->master;
	if (next != NULL)
		ask_leave(k, next);
	return next == NULL;
}

/* The last step: the check again, with what there is by now, then exec. */
static void
run_keeper(struct keeper *k, uint64_t now)
{
	struct upgrade *u = &k->upgrade;
	enum trial_verdict verdict;
	int r = 0;

	if (now >= u->step_ns) {
		go_back(k, "no quiet moment for the keeper's exec in 30 s");
		return;
	}
	if (u->trial.pid != 0) {
		verdict = trial_look(k, &u->trial, now);
		if (verdict == TRIAL_RUNS)
			return;
		if (verdict == TRIAL_FAILED) {
			go_back(k, "the new keeper cannot take over: %.200s",
			    u->trial.text);
			return;
		}
		u->checked = true;
	}
	if (!replace(k, SET_NEW, true, now))
		return;
	if (!u->checked) {
		r = ask_state(k);
	} else {
		FAULT("upgrade.before-exec");
		r = exec_successor(k);
	}
	if (r < 0)
		go_back(k, "the keeper's %s: %s",
		    u->checked ? "exec" : "state", strerror(-r));
}

/* A process of the server has died: was it one of the new ones' fault? */
void
upgrade_death(struct keeper *k, const struct proc *p, bool killed)
{
	struct upgrade *u = &k->upgrade;

	if (p->leaving)
		u->replaced++;
	if (p->set != SET_NEW || p->leaving ||
	    u->phase < CTL_UPGRADE_WORKERS || u->phase > CTL_UPGRADE_KEEPER)
		return;
	/* somebody else's SIGKILL says nothing of the program, unless it always
	 * comes */
	if (killed && (p->was_ready || ++u->killed_young < YOUNG_KILLS))
		return;
	go_back(k, "the new %s died%s", procs_name(p),
	    p->was_ready ? "" : " before it was ready");
}

/* Once a turn. */
void
upgrade_run(struct keeper *k, uint64_t now)
{
	struct upgrade *u = &k->upgrade;
	enum trial_verdict verdict;

	if (!upgrade_active(k))
		return;
	if (k->stop != STOP_NO) {
		(void)snprintf(u->why, sizeof(u->why), "the server stops");
		upgrade_over(k, CTL_UPGRADE_UNDONE);
		return;
	}
	switch (u->phase) {
	case CTL_UPGRADE_PROGRAMS:
	case CTL_UPGRADE_CHECK:
		verdict = trial_look(k, &u->trial, now);
		if (verdict == TRIAL_RUNS)
			break;
		if (u->phase != CTL_UPGRADE_PROGRAMS)
			state_said(k, verdict);
		else if (u->program == PROGRAMS)
			search_said(k, verdict);
		else
			program_said(k, verdict);
		break;
	case CTL_UPGRADE_WORKERS:
		if (replace(k, SET_NEW, false, now)) {
			FAULT("upgrade.after-workers");
			set_phase(k, CTL_UPGRADE_MASTER);
		}
		break;
	case CTL_UPGRADE_MASTER:
		if (replace(k, SET_NEW, true, now)) {
			FAULT("upgrade.after-master");
			set_phase(k, CTL_UPGRADE_KEEPER);
		}
		break;
	case CTL_UPGRADE_KEEPER:
		run_keeper(k, now);
		break;
	case CTL_UPGRADE_BACK:
		if (replace(k, SET_OLD, true, now))
			upgrade_over(k, CTL_UPGRADE_UNDONE);
		break;
	default:
		break;
	}
}

/* While it goes on the loop looks often: what it waits for are states, not
 * events. */
uint64_t
upgrade_next_ns(const struct keeper *k)
{
	return upgrade_active(k) ? clock_boot_ns() + POLL_NS : NEVER;
}
