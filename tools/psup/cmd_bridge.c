/* SPDX-License-Identifier: MIT */
/*
 * psup bridge: runs a long-lived helper for a gateway. The helper has the
 * gateway's own stdio; its whole tree ends when the gateway does, however that
 * happens, and signals to the bridge reach it. No server is needed.
 *
 *     gateway
 *       └─ bridge    forwards signals, exits with the helper's code
 *            └─ watcher    the helper's parent; sees the gateway's end, and the
 *                 │        bridge's, by a pipe that breaks
 *                 └─ helper
 *
 * Either of the two ends the tree when the other is killed. Only where both are
 * killed at one instant do descendants other than the helper (which has
 * PDEATHSIG) go on.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bridge.h"
#include "cli.h"
#include "common/clock.h"

#define KILL_MS 5000 /* SIGKILL, and nobody dies: given up after that */

static const int forwarded[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP};
#define FORWARDED (sizeof(forwarded) / sizeof(forwarded[0]))

struct bridge {
	char **argv;
	int64_t grace_ms;
	pid_t parent;
	int parent_fd; /* pidfd; -1: the parent has no number here */
	int signals;   /* signalfd */
	int order[2];  /* bridge to watcher: signals to forward, a byte each */
	sigset_t old_mask;
};

/* What the watcher knows. */
struct watcher {
	struct bridge *b;
	pid_t helper;
	int helper_fd;
	int status;     /* of the helper */
	bool over;      /* the helper has ended */
	bool ending;    /* the tree is being ended */
	int64_t kill_at_ms; /* SIGKILL from then on */
};

/* Closes every descriptor but these, and gives stdio up: who waits for its end
 * must not wait for us. -1 stands for none. */
static void
keep_only(const int *keep, size_t count)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), lo = 3;

	for (int i = 0; i < 3 && null >= 0; i++)
		(void)dup2(null, i);
	for (;;) {
		int next = -1;

		for (size_t k = 0; k < count; k++)
			if (keep[k] >= lo && (next < 0 || keep[k] < next))
				next = keep[k];
		if (next < 0)
			break;
		if (next > lo)
			(void)close_range((unsigned)lo, (unsigned)next - 1, 0);
		lo = next + 1;
	}
	(void)close_range((unsigned)lo, ~0u, 0);
}

/* The helper, from here to its exec. */
static void __attribute__((noreturn))
become_helper(struct bridge *b, pid_t watcher)
{
	int e;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != watcher)
		_exit(EXIT_INTERNAL);
	(void)sigprocmask(SIG_SETMASK, &b->old_mask, NULL);
	execvp(b->argv[0], b->argv);
	e = errno;
	cli_say("bridge: %.200s: %s", b->argv[0], strerror(e));
	_exit(e == ENOENT ? EXIT_NO_COMMAND : EXIT_CANNOT_RUN);
}

/* The tree is to end: `grace_ms` from SIGTERM to SIGKILL. */
static void
end_tree(struct watcher *w, int64_t grace_ms)
{
	int64_t at = (int64_t)clock_boot_ms() + grace_ms;

	if (!w->ending || at < w->kill_at_ms)
		w->kill_at_ms = at;
	if (!w->ending && grace_ms > 0) {
		(void)bridge_signal_tree(SIGTERM);
		(void)bridge_signal_tree(SIGCONT);
	}
	w->ending = true;
}

/* Signals to forward, or the end of the bridge. */
static void
take_orders(struct watcher *w)
{
	unsigned char sig;
	ssize_t n = read(w->b->order[0], &sig, 1);

	if (n < 0)
		return; /* EINTR, EAGAIN */
	if (n == 0)
		end_tree(w, 0); /* it was killed: so is its tree */
	else if (w->over)
		end_tree(w, 0); /* asked again, while the rest is ended */
	else
		(void)syscall(SYS_pidfd_send_signal, w->helper_fd, sig, NULL,
		    0);
}

/* Somebody below us has died. */
static void
take_deaths(struct watcher *w)
{
	struct signalfd_siginfo info;

	while (read(w->b->signals, &info, sizeof(info)) > 0)
		continue;
	if (bridge_reap(w->helper, &w->status)) {
		w->over = true;
		end_tree(w, w->b->grace_ms);
	}
}

/* How long poll() may wait. */
static int
patience(const struct watcher *w)
{
	int64_t left = w->kill_at_ms - (int64_t)clock_boot_ms();

	if (!w->ending)
		return -1;
	return left > 0 ? (int)left : 0;
}

/* The watcher's life; the code to exit with. */
static int
watch(struct watcher *w)
{
	struct bridge *b = w->b;
	struct pollfd pfd[3] = {{.fd = b->order[0], .events = POLLIN},
	    {.fd = b->signals, .events = POLLIN},
	    {.fd = b->parent_fd, .events = POLLIN}};

	while (bridge_has_children()) {
		if (poll(pfd, 3, patience(w)) < 0)
			continue; /* EINTR */
		if (pfd[0].revents != 0)
			take_orders(w);
		if (pfd[0].revents & (POLLHUP | POLLERR))
			pfd[0].fd = -1;
		if (pfd[2].revents != 0) {
			pfd[2].fd = -1;
			end_tree(w, b->grace_ms);
		}
		if (pfd[1].revents != 0)
			take_deaths(w);
		if (!w->ending || (int64_t)clock_boot_ms() < w->kill_at_ms)
			continue;
		if (bridge_end_tree(KILL_MS, w->helper, &w->status))
			w->over = true;
		break;
	}
	return w->over ? bridge_code_of(w->status) : 128 + SIGKILL;
}

