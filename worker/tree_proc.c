/* SPDX-License-Identifier: MIT */
/*
 * The members of a session, found in /proc (procfs.h), for where there is no
 * control group. One look at /proc serves all sessions that ask within a few
 * ms.
 *
 * A member is: a process of the command's group or POSIX session (the zombie
 * of the command pins these numbers); one whose environment carries the
 * session's mark, if it counts (common/mark.h); the child of a member; one that
 * was a member in an earlier look of the same ladder, since a dead parent can no
 * longer vouch for it; an orphan without any mark that holds the session's output
 * open.
 *
 * The last rung freezes before it kills. Whoever is found is stopped at once,
 * until a look that began after everybody known was stopped shows nobody new:
 * what is stopped does not fork, and a stopped parent still vouches for its
 * children. Numbers grow, so a look overtakes what forks and exits to stay
 * ahead of it; where they wrapped, the look after the kill finds it.
 */
#include "common/grow.h"
#include "worker/tree.h"

#include <dirent.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fault.h"
#include "worker/procfs.h"

#define PROCS_MAX  65536u
#define FRESH_NS   (2 * NSEC_PER_MSEC)
#define ROUNDS_MAX 64 /* generations of children found in one look */
#define OWN_NAME   "psup-" /* of master and workers */
#define BOX_NAME   "box"   /* of a box's first process: any that says so will do */

/* One process of a look. */
struct seen {
	struct procfs is;
	bool member;  /* of session `of` */
	bool stopped; /* by us, for good */
};

struct tree_procs {
	struct seen *list;
	size_t count, cap;
	struct tree_span taken; /* from when the look began; from_ns 0: never */
	uint64_t cost_ns;       /* what it took */
	uint64_t of;            /* whose members are marked; 0: nobody's */
	size_t fresh;           /* of these stopped just now */
	int32_t keeper_pid, keeper_sid;
};

struct tree_procs *
tree_procs_new(int32_t keeper_pid)
{
	struct tree_procs *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->keeper_pid = keeper_pid;
	t->keeper_sid = getsid(keeper_pid);
	return t;
}

uint64_t
tree_procs_cost_ns(const struct tree_procs *t)
{
	return t->cost_ns;
}

/* Room for one more. */
static bool
make_room(struct tree_procs *t)
{
	return t->count < PROCS_MAX && GROW(t->list, t->cap, t->count + 1, 256);
}

/* Lists are in order of pids, and each entry begins with its own. */
_Static_assert(offsetof(struct seen, is.pid) == 0 &&
    offsetof(struct tree_known, pid) == 0, "a pid is found by by_pid()");

static int
by_pid(const void *pid, const void *entry)
{
	int32_t a = *(const int32_t *)pid, b = *(const int32_t *)entry;

	return (a > b) - (a < b);
}

/* What an earlier look knew by that number. */
static const struct tree_known *
known_by_pid(const struct child *c, int32_t pid)
{
	return c->known_count == 0 ? NULL
	    : bsearch(&pid, c->known, c->known_count, sizeof(*c->known), by_pid);
}

/* Was it a member before? */
static const struct tree_known *
known_find(const struct child *c, const struct procfs *p)
{
	const struct tree_known *k = known_by_pid(c, p->pid);

	return k != NULL && k->start == p->start ? k : NULL;
}

/* One of psup's own? They have every session's output open: a worker, and a child
 * of the keeper's that is before its exec, for which the keeper waits. That is in
 * the keeper's own POSIX session, where no command and no orphan of one is. */
static bool
is_own(const struct tree_procs *t, const struct procfs *p)
{
	if (p->pid == t->keeper_pid)
		return true;
	return p->ppid == t->keeper_pid &&
	    (p->sid == t->keeper_sid ||
	        (p->read && p->mark_incarnation == 0 &&
	            strncmp(p->name, OWN_NAME, sizeof(OWN_NAME) - 1) == 0));
}

