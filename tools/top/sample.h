/* SPDX-License-Identifier: MIT */
/*
 * Processor time, memory and input of running sessions, from /proc. Asked for
 * the rows that are shown, so that a thousand sessions cost what a screenful
 * costs. A session whose processes are another user's, or in another pid
 * namespace, shows no figures.
 */
#ifndef TOP_SAMPLE_H
#define TOP_SAMPLE_H

#include "model.h"
#include "proc.h"

/* Remembers the processor time of what it was asked about. */
struct sampler;
struct sampler *sample_new(void); /* NULL: no memory */
void sample_free(struct sampler **s);
/* Processor time since the last call, memory, number of processes: the
 * session's process and all below it. Once a refresh. */
void sample_row(struct sampler *s, struct top_row *row, uint64_t mono_ns);
/* What was found the last time, at no cost. */
void sample_recall(struct sampler *s, struct top_row *row);
/* Forgets what was not asked about since the last call. */
void sample_sweep(struct sampler *s);

/* The processes of a session, the first one first. How many. */
struct sample_process {
	int pid, depth;
	struct procfs_stat stat;
	int64_t rss_bytes;
};
size_t sample_tree(int pid, struct sample_process *ret, size_t max);

#endif
