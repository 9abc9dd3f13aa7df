/* SPDX-License-Identifier: MIT */
/*
 * The leaves of a worker (tree.h). Called by start.c around the clone, by
 * child.c at the end, by ladder.c in between. Making and removing a leaf costs
 * as much as a clone, hence the pool. While commands start a few leaves are kept
 * open, those used last: ten thousand sessions cost no descriptor.
 */
#include "worker/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cgroup.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/fault.h"
#include "common/kfile.h"
#include "common/log.h"
#include "common/procfs.h"
#include "worker/box_group.h"
#include "worker/procfs.h"

#define IDLE_MAX   1024u /* leaves kept for later */
#define BUSY_MAX   4096u /* leaves remembered because something lives there */
#define OPEN_MAX   64u   /* leaves kept open */
#define PIDS_MAX   512u  /* signalled one by one in one pass */
#define KILL_ALL_NS NSEC_PER_SEC
#define LEAF_KILL_NS (50 * NSEC_PER_MSEC)

struct tree {
	int dirfd;      /* psup-INCARNATION; -1: no leaves */
	bool v2;
	char group[32]; /* "/psup-INCARNATION" */
	uint32_t next;  /* number of the next new leaf */
	bool used;      /* a leaf was taken since tree_rest() */
	struct leaf {
		uint64_t box; /* in whose group it is; 0: in none */
		uint64_t id;
	} idle[IDLE_MAX];
	size_t idle_count;
	struct open_leaf {
		uint64_t id; /* 0: none */
		int dir;
		int events; /* cgroup.events; -1: version 1 */
	} open[OPEN_MAX];   /* at their number's remainder */
	struct busy {
		struct leaf leaf; /* id 0: the group of a box */
		bool spent;
	} busy[BUSY_MAX]; /* a queue: something outlived its session */
	size_t busy_head, busy_count;
	struct tree_procs *procs;
	int32_t pids[PIDS_MAX];
};

/* slot, generation, number: unique in an incarnation. */
static uint64_t
leaf_id(const struct worker *w, uint32_t n)
{
	return (uint64_t)(w->heritage.wid.slot & 0xffu) << 56 |
	    (uint64_t)(w->heritage.wid.generation & 0xffffffu) << 32 | n;
}

/* Made by this incarnation of this worker? */
static bool
leaf_is_own(const struct worker *w, uint64_t id)
{
	return id >> 32 == leaf_id(w, 0) >> 32;
}

