/* SPDX-License-Identifier: MIT */
/*
 * The leaves of a worker (tree.h). Called by start.c around the clone, by
 * child.c at the end. Making and removing a leaf costs as much as a clone, hence
 * the pool. While commands start a few leaves are kept open, those used last:
 * ten thousand sessions cost no descriptor.
 */
#include "worker/tree_leaves.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cgroup.h"
#include "common/err.h"
#include "common/kfile.h"
#include "common/log.h"
#include "worker/box_group.h"

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

int
tree_leaf_open(const struct tree *t, struct leaf l)
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
	return &t->open[(uint32_t)id % LEAVES_OPEN_MAX];
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

	for (size_t i = 0; i < LEAVES_OPEN_MAX; i++) {
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
	dir = tree_leaf_open(t, l);
	if (dir < 0 && (errno == EMFILE || errno == ENFILE) && tree_shed(w))
		dir = tree_leaf_open(t, l);
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

	if (!spent && leaf_is_own(w, l.id) && t->idle_count < LEAVES_IDLE_MAX &&
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
	if (t->busy_count < LEAVES_BUSY_MAX)
		t->busy[(t->busy_head + t->busy_count++) % LEAVES_BUSY_MAX] =
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
	t->busy_head = (t->busy_head + 1) % LEAVES_BUSY_MAX;
	t->busy_count--;
	leaf_put(w, b.leaf, b.spent);
}

/* A leaf for a box's commands, or for those outside. False: none is idle. */
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
