/* SPDX-License-Identifier: MIT */
/*
 * Processor time and memory of running sessions, from /proc: the session's
 * process and everything below it. Called for the rows on the screen, so that
 * a thousand sessions cost what a screenful costs. A session whose processes
 * are another user's, or in another pid namespace, shows no figures.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "top.h"

#define TREE_MAX 256 /* processes of a session that are looked at */
#define NS_PER_SEC 1e9

/* What was seen of a session the last time. */
struct seen {
	uint64_t instance;
	uint64_t born;    /* of its process, in ticks: it is the same one */
	uint64_t ticks;   /* processor time */
	uint64_t mono_ns;
	bool asked;       /* since the last sweep */
};

struct sampler {
	struct seen *seen;
	size_t count, room;
	double ticks_per_sec;
	long page_bytes;
};

/* One line of /proc/PID/stat. */
struct proc_stat {
	char state;
	int parent;
	uint64_t ticks, born;
	int64_t rss_pages;
};

struct sampler *
sample_new(void)
{
	struct sampler *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->ticks_per_sec = (double)sysconf(_SC_CLK_TCK);
	s->page_bytes = sysconf(_SC_PAGESIZE);
	return s;
}

void
sample_free(struct sampler **s)
{
	if (*s == NULL)
		return;
	free((*s)->seen);
	free(*s);
	*s = NULL;
}

/* A small file of /proc as a string. Its length, or -1. */
static ssize_t
slurp(const char *path, char *dst, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, dst, size - 1);
	close(fd);
	if (n >= 0)
		dst[n] = '\0';
	return n;
}

/* Reads /proc/PID/stat; the name in it may hold anything, also brackets. */
static bool
read_stat(int pid, struct proc_stat *ret)
{
	unsigned long long user, sys, dead_user, dead_sys, born;
	char path[48], text[1024], *p;
	struct proc_stat st = {0};
	long long rss;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (slurp(path, text, sizeof(text)) <= 0)
		return false;
	p = strrchr(text, ')');
	if (p == NULL || sscanf(p + 1,
	        " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu "
	        "%llu %*d %*d %*d %*d %llu %*u %lld",
	        &st.state, &st.parent, &user, &sys, &dead_user, &dead_sys,
	        &born, &rss) != 8)
		return false;
	st.ticks = user + sys + dead_user + dead_sys;
	st.born = born;
	st.rss_pages = rss > 0 ? rss : 0;
	*ret = st;
	return true;
}

char
sample_process_state(int pid)
{
	struct proc_stat st;

	return pid > 0 && read_stat(pid, &st) ? st.state : '\0';
}

/* Appends the children of a process to the list. */
static void
add_children(int pid, int *pids, size_t *count)
{
	char path[64], text[4096], *p = text, *end;
	long child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	if (slurp(path, text, sizeof(text)) <= 0)
		return;
	while (*count < TREE_MAX) {
		child = strtol(p, &end, 10);
		/* the last number may be cut: only one that a blank ends */
		if (end == p || *end != ' ' || child <= 0 || child > INT32_MAX)
			return;
		pids[(*count)++] = (int)child;
		p = end;
	}
}

/* Adds up a process and all below it. False: it is gone. */
static bool
read_tree(int pid, struct proc_stat *ret)
{
	int pids[TREE_MAX] = {pid};
	struct proc_stat st, all = {0};
	size_t count = 1;

	if (!read_stat(pid, &all))
		return false;
	add_children(pid, pids, &count);
	for (size_t i = 1; i < count; i++) {
		if (!read_stat(pids[i], &st))
			continue;
		all.ticks += st.ticks;
		all.rss_pages += st.rss_pages;
		add_children(pids[i], pids, &count);
	}
	*ret = all;
	return true;
}

/* Where an instance is or belongs in the sorted table. */
static size_t
seen_place(const struct sampler *s, uint64_t instance)
{
	size_t low = 0, high = s->count, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (s->seen[mid].instance < instance)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* What is known of an instance, made where there was nothing; NULL: no
 * memory. */
static struct seen *
seen_get(struct sampler *s, uint64_t instance)
{
	size_t room = s->room == 0 ? 128 : 2 * s->room;
	size_t at = seen_place(s, instance);
	struct seen *more;

	if (at < s->count && s->seen[at].instance == instance)
		return &s->seen[at];
	if (s->count == s->room) {
		more = reallocarray(s->seen, room, sizeof(*more));
		if (more == NULL)
			return NULL;
		s->seen = more;
		s->room = room;
	}
	memmove(&s->seen[at + 1], &s->seen[at],
	    (s->count - at) * sizeof(*s->seen));
	s->count++;
	s->seen[at] = (struct seen){.instance = instance};
	return &s->seen[at];
}

void
sample_row(struct sampler *s, struct top_row *row, uint64_t mono_ns)
{
	struct proc_stat all;
	struct seen *seen;
	double seconds;

	if (!row->live || row->s.pid <= 0 || !read_tree(row->s.pid, &all) ||
	    (seen = seen_get(s, row->s.instance)) == NULL)
		return;
	row->rss_bytes = all.rss_pages * s->page_bytes;
	if (seen->mono_ns != 0 && seen->born == all.born &&
	    mono_ns > seen->mono_ns) {
		seconds = (double)(mono_ns - seen->mono_ns) / NS_PER_SEC;
		/* what nobody waited for takes its time along */
		row->cpu_percent = all.ticks > seen->ticks
		    ? (double)(all.ticks - seen->ticks) /
		        s->ticks_per_sec / seconds * 100
		    : 0;
	}
	seen->born = all.born;
	seen->ticks = all.ticks;
	seen->mono_ns = mono_ns;
	seen->asked = true;
}

void
sample_sweep(struct sampler *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (!s->seen[i].asked)
			continue;
		s->seen[kept] = s->seen[i];
		s->seen[kept++].asked = false;
	}
	s->count = kept;
}