static int
leaf_open(const struct tree *t, struct leaf l)
{
	char name[CGROUP_LEAF_MAX];

	cgroup_leaf_name(l.box, l.id, name);
	return openat(t->dirfd, name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Where it is kept open, or would be. */
static struct open_leaf *
open_place(struct tree *t, uint64_t id)
{
	return &t->open[(uint32_t)id % OPEN_MAX];
}

/* It is not kept open any more. */
static void
open_drop(struct open_leaf *o)
{
	if (o->id == 0)
		return;
	close(o->dir);
	if (o->events >= 0)
		close(o->events);
	o->id = 0;
}

/* Leaves that are kept open have only made starts faster. True: some were. */
bool
tree_shed(struct worker *w)
{
	struct tree *t = w->tree;
	bool any = false;

	for (size_t i = 0; i < OPEN_MAX; i++) {
		any |= t->open[i].id != 0;
		open_drop(&t->open[i]);
	}
	return any;
}

/* Its directory, which stays the tree's, or -1. */
static int
open_keep(struct worker *w, struct leaf l)
{
	struct tree *t = w->tree;
	struct open_leaf *o = open_place(t, l.id);
	int dir;

	if (o->id == l.id)
		return o->dir;
	dir = leaf_open(t, l);
	if (dir < 0 && (errno == EMFILE || errno == ENFILE) && tree_shed(w))
		dir = leaf_open(t, l);
	if (dir < 0)
		return -1;
	open_drop(o);
	*o = (struct open_leaf){.id = l.id, .dir = dir, .events = -1};
	if (t->v2)
		o->events = openat(dir, "cgroup.events", O_RDONLY | O_CLOEXEC);
	return dir;
}

/* Does nothing live in it or below? Empty groups below do no harm. */
static bool
leaf_is_empty(struct tree *t, struct leaf l)
{
	const struct open_leaf *o = open_place(t, l.id);
	char name[CGROUP_LEAF_MAX + 16], text[256];
	struct stat st;
	ssize_t n;

	if (o->id == l.id && o->events >= 0) {
		n = pread(o->events, text, sizeof(text) - 1, 0);
		text[n > 0 ? n : 0] = '\0';
		return strstr(text, "populated 0") != NULL;
	}
	cgroup_leaf_name(l.box, l.id, name);
	if (!t->v2 && (fstatat(t->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	        st.st_nlink > 2))
		return false; /* cgroup.procs does not tell of those below */
	strcat(name, t->v2 ? "/cgroup.events" : "/cgroup.procs");
	n = kfile_read(t->dirfd, name, text, sizeof(text));
	return t->v2 ? n > 0 && strstr(text, "populated 0") != NULL : n == 0;
}

/*
 * Back into the pool, or away with it. One in which cgroup.kill was used is
 * spent: Linux (seen with 6.18) kills whatever is cloned into it afterwards,
 * since it takes the count of kills from the wrong group.
 */
static void
leaf_put(struct worker *w, struct leaf l, bool spent)
{
	struct tree *t = w->tree;
	char name[CGROUP_LEAF_MAX];

	if (!spent && leaf_is_own(w, l.id) && t->idle_count < IDLE_MAX &&
	    leaf_is_empty(t, l)) {
		t->idle[t->idle_count++] = l;
		return;
	}
	if (l.id != 0 && open_place(t, l.id)->id == l.id)
		open_drop(open_place(t, l.id));
	cgroup_leaf_name(l.box, l.id, name);
	if (l.id == 0 ? box_group_remove(w, l.box)
		      : cgroup_remove(t->dirfd, name) == 0)
		return;
	if (t->busy_count < BUSY_MAX)
		t->busy[(t->busy_head + t->busy_count++) % BUSY_MAX] =
		    (struct busy){.leaf = l, .spent = spent};
	/* else it is left to the keeper's end */
}

/* Looks at the leaf that has been waiting longest for its last member. */
static void
busy_look(struct worker *w)
{
	struct tree *t = w->tree;
	struct busy b;

	if (t->busy_count == 0)
		return;
	b = t->busy[t->busy_head];
	t->busy_head = (t->busy_head + 1) % BUSY_MAX;
	t->busy_count--;
	leaf_put(w, b.leaf, b.spent);
}

/* A leaf for a box's commands, or for those outside; what lies unused of a box
 * that is gone is forgotten with it. False: none is idle. */
static bool
idle_take(struct tree *t, uint64_t box, struct leaf *ret)
{
	for (size_t i = t->idle_count; i > 0; i--) {
		if (t->idle[i - 1].box != box)
			continue;
		*ret = t->idle[i - 1];
		t->idle[i - 1] = t->idle[--t->idle_count];
		return true;
	}
	return false;
}

/* Leaves of boxes that are gone, which went with them. */
static void
idle_forget(struct tree *t)
{
	char name[CGROUP_LEAF_MAX];
	uint64_t there = 0; /* the last one that is */
	size_t i, n = 0;

	for (i = 0; i < t->idle_count; i++) {
		struct leaf l = t->idle[i];

		cgroup_leaf_name(l.box, 0, name);
		if (l.box != 0 && l.box != there &&
		    faccessat(t->dirfd, name, F_OK, 0) != 0) {
			if (open_place(t, l.id)->id == l.id)
				open_drop(open_place(t, l.id));
			continue;
		}
		there = l.box != 0 ? l.box : there;
		t->idle[n++] = l;
	}
	t->idle_count = n;
}

/* Leaves of former incarnations of this slot, as far as they are empty:
 * sessions that were taken over go on in theirs. */
static void
remove_old(struct worker *w)
{
	struct tree *t = w->tree;
	unsigned slot, generation, n;
	struct dirent *e;
	DIR *d;
	int fd;

	fd = openat(t->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd >= 0 ? fdopendir(fd) : NULL;
	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(d)) != NULL)
		if (sscanf(e->d_name, "w%u.%u.%u", &slot, &generation, &n) ==
		        3 &&
		    slot == w->heritage.wid.slot &&
		    generation != w->heritage.wid.generation)
			(void)cgroup_remove(t->dirfd, e->d_name);
	closedir(d);
}

/* What the heritage offers. */
int
tree_init(struct worker *w)
{
	const char *path = w->heritage.group[HERITAGE_GROUP_TREE];
	struct tree *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return -ENOMEM;
	t->dirfd = -1;
	t->procs = tree_procs_new(w->heritage.keeper_pid);
	if (t->procs == NULL) {
		free(t);
		return -ENOMEM;
	}
	w->tree = t;
	if (path[0] == '\0')
		return 0;
	t->v2 = (w->heritage.flags & HERITAGE_TREE_V2) != 0;
	snprintf(t->group, sizeof(t->group), "%.31s", strrchr(path, '/'));
	t->dirfd = open(path,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (t->dirfd < 0)
		log_event(LOG_ERROR, "cgroup-not-made", KV("path", path),
		    KV("error", err_name(errno)));
	else
		remove_old(w);
	return 0;
}

/* A leaf of the pool, or a new one. */
int
tree_enter(struct child *c)
{
	struct worker *w = c->w;
	struct tree *t = w->tree;
	char name[CGROUP_LEAF_MAX];
	struct leaf l;
	int fd;

	if (t->dirfd < 0)
		return -1;
	t->used = true;
	if (t->idle_count == 0)
		busy_look(w);
	while (idle_take(t, c->box, &l)) {
		fd = open_keep(w, l);
		if (fd >= 0) {
			c->leaf = l.id;
			return fd;
		}
	}
	l = (struct leaf){.box = c->box, .id = leaf_id(w, ++t->next)};
	cgroup_leaf_name(l.box, l.id, name);
	if (mkdirat(t->dirfd, name, 0755) != 0) {
		log_event(LOG_WARN, "cgroup-not-made", KV("session", c->sid.v),
		    KV("error", err_name(errno)));
		return -1;
	}
	fd = open_keep(w, l);
	if (fd >= 0)
		c->leaf = l.id;
	return fd;
}

void
tree_rest(struct worker *w)
{
	if (!w->tree->used)
		(void)tree_shed(w);
	w->tree->used = false;
	idle_forget(w->tree);
	busy_look(w);
}

/* The session needs it no more. */
void
tree_leave(struct child *c, bool spent)
{
	if (c->leaf != 0 && c->w->tree->dirfd >= 0)
		leaf_put(c->w, (struct leaf){c->box, c->leaf}, spent);
	c->leaf = 0;
	free(c->known);
	c->known = NULL;
	c->known_count = c->known_cap = 0;
}

void
tree_box_leave(struct child *c)
{
	leaf_put(c->w, (struct leaf){.box = c->box}, true);
}

/* The session's leaf, open, or -1: there is none. */
static int
session_leaf(const struct child *c)
{
	const struct tree *t = c->w->tree;

	return c->leaf != 0 && t->dirfd >= 0
	    ? leaf_open(t, (struct leaf){c->box, c->leaf})
	    : -1;
}

/* Who holds the output. Where nobody may look (another user's processes), all
 * members count. */
size_t
tree_holders(struct child *c, struct ctl_holder *ret, size_t max)
{
	struct tree *t = c->w->tree;
	size_t i, named = 0, n = tree_left(c, t->pids, PIDS_MAX);
	size_t listed = n < PIDS_MAX ? n : PIDS_MAX;
	size_t holding = tree_procs_holders(c, t->pids, listed);

	if (holding > 0)
		n = listed = holding;
	memset(ret, 0, max * sizeof(*ret));
	for (i = 0; i < listed && named < max; i++) {
		if (!procfs_name(t->pids[i], ret[named].name,
		        sizeof(ret[named].name)))
			continue;
		ret[named++].pid = t->pids[i];
	}
	return n;
}

int
tree_path(const struct child *c, char *ret, size_t size)
{
	char name[CGROUP_LEAF_MAX];

	if (c->leaf == 0)
		return -ENOENT;
	cgroup_leaf_name(c->box, c->leaf, name);
	snprintf(ret, size, "%s/%s",
	    c->w->heritage.group[HERITAGE_GROUP_TREE], name);
	return 0;
}

/* The group that a process is in, or 0. */
static pid_t
group_of(pid_t pid)
{
	pid_t g = getpgid(pid);

	return g > 0 ? g : 0;
}

/* Everything in it. Where the kernel does not do that at once, what forks
 * meanwhile is killed in the next pass. */
static void
leaf_kill(int leaf)
{
	uint64_t end = clock_boot_ns() + LEAF_KILL_NS;

	while (cgroup_kill(leaf) > 0 && clock_boot_ns() < end &&
	    faccessat(leaf, "cgroup.kill", W_OK, 0) != 0)
		;
}

/* Signals the members of a leaf one by one. */
static void
leaf_signal(struct child *c, int leaf, int sig, struct tree_span *ret)
{
	struct tree *t = c->w->tree;
	char part[sizeof(t->group) + CGROUP_LEAF_MAX + 1];
	char name[CGROUP_LEAF_MAX];
	size_t i, n;

	cgroup_leaf_name(c->box, c->leaf, name);
	snprintf(part, sizeof(part), "%s/%s", t->group, name);
	if (sig == SIGKILL) {
		leaf_kill(leaf);
		return;
	}
	if (ret != NULL)
		tree_span_from(ret);
	n = cgroup_pids(leaf, t->pids, PIDS_MAX);
	FAULT("stop.amid-signal");
	if (ret != NULL)
		tree_span_to(ret);
	for (i = 0; i < n && i < PIDS_MAX; i++)
		if (t->pids[i] != c->pid && group_of(t->pids[i]) != c->pid)
			(void)cgroup_signal(t->pids[i], part, sig);
}

/* One signal to all that the group's signal does not reach. */
void
tree_signal(struct child *c, int sig, struct tree_span *ret)
{
	int leaf = session_leaf(c);

	if (leaf < 0) {
		tree_procs_signal(c->w->tree->procs, c, sig, ret);
		return;
	}
	leaf_signal(c, leaf, sig, ret);
	close(leaf);
}

void
tree_signal_late(struct child *c)
{
	struct tree *t = c->w->tree;
	size_t n;

	if (c->first.sig == 0 || tree_span_is_empty(&c->first.unseen))
		return;
	n = tree_left(c, t->pids, PIDS_MAX);
	tree_late_signal(c, t->pids, n < PIDS_MAX ? n : PIDS_MAX);
}

/* The last rung. */
bool
tree_kill(struct child *c, uint64_t hurry_ns)
{
	struct tree_procs *procs = c->w->tree->procs;
	int leaf = session_leaf(c);

	if (leaf >= 0) {
		leaf_signal(c, leaf, SIGKILL, NULL);
		close(leaf);
		return true;
	}
	if (!c->freezing) {
		c->freezing = true;
		c->frozen_ns = clock_boot_ns();
		return false; /* one look then serves all that wait for it */
	}
	if (!tree_procs_freeze(procs, c) && clock_boot_ns() < hurry_ns)
		return false;
	tree_procs_kill(procs, c);
	c->freezing = false;
	return true;
}

/* Who is left. */
size_t
tree_left(struct child *c, int32_t *ret_pids, size_t max)
{
	int leaf = session_leaf(c);
	size_t n;

	if (leaf < 0)
		return tree_procs_left(c->w->tree->procs, c, ret_pids, max);
	n = cgroup_pids(leaf, ret_pids, max);
	close(leaf);
	return n;
}

size_t
tree_forked(struct child *c, int32_t *ret_pids, size_t max)
{
	return c->leaf != 0 ? tree_left(c, ret_pids, max)
			    : procfs_children(c->pid, ret_pids, max);
}

/* A look into a leaf is cheap; one at all of /proc should take but a tenth of
 * our time, only that after KILL there is not much of it left. */
uint64_t
tree_pause_ns(const struct child *c, unsigned looks)
{
	unsigned shift = c->state >= CHILD_ENDED ? 10 : 5;
	uint64_t pause = NSEC_PER_MSEC << (looks < shift ? looks : shift);
	uint64_t most = (c->killed ? 50 : 250) * NSEC_PER_MSEC;
	uint64_t cost = 0;

	if (c->leaf == 0)
		cost = 10 * tree_procs_cost_ns(c->w->tree->procs);
	if (cost > most)
		cost = most;
	return pause > cost ? pause : cost;
}

/* Everything of everybody. */
void
tree_kill_all(struct worker *w)
{
	const struct timespec pause = {.tv_nsec = 2000000};
	struct tree *t = w->tree;
	uint64_t end = clock_boot_ns() + KILL_ALL_NS;
	size_t n;

	do {
		n = t->dirfd >= 0 ? cgroup_kill(t->dirfd)
				  : tree_procs_kill_marked(t->procs,
					w->heritage.incarnation);
		if (n > 0)
			nanosleep(&pause, NULL);
	} while (n > 0 && clock_boot_ns() < end);
}
