/* SPDX-License-Identifier: MIT */
/*
 * Limits (limits.h). Called by start.c around the clone and by child.c at the
 * end. Groups of version 1 are named after the session, so that whoever takes
 * it over finds them; the ring's header says whether there are any.
 */
#include "worker/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cgroup.h"
#include "common/err.h"
#include "common/kfile.h"
#include "common/log.h"
#include "common/priority.h"
#include "worker/box_group.h"
#include "worker/start_plan.h"
#include "worker/tree.h"

/* Where a limit is written, by what holds it. */
static const struct limit {
	int resource;             /* rlimit; -1: none */
	enum heritage_group group; /* version 1 */
	const char *v1, *v2;      /* files; NULL: none */
} limits[CTL_LIMITS] = {
    [CTL_LIMIT_MEMORY] = {RLIMIT_AS, HERITAGE_GROUP_MEMORY,
        "memory.limit_in_bytes", "memory.max"},
    [CTL_LIMIT_PIDS] = {-1, HERITAGE_GROUP_PIDS, "pids.max", "pids.max"},
    [CTL_LIMIT_CPU] = {RLIMIT_CPU, HERITAGE_GROUPS, NULL, NULL},
    [CTL_LIMIT_FSIZE] = {RLIMIT_FSIZE, HERITAGE_GROUPS, NULL, NULL},
    [CTL_LIMIT_NOFILE] = {RLIMIT_NOFILE, HERITAGE_GROUPS, NULL, NULL},
    [CTL_LIMIT_NICE] = {-1, HERITAGE_GROUPS, NULL, NULL},
};

/* The group of a session in the hierarchy of a limit. */
static void
group_path(const struct child *c, const struct limit *l,
    char ret[HERITAGE_GROUP_MAX + 64])
{
	char box[CGROUP_LEAF_MAX] = "";

	cgroup_leaf_name(c->box, 0, box);
	snprintf(ret, HERITAGE_GROUP_MAX + 64, "%s/%s%ss%" PRIx64,
	    c->w->heritage.group[l->group], box, box[0] != '\0' ? "/" : "",
	    c->sid.v);
}

/* A group of version 1 with one limit; its cgroup.procs for the child. */
static int
make_group(struct child *c, const struct limit *l, int64_t v,
    struct spawn_limits *ret)
{
	char path[HERITAGE_GROUP_MAX + 64];
	int group, rc, fd;

	group_path(c, l, path);
	if (mkdir(path, 0755) != 0 && errno != EEXIST)
		return -errno;
	group = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (group < 0)
		return -errno;
	rc = kfile_write_number(group, l->v1, v);
	if (rc == 0 && l->group == HERITAGE_GROUP_MEMORY)
		(void)kfile_write_number(group, "memory.memsw.limit_in_bytes", v);
	fd = rc == 0 ? openat(group, "cgroup.procs", O_WRONLY | O_CLOEXEC)
		     : -1;
	if (rc == 0 && fd < 0)
		rc = -errno;
	close(group);
	if (rc == 0)
		ret->join[ret->join_count++] = fd;
	return rc;
}

/* One limit, wherever it belongs. */
static int
prepare_one(struct child *c, unsigned which, int64_t v, int leaf,
    struct spawn_limits *ret)
{
	const struct limit *l = &limits[which];
	enum heritage_by by =
	    heritage_limit_by(&c->w->heritage, (enum ctl_limit)which);

