/* SPDX-License-Identifier: MIT */
/*
 * The keeper's loop: one epoll, one thread, no allocation once it runs. It
 * starts master and workers, holds what must not be lost, reaps, restarts,
 * and ends everything when told to. It knows nothing of clients, lanes or
 * output. begin.c calls it.
 */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "check.h"
#include "supervisor/keeper/notify.h"
#include "supervisor/keeper/state.h"

#define EVENTS       64
#define PARTS        4 /* at most, of the messages of a turn */
#define SWEEP_NS     (250 * NSEC_PER_MSEC)
#define SWEEP_SHARE  100u /* of its time at most this part */
/* The same where there are orphans. */
#define SWEEP_SOON_NS	 (25 * NSEC_PER_MSEC)
#define SWEEP_SOON_SHARE 10u
#define SWEEP_MAX_NS (2 * NSEC_PER_SEC)
#define TICK_NS      NSEC_PER_SEC
#define CHECK_NS     (5 * NSEC_PER_SEC)

/* An event's id: what kind, which slot (0: the master), which incarnation. */
static uint64_t
event_id(const struct keeper *k, const struct proc *p, int kind)
{
	uint64_t slot = 0;

	if (p != NULL && p != &k->master)
		slot = 1 + p->wid.slot;
	return (uint64_t)(unsigned)kind << 56 | slot << 32 |
	    (p != NULL ? p->wid.generation : 0);
}

