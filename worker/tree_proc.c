/* SPDX-License-Identifier: MIT */
/*
 * The members of a session as /proc shows them, for where there is no control
 * group. One look at /proc serves all sessions that ask within a few ms.
 *
 * A member is: a process of the command's group or POSIX session (the zombie
 * of the command pins these numbers); one whose environment carries the
 * session's mark; the child of a member; one that was a member in an earlier
 * look of the same ladder, since a dead parent can no longer vouch for it; an
 * orphan without any mark that holds the session's output open.
 *
 * The last rung freezes before it kills. Whoever is found is stopped at once,
 * until a look that began after everybody known was stopped shows nobody new:
 * what is stopped does not fork, and a stopped parent still vouches for its
 * children. Numbers grow, so a look overtakes what forks and exits to stay
 * ahead of it; where they wrapped, the look after the kill finds it.
 */
#include "worker/tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"

#define PROCS_MAX  65536u
#define ENV_MAX    262144u /* of an environment; a mark stands early */
#define FRESH_NS   (2 * NSEC_PER_MSEC)
#define ROUNDS_MAX 64 /* generations of children found in one look */
#define MARK       "PSUP_INSTANCE="
#define OWN_NAME   "psup-" /* of master and workers */

struct proc {
	int32_t pid, ppid, pgrp, sid;
	char name[16];
	uint64_t start;  /* clock ticks since boot */
	uint64_t mark_incarnation, mark_sid;
	bool read;       /* the mark was looked for */
	bool member;     /* of session `of` */
	bool stopped;    /* by us, for good */
};

struct tree_procs {
	struct proc *list;
	size_t count, cap;
	uint64_t taken_ns; /* when the look began; 0: never */
	int32_t taken_pid; /* the last number given out before */
	uint64_t cost_ns;  /* what it took */
	uint64_t of;       /* whose members are marked; 0: nobody's */
	size_t fresh;      /* of these stopped just now */
	char env[ENV_MAX + 1];
};

struct tree_procs *
tree_procs_new(void)
{
	return calloc(1, sizeof(struct tree_procs));
}

uint64_t
tree_procs_cost_ns(const struct tree_procs *t)
{
	return t->cost_ns;
}

/* One file of a process; the number of bytes, or -errno. */
static ssize_t
read_file(int proc, int32_t pid, const char *file, char *ret, size_t size)
{
	char name[48];
	ssize_t n, have = 0;
	int fd;

	snprintf(name, sizeof(name), "%d/%s", (int)pid, file);
	fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while ((size_t)have < size - 1 &&
	    (n = read(fd, ret + have, size - 1 - (size_t)have)) > 0)
		have += n;
	close(fd);
	ret[have] = '\0';
	return have;
}

/* Numbers from /proc/PID/stat. False: gone, or a zombie. */
static bool
read_stat(int proc, int32_t pid, struct proc *ret)
{
	char text[1024], *p, *name, state;
	unsigned long long start;
	int ppid, pgrp, sid;

	if (read_file(proc, pid, "stat", text, sizeof(text)) <= 0)
		return false;
	name = strchr(text, '(');
	p = strrchr(text, ')'); /* the name may hold anything */
	if (name == NULL || p == NULL || p <= name ||
	    sscanf(p + 1,
	        " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
	        "%*d %*d %*d %llu",
	        &state, &ppid, &pgrp, &sid, &start) != 5 ||
	    state == 'Z' || state == 'X')
		return false;
	*ret = (struct proc){.pid = pid, .ppid = ppid, .pgrp = pgrp,
	    .sid = sid, .start = start};
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(p - name - 1),
	    name + 1);
	return true;
}

