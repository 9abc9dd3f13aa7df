/* SPDX-License-Identifier: MIT */
/*
 * The raw loops: what is left of a supervisor when everything but starting,
 * draining and waiting is taken away. Each runs in processes of its own that
 * report through a shared page. The clone is the tight one of
 * docs/architecture.md: vfork class, shared descriptor table, unshared first
 * thing in the child, whose stdio already lies at 3, 4 and 5.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define STACK_BYTES   65536
#define SAMPLES_MAX   200000
#define AT_ONCE_MAX   256
#define HEAD_BYTES    20000
#define TAIL_BYTES    200000
#define SPLICE_BYTES  65536
#define RING_BYTES    (HEAD_BYTES + TAIL_BYTES + SPLICE_BYTES)

/* What a raw process tells its parent. */
struct report {
	uint64_t sessions;
	uint64_t cpu_ns;
	uint64_t sample_count;
	float samples[SAMPLES_MAX];
};

struct session {
	int in, out, err, pidfd;
	uint64_t started_ns;
	uint64_t left;   /* streams and pidfd still open */
	loff_t ring_off; /* output loops: where the next byte goes */
	int ring;
	char *ring_map;
};

/* The event's data word: session index and which of its descriptors. */
enum what { OUT, ERR, EXIT };

struct start {
	char path[4096];
	char *const *argv;
};

/* The child between clone and exec: async-signal-safe only. */
static int
in_child(void *arg)
{
	const struct start *s = arg;

	if (syscall(SYS_close_range, 6U, ~0U, CLOSE_RANGE_UNSHARE) != 0)
		_exit(126);
	setsid();
	dup2(3, 0);
	dup2(4, 1);
	dup2(5, 2);
	execve(s->path, s->argv, environ);
	_exit(127);
}

/* Once: a vfork child should not search. */
void
raw_find(const char *name, char ret[4096])
{
	char path[4096], *rest = path, *dir;

	snprintf(ret, 4096, "%s", name);
	if (strchr(name, '/') != NULL)
		return;
	snprintf(path, sizeof(path), "%s", getenv("PATH"));
	while ((dir = strsep(&rest, ":")) != NULL) {
		snprintf(ret, 4096, "%.2000s/%.2000s", dir, name);
		if (access(ret, X_OK) == 0)
			return;
	}
	snprintf(ret, 4096, "%s", name);
}

/* Three pipes, the child's ends at 3, 4, 5, and the clone. */
static void
session_start(struct session *s, struct start *how)
{
	static char stack[STACK_BYTES] __attribute__((aligned(64)));
	int in[2], out[2], err[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) ||
	    pipe2(err, O_CLOEXEC))
		_exit(1);
	dup3(in[0], 3, O_CLOEXEC);
	dup3(out[1], 4, O_CLOEXEC);
	dup3(err[1], 5, O_CLOEXEC);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	s->in = in[1];
	s->out = out[0];
	s->err = err[0];
	fcntl(s->out, F_SETFL, O_NONBLOCK);
	fcntl(s->err, F_SETFL, O_NONBLOCK);
	s->started_ns = clock_boot_ns();
	if (clone(in_child, stack + sizeof(stack),
	        CLONE_VFORK | CLONE_VM | CLONE_FILES | CLONE_PIDFD | SIGCHLD,
	        how, &s->pidfd) < 0)
		_exit(1);
	/* Our copies at 3 to 5 would keep the pipes open. */
	dup3(0, 3, O_CLOEXEC);
	dup3(0, 4, O_CLOEXEC);
	dup3(0, 5, O_CLOEXEC);
	s->left = 3;
}

static void
watch(int epoll, int fd, unsigned index, enum what what)
{
	struct epoll_event e = {.events = EPOLLIN,
	    .data.u64 = (uint64_t)index << 2 | what};

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) != 0)
		_exit(1);
}

