/* SPDX-License-Identifier: MIT */
/*
 * The OOM killer's choice: a command, with what it forked before we came to say
 * so. That cannot be said before the exec: the child shares our memory, and
 * what is written for it the kernel writes for us. Called by start.c and
 * ladder.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/procfs.h"
#include "worker/start.h"
#include "worker/tree.h"

#define FORKED_MAX 8192u /* of a session */
#define LOOK_NS    (3 * NSEC_PER_MSEC) /* some hundreds of them */
#define MORE_MAX   64u  /* looks that go on with one whose time was up */
#define ROUNDS     8u   /* while there is somebody new */

/* 0 or -errno: -ENOENT, -ESRCH: it is gone. */
static int
write_score(int32_t pid, int32_t score)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)score);
	return procfs_write(pid, "oom_score_adj", text);
}

static int
compare(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* What a look at whom it has forked has found. */
enum forked {
	FORKED_NONE,
	FORKED_SOME,
	FORKED_MORE /* and its time was up before all were written to */
};

/* Everybody it forked before; who forks after that hands the score on. Again
 * while somebody new is there, since one that was not written to may fork. In
 * the order of their numbers, so that the next look knows where to go on. */
static enum forked
raise_forked(struct child *c)
{
	static int32_t lists[2][FORKED_MAX]; /* used and forgotten here */
	uint64_t until = clock_boot_ns() + LOOK_NS;
	int32_t *before = lists[0], *now = lists[1], *swap;
	size_t count = 0, n, i;
	unsigned round;
	bool more = true;

	for (round = 0; round < ROUNDS && more; round++) {
		n = tree_forked(c, now, FORKED_MAX);
		n = n < FORKED_MAX ? n : FORKED_MAX;
		qsort(now, n, sizeof(now[0]), compare);
		more = c->oom_from > 0; /* those before that were written to */
		for (i = 0; i < n; i++) {
			if (now[i] == c->pid || now[i] <= c->oom_from ||
			    bsearch(&now[i], before, count, sizeof(now[0]),
				compare) != NULL)
				continue;
			if (clock_boot_ns() >= until) {
				c->oom_from = now[i] - 1;
				return FORKED_MORE;
			}
			more = true;
			(void)write_score(now[i], c->oom_score_adj);
		}
		c->oom_from = 0;
		swap = before;
		before = now;
		now = swap;
		count = n;
	}
	return count > 1 || (count == 1 && before[0] != c->pid) ? FORKED_SOME
								 : FORKED_NONE;
}

/* Who was being forked meanwhile had the old score already, and was not in the
 * leaf yet; on a full machine a fork takes its time. */
static void
raise_and_look_again(struct child *c)
{
	enum forked forked = raise_forked(c);
	bool goes_on = forked == FORKED_MORE && c->oom_mores++ < MORE_MAX;

	if (goes_on)
		c->oom_ns = c->w->now_ns + 2 * LOOK_NS;
	else if (c->oom_looks == 0 ||
	    (forked != FORKED_NONE && c->oom_looks < START_OOM_LOOKS))
		c->oom_ns = c->w->now_ns + (START_OOM_NS << c->oom_looks);
	if (!goes_on || c->oom_looks == 0)
		c->oom_looks++;
}

/*
 * A child that is not dumpable could not write this itself, and for a moment
 * we cannot either: the kernel lets go of our memory just before it makes the
 * new program dumpable, and until then its files in /proc are root's.
 */
void
start_oom_score(struct child *c)
{
	int rc;

	c->oom_ns = 0;
	if (c->oom_looks > 0) {
		raise_and_look_again(c);
		return;
	}
	rc = write_score(c->pid, c->oom_score_adj);
	if (rc == -EACCES && ++c->oom_tries < START_OOM_TRIES) {
		c->oom_ns = c->w->now_ns + NSEC_PER_MSEC;
		return; /* else it is dead, or nobody may look at it */
	}
	if (rc < 0 && rc != -ENOENT && rc != -ESRCH)
		log_event(LOG_DEBUG, "oom-score-kept", KV("session", c->sid.v));
	raise_and_look_again(c);
}
