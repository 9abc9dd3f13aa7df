/* SPDX-License-Identifier: MIT */
/*
 * How a keeper begins: limits, signals, its programs, what it holds open from here
 * on. main.c calls it; then loop.c goes on.
 */
#include "supervisor/keeper/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "check.h"
#include "common/format.h"
#include "kfile.h"
#include "priority.h"
#include "shm/lent_map.h"
#include "supervisor/keeper/notify.h"
#include "supervisor/keeper/state.h"

#define OWN_FDS 200u /* what is no session's */

/* Why it did not start, to whoever is there to read it. */
int
keeper_fail(const struct keeper_options *o, int code, const char *fmt, ...)
{
	char text[1024];
	int n;

	text[0] = (char)code;
	n = FORMATTED(text + 1, sizeof(text) - 2, fmt);
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
	priority_come_first();
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
