/* SPDX-License-Identifier: MIT */
/* See box_group.h. Called by start.c, limits.c and tree.c. */
#include "worker/box_group.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cgroup.h"
#include "common/check.h"
#include "common/err.h"
#include "common/kfile.h"
#include "common/log.h"

#define PATH_BYTES  (HERITAGE_GROUP_MAX + CGROUP_LEAF_MAX)
#define CPU_PERIOD_US 100000u

/* In one hierarchy. False: there is none. */
static bool
path_in(const struct worker *w, enum heritage_group in, uint64_t box, char *ret,
    size_t size)
{
	char name[CGROUP_LEAF_MAX];

	if (w->heritage.group[in][0] == '\0')
		return false;
	cgroup_leaf_name(box, 0, name);
	(void)snprintf(ret, size, "%s/%s", w->heritage.group[in], name);
	return true;
}

bool
box_group_path(const struct worker *w, uint64_t box, enum ctl_limit which,
    char *ret, size_t size)
{
	switch (heritage_limit_by(&w->heritage, which)) {
	case HERITAGE_BY_TREE:
		return path_in(w, HERITAGE_GROUP_TREE, box, ret, size);
	case HERITAGE_BY_V1:
		return path_in(w,
		    which == CTL_LIMIT_MEMORY ? HERITAGE_GROUP_MEMORY :
						HERITAGE_GROUP_PIDS,
		    box, ret, size);
	default:
		return false;
	}
}

/* Makes the group, if it is not there; its directory, open, or -errno. */
static int
make_one(const char *path)
{
	int fd;

	if (mkdir(path, 0755) != 0 && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* One bound that a group can hold the box to; -1: the box has none, but a command
 * in it may have, whose group lies in this one. */
static int
make_bound(struct child *c, enum ctl_limit which, int64_t v)
{
	bool memory = which == CTL_LIMIT_MEMORY;
	bool tree = heritage_limit_by(&c->w->heritage, which) ==
	    HERITAGE_BY_TREE;
	bool v2 = tree && (c->w->heritage.flags & HERITAGE_TREE_V2) != 0;
	char path[PATH_BYTES];
	int dir, rc;

	if (!box_group_path(c->w, c->box, which, path, sizeof(path)))
		return 0; /* each of its commands has an rlimit instead */
	dir = make_one(path);
	if (dir < 0)
		return dir;
	if (v < 0) {
		close(dir);
		return 0;
	}
	rc = kfile_write_number(dir,
	    !memory ? "pids.max" :
		v2  ? "memory.max" :
		      "memory.limit_in_bytes",
	    v);
	/* else it would go on in the swap; where that is counted */
	if (rc == 0 && memory)
		(void)kfile_write_number(dir,
		    v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes",
		    v2 ? 0 : v);
	close(dir);
	return rc;
}

/* The tree's group of the box, whose leaves can be held to less. The processors
 * are bounded in version 2 alone, and from the first such box on: what is
 * scheduled by groups is so outside of boxes, too. */
static int
make_tree(struct child *c, uint32_t cpus)
{
	const struct heritage *h = &c->w->heritage;
	char path[PATH_BYTES], text[48];
	int dir, root;

	if (!path_in(c->w, HERITAGE_GROUP_TREE, c->box, path, sizeof(path)))
		return 0;
	root = cpus != 0 && (h->flags & HERITAGE_TREE_LIMIT_CPU) != 0 ?
		   open(h->group[HERITAGE_GROUP_TREE],
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) :
		   -1;
	if (root >= 0)
		(void)kfile_write(root, "cgroup.subtree_control", "+cpu");
	dir = make_one(path);
	if (dir >= 0 && (h->flags & HERITAGE_TREE_V2) != 0) {
		(void)kfile_write(dir, "cgroup.subtree_control", "+memory");
		(void)kfile_write(dir, "cgroup.subtree_control", "+pids");
	}
	if (dir >= 0 && root >= 0) {
		(void)snprintf(text, sizeof(text), "%" PRIu64 " %u",
		    (uint64_t)cpus * (CPU_PERIOD_US / 100), CPU_PERIOD_US);
		(void)kfile_write(dir, "cpu.max", text);
	}
	if (root >= 0)
		close(root);
	if (dir < 0)
		return dir;
	close(dir);
	return 0;
}

int
box_group_make(struct child *c, const struct ctl_start *order)
{
	int rc = make_tree(c, order->box_cpus);

	for (unsigned i = CTL_LIMIT_MEMORY; rc == 0 && i <= CTL_LIMIT_PIDS; i++)
		rc = make_bound(c, (enum ctl_limit)i,
		    (order->limit_mask & 1u << i) != 0 ? order->limit[i] : -1);
	if (rc < 0)
		log_event(LOG_WARN, "cgroup-not-made",
		    KV("session", c->sid.v), KV("error", err_name(-rc)));
	return rc;
}

int
box_group_join(const struct child *c, uint64_t own, struct spawn_limits *ret)
{
	char path[PATH_BYTES + sizeof("/cgroup.procs")];
	int fd;

	for (unsigned i = CTL_LIMIT_MEMORY; i <= CTL_LIMIT_PIDS; i++) {
		if ((own & 1u << i) != 0 ||
		    heritage_limit_by(&c->w->heritage, (enum ctl_limit)i) !=
			HERITAGE_BY_V1 ||
		    !box_group_path(c->w, c->box, (enum ctl_limit)i, path,
			PATH_BYTES))
			continue;
		(void)strlcat(path, "/cgroup.procs", sizeof(path));
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			continue; /* the box has no such bound */
		if (fd < 0)
			return -errno;
		CHECK(ret->join_count < NELEMS(ret->join));
		ret->join[ret->join_count++] = fd;
	}
	return 0;
}

bool
box_group_remove(const struct worker *w, uint64_t box)
{
	char path[PATH_BYTES];
	bool gone = true;

	for (unsigned i = 0; i < HERITAGE_GROUPS; i++)
		if (path_in(w, (enum heritage_group)i, box, path,
			sizeof(path)) &&
		    cgroup_remove(AT_FDCWD, path) != 0)
			gone = false;
	return gone;
}