/* The watcher: starts the helper and stays above it. */
static void __attribute__((noreturn))
become_watcher(struct bridge *b)
{
	struct watcher w = {.b = b, .helper_fd = -1};
	pid_t self = getpid();

	close(b->order[1]);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	w.helper = fork();
	if (w.helper == 0)
		become_helper(b, self);
	if (w.helper < 0) {
		cli_say("bridge: fork: %s", strerror(errno));
		_exit(EXIT_INTERNAL);
	}
	w.helper_fd = (int)syscall(SYS_pidfd_open, w.helper, 0);
	keep_only((const int[]){b->order[0], b->signals, b->parent_fd,
		      w.helper_fd}, 4);
	_exit(watch(&w));
}

/* A signal came: the helper gets it, unless the terminal has sent it to the
 * whole group, and so to the helper, already. */
static void
forward(struct bridge *b, const struct signalfd_siginfo *info)
{
	unsigned char sig = (unsigned char)info->ssi_signo;

	if (info->ssi_code != SI_KERNEL)
		(void)!write(b->order[1], &sig, 1);
}

/* The bridge's life: until the watcher has ended. The code to exit with. */
static int
carry(struct bridge *b, pid_t watcher)
{
	struct signalfd_siginfo info;
	int status = 0;

	close(b->order[0]);
	keep_only((const int[]){b->order[1], b->signals}, 2);
	(void)signal(SIGPIPE, SIG_IGN);
	while (!bridge_reap(watcher, &status)) {
		struct pollfd pfd = {.fd = b->signals, .events = POLLIN};

		(void)poll(&pfd, 1, -1);
		while (read(b->signals, &info, sizeof(info)) ==
		    (ssize_t)sizeof(info))
			if (info.ssi_signo != SIGCHLD)
				forward(b, &info);
	}
	/* a watcher that was killed has left its tree to us */
	(void)bridge_end_tree(KILL_MS, 0, &status);
	return bridge_code_of(status);
}

/* Whose end is ours? False: it has ended already. */
static bool
find_parent(struct bridge *b, pid_t wanted)
{
	b->parent = getppid();
	if (wanted != 0 && b->parent != wanted)
		return false;
	b->parent_fd = b->parent > 0
	    ? (int)syscall(SYS_pidfd_open, b->parent, 0)
	    : -1;
	/* outside of our pid namespace, say: then its death kills us, which
	 * the watcher sees */
	if (b->parent_fd < 0)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	return getppid() == b->parent;
}

/* Signals become data; a pipe for the watcher. 0 or -errno. */
static int
prepare(struct bridge *b)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < FORWARDED; i++)
		sigaddset(&set, forwarded[i]);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, &b->old_mask) < 0)
		return -errno;
	(void)signal(SIGCHLD, SIG_DFL); /* ignored, it would reap by itself */
	b->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (b->signals < 0 || pipe2(b->order, O_CLOEXEC) < 0 ||
	    fcntl(b->order[0], F_SETFL, O_RDONLY | O_NONBLOCK) < 0 ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return -errno;
	return 0;
}

static struct bridge b = {.grace_ms = 5000};
static int wanted;

static int
run(struct cli *, int, char **argv)
{
	pid_t watcher;
	int r;

	b.argv = argv;
	if (!find_parent(&b, wanted)) {
		cli_say("bridge: the parent has ended already");
		return EXIT_INTERNAL;
	}
	r = prepare(&b);
	watcher = r == 0 ? fork() : -1;
	if (watcher == 0)
		become_watcher(&b);
	if (watcher < 0) {
		cli_say("bridge: %s", strerror(r < 0 ? -r : errno));
		return EXIT_INTERNAL;
	}
	return carry(&b, watcher);
}

static const struct opt options[] = {
	NUMBER("grace", 0, "MS", b.grace_ms, 0, 60000,
	    "from SIGTERM to SIGKILL, 0 to 60000 (5000)"),
	NUMBER("parent", 0, "PID", wanted, 1, 1 << 30,
	    "the caller's pid: where that is not our parent (any more), nothing "
	    "is started"),
	OPT_END};

const struct command cmd_bridge = {
	.name = "bridge",
	.args = "-- COMMAND [ARG...]",
	.words = "@program @file...",
	.min_args = 1,
	.max_args = -1,
	.wants = "it needs a command",
	.summary = "Run a helper whose processes end when the caller does",
	.about = "The helper has the caller's stdin, stdout and stderr. "
	         "SIGTERM, SIGINT, SIGQUIT and SIGHUP to the bridge reach it; "
	         "the bridge exits with its code, or 128 + signal. Everything "
	         "it started ends when the caller, the helper or the bridge "
	         "does. No server is needed.",
	.options = options,
	.stops = true,
	.run = run,
};