/* Watches a descriptor for reading. */
int
keeper_epoll_add(struct keeper *k, int fd, const struct proc *p, int kind)
{
	struct epoll_event ev = { .events = EPOLLIN,
		.data.u64 = event_id(k, p, kind) };

	return epoll_ctl(k->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

/* Watches a process's channel for room, or no more. */
void
keeper_epoll_out(struct keeper *k, const struct proc *p, bool on)
{
	struct epoll_event ev = { .events = on ? EPOLLIN | EPOLLOUT : EPOLLIN,
		.data.u64 = event_id(k, p, EV_CHAN) };

	(void)epoll_ctl(k->epoll, EPOLL_CTL_MOD, p->chan, &ev);
}

/* Before every close of a watched descriptor. */
void
keeper_epoll_del(struct keeper *k, int fd)
{
	(void)epoll_ctl(k->epoll, EPOLL_CTL_DEL, fd, NULL);
}

/* Config for everybody again. */
static void
reload(struct keeper *k)
{
	uint32_t i;

	log_event(LOG_NOTE, "reload");
	notify_reloading(k);
	k->master.todo |= TODO_RELOAD;
	for (i = 0; i < k->slots; i++)
		k->slot[i].todo |= TODO_RELOAD;
}

/* Signals, as data. */
static void
on_signal(struct keeper *k)
{
	struct signalfd_siginfo si;

	while (read(k->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGHUP && !k->opt->hangup_ends)
			reload(k);
		else
			keeper_stop(k, (uint32_t)k->opt->config.grace_ms,
			    si.ssi_signo);
	}
}

/* The process an event was about, if it is still that incarnation. */
static struct proc *
proc_of(struct keeper *k, uint64_t id)
{
	uint32_t slot = (uint32_t)(id >> 32) & 0xffffffu;
	struct proc *p = slot == 0 ? &k->master : &k->slot[slot - 1];

	return p->wid.generation == (uint32_t)id && p->chan >= 0 ? p : NULL;
}

/* One event. */
static void
on_event(struct keeper *k, const struct epoll_event *ev)
{
	struct proc *p;

	if (ev->data.u64 >> 56 == EV_SIGNAL) {
		on_signal(k);
		return;
	}
	if (ev->data.u64 >> 56 == EV_TRIAL)
		return; /* upgrade_run() looks each turn */
	p = proc_of(k, ev->data.u64);
	if (p == NULL)
		return;
	if (ev->data.u64 >> 56 == EV_PIDFD) {
		if (p->state != PROC_DYING)
			procs_died(k, p);
		return;
	}
	if (p->blocked && (ev->events & (EPOLLOUT | EPOLLERR | EPOLLHUP))) {
		p->blocked = false;
		keeper_epoll_out(k, p, false);
	}
	if (ev->events & (EPOLLIN | EPOLLERR | EPOLLHUP))
		(void)recv_from(k, p);
}

/* The earlier of two times. */
static uint64_t
sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Is there anything that time alone may change? */
static bool
is_busy(const struct keeper *k)
{
	return table_count(k->table) > 0 || k->orphans > 0 || k->is_init;
}

/* A sweep looks at every child, some a turn, and thousands make it rarer. Each
 * start in a box leaves its porter, which counts among the box's processes. */
static void
sweep(struct keeper *k, uint64_t now)
{
	static uint64_t took; /* by the turns of this one */
	static uint64_t reaped;
	uint64_t began = clock_cpu_ns(), pause;
	bool soon;

	k->sweeps = !reap_sweep(k);
	took += clock_cpu_ns() - began;
	if (k->sweeps)
		return;
	soon = k->withheld > 0 || k->names_wanted || k->names ||
	    atomic_load(&k->stats[0].orphans_reaped) != reaped;
	reaped = atomic_load(&k->stats[0].orphans_reaped);
	pause = took * (soon ? SWEEP_SOON_SHARE : SWEEP_SHARE);
	took = 0;
	if (pause < (soon ? SWEEP_SOON_NS : SWEEP_NS))
		pause = soon ? SWEEP_SOON_NS : SWEEP_NS;
	k->sweep_ns = now + (pause < SWEEP_MAX_NS ? pause : SWEEP_MAX_NS);
}

/* What time has made due. */
static void
run_timers(struct keeper *k, uint64_t now)
{
	procs_run_due(k, now);
	upgrade_run(k, now);
	if (k->retry_ns <= now)
		k->retry_ns = NEVER;
	if (k->tick_ns <= now) {
		k->tick_ns = now + TICK_NS;
		/* also where no session runs: one may wait to be started */
		procs_watch(k, now);
		pids_old_begin(k, now);
		if (is_busy(k))
			k->activity = true;
	}
	if ((k->activity || k->sweeps) && now >= k->sweep_ns)
		sweep(k, now);
	pids_some(k);
	if (k->check_ns <= now) {
		k->check_ns = now + CHECK_NS;
		rundir_check(k);
	}
}

/* How long to sleep: to the next thing that is due, -1 never. */
static int
sleep_ms(const struct keeper *k, uint64_t now)
{
	uint64_t t = sooner(k->check_ns, k->retry_ns);

	t = sooner(t, procs_next_ns(k));
	t = sooner(t, notify_next_ns());
	t = sooner(t, upgrade_next_ns(k));
	if (is_busy(k) || k->waiting)
		t = sooner(t, k->tick_ns);
	if (k->activity || k->sweeps)
		t = sooner(t, k->sweep_ns);
	if (k->stop != STOP_NO)
		t = sooner(t, k->stop_ns);
	if (t <= now || k->names || k->sends)
		return 0;
	return (int)((t - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC);
}

/* What the keeper's own stats page says. */
static void
note_stats(struct keeper *k, uint64_t woke)
{
	static uint64_t cpu_ns; /* at the end of the last turn */
	struct stats_page *s = &k->stats[0];
	uint64_t now = clock_boot_ns();

	log_tick();
	SET_RELAXED(s->heartbeat_ns, now);
	SET_RELAXED(s->sessions, table_count(k->table));
	ADD_RELAXED(s->loop_turns, 1);
	if (now - woke > RELAXED(s->longest_turn_ns))
		SET_RELAXED(s->longest_turn_ns, now - woke);
	stats_turn_cpu(s, &cpu_ns);
}

/* Until the end. */
static void
loop(struct keeper *k)
{
	struct epoll_event ev[EVENTS];
	uint64_t now = clock_boot_ns();
	int i, n;

	while (k->stop != STOP_DONE) {
		run_timers(k, now);
		notify_watch(k, now);
		send_all(k);
		notify_sent(k);
		if (k->stop != STOP_NO)
			keeper_stop_run(k, now);
		note_stats(k, now);
		mend_lost(k);
		if (k->stop == STOP_DONE)
			break;
		n = epoll_wait(k->epoll, ev, EVENTS,
		    sleep_ms(k, clock_boot_ns()));
		CHECK(n >= 0 || errno == EINTR);
		now = clock_boot_ns();
		k->parts = n < PARTS ? n : PARTS;
		for (i = 0; i < n; i++)
			on_event(k, &ev[i]);
		k->parts = 0;
	}
}

/* The loop, and the end of everything. */
int
keeper_live(struct keeper *k)
{
	loop(k);
	group_end(k);
	leftover_own(k->incarnation, !k->had_children);
	rundir_end(k);
	log_event(LOG_NOTE, "ended", KV("exit", k->exit_code));
	table_free(k->table);
	return k->exit_code;
}
