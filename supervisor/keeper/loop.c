/* SPDX-License-Identifier: MIT */
/*
 * The keeper's loop: one epoll, one thread, no allocation once it runs. It
 * starts master and workers, holds what must not be lost, reaps, restarts,
 * and ends everything when told to. It knows nothing of clients, lanes or
 * output. main.c calls it.
 */
#include "supervisor/keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "kfile.h"
#include "shm/lent_map.h"
#include "supervisor/keeper/notify.h"
#include "supervisor/keeper/state.h"

#define EVENTS       64
#define OWN_FDS      200u   /* what is no session's */
#define SWEEP_NS     (250 * NSEC_PER_MSEC)
#define SWEEP_SHARE  100u /* of its time at most this part */
#define SWEEP_MAX_NS (2 * NSEC_PER_SEC)
#define TICK_NS      NSEC_PER_SEC
#define CHECK_NS     (5 * NSEC_PER_SEC)

/* Why it did not start, to whoever is there to read it. */
int
keeper_fail(const struct keeper_options *o, int code, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	text[0] = (char)code;
	va_start(ap, fmt);
	n = vsnprintf(text + 1, sizeof(text) - 2, fmt, ap);
	va_end(ap);
	if (n < 0)
		n = 0;
	if ((size_t)n > sizeof(text) - 3)
		n = (int)sizeof(text) - 3;
	text[n + 1] = '\n';
	text[n + 2] = '\0';
	if (o->ready_fd >= 0)
		(void)!write(o->ready_fd, text, (size_t)n + 2);
	else
		(void)fprintf(stderr, "psupd: %s", text + 1);
	return code;
}

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

/* A sweep looks at every child, so thousands make it rarer. */
static void
sweep(struct keeper *k, uint64_t now)
{
	uint64_t began = clock_cpu_ns(), pause;

	reap_sweep(k);
	pause = SWEEP_SHARE * (clock_cpu_ns() - began);
	if (pause < SWEEP_NS)
		pause = SWEEP_NS;
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
		pids_read_old(k, now);
		if (is_busy(k))
			k->activity = true;
	}
	if (k->activity && now >= k->sweep_ns)
		sweep(k, now);
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
	if (k->activity)
		t = sooner(t, k->sweep_ns);
	if (k->stop != STOP_NO)
		t = sooner(t, k->stop_ns);
	if (t <= now)
		return 0;
	return (int)((t - now + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC);
}

/* What the keeper's own stats page says. */
static void
note_stats(struct keeper *k, uint64_t woke)
{
	struct stats_page *s = &k->stats[0];
	uint64_t now = clock_boot_ns();

	log_tick();
	atomic_store_explicit(&s->heartbeat_ns, now, memory_order_relaxed);
	atomic_store_explicit(&s->sessions, table_count(k->table),
	    memory_order_relaxed);
	atomic_fetch_add_explicit(&s->loop_turns, 1, memory_order_relaxed);
	if (now - woke > atomic_load_explicit(&s->longest_turn_ns,
		memory_order_relaxed))
		atomic_store_explicit(&s->longest_turn_ns, now - woke,
		    memory_order_relaxed);
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
		for (i = 0; i < n; i++)
			on_event(k, &ev[i]);
	}
}

/* As many descriptors as allowed, no core; how many sessions that makes, and
 * the soft limits found, which commands get back: the hard ones stay, so that
 * nobody needs a privilege for it. */
static uint32_t
raise_limits(uint64_t *ret_soft, uint64_t *ret_core)
{
	struct rlimit rl;
	uint64_t n;

	if (getrlimit(RLIMIT_CORE, &rl) == 0) {
		*ret_core = rl.rlim_cur;
		rl.rlim_cur = 0;
		(void)setrlimit(RLIMIT_CORE, &rl);
	}
	if (getrlimit(RLIMIT_NOFILE, &rl) < 0)
		return 1;
	*ret_soft = rl.rlim_cur;
	rl.rlim_cur = rl.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &rl);
	n = rl.rlim_max > OWN_FDS ? (rl.rlim_max - OWN_FDS) / CTL_FD_SESSION
				 : 1;
	if (n < 1)
		n = 1;
	return n < KEEPER_ROWS_MAX ? (uint32_t)n : KEEPER_ROWS_MAX;
}

/* Before commands where processors are short, and the last to be killed for want
 * of memory, where that is permitted; the second not where commands are to keep
 * what they inherit. */