/* Of the command's group or session, or known from before. */
static bool
is_kin(const struct child *c, const struct procfs *p)
{
	return p->pgrp == c->pid || p->sid == c->pid || p->pid == c->pid ||
	    known_find(c, p) != NULL;
}

/* Does its environment name the session? */
static bool
is_marked(const struct child *c, const struct procfs *p)
{
	return p->mark_incarnation == c->w->heritage.incarnation &&
	    p->mark_sid == c->sid.v;
}

/* The process of that number, or NULL: /proc is read in order of pids. */
static struct seen *
find(const struct tree_procs *t, int32_t pid)
{
	return t->count == 0 ? NULL
	    : bsearch(&pid, t->list, t->count, sizeof(*t->list), by_pid);
}

/* Does it belong to who adopts: the keeper, or the first process of its box? */
static bool
is_orphan(const struct tree_procs *t, const struct child *c,
    const struct procfs *p)
{
	const struct seen *parent = c->box != 0 ? find(t, p->ppid) : NULL;

	return p->ppid == t->keeper_pid ||
	    (parent != NULL && strcmp(parent->is.name, BOX_NAME) == 0);
}

/* An orphan without a mark that still holds the session's output. */
static bool
holds_output(const struct tree_procs *t, const struct child *c,
    const struct procfs *p)
{
	int32_t pid = p->pid;

	return p->mark_incarnation == 0 && is_orphan(t, c, p) &&
	    tree_output_holders(c, &pid, 1) > 0;
}

/* A member now; where the session is being frozen, stopped at once: what is
 * stopped cannot fork while the others are looked for. */
static void
join(struct tree_procs *t, const struct child *c, struct seen *s, int pidfd)
{
	const struct tree_known *k = known_find(c, &s->is);

	s->member = true;
	s->stopped = k != NULL && k->stopped;
	if (!c->freezing || s->stopped)
		return;
	if (pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGSTOP, NULL, 0);
	else
		procfs_signal(&s->is, SIGSTOP);
	s->stopped = true;
	t->fresh++;
}

/* One process of a look. What is cheap to know is asked first; `pidfd`, where
 * it is not -1, was opened before the process was looked at. */
static void
look_at(struct tree_procs *t, const struct child *c, struct seen *s,
    int pidfd)
{
	struct procfs *p = &s->is;
	const struct seen *parent;

	if (c != NULL && p->pid != c->w->heritage.keeper_pid) {
		parent = find(t, p->ppid);
		if ((parent != NULL && parent->member) || is_kin(c, p)) {
			join(t, c, s, pidfd);
			return;
		}
	}
	procfs_read_mark(p, t->keeper_pid);
	if (c != NULL && !is_own(t, p) &&
	    (is_marked(c, p) || holds_output(t, c, p)))
		join(t, c, s, pidfd);
}

/* Whoever we stopped is as we left it: nothing to read there. */
static bool
take_stopped(const struct child *c, int32_t pid, struct seen *ret)
{
	const struct tree_known *k = known_by_pid(c, pid);

	if (k == NULL || !k->stopped)
		return false;
	*ret = (struct seen){
	    .is = {.pid = pid, .start = k->start, .read = true},
	    .member = true, .stopped = true};
	return true;
}

/* Looks at /proc; members of `c` are told apart, and stopped, on the way. */
static void
look(struct tree_procs *t, const struct child *c)
{
	DIR *d;
	int32_t pid;
	int pidfd;

	tree_span_from(&t->taken);
	t->count = 0;
	t->fresh = 0;
	t->of = c != NULL ? c->sid.v : 0;
	d = opendir("/proc");
	if (d == NULL)
		return;
	while (make_room(t) && (pid = procfs_next(d)) != 0) {
		struct seen *s = &t->list[t->count];

		if (pid <= 1 || pid == getpid())
			continue;
		if (c != NULL && c->freezing && take_stopped(c, pid, s)) {
			t->count++;
			continue;
		}
		pidfd = c != NULL && c->freezing
		    ? (int)syscall(SYS_pidfd_open, pid, 0)
		    : -1;
		*s = (struct seen){0};
		/* 2: the kernel's own */
		if (procfs_read(pid, &s->is) && s->is.ppid != 2) {
			t->count++;
			look_at(t, c, s, pidfd);
		}
		if (pidfd >= 0)
			close(pidfd);
	}
	closedir(d);
	t->cost_ns = clock_boot_ns() - t->taken.from_ns;
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
			    .pid = t->list[i].is.pid,
			    .start = t->list[i].is.start,
			    .stopped = t->list[i].stopped};
	c->known_count = k;
}

