/* SPDX-License-Identifier: MIT */
/*
 * Samples of running sessions, from /proc: of the processes in the session's
 * control group where it has one, else of its command and what descends from
 * it. Called by result.c and api/poll.c for those who ask.
 */
#include "supervisor/session/usage.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cgroup.h"
#include "common/clock.h"
#include "common/mark.h"
#include "common/procfs.h"

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
	    (r = readers_get(m, s->id.sid)) == NULL ||
	    ring_facts(r, &f) != RING_OK || f.raw.leaf == 0)
		return 0;
	cgroup_leaf_name(f.raw.box, f.raw.leaf, leaf);
	snprintf(path, sizeof(path), "%s/%s", m->h.group[HERITAGE_GROUP_TREE],
	    leaf);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = cgroup_pids(fd, pids, max);
	close(fd);
	return n;
}

/* Adds what one process uses, and what its dead children have used. */
static void
add_process(int32_t pid, struct usage_sample *u)
{
	unsigned long long in = 0, out = 0;
	struct procfs_stat st;
	uint64_t peak_kib;
	char text[1024], *p;

	if (procfs_stat(pid, &st) < 0)
		return;
	u->cpu_ms += st.ticks * 1000u / (uint64_t)sysconf(_SC_CLK_TCK);
	u->rss_bytes += (uint64_t)st.rss_pages *
	    (uint64_t)sysconf(_SC_PAGESIZE);
	if (procfs_number(pid, "status", "VmHWM:", &peak_kib) &&
	    peak_kib * 1024 > u->max_rss_bytes)
		u->max_rss_bytes = peak_kib * 1024;
	if (mark_may_wait(&st) ||
	    procfs_file(pid, "io", text, sizeof(text)) <= 0)
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
	pids[0] = s->facts.pid;
	return s->facts.pid > 0 && s->state == STATE_RUNNING;
}

size_t
usage_pids(struct master *m, struct session *s, int32_t *pids, size_t max)
{
	size_t n = members(m, s, pids, max), at;

	if (n == 0) {
		n = root_of(s, pids);
		for (at = 0; at < n; at++)
			n += procfs_children(pids[at], pids + n, max - n);
	}
	return n < max ? n : max;
}

/* How many outlived it. */
static uint64_t
left_of(const struct session *s)
{
	return s->facts.remaining > s->facts.holders ? s->facts.remaining
						     : s->facts.holders;
}

/* Those who are looked at, as far as they are known without looking. Of an ended
 * one where a control group says who they are. */
static void
sample_begin(struct master *m, struct session *s, struct usage_sample *u)
{
	bool live = session_live(s);

	u->sid = s->id.sid;
	u->live = live;
	u->at = 0;
	u->pids = 0;
	u->cpu_ms = u->rss_bytes = u->io_bytes = u->max_rss_bytes = 0;
	if (live ? s->facts.pid > 0
	         : left_of(s) > 0 && s->facts.in_leaf && session_has_left(s))
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

	if (u->sid.v != s->id.sid.v || u->live != session_live(s))
		sample_begin(m, s, u);
	while (u->at < u->pids && u->at < USAGE_PIDS_MAX) {
		pid = u->pid[u->at++];
		if (!u->in_leaf)
			u->pids += procfs_children(pid, u->pid + u->pids,
			    USAGE_PIDS_MAX - u->pids);
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

	enc_kv_uint(e, "cpuMs", (s->facts.utime_us + s->facts.stime_us) / 1000);
	enc_kv_uint(e, "maxRssBytes", (uint64_t)s->facts.maxrss_kib * 1024);
	if (left == 0 || (u != NULL && u->pids > 0))
		enc_kv_uint(e, "rssBytes", left == 0 ? 0 : u->rss_bytes);
	enc_kv_uint(e, "ioBytes", s->facts.io_blocks * 512);
	enc_kv_uint(e, "pids", left);
}

void
usage_encode(const struct session *s, const struct usage_sample *u,
    struct enc *e)
{
	if (session_live(s) && (u == NULL || s->facts.pid <= 0))
		return;
	enc_kv_map(e, "usage");
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
