/* SPDX-License-Identifier: MIT */
/*
 * Master and workers: started, found dead, replaced. The loop calls it with
 * events and times.
 *
 * A dead worker's channel is read until it is empty before anything is
 * concluded from it, then the headers of what it held. To EOF, where it was
 * held itself until its child's exec: that child has a copy of the channel and
 * may still send SPAWNED.
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "common/fault.h"
#include "supervisor/keeper/notify.h"
#include "supervisor/keeper/state.h"

#define DRAIN_NS     (2 * NSEC_PER_SEC)
#define YOUNG_NS     NSEC_PER_SEC
/* Three deaths by its own fault bring back-off. SIGKILL from outside says nothing
 * about the program: however many there were, it is back in a moment; one that
 * is killed again and again while it starts (an OOM killer may mean it) makes
 * that pause each time, and none that grows. */
#define FAULT_LIMIT  3u
#define KILLED_LIMIT 9u
#define BACKOFF_NS     (100 * NSEC_PER_MSEC)
#define BACKOFF_MAX_NS (10 * NSEC_PER_SEC)

/* For the log. */
const char *
procs_name(const struct proc *p)
{
	switch (p->role) {
	case HERITAGE_MASTER:
		return "master";
	case HERITAGE_WORKER:
		return "worker";
	case HERITAGE_STANDBY:
		return "standby";
	}
	UNREACHABLE();
}

/* Running and not known to be dead. */
bool
procs_alive(const struct proc *p)
{
	return p->state == PROC_STARTING || p->state == PROC_READY;
}

/* By pidfd: never somebody else's pid. */
void
procs_signal(const struct proc *p, int sig)
{
	if (p->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, p->pidfd, sig, NULL, 0);
}

/* Everybody is due at once. */
void
procs_init(struct keeper *k)
{
	uint32_t i;

	k->master = (struct proc){ .role = HERITAGE_MASTER, .pidfd = -1,
		.chan = -1, .peer_fd = -1, .master_fd = -1,
		.page = &k->stats[STATS_PAGE_OF_MASTER] };
	for (i = 0; i < k->slots; i++) {
		k->slot[i] = (struct proc){ .role = i < k->workers ?
			HERITAGE_WORKER : HERITAGE_STANDBY,
			.wid.slot = i, .pidfd = -1, .chan = -1, .peer_fd = -1,
			.master_fd = -1,
			.page = &k->stats[STATS_PAGE_OF_WORKER(i)] };
	}
}

/* The keeper's fields of a stats page. */
void
procs_note_page(struct proc *p)
{
	struct stats_page *s = p->page;

	atomic_store(&s->pid, procs_alive(p) ? p->pid : 0);
	atomic_store(&s->generation, p->wid.generation);
	atomic_store(&s->role, (uint32_t)p->role);
	atomic_store(&s->restarts, p->restarts);
}

/* All of them, and our own: the pages were made again. */
void
procs_note_pages(struct keeper *k)
{
	keeper_note_page(k);
	procs_note_page(&k->master);
	for (uint32_t i = 0; i < k->slots; i++)
		procs_note_page(&k->slot[i]);
}

/* How long this one has to wait after its deaths. */
static uint64_t
backoff_ns(const struct proc *p)
{
	uint64_t wait = BACKOFF_NS;
	uint32_t n;

	if (p->faults < FAULT_LIMIT)
		return p->killed < KILLED_LIMIT ? 0 : BACKOFF_NS;
	for (n = p->faults - FAULT_LIMIT; n > 0 && wait < BACKOFF_MAX_NS; n--)
		wait *= 2;
	return wait < BACKOFF_MAX_NS ? wait : BACKOFF_MAX_NS;
}

/* Says at start that it will not come up, if that is so; afterwards, and while
 * commands run that were accepted before that, it only waits longer. */
static void
not_coming_up(struct keeper *k, const struct proc *p, const char *path)
{
	if (k->ready || k->give_up || k->stop != STOP_NO ||
	    table_count(k->table) > 0 ||
	    (p->faults < FAULT_LIMIT && p->killed < KILLED_LIMIT))
		return;
	k->give_up = true;
	k->exit_code = keeper_fail(k->opt, KEEPER_FAILED,
	    "the %s (%s) died again and again before it was ready",
	    procs_name(p), path);
	keeper_stop(k, 0, 0);
}

/* The binary of a process. */
static const char *
path_of(const struct keeper *k, const struct proc *p)
{
	return k->set[p->set].path[p->role == HERITAGE_MASTER ?
		PROGRAM_MASTER : PROGRAM_WORKER];
}