	if (which == CTL_LIMIT_NICE) {
		ret->nice_set = true;
		ret->nice = (int)v;
		return 0;
	}
	switch (by) {
	case HERITAGE_BY_TREE:
		if (leaf < 0)
			return -EIO;
		return kfile_write_number(leaf,
		    c->w->heritage.flags & HERITAGE_TREE_V2 ? l->v2 : l->v1,
		    v);
	case HERITAGE_BY_V1:
		return make_group(c, l, v, ret);
	case HERITAGE_BY_RLIMIT:
		ret->rl[ret->rl_count].resource = l->resource;
		ret->rl[ret->rl_count].soft = (uint64_t)v;
		/* past XCPU there is a second to say something */
		ret->rl[ret->rl_count++].hard =
		    (uint64_t)v + (which == CTL_LIMIT_CPU ? 1 : 0);
		return 0;
	case HERITAGE_BY_NOTHING:
		if (which != CTL_LIMIT_PIDS ||
		    (c->plan->order.flags & CTL_START_BOXED) == 0)
			break;
		/* the box's namespace has users of its own: all inside of it
		 * count, and nobody else */
		ret->rl[ret->rl_count].resource = RLIMIT_NPROC;
		ret->rl[ret->rl_count].soft = (uint64_t)v;
		ret->rl[ret->rl_count++].hard = (uint64_t)v;
		return 0;
	}
	return -EOPNOTSUPP;
}

/* The number after a word at the beginning of a line of a group's file. False:
 * there is no such line. */
static bool
count_in(const char *path, const char *file, const char *word, uint64_t *ret)
{
	char name[HERITAGE_GROUP_MAX + 96], text[1024], *at;

	snprintf(name, sizeof(name), "%s/%s", path, file);
	if (kfile_read(AT_FDCWD, name, text, sizeof(text)) <= 0)
		return false;
	for (at = text; (at = strstr(at, word)) != NULL; at++) {
		if ((at != text && at[-1] != '\n') ||
		    (word[0] != '\0' && at[strlen(word)] != ' '))
			continue;
		*ret = strtoull(at + strlen(word), NULL, 10);
		return true;
	}
	return false;
}

/* Where the group that holds a session to a limit is, `own` those that are its
 * own; the others are its box's. False: none does. */
static bool
limit_path(struct child *c, enum ctl_limit which, uint64_t own, char *ret,
    size_t size)
{
	char path[HERITAGE_GROUP_MAX + 64];

	switch (heritage_limit_by(&c->w->heritage, which)) {
	case HERITAGE_BY_V1:
		if ((own & 1u << which) == 0)
			return box_group_path(c->w, c->box, which, ret, size);
		group_path(c, &limits[which], path);
		snprintf(ret, size, "%s", path);
		return true;
	case HERITAGE_BY_TREE:
		return tree_path(c, ret, size) == 0;
	default:
		return false;
	}
}

/* How often the kernel has killed for the session's memory, or since it is no
 * group of its own, for that of its box. A kernel that does not count that
 * (before 4.13) still counts how often the limit was met. */
static uint64_t
ooms(struct child *c, uint64_t own)
{
	char path[HERITAGE_GROUP_MAX + 64];
	uint64_t n = 0;

	if (!limit_path(c, CTL_LIMIT_MEMORY, own, path, sizeof(path)))
		return 0;
	if (!count_in(path, "memory.events", "oom_kill", &n) &&
	    !count_in(path, "memory.oom_control", "oom_kill", &n))
		(void)count_in(path, "memory.failcnt", "", &n);
	return n;
}

/* How many forks were refused, since there were too many processes. Kernels
 * count that where it was tried, or (6.12) where the bound is. */
static uint64_t
forks_refused(struct child *c, uint64_t own)
{
	char path[HERITAGE_GROUP_MAX + 64];
	uint64_t n = 0, of_box = 0;

	if (limit_path(c, CTL_LIMIT_PIDS, own, path, sizeof(path)))
		(void)count_in(path, "pids.events", "max", &n);
	if (c->box != 0 && (own & 1u << CTL_LIMIT_PIDS) == 0 &&
	    box_group_path(c->w, c->box, CTL_LIMIT_PIDS, path, sizeof(path)) &&
	    heritage_limit_by(&c->w->heritage, CTL_LIMIT_PIDS) ==
		HERITAGE_BY_TREE)
		(void)count_in(path, "pids.events", "max", &of_box);
	return n + of_box;
}

