/* SPDX-License-Identifier: MIT */
/*
 * Kills, one after the other, and measures how soon things are back:
 *
 *   worker  from the kill to the first output of a ticking session of that
 *           worker that its successor moved (a tick comes every millisecond,
 *           which is part of the figure)
 *   master  from the kill to the answer of a status request
 *   box     boxed_kill.c
 *
 * With --fault the server's processes may kill themselves; then it only
 * watches (faults.c).
 */
#include "chaos.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BACK_MS 30000

static uint32_t random_state;

static bool
is_dead(int pidfd, int wait_ms)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return poll(&p, 1, wait_ms) == 1;
}

static int
signal_pidfd(int pidfd, int sig)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
}

/* A ticking session of this worker; false: none. */
static bool
tick_of(psup_view *v, int slot, char *ret_id)
{
	char ids[TICKS_MAX][ID_BYTES];
	size_t n = ticks(ids);
	struct psup_view_session s;

	for (size_t i = 0; i < n; i++) {
		if (psup_view_find(v, ids[i], &s) != 0 || s.worker != slot ||
		    strcmp(s.state, "running") != 0)
			continue;
		memcpy(ret_id, ids[i], ID_BYTES);
		return true;
	}
	return false;
}

/* Its output so far, as the ring's header has it. */
static uint64_t
total_of(psup_view *v, const char *id)
{
	struct psup_view_session s;

	return psup_view_find(v, id, &s) == 0 ? s.total_bytes : 0;
}

/* Stops a process, lets it go on after a while, or leaves that to nobody. */
static void
stop_and_continue(int pidfd)
{
	if (signal_pidfd(pidfd, SIGSTOP) < 0)
		return;
	atomic_fetch_add(&chaos.stops, 1);
	if (chaos.o.stop_ms == 0)
		return;
	nap_ms(1 + rnd(&random_state) % (uint32_t)chaos.o.stop_ms);
	signal_pidfd(pidfd, SIGCONT);
}

static void
kill_worker(psup_view *v)
{
	struct process p[PROCESSES_MAX];
	int n = server_processes(v, "worker", p), pidfd;
	char id[ID_BYTES];
	uint64_t began, before;
	bool watched;

	if (n == 0)
		return;
	p[0] = p[rnd(&random_state) % (uint32_t)n];
	pidfd = (int)syscall(SYS_pidfd_open, p[0].pid, 0);
	if (pidfd < 0)
		return;
	if (chaos.o.signal == SIGSTOP) {
		stop_and_continue(pidfd);
		close(pidfd);
		return;
	}
	watched = tick_of(v, p[0].slot, id);
	began = clock_boot_ns();
	if (signal_pidfd(pidfd, SIGKILL) == 0) {
		atomic_fetch_add(&chaos.kills_worker, 1);
		keeper_killed_worker(p[0].pid);
	} else {
		watched = false;
	}
	is_dead(pidfd, BACK_MS);
	close(pidfd);
	if (!watched)
		return;
	before = total_of(v, id);
	while (total_of(v, id) <= before) {
		if (server_is_dead())
			return;
		if (clock_boot_ns() - began > BACK_MS * UINT64_C(1000000)) {
			lost(LOSS_STUCK, "worker %d: %s has no output since",
			    p[0].slot, id);
			return;
		}
		nap_ms(0.05);
	}
	times_add(&chaos.worker_back, clock_boot_ns() - began);
}

/* Until somebody answers again. */
static void
await_answer(uint64_t began)
{
	psup_reply *r = NULL;
	psup *p = client_new();

	while (!reach(p) || psup_status(p, &r) != PSUP_OK) {
		if (server_is_dead())
			break;
		if (clock_boot_ns() - began > BACK_MS * UINT64_C(1000000)) {
			lost(LOSS_STUCK, "master: no answer since it was "
			    "killed: %s", psup_error_message(p));
			break;
		}
		nap_ms(0.1);
	}
	if (r != NULL)
		times_add(&chaos.master_back, clock_boot_ns() - began);
	psup_reply_free(&r);
	psup_free(&p);
}

static void
kill_master(psup_view *v, bool measured)
{
	struct process p[PROCESSES_MAX];
	uint64_t began = clock_boot_ns();
	int pidfd;

	if (server_processes(v, "master", p) == 0)
		return;
	pidfd = (int)syscall(SYS_pidfd_open, p[0].pid, 0);
	if (pidfd < 0)
		return;
	if (chaos.o.signal == SIGSTOP) {
		stop_and_continue(pidfd);
	} else if (signal_pidfd(pidfd, SIGKILL) == 0) {
		atomic_fetch_add(&chaos.kills_master, 1);
		if (measured)
			await_answer(began);
	}
	close(pidfd);
}