/* Starts the next incarnation. */
static void
start(struct keeper *k, struct proc *p, uint64_t now)
{
	int r;

	CHECK(p->state == PROC_NONE && p->chan < 0 && p->pidfd < 0);
	p->wid.generation++;
	p->started_ns = now;
	p->set = p->role == HERITAGE_MASTER ? k->use_master : k->use_workers;
	p->leaving = false;
	p->blocked = p->chan_eof = p->drained = p->tell_role = false;
	p->todo = 0;
	p->linked = 0;
	p->probed_ns = 0;
	mend_stats(k); /* it refuses pages that are none */
	atomic_store(&p->page->heartbeat_ns, 0);
	atomic_store(&p->page->in_hand, 0);
	/* what it has, not what it ever did: its predecessor's is another's */
	atomic_store(&p->page->sessions, 0);
	atomic_store(&p->page->ring_bytes, 0);
	r = launch_proc(k, p);
	if (r < 0) {
		p->faults++;
		p->next_start_ns = now + backoff_ns(p) + BACKOFF_NS;
		log_event(LOG_ERROR, "process-not-started", KV_PROC(p),
		    KV("error", strerror(-r)));
		not_coming_up(k, p, path_of(k, p));
		return;
	}
	p->state = PROC_STARTING;
	p->next_start_ns = NEVER;
	procs_note_page(p);
	CHECK(keeper_epoll_add(k, p->chan, p, EV_CHAN) == 0);
	CHECK(keeper_epoll_add(k, p->pidfd, p, EV_PIDFD) == 0);
	log_event(LOG_NOTE, "process-started", KV_PROC(p));
}

/* A process said READY. */
void
procs_ready(struct keeper *k, struct proc *p)
{
	uint32_t i;

	CHECK(p->state == PROC_STARTING);
	p->state = PROC_READY;
	log_event(LOG_NOTE, "process-ready", KV_PROC(p));
	if (p->role != HERITAGE_MASTER)
		p->todo |= TODO_ROLE;
	else if (p->died_ns != 0)
		stats_observe(&k->stats[0].master, METRIC_CUT_WORK,
		    (clock_boot_ns() - p->died_ns) / NSEC_PER_USEC);
	if (p->role == HERITAGE_MASTER && k->upgrade.id != 0)
		p->todo |= TODO_UPGRADED;
	if (k->stop != STOP_NO)
		p->todo |= TODO_STOP;
	links_make(k);
	if (k->ready || k->master.state != PROC_READY)
		return;
	for (i = 0; i < k->slots; i++) {
		if (k->slot[i].state != PROC_READY)
			return;
	}
	k->ready = true;
	log_event(LOG_NOTE, "ready", KV("workers", k->workers),
	    KV("max_sessions", k->max_sessions));
	notify_ready(k);
	if (k->opt->ready_fd >= 0) {
		(void)!write(k->opt->ready_fd, "", 1);
		(void)close(k->opt->ready_fd);
		k->opt->ready_fd = -1;
	}
}

/* Counts a death against the process, or forgives older ones. */
static void
judge(struct proc *p, const struct down *d)
{
	bool killed = d->code == CLD_KILLED && d->status == SIGKILL;
	bool young = clock_boot_ns() - p->started_ns < YOUNG_NS;

	if (p->leaving)
		return;
	if (p->was_ready && !young)
		p->faults = p->killed = 0;
	else if (!killed)
		p->faults++;
	else
		p->killed = p->was_ready ? 0 : p->killed + 1;
}

/* What its stats page says last, once. */
static void
say_last_words(struct proc *p, const struct down *d, bool expected)
{
	char words[sizeof(p->page->last_words)];

	log_event(expected ? LOG_NOTE : LOG_WARN, "process-died", KV_PROC(p),
	    KV("code", d->code), KV("status", d->status),
	    KV("session", d->in_hand.v));
	memcpy(words, p->page->last_words, sizeof(words));
	words[sizeof(words) - 1] = '\0';
	if (words[0] == '\0')
		return;
	log_event(LOG_ERROR, "last-words", KV_PROC(p), KV("words", words));
	memset(p->page->last_words, 0, sizeof(p->page->last_words));
}

/* Reaps the process itself. */
static void
collect(struct proc *p, struct down *ret)
{
	siginfo_t si;

	memset(&si, 0, sizeof(si));
	(void)waitid(P_PID, (id_t)p->pid, &si, WEXITED | WNOHANG | __WALL);
	*ret = (struct down){ .wid = p->wid, .pid = p->pid,
		.code = si.si_code, .status = si.si_status,
		.in_hand.v = atomic_load(&p->page->in_hand) };
}