/* What others in its box had met of its bounds before. */
static void
note_box(struct child *c, uint64_t own)
{
	struct ring_header *hdr = c->ring.hdr;

	atomic_store(&hdr->box_ooms, (uint32_t)ooms(c, own));
	atomic_store(&hdr->box_full, (uint32_t)forks_refused(c, own));
}

bool
limits_need_leaf(const struct child *c, uint32_t mask)
{
	bool any = false;

	for (unsigned i = CTL_LIMIT_MEMORY; i <= CTL_LIMIT_PIDS; i++)
		any |= (c->box != 0 || (mask & 1u << i) != 0) &&
		    heritage_limit_by(&c->w->heritage, (enum ctl_limit)i) ==
			HERITAGE_BY_TREE;
	return any;
}

int
limits_prepare(struct child *c, const struct ctl_start *order, int leaf,
    struct spawn_limits *ret)
{
	/* of a box, these are its groups' (box_group.h) */
	const uint32_t box = (order->flags & CTL_START_BOX) != 0
	    ? 1u << CTL_LIMIT_MEMORY | 1u << CTL_LIMIT_PIDS
	    : 0;
	unsigned i;
	int rc = 0;

	ret->nice = priority_of_commands();
	for (i = 0; i < CTL_LIMITS && rc == 0; i++)
		if ((order->limit_mask & ~box & (1u << i)) != 0)
			rc = prepare_one(c, i, order->limit[i], leaf, ret);
	if (rc == 0 && c->box != 0) {
		rc = box_group_join(c, order->limit_mask & ~box, ret);
		note_box(c, order->limit_mask & ~box);
	}
	if (rc == 0)
		return 0;
	log_event(LOG_WARN, "limit-not-set", KV("session", c->sid.v),
	    KV("limit", i - 1), KV("error", err_name(-rc)));
	limits_close(ret);
	limits_leave(c);
	return rc;
}

void
limits_close(struct spawn_limits *l)
{
	while (l->join_count > 0)
		close(l->join[--l->join_count]);
}

/* Was it a limit? The command's shell tells of a child's death by 128 + n; one
 * that got over a fork that was refused exits with 0. */
enum end_reason
limits_verdict(struct child *c)
{
	const struct ring_header *hdr = c->ring.hdr;
	uint64_t mask = atomic_load(&hdr->limits);
	int sig = c->exit.code == CLD_EXITED
	    ? (c->exit.status > 128 ? c->exit.status - 128 : 0)
	    : c->exit.status;

	if (mask == 0 && c->box == 0)
		return END_NONE;
	if (((mask & 1u << CTL_LIMIT_MEMORY) != 0 || c->box != 0) &&
	    sig == SIGKILL && ooms(c, mask) > atomic_load(&hdr->box_ooms))
		return END_OOM;
	if (((mask & 1u << CTL_LIMIT_CPU) != 0 && sig == SIGXCPU) ||
	    ((mask & 1u << CTL_LIMIT_FSIZE) != 0 && sig == SIGXFSZ))
		return END_LIMIT;
	if (((mask & 1u << CTL_LIMIT_PIDS) != 0 || c->box != 0) &&
	    c->exit.status != 0 &&
	    forks_refused(c, mask) > atomic_load(&hdr->box_full))
		return END_LIMIT;
	return END_NONE;
}

void
limits_leave(struct child *c)
{
	char path[HERITAGE_GROUP_MAX + 64];
	unsigned i;

	for (i = 0; i < CTL_LIMITS; i++) {
		if (limits[i].v1 == NULL ||
		    heritage_limit_by(&c->w->heritage, (enum ctl_limit)i) !=
		        HERITAGE_BY_V1)
			continue;
		group_path(c, &limits[i], path);
		(void)cgroup_remove(AT_FDCWD, path);
	}
}