/* Children whose parents have higher numbers than they have. */
static void
join_children(struct tree_procs *t, const struct child *c)
{
	const struct seen *parent;
	bool more = true;
	size_t i;
	int round;

	for (round = 0; more && round < ROUNDS_MAX; round++) {
		more = false;
		for (i = 0; i < t->count; i++) {
			struct seen *s = &t->list[i];

			if (s->member || s->is.ppid <= 1 || is_own(t, &s->is))
				continue;
			parent = find(t, s->is.ppid);
			if (parent == NULL || !parent->member)
				continue;
			join(t, c, s, -1);
			more = true;
		}
	}
}

/* Tells the members of a session apart: how many. The look may be one that was
 * taken for another session, but not before `after_ns`. */
static size_t
find_members(struct tree_procs *t, struct child *c, uint64_t after_ns)
{
	uint64_t taken_ns = t->taken.from_ns;
	size_t i, n = 0;

	if (taken_ns == 0 || taken_ns <= after_ns ||
	    clock_boot_ns() > taken_ns + t->cost_ns + FRESH_NS) {
		look(t, c);
	} else if (t->of != c->sid.v) {
		t->fresh = 0;
		t->of = c->sid.v;
		for (i = 0; i < t->count; i++) {
			struct seen *s = &t->list[i];
			struct procfs *p = &s->is;

			s->member = s->stopped = false;
			if (!p->read)
				procfs_read_mark(p, t->keeper_pid);
			if (is_own(t, p))
				continue;
			if (is_kin(c, p) || is_marked(c, p) ||
			    holds_output(t, c, p))
				join(t, c, s, -1);
		}
	}
	join_children(t, c);
	for (i = 0; i < t->count; i++)
		n += t->list[i].member;
	keep_known(t, c, n);
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
			ret_pids[n++] = t->list[i].is.pid;
	return count;
}

/* One signal to all members of the last look. */
static void
signal_members(struct tree_procs *t, const struct child *c, int sig)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		if (t->list[i].member &&
		    (sig == SIGKILL || t->list[i].is.pgrp != c->pid))
			procfs_signal(&t->list[i].is, sig);
}

/* All members outside of the command's own group. */
void
tree_procs_signal(struct tree_procs *t, struct child *c, int sig,
    struct tree_span *ret)
{
	size_t n = find_members(t, c, 0);

	FAULT("stop.amid-signal");
	if (ret != NULL) {
		*ret = t->taken;
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
	t->taken.from_ns = 0; /* who is left is worth a new look */
}

/* Every mark of ours. Who has another user than we and lost the keeper, from
 * which it came, has its parent's word; numbers mostly grow, and what comes
 * before its parent is an orphan in the next pass. */
size_t
tree_procs_kill_marked(struct tree_procs *t, uint64_t incarnation)
{
	const struct seen *parent;
	size_t i, n = 0;

	look(t, NULL);
	for (i = 0; i < t->count; i++) {
		struct seen *s = &t->list[i];

		parent = find(t, s->is.ppid);
		s->member = s->is.mark_incarnation == incarnation ||
		    (parent != NULL && parent->member);
	}
	for (i = 0; i < t->count; i++) {
		if (!t->list[i].member)
			continue;
		procfs_signal(&t->list[i].is, SIGKILL);
		n++;
	}
	return n;
}