/* Its channel is at EOF (or given up): the death is complete. */
static void
finish_death(struct keeper *k, struct proc *p, uint64_t now)
{
	struct down d;

	CHECK(p->state == PROC_DYING && p->chan >= 0);
	collect(p, &d);
	say_last_words(p, &d, k->stop >= STOP_WORKERS || p->leaving);
	if (!p->chan_eof)
		keeper_epoll_del(k, p->chan);
	(void)close(p->chan);
	(void)close(p->pidfd);
	p->chan = p->pidfd = -1;
	judge(p, &d);
	p->state = PROC_NONE;
	p->restarts++;
	p->next_start_ns = k->stop == STOP_NO ? now + backoff_ns(p) : NEVER;
	links_close(p);
	if (p->role == HERITAGE_MASTER) {
		blame_master(p, &d, now - p->started_ns < YOUNG_NS);
		send_reset_master(k);
	} else {
		blame_session(k, p, &d);
		heirs_succeed(k, p, &d);
	}
	p->hung = false;
	procs_note_page(p);
	upgrade_death(k, p, d.code == CLD_KILLED && d.status == SIGKILL);
	not_coming_up(k, p, path_of(k, p));
}

/* The pidfd is readable: dead, but perhaps not yet silent. */
void
procs_died(struct keeper *k, struct proc *p)
{
	keeper_epoll_del(k, p->pidfd);
	p->was_ready = p->state == PROC_READY;
	p->state = PROC_DYING;
	p->died_ns = clock_boot_ns();
	p->drain_ns = p->died_ns + DRAIN_NS;
	k->activity = true;
	if (p->role == HERITAGE_MASTER) {
		uint32_t i;

		/* a last SHUTDOWN may be in it; nobody else writes to it */
		(void)recv_from(k, p);
		for (i = 0; i < k->slots; i++)
			links_close(&k->slot[i]);
		p->drain_ns = 0;
	} else {
		(void)recv_from(k, p);
		FAULT("keeper.in-death");
	}
}

/* The other side of a channel is closed by all who had it. */
void
procs_chan_eof(struct keeper *k, struct proc *p)
{
	if (p->chan_eof)
		return;
	p->chan_eof = true;
	keeper_epoll_del(k, p->chan);
	if (p->state != PROC_DYING && !p->leaving && k->stop < STOP_WORKERS) {
		log_event(LOG_WARN, "channel-closed", KV_PROC(p));
		procs_signal(p, SIGKILL);
	}
}

/* Will nobody say anything any more on a dead one's channel? */
static bool
is_silent(const struct keeper *k, const struct proc *p)
{
	return p->chan_eof || (p->drained && p->role != HERITAGE_MASTER &&
	    !pids_awaited(k, p->wid.slot));
}

/* A death to complete: true where that was done. */
static bool
end_due(struct keeper *k, struct proc *p, uint64_t now)
{
	if (p->state != PROC_DYING || (!is_silent(k, p) && p->drain_ns > now))
		return false;
	/* it may be we who were away for so long: what it said counts */
	if (!is_silent(k, p) && p->role != HERITAGE_MASTER)
		recv_all(k, p);
	if (!is_silent(k, p) && p->role != HERITAGE_MASTER)
		log_event(LOG_ERROR, "channel-held-open", KV_PROC(p));
	finish_death(k, p, now);
	return true;
}

/* A start that is due. */
static void
start_due(struct keeper *k, struct proc *p, uint64_t now)
{
	if (p->state == PROC_NONE && p->next_start_ns <= now &&
	    k->stop == STOP_NO)
		start(k, p, now);
}

/* What time or EOF has made due. An heir hears of its sessions first: a start
 * takes longer than all of that. */
void
procs_run_due(struct keeper *k, uint64_t now)
{
	bool ended = end_due(k, &k->master, now);
	uint32_t i;

	for (i = 0; i < k->slots; i++)
		ended |= end_due(k, &k->slot[i], now);
	if (ended)
		send_all(k);
	start_due(k, &k->master, now);
	for (i = 0; i < k->slots; i++)
		start_due(k, &k->slot[i], now);
	links_make(k);
}

/* When one process needs a look next. */
static uint64_t
next_of(const struct keeper *k, const struct proc *p)
{
	if (p->state == PROC_DYING)
		return is_silent(k, p) ? 0 : p->drain_ns;
	return p->state == PROC_NONE ? p->next_start_ns : NEVER;
}

/* When procs_run_due() has something to do next. */
uint64_t
procs_next_ns(const struct keeper *k)
{
	uint64_t t, next = next_of(k, &k->master);
	uint32_t i;

	for (i = 0; i < k->slots; i++) {
		t = next_of(k, &k->slot[i]);
		if (t < next)
			next = t;
	}
	return next;
}
