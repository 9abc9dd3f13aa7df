/* SPDX-License-Identifier: MIT */
/* Samples of /proc: see sample.h. Called by the display and by batch.c. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sample.h"
#include "common/grow.h"

#define TREE_MAX   256 /* processes of a session that are looked at */
#define NS_PER_SEC 1e9

/* What was seen of a session the last time. */
struct seen {
	uint64_t instance;
	uint64_t born;    /* of its process, in ticks: it is the same one */
	uint64_t ticks;   /* processor time */
	uint64_t mono_ns;
	/* what was found */
	double cpu_percent;
	int64_t rss_bytes;
	int processes;
	bool reads_input;
	bool asked;       /* since the last sweep */
};

struct sampler {
	struct seen *seen;
	size_t count, room;
	double ticks_per_sec;
	long page_bytes;
};

/* A session's processes, added up. */
struct sum {
	struct procfs_stat stat; /* of the first; ticks and pages of all */
	int processes;
	bool reads_input;
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

/* Adds up a process and all below it. False: it is gone. */
static bool
read_tree(int pid, bool input, struct sum *ret)
{
	int pids[TREE_MAX] = {pid};
	struct sum all = {.processes = 1};
	struct procfs_stat st;
	size_t count = 1;
	char link[64];

	if (procfs_stat(pid, &all.stat) < 0)
		return false;
	input = input && proc_fd(pid, 0, link, sizeof(link));
	if (input && all.stat.state == 'S')
		all.reads_input = proc_reads(&all.stat, link);
	count += procfs_children(pid, pids + 1, TREE_MAX - 1);
	for (size_t i = 1; i < count; i++) {
		if (procfs_stat(pids[i], &st) < 0)
			continue;
		all.processes++;
		all.stat.ticks += st.ticks;
		all.stat.rss_pages += st.rss_pages;
		if (input && !all.reads_input && st.state == 'S')
			all.reads_input = proc_reads(&st, link);
		count += procfs_children(pids[i], pids + count,
		    TREE_MAX - count);
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
	size_t at = seen_place(s, instance);

	if (at < s->count && s->seen[at].instance == instance)
		return &s->seen[at];
	if (!GROW(s->seen, s->room, s->count + 1, 128))
		return NULL;
	memmove(&s->seen[at + 1], &s->seen[at],
	    (s->count - at) * sizeof(*s->seen));
	s->count++;
	s->seen[at] = (struct seen){.instance = instance};
	return &s->seen[at];
}

/* What was found, into a row. */
static void
tell(struct seen *seen, struct top_row *row)
{
	row->cpu_percent = seen->cpu_percent;
	row->rss_bytes = seen->rss_bytes;
	row->processes = seen->processes;
	if (seen->reads_input && row->input != INPUT_CLOSED)
		row->input = INPUT_READS;
	seen->asked = true;
}

void
sample_recall(struct sampler *s, struct top_row *row)
{
	size_t at = seen_place(s, row->s.instance);

	if (at < s->count && s->seen[at].instance == row->s.instance &&
	    row->live)
		tell(&s->seen[at], row);
}

void
sample_row(struct sampler *s, struct top_row *row, uint64_t mono_ns)
{
	struct seen *seen;
	double seconds;
	struct sum all;

	if (!row->live || row->s.ended_ms != 0 || row->s.pid <= 0 ||
	    !read_tree(row->s.pid, row->input != INPUT_CLOSED, &all) ||
	    (seen = seen_get(s, row->s.instance)) == NULL)
		return;
	seen->cpu_percent = -1;
	if (seen->mono_ns != 0 && seen->born == all.stat.start &&
	    mono_ns > seen->mono_ns) {
		seconds = (double)(mono_ns - seen->mono_ns) / NS_PER_SEC;
		/* what nobody waited for takes its time along */
		seen->cpu_percent = all.stat.ticks > seen->ticks
		    ? (double)(all.stat.ticks - seen->ticks) /
		        s->ticks_per_sec / seconds * 100
		    : 0;
	}
	seen->born = all.stat.start;
	seen->ticks = all.stat.ticks;
	seen->mono_ns = mono_ns;
	seen->rss_bytes = all.stat.rss_pages * s->page_bytes;
	seen->processes = all.processes;
	seen->reads_input = all.reads_input;
	tell(seen, row);
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

/* A process and what is below it, depth first. */
static void
walk(int pid, int depth, struct sample_process *ret, size_t max, size_t *count)
{
	int children[TREE_MAX];
	size_t n;

	if (*count == max || depth > 16 ||
	    procfs_stat(pid, &ret[*count].stat) < 0)
		return;
	ret[*count].pid = pid;
	ret[*count].depth = depth;
	ret[*count].rss_bytes = ret[*count].stat.rss_pages *
	    sysconf(_SC_PAGESIZE);
	(*count)++;
	n = procfs_children(pid, children, max < TREE_MAX ? max : TREE_MAX);
	for (size_t i = 0; i < n; i++)
		walk(children[i], depth + 1, ret, max, count);
}

size_t
sample_tree(int pid, struct sample_process *ret, size_t max)
{
	size_t count = 0;

	walk(pid, 0, ret, max, &count);
	return count;
}
