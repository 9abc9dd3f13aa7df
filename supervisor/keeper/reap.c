/* SPDX-License-Identifier: MIT */
/*
 * Exits: the keeper is the parent of every command and the subreaper of what
 * they leave behind. A command's exit is looked at without reaping, so that
 * the zombie pins pid and process group until its session is closed. Orphans,
 * which are in no row, are reaped by a sweep now and then: SIGCHLD wakes
 * nobody here.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fault.h"
#include "common/procfs.h"
#include "supervisor/keeper/state.h"

#define SWEEP_NS  250000u /* of processor time, in one turn */
#define YOUNG_NS  NSEC_PER_SEC
#define WITHHELD_MAX 256u /* zombies not reaped where one may be a row's */

/* waitid with the rusage that glibc's does not return. */
static int
wait_raw(idtype_t type, int32_t pid, siginfo_t *si, int options,
    struct rusage *ru)
{
	si->si_pid = 0;
	return (int)syscall(SYS_waitid, type, pid, si,
	    options | WEXITED | WNOHANG | __WALL, ru);
}

/* A timeval in microseconds. */
static uint64_t
usec(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000u + (uint64_t)tv->tv_usec;
}

bool
reap_exit_of(int32_t pid, struct ctl_exit *ret)
{
	struct rusage ru;
	siginfo_t si;

	memset(&ru, 0, sizeof(ru));
	memset(&si, 0, sizeof(si));
	if (wait_raw(P_PID, pid, &si, WNOWAIT, &ru) < 0)
		return false;
	if (si.si_pid == 0) {
		*ret = (struct ctl_exit){ 0 };
		return true;
	}
	*ret = (struct ctl_exit){ .code = si.si_code,
		.status = si.si_status, .pid = pid,
		.maxrss_kib = (uint32_t)ru.ru_maxrss,
		.utime_us = usec(&ru.ru_utime), .stime_us = usec(&ru.ru_stime),
		.io_blocks = (uint64_t)ru.ru_inblock + (uint64_t)ru.ru_oublock,
		.wall_ms = clock_wall_ms() };
	return true;
}

/* Notes the exit of a row's command, if it has exited; does not reap. */
void
reap_look(struct row *r)
{
	struct ctl_exit e;

	if (r->pid != 0 && r->exit.code == 0 && reap_exit_of(r->pid, &e))
		r->exit = e;
}

/* Closes those descriptors of the row that the mask names. */
void
reap_close(struct keeper *, struct row *r, uint32_t mask)
{
	uint32_t i;

	for (i = 0; i < TABLE_FDS; i++) {
		if ((mask & (1u << i)) == 0 || r->fds[i] < 0)
			continue;
		(void)close(r->fds[i]);
		r->fds[i] = -1;
	}
}

/* The session is over: closes, reaps, forgets. A command that still runs goes
 * on as an orphan, to be reaped when it ends. */
void
reap_forget(struct keeper *k, struct row *r)
{
	siginfo_t si;

	if (FAULT_FAILS("lie.descriptor"))
		r->fds[0] = r->fds[1] = -1;
	reap_close(k, r, ~0u);
	FAULT("keeper.in-forget");
	if (r->pid != 0) {
		si.si_pid = 0;
		/* a child whose exec failed is on its way out */
		if (wait_raw(P_PID, r->pid, &si, 0, NULL) == 0 &&
		    si.si_pid == 0)
			log_event(clock_boot_ns() < r->spawned_ns + YOUNG_NS ?
				LOG_DEBUG : LOG_WARN, "session-closed-early",
			    KV("session", r->sid.v), KV("command_pid", r->pid));
	}
	table_remove(k->table, r);
	k->activity = true;
}

/* A child of this process that is not reaped? */
bool
reap_is_child(int32_t pid)
{
	siginfo_t si;

	return wait_raw(P_PID, pid, &si, WNOWAIT, NULL) == 0;
}