/* Delete first, close after: a vfork child may hold the table. */
static void
forget(int epoll, int fd)
{
	epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL);
	close(fd);
}

static void
session_watch(struct session *s, int epoll, unsigned index)
{
	watch(epoll, s->out, index, OUT);
	watch(epoll, s->err, index, ERR);
	watch(epoll, s->pidfd, index, EXIT);
}

/* Handles one event of a session; true once nothing is left of it. */
static bool
session_event(struct session *s, int epoll, enum what what)
{
	static char buf[SPLICE_BYTES];
	siginfo_t info;
	ssize_t n;
	int fd = what == OUT ? s->out : s->err;

	if (what == EXIT) {
		if (waitid(P_PIDFD, (id_t)s->pidfd, &info, WEXITED) != 0)
			return false;
		forget(epoll, s->pidfd);
		return --s->left == 0;
	}
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		;
	if (n < 0 && errno == EAGAIN)
		return false;
	forget(epoll, fd);
	return --s->left == 0;
}

/* Descriptors 3, 4, 5 are the child's stdio; nothing else of ours is open. */
static int
own_table(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup3(null, 0, 0);
	close_range(3, ~0U, 0);
	for (int fd = 3; fd < 6; fd++)
		dup3(0, fd, O_CLOEXEC);
	return epoll_create1(EPOLL_CLOEXEC);
}

/* One process: keeps `at_once` sessions in flight for `sec`. */
static void
starts_loop(struct start *how, int at_once, double sec, struct report *ret)
{
	static struct session s[AT_ONCE_MAX];
	uint64_t until = clock_boot_ns() + (uint64_t)(sec * 1e9);
	int epoll = own_table(), alive = 0;

	for (int i = 0; i < at_once; i++, alive++) {
		session_start(&s[i], how);
		session_watch(&s[i], epoll, (unsigned)i);
	}
	while (alive > 0) {
		struct epoll_event e[64];
		int n = epoll_wait(epoll, e, 64, -1);

		for (int k = 0; k < n; k++) {
			unsigned i = (unsigned)(e[k].data.u64 >> 2);

			if (!session_event(&s[i], epoll,
			        (enum what)(e[k].data.u64 & 3)))
				continue;
			close(s[i].in);
			ret->sessions++;
			if (ret->sample_count < SAMPLES_MAX)
				ret->samples[ret->sample_count++] = (float)(
				    (double)(clock_boot_ns() -
				        s[i].started_ns) / 1e3);
			if (clock_boot_ns() >= until) {
				alive--;
				continue;
			}
			session_start(&s[i], how);
			session_watch(&s[i], epoll, i);
		}
	}
}

