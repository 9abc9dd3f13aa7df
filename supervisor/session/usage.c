/* SPDX-License-Identifier: MIT */
/*
 * Samples of running sessions, from /proc: of the processes in the session's
 * control group where it has one, else of its command and what descends from
 * it. Called by result.c and api/poll.c for those who ask.
 */
#include "supervisor/session/usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cgroup.h"
#include "common/clock.h"
#include "common/mark.h"

/* One file of a process, as text. */
static bool
read_proc(int32_t pid, const char *file, char *ret, size_t size)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/%s", (int)pid, file);
	return cgroup_read(AT_FDCWD, name, ret, size) > 0;
}

/* Adds the children of a process; how many there are with them. */
static size_t
add_children(int32_t pid, int32_t *pids, size_t n, size_t max)
{
	char file[48], text[8192], *p, *end;
	long child;

	snprintf(file, sizeof(file), "task/%d/children", (int)pid);
	if (!read_proc(pid, file, text, sizeof(text)))
		return n;
	for (p = text; n < max; p = end) {
		child = strtol(p, &end, 10);
		if (end == p || child <= 1)
			break;
		pids[n++] = (int32_t)child;
	}
	return n;
}

/* The members of its leaf; 0: it has none, or nobody is in it. */
static size_t
members(struct master *m, struct session *s, int32_t *pids, size_t max)
{
	static struct ring_facts f; /* a page: used and forgotten here */
	char path[HERITAGE_GROUP_MAX + CGROUP_LEAF_MAX + 1];
	char leaf[CGROUP_LEAF_MAX];
	struct ring_reader *r;
	size_t n;
	int fd;

	if (m->h.group[HERITAGE_GROUP_TREE][0] == '\0' ||
	    (r = readers_get(m, s->sid)) == NULL ||
	    ring_facts(r, &f) != RING_OK || f.raw.leaf == 0)
		return 0;
	cgroup_leaf_name(f.raw.leaf, leaf);
	snprintf(path, sizeof(path), "%s/%s", m->h.group[HERITAGE_GROUP_TREE],
	    leaf);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = cgroup_pids(fd, pids, max);
	close(fd);
	return n;
}

/* The most memory that a process has had, in KiB; 0: gone. */
static uint64_t
peak_kib(int32_t pid)
{
	char text[4096], *p;

	if (!read_proc(pid, "status", text, sizeof(text)) ||
	    (p = strstr(text, "\nVmHWM:")) == NULL)
		return 0;
	return strtoull(p + sizeof("\nVmHWM:") - 1, NULL, 10);
}

/* Adds what one process uses, and what its dead children have used. */
static void
add_process(int32_t pid, struct usage_sample *u)
{
	unsigned long long ut, st, in = 0, out = 0;
	uint64_t peak;
	long long cut, cst, rss;
	char text[1024], *p;

	if (!read_proc(pid, "stat", text, sizeof(text)) ||
	    (p = strrchr(text, ')')) == NULL ||
	    sscanf(p + 1,
		" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu "
		"%lld %lld %*d %*d %*d %*d %*u %*u %lld",
		&ut, &st, &cut, &cst, &rss) != 5)
		return;
	u->cpu_ms += (ut + st + (unsigned long long)(cut + cst)) * 1000u /
	    (unsigned long long)sysconf(_SC_CLK_TCK);
	if (rss > 0)
		u->rss_bytes += (uint64_t)rss *
		    (uint64_t)sysconf(_SC_PAGESIZE);
	peak = peak_kib(pid) * 1024;
	if (peak > u->max_rss_bytes)
		u->max_rss_bytes = peak;
	if (mark_may_wait(text) || !read_proc(pid, "io", text, sizeof(text)))
		return; /* not ours to look at, or not now */
	p = strstr(text, "\nread_bytes: ");
	if (p != NULL && sscanf(p, " read_bytes: %llu write_bytes: %llu", &in,
	                     &out) == 2)
		u->io_bytes += in + out;
}

/* The command, before anybody has looked whom it started. */
static size_t
root_of(const struct session *s, int32_t *pids)
{
	pids[0] = s->pid;
	return s->pid > 0 && s->state == STATE_RUNNING;
}

size_t
usage_pids(struct master *m, struct session *s, int32_t *pids, size_t max)
{
	size_t n = members(m, s, pids, max), at;

	if (n == 0) {
		n = root_of(s, pids);
		for (at = 0; at < n; at++)
			n = add_children(pids[at], pids, n, max);
	}
	return n < max ? n : max;
}

/* How many outlived it. */
static uint64_t
left_of(const struct session *s)
{
	return s->remaining > s->holders ? s->remaining : s->holders;
}

/* Those who are looked at, as far as they are known without looking. Of an ended
 * one where a control group says who they are. */
static void
sample_begin(struct master *m, struct session *s, struct usage_sample *u)
{
	bool live = session_live(s);

	u->sid = s->sid;
	u->live = live;
	u->at = 0;
	u->pids = 0;
	u->cpu_ms = u->rss_bytes = u->io_bytes = u->max_rss_bytes = 0;
	if (live ? s->pid > 0
	         : left_of(s) > 0 && s->in_leaf && session_has_left(s))
		u->pids = members(m, s, u->pid, USAGE_PIDS_MAX);
	u->in_leaf = u->pids > 0;
	if (!u->in_leaf && live)
		u->pids = root_of(s, u->pid);
}

bool
usage_sample(struct master *m, struct session *s, struct usage_sample *u,
    uint64_t until)
{
	int32_t pid;

	if (u->sid.v != s->sid.v || u->live != session_live(s))
		sample_begin(m, s, u);
	while (u->at < u->pids && u->at < USAGE_PIDS_MAX) {
		pid = u->pid[u->at++];
		if (!u->in_leaf)
			u->pids = add_children(pid, u->pid, u->pids,
			    USAGE_PIDS_MAX);
		add_process(pid, u);
		if (clock_boot_ns() >= until)
			break;
	}
	return u->at >= u->pids || u->at >= USAGE_PIDS_MAX;
}

/* What was used, and by how many that are left of it. */
static void
encode_ended(const struct session *s, const struct usage_sample *u,
    struct enc *e)
{
	uint64_t left = left_of(s);

	enc_kv_uint(e, "cpuMs", (s->utime_us + s->stime_us) / 1000);
	enc_kv_uint(e, "maxRssBytes", (uint64_t)s->maxrss_kib * 1024);
	if (left == 0 || (u != NULL && u->pids > 0))
		enc_kv_uint(e, "rssBytes", left == 0 ? 0 : u->rss_bytes);
	enc_kv_uint(e, "ioBytes", s->io_blocks * 512);
	enc_kv_uint(e, "pids", left);
}

void
usage_encode(const struct session *s, const struct usage_sample *u,
    struct enc *e)
{
	if (session_live(s) && (u == NULL || s->pid <= 0))
		return;
	enc_key(e, "usage");
	enc_map(e);
	if (session_live(s)) {
		enc_kv_uint(e, "cpuMs", u->cpu_ms);
		enc_kv_uint(e, "maxRssBytes", u->max_rss_bytes);
		enc_kv_uint(e, "rssBytes", u->rss_bytes);
		enc_kv_uint(e, "ioBytes", u->io_bytes);
		enc_kv_uint(e, "pids", u->pids);
	} else {
		encode_ended(s, u, e);
	}
	enc_end(e);
}