/* The mark in its environment, if any: INCARNATION.SESSION, both in hex. */
static void
read_mark(struct tree_procs *t, int proc, struct proc *p)
{
	ssize_t n = read_file(proc, p->pid, "environ", t->env, sizeof(t->env));
	const char *s, *end = t->env + (n > 0 ? n : 0);
	char *dot, *stop;
	uint64_t v;

	for (s = t->env; s < end; s += strlen(s) + 1) {
		if (strncmp(s, MARK, sizeof(MARK) - 1) != 0)
			continue;
		v = strtoull(s + sizeof(MARK) - 1, &dot, 16);
		if (*dot != '.')
			return;
		p->mark_sid = strtoull(dot + 1, &stop, 16);
		if (*stop == '\0')
			p->mark_incarnation = v;
		return;
	}
}

/* Room for one more. */
static bool
make_room(struct tree_procs *t)
{
	size_t cap = t->cap != 0 ? 2 * t->cap : 256;
	struct proc *list;

	if (t->count < t->cap)
		return true;
	if (cap > PROCS_MAX)
		return false;
	list = realloc(t->list, cap * sizeof(*list));
	if (list == NULL)
		return false;
	t->list = list;
	t->cap = cap;
	return true;
}

/* One process, if it still is the one that was looked at. */
static void
signal_one(int proc, const struct proc *p, int sig)
{
	int pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	struct proc now;

	if (pidfd < 0)
		return;
	if (read_stat(proc, p->pid, &now) && now.start == p->start)
		(void)syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
	close(pidfd);
}