/* A worker, or sometimes all of them, and the master at once. */
static void
kill_others(psup_view *v)
{
	struct process p[PROCESSES_MAX];
	int n = server_processes(v, "worker", p);
	bool all = rnd(&random_state) % 4 == 0;
	uint64_t began = clock_boot_ns();
	int first = n > 0 ? (int)(rnd(&random_state) % (uint32_t)n) : 0;

	for (int i = 0; i < n; i++)
		if ((all || i == first) && kill(p[i].pid, SIGKILL) == 0) {
			atomic_fetch_add(&chaos.kills_worker, 1);
			keeper_killed_worker(p[i].pid);
		}
	kill_master(v, false);
	await_answer(began);
}

static void
kill_together(psup_view *v)
{
	if ((chaos.o.victims & VICTIM_BOX) && rnd(&random_state) % 2 == 0)
		box_kill(&random_state, v, kill_others);
	else
		kill_others(v);
}

/* One kill of what was asked for. */
static void
strike(psup_view *v)
{
	static const enum victim all[] = {VICTIM_WORKER, VICTIM_MASTER,
	    VICTIM_READER, VICTIM_GATEWAY, VICTIM_KEEPER, VICTIM_BOX};
	enum victim which;

	if (chaos.o.together && rnd(&random_state) % 3 == 0) {
		kill_together(v);
		return;
	}
	do {
		which = all[rnd(&random_state) % (sizeof(all) / sizeof(*all))];
	} while (!(chaos.o.victims & which));
	if (which == VICTIM_WORKER)
		kill_worker(v);
	else if (which == VICTIM_MASTER)
		kill_master(v, true);
	else if (which == VICTIM_KEEPER)
		keeper_kill(v, &random_state);
	else if (which == VICTIM_BOX)
		box_kill(&random_state, v, NULL);
	else
		bystander_kill(which, &random_state);
}

/* A server that gets nothing done between two kills proves nothing; one that
 * is killed while it recovers is part of the story: not for ever. */
static void
await_progress(uint64_t steps)
{
	uint64_t until = clock_boot_ns() + UINT64_C(1000000000);

	while (atomic_load(&chaos.steps) == steps && clock_boot_ns() < until &&
	       !atomic_load(&chaos.stop_killing))
		nap_ms(0.2);
}

/* A keeper that dies at a point, or whoever stops there, is one kill. */
static long
kills_sum(void)
{
	if (chaos.by_points)
		return atomic_load(&chaos.kills_point);
	return kills_by_hand() + atomic_load(&chaos.stops) +
	    atomic_load(&chaos.kills_point);
}

bool
killed_enough(void)
{
	return atomic_load(&chaos.stop_killing) ||
	    atomic_load(&chaos.interrupted) ||
	    (chaos.o.kills > 0 && kills_sum() >= chaos.o.kills) ||
	    (chaos.o.seconds > 0 &&
	        (double)(clock_boot_ns() - chaos.began_ns) / 1e9 >=
	            chaos.o.seconds);
}

/* Nobody looks after the keeper from here on: the last one has no fault points
 * to die at. */
static void
leave_a_sound_one(void)
{
	if (!faults_of_keeper() || server_is_spared() ||
	    atomic_load(&chaos.interrupted))
		return;
	server_spare_next();
	kill(atomic_load(&chaos.keeper), SIGKILL);
	keeper_died(NULL);
}

void *
killer_thread(void *)
{
	psup_view *v = NULL;
	long keepers = 0;
	char why[256];

	random_state = chaos.o.seed | 1;
	if (chaos.by_points) {
		faults_watch();
		leave_a_sound_one();
		atomic_store(&chaos.stop_killing, true);
		return NULL;
	}
	if (chaos.o.victims != 0 &&
	    psup_view_open(chaos.dir, &v, why, sizeof(why)) != 0)
		die("%s: %s", chaos.dir, why);
	while (!killed_enough()) {
		uint64_t steps = atomic_load(&chaos.steps);
		double u = (rnd(&random_state) % 10000 + 1) / 10001.0;
		double wait = -log(u) / chaos.o.rate * 1000;

		if (chaos.o.victims == 0) {
			nap_ms(20);
			continue;
		}
		if (!server_is_dead()) {
			strike(v);
		} else {
			if (!faults_of_keeper())
				lost(LOSS_STATUS, "the keeper died by itself");
			keeper_died(v);
		}
		if (atomic_load(&chaos.kills_keeper) != keepers) {
			/* another server, other files */
			keepers = atomic_load(&chaos.kills_keeper);
			psup_view_close(&v);
			if (psup_view_open(chaos.dir, &v, why,
			        sizeof(why)) != 0)
				die("%s: %s", chaos.dir, why);
		}
		nap_ms(wait < 10000 / chaos.o.rate ? wait
		                                   : 10000 / chaos.o.rate);
		await_progress(steps);
	}
	psup_view_close(&v);
	leave_a_sound_one();
	atomic_store(&chaos.stop_killing, true);
	return NULL;
}
