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
#include "common/mark.h"

#define PIDS_MAX 1024u /* of a session; more are counted, not looked at */

struct usage {
	uint64_t cpu_ms, rss_bytes, io_bytes, pids;
	uint64_t max_rss_bytes; /* of the one process that had most */
};

/* One file of a process, as text. */
static bool
read_proc(int32_t pid, const char *file, char *ret, size_t size)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/%d/%s", (int)pid, file);
	return cgroup_read(AT_FDCWD, name, ret, size) > 0;
}

/* The command and its descendants, generation by generation. */
static size_t
descendants(int32_t root, int32_t *pids, size_t max)
{
	char file[48], text[8192], *p, *end;
	size_t n = 1, at;
	long pid;

	pids[0] = root;
	for (at = 0; at < n; at++) {
		snprintf(file, sizeof(file), "task/%d/children",
		    (int)pids[at]);
		if (!read_proc(pids[at], file, text, sizeof(text)))
			continue;
		for (p = text; n < max; p = end) {
			pid = strtol(p, &end, 10);
			if (end == p || pid <= 1)
				break;
			pids[n++] = (int32_t)pid;
		}
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
	struct ring_reader *r = readers_get(m, s->sid);
	size_t n;
	int fd;

	if (r == NULL || ring_facts(r, &f) != RING_OK || f.raw.leaf == 0 ||
	    m->h.group[HERITAGE_GROUP_TREE][0] == '\0')
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
add_process(int32_t pid, struct usage *u)
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

size_t
usage_pids(struct master *m, struct session *s, int32_t *pids, size_t max)
{
	size_t n = members(m, s, pids, max);

	if (n == 0 && s->pid > 0 && s->state == STATE_RUNNING)
		n = descendants(s->pid, pids, max);
	return n < max ? n : max;
}

/* A sample. */
static void
sample_take(struct master *m, struct session *s, struct usage *ret)
{
	static int32_t pids[PIDS_MAX];
	size_t i, n = members(m, s, pids, PIDS_MAX);

	*ret = (struct usage){0};
	if (n == 0 && s->pid > 0 && s->state == STATE_RUNNING)
		n = descendants(s->pid, pids, PIDS_MAX);
	ret->pids = n;
	for (i = 0; i < n && i < PIDS_MAX; i++)
		add_process(pids[i], ret);
}

/* What was used, and by how many that are left of it. Their memory is told
 * where a control group says who they are, to those who ask. */
static void
encode_ended(struct master *m, struct session *s, bool sample, struct enc *e)
{
	uint64_t left = s->remaining > s->holders ? s->remaining : s->holders;
	struct usage u = {0};
	bool known = left == 0;

	if (left > 0 && sample && s->in_leaf && session_has_left(s)) {
		sample_take(m, s, &u);
		known = u.pids > 0;
	}
	enc_kv_uint(e, "cpuMs", (s->utime_us + s->stime_us) / 1000);
	enc_kv_uint(e, "maxRssBytes", (uint64_t)s->maxrss_kib * 1024);
	if (known)
		enc_kv_uint(e, "rssBytes", u.rss_bytes);
	enc_kv_uint(e, "ioBytes", s->io_blocks * 512);
	enc_kv_uint(e, "pids", left);
}

void
usage_encode(struct master *m, struct session *s, bool sample, struct enc *e)
{
	struct usage u;

	if (session_live(s) && (!sample || s->pid <= 0))
		return;
	enc_key(e, "usage");
	enc_map(e);
	if (session_live(s)) {
		sample_take(m, s, &u);
		enc_kv_uint(e, "cpuMs", u.cpu_ms);
		enc_kv_uint(e, "maxRssBytes", u.max_rss_bytes);
		enc_kv_uint(e, "rssBytes", u.rss_bytes);
		enc_kv_uint(e, "ioBytes", u.io_bytes);
		enc_kv_uint(e, "pids", u.pids);
	} else {
		encode_ended(m, s, sample, e);
	}
	enc_end(e);
}