/* Was it a member before? */
static const struct tree_known *
known_find(const struct child *c, const struct proc *p)
{
	size_t lo = 0, hi = c->known_count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (c->known[mid].pid == p->pid)
			return c->known[mid].start == p->start
			    ? &c->known[mid]
			    : NULL;
		if (c->known[mid].pid < p->pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* One of psup's own? A worker has every session's output open. */
static bool
is_own(const struct child *c, const struct proc *p)
{
	return p->pid == c->w->heritage.keeper_pid ||
	    (p->ppid == c->w->heritage.keeper_pid && p->read &&
	        p->mark_incarnation == 0 &&
	        strncmp(p->name, OWN_NAME, sizeof(OWN_NAME) - 1) == 0);
}

/* What the links in /proc/PID/fd say that lead to a session's output. */
struct output_names {
	char name[2][40];
	size_t count;
};

/* Does it have one of these open? */
static bool
has_open(int proc, int32_t pid, const struct output_names *want)
{
	char dir[32], link[64];
	struct dirent *e;
	bool found = false;
	ssize_t len;
	size_t i;
	DIR *d;
	int fd;

	snprintf(dir, sizeof(dir), "%d/fd", (int)pid);
	fd = openat(proc, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd >= 0 ? fdopendir(fd) : NULL;
	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!found && (e = readdir(d)) != NULL) {
		len = readlinkat(fd, e->d_name, link, sizeof(link) - 1);
		if (len <= 0)
			continue;
		link[len] = '\0';
		for (i = 0; i < want->count && !found; i++)
			found = strcmp(link, want->name[i]) == 0;
	}
	closedir(d);
	return found;
}

/* The pipes that its output comes through, or its terminal. */
static void
output_names(const struct child *c, struct output_names *ret)
{
	struct stat st;
	unsigned pty;
	size_t i;

	ret->count = 0;
	if (c->pty.fd >= 0) {
		if (ioctl(c->pty.fd, TIOCGPTN, &pty) == 0)
			snprintf(ret->name[ret->count++],
			    sizeof(ret->name[0]), "/dev/pts/%u", pty);
		return;
	}
	for (i = 0; i < 2; i++)
		if (c->out[i].fd >= 0 && fstat(c->out[i].fd, &st) == 0)
			snprintf(ret->name[ret->count++],
			    sizeof(ret->name[0]), "pipe:[%ju]",
			    (uintmax_t)st.st_ino);
}

/* An orphan without a mark that still holds the session's output. */
static bool
holds_output(int proc, const struct child *c, const struct proc *p)
{
	struct output_names want;

	if (p->ppid != c->w->heritage.keeper_pid || p->mark_incarnation != 0)
		return false;
	output_names(c, &want);
	return want.count > 0 && has_open(proc, p->pid, &want);
}

/* Of the command's group or session, or known from before. */
static bool
is_kin(const struct child *c, const struct proc *p)
{
	return p->pgrp == c->pid || p->sid == c->pid || p->pid == c->pid ||
	    known_find(c, p) != NULL;
}

/* Does its environment name the session? */
static bool
is_marked(const struct child *c, const struct proc *p)
{
	return p->mark_incarnation == c->w->heritage.incarnation &&
	    p->mark_sid == c->sid.v;
}

/* The process of that number, or NULL: /proc is read in order of pids. */
static struct proc *
find(const struct tree_procs *t, int32_t pid)
{
	size_t lo = 0, hi = t->count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (t->list[mid].pid == pid)
			return &t->list[mid];
		if (t->list[mid].pid < pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* A member now; where the session is being frozen, stopped at once: what is
 * stopped cannot fork while the others are looked for. */
static void
join(struct tree_procs *t, int proc, const struct child *c, struct proc *p,
    int pidfd)
{
	const struct tree_known *k = known_find(c, p);

	p->member = true;
	p->stopped = k != NULL && k->stopped;
	if (!c->freezing || p->stopped)
		return;
	if (pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGSTOP, NULL, 0);
	else
		signal_one(proc, p, SIGSTOP);
	p->stopped = true;
	t->fresh++;
}

/* The last number that the kernel gave to a process; 0: not known. */
static int32_t
last_pid(void)
{
	int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	char buf[128];
	ssize_t n = fd >= 0 ? read(fd, buf, sizeof(buf) - 1) : -1;
	int32_t pid = 0;
	const char *at;

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = '\0';
	at = strrchr(buf, ' ');
	if (at != NULL)
		pid = (int32_t)strtol(at + 1, NULL, 10);
	return pid > 0 ? pid : 0;
}

void
tree_span_from(struct tree_span *ret)
{
	ret->from_ns = clock_boot_ns();
	ret->from_pid = last_pid();
}

void
tree_span_to(struct tree_span *ret)
{
	ret->to_ns = clock_boot_ns();
	ret->to_pid = last_pid();
}

/* One process of a look. What is cheap to know is asked first; `pidfd`, where
 * it is not -1, was opened before the process was looked at. */
static void
look_at(struct tree_procs *t, int proc, const struct child *c, struct proc *p,
    int pidfd)
{
	const struct proc *parent;

	if (c != NULL && p->pid != c->w->heritage.keeper_pid) {
		parent = find(t, p->ppid);
		if ((parent != NULL && parent->member) || is_kin(c, p)) {
			join(t, proc, c, p, pidfd);
			return;
		}
	}
	read_mark(t, proc, p);
	p->read = true;
	if (c != NULL && !is_own(c, p) &&
	    (is_marked(c, p) || holds_output(proc, c, p)))
		join(t, proc, c, p, pidfd);
}

/* Whoever we stopped is as we left it: nothing to read there. */
static bool
take_stopped(const struct child *c, int32_t pid, struct proc *ret)
{
	size_t lo = 0, hi = c->known_count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (c->known[mid].pid < pid) {
			lo = mid + 1;
		} else if (c->known[mid].pid > pid) {
			hi = mid;
		} else {
			*ret = (struct proc){.pid = pid,
			    .start = c->known[mid].start, .read = true,
			    .member = true, .stopped = true};
			return c->known[mid].stopped;
		}
	}
	return false;
}

/* Looks at /proc; members of `c` are told apart, and stopped, on the way. */
static void
look(struct tree_procs *t, const struct child *c)
{
	uint64_t now = clock_boot_ns();
	struct dirent *e;
	DIR *d;
	int proc, pidfd;
	int32_t pid;

	t->taken_ns = now;
	t->taken_pid = last_pid();
	t->count = 0;
	t->fresh = 0;
	t->of = c != NULL ? c->sid.v : 0;
	d = opendir("/proc");
	if (d == NULL)
		return;
	proc = dirfd(d);
	while ((e = readdir(d)) != NULL && make_room(t)) {
		struct proc *p = &t->list[t->count];

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		pid = (int32_t)atol(e->d_name);
		if (pid <= 1 || pid == getpid())
			continue;
		if (c != NULL && c->freezing && take_stopped(c, pid, p)) {
			t->count++;
			continue;
		}
		pidfd = c != NULL && c->freezing
		    ? (int)syscall(SYS_pidfd_open, pid, 0)
		    : -1;
		/* 2: the kernel's own */
		if (read_stat(proc, pid, p) && p->ppid != 2) {
			t->count++;
			look_at(t, proc, c, p, pidfd);
		}
		if (pidfd >= 0)
			close(pidfd);
	}
	closedir(d);
	t->cost_ns = clock_boot_ns() - now;
}

/* The members of the last look are the ones known from now on; who is dead
 * needs nobody to vouch for. */
static void
keep_known(struct tree_procs *t, struct child *c, size_t n)
{
	struct tree_known *known;
	size_t i, k = 0;

	if (n > c->known_cap) {
		known = realloc(c->known, n * sizeof(*known));
		if (known == NULL)
			return;
		c->known = known;
		c->known_cap = n;
	}
	for (i = 0; i < t->count; i++)
		if (t->list[i].member)
			c->known[k++] = (struct tree_known){
			    .pid = t->list[i].pid, .start = t->list[i].start,
			    .stopped = t->list[i].stopped};
	c->known_count = k;
}

/* Children whose parents have higher numbers than they have. */
static void
join_children(struct tree_procs *t, int proc, const struct child *c)
{
	const struct proc *parent;
	bool more = true;
	size_t i;
	int round;

	for (round = 0; more && round < ROUNDS_MAX; round++) {
		more = false;
		for (i = 0; i < t->count; i++) {
			if (t->list[i].member || t->list[i].ppid <= 1 ||
			    is_own(c, &t->list[i]))
				continue;
			parent = find(t, t->list[i].ppid);
			if (parent == NULL || !parent->member)
				continue;
			join(t, proc, c, &t->list[i], -1);
			more = true;
		}
	}
}

/* Tells the members of a session apart: how many. The look may be one that was
 * taken for another session, but not before `after_ns`. */
static size_t
find_members(struct tree_procs *t, struct child *c, uint64_t after_ns)
{
	size_t i, n = 0;
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (proc < 0)
		return 0;
	if (t->taken_ns == 0 || t->taken_ns <= after_ns ||
	    clock_boot_ns() > t->taken_ns + t->cost_ns + FRESH_NS) {
		look(t, c);
	} else if (t->of != c->sid.v) {
		t->fresh = 0;
		t->of = c->sid.v;
		for (i = 0; i < t->count; i++) {
			struct proc *p = &t->list[i];

			p->member = p->stopped = false;
			if (!p->read)
				read_mark(t, proc, p);
			p->read = true;
			if (is_own(c, p))
				continue;
			if (is_kin(c, p) || is_marked(c, p) ||
			    holds_output(proc, c, p))
				join(t, proc, c, p, -1);
		}
	}
	join_children(t, proc, c);
	for (i = 0; i < t->count; i++)
		n += t->list[i].member;
	keep_known(t, c, n);
	close(proc);
	return n;
}

/* Who is left. */
size_t
tree_procs_left(struct tree_procs *t, struct child *c, int32_t *ret_pids,
    size_t max)
{
	size_t i, n = 0, count = find_members(t, c, 0);

	if (count == 0) /* so says a look that may be old */
		count = find_members(t, c, UINT64_MAX);
	for (i = 0; i < t->count && n < max && n < count; i++)
		if (t->list[i].member)
			ret_pids[n++] = t->list[i].pid;
	return count;
}

/* One signal to all members of the last look. */
static void
signal_members(struct tree_procs *t, const struct child *c, int sig)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	size_t i;

	for (i = 0; proc >= 0 && i < t->count; i++)
		if (t->list[i].member &&
		    (sig == SIGKILL || t->list[i].pgrp != c->pid))
			signal_one(proc, &t->list[i], sig);
	if (proc >= 0)
		close(proc);
}

/* Has it been told before? If not, it is from now on. */
static bool
late_is_told(struct child *c, int32_t pid)
{
	unsigned i;

	for (i = 0; i < c->first.late_count; i++)
		if (c->first.late[i] == pid)
			return true;
	if (i == CHILD_LATE_MAX)
		return true; /* the others are left to KILL */
	c->first.late[c->first.late_count++] = pid;
	return false;
}

/* Began it in that span? By its number, for the time is told in 10 ms; by the
 * time, since numbers come again. */
static bool
is_of_span(const struct tree_span *span, const struct proc *p)
{
	uint64_t tick = NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	bool after = p->pid > span->from_pid, before = p->pid <= span->to_pid;

	return p->start >= span->from_ns / tick &&
	    p->start <= span->to_ns / tick && span->from_pid > 0 &&
	    span->to_pid > 0 &&
	    (span->from_pid <= span->to_pid ? after && before
	                                    : after || before);
}

void
tree_procs_signal_late(struct child *c, const int32_t *pids, size_t n)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct proc p;
	size_t i;

	for (i = 0; proc >= 0 && i < n; i++)
		if (read_stat(proc, pids[i], &p) &&
		    p.ppid == c->w->heritage.keeper_pid && p.pgrp != c->pid &&
		    is_of_span(&c->first.unseen, &p) &&
		    !late_is_told(c, p.pid))
			signal_one(proc, &p, c->first.sig);
	if (proc >= 0)
		close(proc);
}

/* All members outside of the command's own group. */
void
tree_procs_signal(struct tree_procs *t, struct child *c, int sig,
    struct tree_span *ret)
{
	size_t n = find_members(t, c, 0);

	FAULT("stop.amid-signal");
	if (ret != NULL) {
		ret->from_ns = t->taken_ns;
		ret->from_pid = t->taken_pid;
		tree_span_to(ret);
	}
	if (n > 0)
		signal_members(t, c, sig);
}

/* Stops who is not stopped yet. True: a look that began after everybody known
 * was stopped has shown nobody else. */
bool
tree_procs_freeze(struct tree_procs *t, struct child *c)
{
	(void)find_members(t, c, c->frozen_ns);
	if (t->fresh == 0)
		return true;
	t->fresh = 0;
	c->frozen_ns = clock_boot_ns();
	return false;
}

/* SIGKILL to everybody of the last look. */
void
tree_procs_kill(struct tree_procs *t, struct child *c)
{
	if (t->of != c->sid.v)
		(void)find_members(t, c, 0);
	signal_members(t, c, SIGKILL);
	t->taken_ns = 0; /* who is left is worth a new look */
}

/* Who of them holds the output. */
size_t
tree_procs_holders(const struct child *c, int32_t *pids, size_t n)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct output_names want;
	size_t i, count = 0;

	output_names(c, &want);
	for (i = 0; proc >= 0 && i < n; i++)
		if (has_open(proc, pids[i], &want))
			pids[count++] = pids[i];
	if (proc >= 0)
		close(proc);
	return count;
}

/* What the process is called. False: it is gone. */
bool
tree_procs_name(int32_t pid, char *ret, size_t size)
{
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct proc p;
	bool alive;

	if (proc < 0)
		return false;
	alive = read_stat(proc, pid, &p);
	if (alive)
		snprintf(ret, size, "%s", p.name);
	close(proc);
	return alive;
}

/* Every mark of ours. */
size_t
tree_procs_kill_marked(struct tree_procs *t, uint64_t incarnation)
{
	size_t i, n = 0;

	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	look(t, NULL);
	for (i = 0; proc >= 0 && i < t->count; i++) {
		if (t->list[i].mark_incarnation != incarnation)
			continue;
		signal_one(proc, &t->list[i], SIGKILL);
		n++;
	}
	if (proc >= 0)
		close(proc);
	return n;
}