/* Is it a row's, the master's or a worker's? Those are not orphans. */
bool
reap_is_known(const struct keeper *k, int32_t pid)
{
	uint32_t i;

	if (table_find_pid(k->table, pid) != NULL)
		return true;
	if (k->master.state != PROC_NONE && k->master.pid == pid)
		return true;
	if (k->upgrade.trial.pid == pid)
		return true;
	for (i = 0; i < k->slots; i++) {
		if (k->slot[i].state != PROC_NONE && k->slot[i].pid == pid)
			return true;
	}
	return false;
}

/* Reads all that the workers' channels hold. False: there is still more. */
bool
reap_drain_workers(struct keeper *k)
{
	bool empty = true;
	uint32_t i;

	for (i = 0; i < k->slots; i++) {
		if (k->slot[i].chan >= 0 && !k->slot[i].chan_eof)
			empty = recv_from(k, &k->slot[i]) && empty;
	}
	return empty;
}

/*
 * Reaps one child if it is a zombie and nobody's. True: it is gone.
 *
 * A command may have run and died before its HOLD was read, or its pid. HOLD
 * was sent and the header written before the death, so whoever sees the zombie
 * first, then finds the channels empty and then reads the headers may believe
 * the table. A header may be gone with the runtime directory, or spoiled: then
 * its worker says who it is, and a child that may be the one waits for that.
 */
static bool
reap_orphan(struct keeper *k, int32_t pid)
{
	siginfo_t si;

	si.si_pid = 0;
	if (wait_raw(P_PID, pid, &si, WNOWAIT, NULL) < 0)
		return true;
	if (si.si_pid == 0)
		return false;
	FAULT("keeper.before-reap");
	if (!pids_is_nobody(k, pid)) {
		k->activity = true;
		return false;
	}
	if (pids_may_be(k, pid)) {
		k->names_wanted = true;
		if (k->withheld++ < WITHHELD_MAX)
			return false;
		pids_read_all(k); /* its own is final */
		if (reap_is_known(k, pid))
			return false;
	}
	if (wait_raw(P_PID, pid, &si, 0, NULL) < 0 || si.si_pid == 0)
		return true;
	atomic_fetch_add(&k->stats[0].orphans_reaped, 1);
	return true;
}

void
reap_porter(const struct keeper *k, int32_t pid)
{
	siginfo_t si;

	if (pid > 1 && !reap_is_known(k, pid))
		(void)wait_raw(P_PID, pid, &si, 0, NULL);
}

/* A sweep under way. */
static struct {
	struct procfs_walk walk;
	uint32_t orphans;  /* that live, so far */
	uint64_t until_ns; /* of this turn, in processor time */
} sweeping = { .walk.fd = -1 };

/* The quick way: while the first zombie that the kernel finds is an orphan. What
 * it leaves the thorough way finds, some a turn. */
static void
sweep_first(struct keeper *k)
{
	siginfo_t si;

	while (wait_raw(P_ALL, 0, &si, WNOWAIT, NULL) == 0 && si.si_pid != 0 &&
	    !reap_is_known(k, si.si_pid) && reap_orphan(k, si.si_pid))
		if (clock_cpu_ns() >= sweeping.until_ns)
			return;
}

/* Reaps a child that is dead and nobody's, and counts one that lives. */
static bool
sweep_one(void *arg, int32_t pid)
{
	struct keeper *k = arg;

	if (pid <= 0 || reap_is_known(k, pid))
		return true;
	if (reap_orphan(k, pid))
		k->activity = true; /* the list may have passed over others */
	else
		sweeping.orphans++;
	sweeping.walk.pause = clock_cpu_ns() >= sweeping.until_ns;
	return true;
}

bool
reap_sweep(struct keeper *k)
{
	sweeping.until_ns = clock_cpu_ns() + SWEEP_NS;
	if (sweeping.walk.fd < 0) {
		k->activity = false;
		k->withheld = 0;
		sweep_first(k);
		sweeping.orphans = 0;
		/* the thorough way: every child that the kernel lists */
		if (procfs_walk_begin(&sweeping.walk, getpid()) < 0) {
			k->orphans = 1; /* cannot know: keep looking */
			return true;
		}
	}
	if (procfs_walk_some(&sweeping.walk, sweep_one, k))
		return false;
	k->orphans = sweeping.orphans;
	return true;
}