static void
protect(const struct keeper *k)
{
	if (getsid(0) == getpid())
		launch_come_first();
	if (!k->opt->config.child_oom_score_adj)
		return;
	(void)kfile_write(AT_FDCWD, "/proc/self/oom_score_adj", "-900");
}

/* Signals become data; SIGCHLD and SIGPIPE become nothing. */
static int
open_signals(struct keeper *k)
{
	sigset_t set, mask;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGHUP);
	mask = set;
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGPIPE);
	if (sigprocmask(SIG_SETMASK, &mask, NULL) < 0)
		return -errno;
	(void)signal(SIGCHLD, SIG_DFL); /* ignored, it would reap by itself */
	k->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return k->signals < 0 ? -errno : 0;
}

/* The loop and its signals: at the start, and again after an exec. */
int
keeper_prepare(struct keeper *k)
{
	int r;

	lent_map_guard();
	k->is_init = getpid() == 1;
	k->epoll = epoll_create1(EPOLL_CLOEXEC);
	r = open_signals(k);
	if (k->epoll < 0 || r < 0 ||
	    keeper_epoll_add(k, k->signals, NULL, EV_SIGNAL) < 0)
		return keeper_fail(k->opt, KEEPER_FAILED,
		    "cannot set up the loop: %s", strerror(errno));
	return 0;
}

/* The programs, held open from here on. */
static int
open_programs(struct keeper *k)
{
	int r;

	memcpy(k->set[SET_OLD].path, k->opt->path,
	    sizeof(k->set[SET_OLD].path));
	k->set[SET_NEW] = k->set[SET_OLD];
	for (int i = 0; i < PROGRAMS; i++)
		k->set[SET_NEW].fd[i] = -1;
	r = programs_open(&k->set[SET_OLD]);
	if (r < 0)
		return keeper_fail(k->opt, KEEPER_CANTCREAT,
		    "%s, %s and %s cannot be opened: %s",
		    k->opt->path[PROGRAM_KEEPER],
		    k->opt->path[PROGRAM_MASTER],
		    k->opt->path[PROGRAM_WORKER], strerror(-r));
	return 0;
}

/* Descriptors and memory, once. 0 or an exit code. */
static int
prepare(struct keeper *k)
{
	k->had_children = leftover_had_children();
	k->max_sessions = raise_limits(&k->nofile_soft, &k->core_soft);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return keeper_fail(k->opt, KEEPER_FAILED,
		    "cannot become the child subreaper: %s", strerror(errno));
	(void)prctl(PR_SET_DUMPABLE, 0);
	protect(k);
	k->table = table_new(k->max_sessions);
	k->null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (k->table == NULL || k->null < 0)
		return keeper_fail(k->opt, KEEPER_FAILED,
		    "cannot set up the loop: %s", strerror(errno));
	return keeper_prepare(k);
}

/* The keeper's own page. */
void
keeper_note_page(struct keeper *k)
{
	struct stats_page *s = &k->stats[0];

	atomic_store(&s->pid, (int32_t)getpid());
	atomic_store(&s->generation, 1);
	atomic_store(&s->started_ms, k->started_ms);
	atomic_store(&s->max_sessions, k->max_sessions);
}

/* What goes into it from here on. */
static void
prepare_stats(struct keeper *k)
{
	struct stats_page *s = &k->stats[0];

	stats_keep_last_words(s);
	log_count_into(&s->log_lines, &s->log_dropped, &s->log_suppressed);
	k->started_ms = clock_wall_ms();
	keeper_note_page(k);
}

/* The whole life, or until an exec. */
int
keeper_run(struct keeper_options *o)
{
	static struct keeper keeper;
	struct keeper *k = &keeper;
	int r;

	*k = (struct keeper){ .opt = o, .dir = -1, .lock = -1, .listener = -1,
		.workers = (uint32_t)o->config.workers, .retry_ns = NEVER };
	k->slots = k->workers + 1;
	CHECK(k->workers >= 1 && k->workers <= KEEPER_WORKERS_MAX);
	r = prepare(k);
	if (r == 0)
		r = open_programs(k);
	if (r == 0)
		r = rundir_begin(k);
	if (r == 0)
		r = rundir_listen(k);
	if (r != 0)
		return r;
	prepare_stats(k);
	notify_open(k);
	log_event(LOG_NOTE, "started", KV("version", abi_build()),
	    KV("runtime_dir", o->runtime_dir), KV("workers", k->workers),
	    KV("max_sessions", k->max_sessions));
	procs_init(k);
	return keeper_live(k);
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
