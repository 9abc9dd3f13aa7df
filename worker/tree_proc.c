/* SPDX-License-Identifier: MIT */
/*
 * The members of a session as /proc shows them, for where there is no control
 * group. One look at /proc serves all sessions that ask within a few ms.
 *
 * A member is: a process of the command's group or POSIX session (the zombie
 * of the command pins these numbers); one whose environment carries the
 * session's mark; the child of a member; one that was a member in an earlier
 * look of the same ladder, since a dead parent can no longer vouch for it.
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
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"

#define PROCS_MAX  65536u
#define KNOWN_MAX  4096u
#define ENV_MAX    262144u /* of an environment; a mark stands early */
#define FRESH_NS   (2 * NSEC_PER_MSEC)
#define ROUNDS_MAX 64 /* generations of children found in one look */
#define MARK       "PSUP_INSTANCE="

struct proc {
	int32_t pid, ppid, pgrp, sid;
	uint64_t start;  /* clock ticks since boot */
	uint64_t mark_incarnation, mark_sid;
	bool member;     /* of the session in hand */
};

struct tree_procs {
	struct proc *list;
	size_t count, cap;
	uint64_t taken_ns; /* when the look began; 0: never */
	uint64_t cost_ns;  /* what it took */
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
	char text[1024], *p, state;
	unsigned long long start;
	int ppid, pgrp, sid;

	if (read_file(proc, pid, "stat", text, sizeof(text)) <= 0)
		return false;
	p = strrchr(text, ')'); /* the name may hold anything */
	if (p == NULL ||
	    sscanf(p + 1,
	        " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
	        "%*d %*d %*d %llu",
	        &state, &ppid, &pgrp, &sid, &start) != 5 ||
	    state == 'Z' || state == 'X')
		return false;
	*ret = (struct proc){.pid = pid, .ppid = ppid, .pgrp = pgrp,
	    .sid = sid, .start = start};
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

/* Looks at /proc, unless that was done just now. */
static void
look(struct tree_procs *t)
{
	uint64_t now = clock_boot_ns();
	struct dirent *e;
	DIR *d;

	if (t->taken_ns != 0 && now < t->taken_ns + t->cost_ns + FRESH_NS)
		return;
	t->taken_ns = now;
	t->count = 0;
	d = opendir("/proc");
	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL && make_room(t)) {
		struct proc *p = &t->list[t->count];

		if (!isdigit((unsigned char)e->d_name[0]) ||
		    !read_stat(dirfd(d), (int32_t)atol(e->d_name), p) ||
		    p->pid <= 1 || p->ppid == 2 || p->pid == getpid())
			continue; /* 2: the kernel's own */
		read_mark(t, dirfd(d), p);
		t->count++;
	}
	closedir(d);
	t->cost_ns = clock_boot_ns() - now;
}

/* Was it a member before? */
static bool
is_known(const struct child *c, const struct proc *p)
{
	size_t i;

	for (i = 0; i < c->known_count; i++)
		if (c->known[i].pid == p->pid && c->known[i].start == p->start)
			return true;
	return false;
}

/* Keeps it for the next look. */
static void
keep(struct child *c, const struct proc *p)
{
	struct tree_known *known;

	if (is_known(c, p) || c->known_count >= KNOWN_MAX)
		return;
	if ((c->known_count & (c->known_count - 1)) == 0) {
		known = realloc(c->known,
		    (c->known_count != 0 ? 2 * c->known_count : 1) *
			sizeof(*known));
		if (known == NULL)
			return;
		c->known = known;
	}
	c->known[c->known_count++] =
	    (struct tree_known){.pid = p->pid, .start = p->start};
}

/* By itself, without regard to its parent. */
static bool
is_member(const struct child *c, const struct proc *p)
{
	return p->pgrp == c->pid || p->sid == c->pid || p->pid == c->pid ||
	    (p->mark_incarnation == c->w->heritage.incarnation &&
	        p->mark_sid == c->sid.v) ||
	    is_known(c, p);
}

/* The process of that number, or NULL: /proc is read in order of pids. */
static const struct proc *
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

/* Marks the members of a session: how many. */
static size_t
find_members(struct tree_procs *t, struct child *c)
{
	const struct heritage *h = &c->w->heritage;
	const struct proc *parent;
	bool more = true;
	size_t i, n = 0;
	int round;

	look(t);
	for (i = 0; i < t->count; i++)
		t->list[i].member = t->list[i].pid != h->keeper_pid &&
		    is_member(c, &t->list[i]);
	for (round = 0; more && round < ROUNDS_MAX; round++) {
		more = false;
		for (i = 0; i < t->count; i++) {
			if (t->list[i].member || t->list[i].ppid <= 1)
				continue;
			parent = find(t, t->list[i].ppid);
			if (parent == NULL || !parent->member)
				continue;
			t->list[i].member = more = true;
		}
	}
	for (i = 0; i < t->count; i++) {
		if (!t->list[i].member)
			continue;
		keep(c, &t->list[i]);
		n++;
	}
	return n;
}

/* One process, if it still is the one that was looked at. */
static void
signal_one(const struct proc *p, int sig)
{
	int pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0), proc;
	struct proc now;

	if (pidfd < 0)
		return;
	proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc >= 0 && read_stat(proc, p->pid, &now) &&
	    now.start == p->start)
		(void)syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
	if (proc >= 0)
		close(proc);
	close(pidfd);
}

/* Who is left. */
size_t
tree_procs_left(struct tree_procs *t, struct child *c, int32_t *ret_pids,
    size_t max)
{
	size_t i, n = 0, count = find_members(t, c);

	if (count == 0) {
		t->taken_ns = 0; /* so says a look that may be old */
		count = find_members(t, c);
	}
	for (i = 0; i < t->count && n < max && n < count; i++)
		if (t->list[i].member)
			ret_pids[n++] = t->list[i].pid;
	return count;
}

/* All members outside of the command's own group. */
void
tree_procs_signal(struct tree_procs *t, struct child *c, int sig)
{
	size_t i;

	if (find_members(t, c) == 0)
		return;
	for (i = 0; i < t->count; i++)
		if (t->list[i].member && t->list[i].pgrp != c->pid)
			signal_one(&t->list[i], sig);
	if (sig == SIGKILL)
		t->taken_ns = 0; /* who is left is worth a new look */
}

/* Every mark of ours. */
size_t
tree_procs_kill_marked(struct tree_procs *t, uint64_t incarnation)
{
	size_t i, n = 0;

	t->taken_ns = 0;
	look(t);
	for (i = 0; i < t->count; i++) {
		if (t->list[i].mark_incarnation != incarnation)
			continue;
		signal_one(&t->list[i], SIGKILL);
		n++;
	}
	return n;
}