/* Shared pages for the reports of `procs` processes. */
static struct report *
reports_map(int procs)
{
	struct report *r = mmap(NULL, (size_t)procs * sizeof(*r),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (r == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return r;
}

static void
wait_all(const pid_t *pids, int procs)
{
	for (int i = 0; i < procs; i++) {
		int status;

		if (waitpid(pids[i], &status, 0) < 0 || status != 0)
			die("a raw loop failed (status %d)", status);
	}
}

/* Of this process and of its children until their exec. */
static uint64_t
own_cpu_ns(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
		return 0;
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

struct measure
raw_starts(const char *const *argv, int procs, int at_once, double sec)
{
	struct report *r = reports_map(procs);
	struct start how = {.argv = (char *const *)(uintptr_t)argv};
	struct samples all = {0};
	struct measure m = {0};
	pid_t pids[WORKERS_MAX] = {0};
	uint64_t start = clock_boot_ns(), sessions = 0, cpu = 0;

	raw_find(argv[0], how.path);
	for (int i = 0; i < procs; i++) {
		int share = at_once / procs + (i < at_once % procs);

		pids[i] = fork();
		if (pids[i] == 0) {
			starts_loop(&how, share, sec, &r[i]);
			r[i].cpu_ns = own_cpu_ns();
			_exit(0);
		}
	}
	wait_all(pids, procs);
	for (int i = 0; i < procs; i++) {
		sessions += r[i].sessions;
		cpu += r[i].cpu_ns;
		for (uint64_t k = 0; k < r[i].sample_count; k++)
			samples_add(&all, (double)r[i].samples[k]);
	}
	m.sessions = (double)sessions;
	m.cpu_us = (double)cpu / 1e3 / m.sessions;
	m.rate = m.sessions / ((double)(clock_boot_ns() - start) / 1e9);
	m.p50_us = samples_percentile(&all, 0.5);
	m.p99_us = samples_percentile(&all, 0.99);
	samples_free(&all);
	munmap(r, (size_t)procs * sizeof(*r));
	return m;
}

/* --------------------------------------------------------------- output */

/* One turn of the pump: false at the end of the stream. */
static bool
pump(struct session *s, enum raw_mode mode)
{
	size_t room = (size_t)(RING_BYTES - s->ring_off);
	ssize_t n;

	if (room > SPLICE_BYTES)
		room = SPLICE_BYTES;
	if (mode == RAW_SPLICE) {
		/* The kernel moves ring_off itself. */
		n = splice(s->out, NULL, s->ring, &s->ring_off, room,
		    SPLICE_F_NONBLOCK);
	} else {
		n = read(s->out, s->ring_map + s->ring_off, room);
		if (n > 0)
			s->ring_off += n;
	}
	if (s->ring_off >= RING_BYTES)
		s->ring_off = HEAD_BYTES;
	return n > 0 || (n < 0 && errno == EAGAIN);
}

/* A ring file, mapped where the loop reads instead of splicing. */
static void
ring_open(struct session *s, enum raw_mode mode)
{
	s->ring = memfd_create("ring", MFD_CLOEXEC);
	if (s->ring < 0 || ftruncate(s->ring, RING_BYTES) != 0)
		_exit(1);
	s->ring_off = 0;
	if (mode == RAW_READ) {
		s->ring_map = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE,
		    MAP_SHARED, s->ring, 0);
		if (s->ring_map == MAP_FAILED)
			_exit(1);
	}
}

/* One process: its share of the children, until all are closed. */
static void
output_loop(struct start *how, int children, enum raw_mode mode)
{
	struct session *s = calloc((size_t)children, sizeof(*s));
	int epoll = own_table(), open_streams = children;

	if (s == NULL)
		_exit(1);
	for (int i = 0; i < children; i++) {
		ring_open(&s[i], mode);
		session_start(&s[i], how);
		watch(epoll, s[i].out, (unsigned)i, OUT);
	}
	while (open_streams > 0) {
		struct epoll_event e[64];
		int n = epoll_wait(epoll, e, 64, -1);

		for (int k = 0; k < n; k++) {
			unsigned i = (unsigned)(e[k].data.u64 >> 2);

			if (pump(&s[i], mode))
				continue;
			forget(epoll, s[i].out);
			open_streams--;
		}
	}
	for (int i = 0; i < children; i++) {
		siginfo_t info;

		waitid(P_PIDFD, (id_t)s[i].pidfd, &info, WEXITED);
	}
	free(s);
}

double
raw_output(const char *const *argv, uint64_t bytes_each, int children,
    int procs, enum raw_mode mode)
{
	struct start how = {.argv = (char *const *)(uintptr_t)argv};
	pid_t pids[WORKERS_MAX] = {0};
	uint64_t start = clock_boot_ns();

	if (procs > children)
		procs = children;
	raw_find(argv[0], how.path);
	for (int i = 0; i < procs; i++) {
		int share = children / procs + (i < children % procs);

		pids[i] = fork();
		if (pids[i] == 0) {
			output_loop(&how, share, mode);
			_exit(0);
		}
	}
	wait_all(pids, procs);
	return (double)bytes_each * children / 1e6 /
	    ((double)(clock_boot_ns() - start) / 1e9);
}
