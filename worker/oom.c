/* SPDX-License-Identifier: MIT */
/*
 * The OOM killer's choice: a command, with what it forked before we came to say
 * so. That cannot be said before the exec: the child shares our memory, and
 * what is written for it the kernel writes for us. Called by start.c and
 * ladder.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/procfs.h"
#include "worker/start.h"
#include "worker/tree.h"

#define FORKED_MAX 128u /* looked at, in one round */
#define ROUNDS     8u   /* while there is somebody new */

/* 0 or -errno: -ENOENT, -ESRCH: it is gone. */
static int
write_score(int32_t pid, int32_t score)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)score);
	return procfs_write(pid, "oom_score_adj", text);
}

/* Is it in the list? */
static bool
is_in(const int32_t *list, size_t count, int32_t pid)
{
	size_t i;

	for (i = 0; i < count && list[i] != pid; i++)
		;
	return i < count;
}

/* Everybody it forked before; who forks after that hands the score on. Again
 * while somebody new is there, since one that was not written to may fork.
 * False: it has forked nobody. */
static bool
raise_forked(struct child *c)
{
	int32_t before[FORKED_MAX], now[FORKED_MAX];
	size_t count = 0, n, i;
	unsigned round;
	bool more = true;

	for (round = 0; round < ROUNDS && more; round++) {
		n = tree_forked(c, now, FORKED_MAX);
		n = n < FORKED_MAX ? n : FORKED_MAX;
		more = false;
		for (i = 0; i < n; i++) {
			if (now[i] == c->pid || is_in(before, count, now[i]))
				continue;
			more = true;
			(void)write_score(now[i], c->oom_score_adj);
		}
		memcpy(before, now, n * sizeof(now[0]));
		count = n;
	}
	return count > 1 || (count == 1 && before[0] != c->pid);
}

/* Who was being forked meanwhile had the old score already, and was not in the
 * leaf yet; on a full machine a fork takes its time. */
static void
look_again(struct child *c)
{
	c->oom_ns = c->w->now_ns + (START_OOM_NS << c->oom_looks++);
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
		if (raise_forked(c) && c->oom_looks < START_OOM_LOOKS)
			look_again(c);
		return;
	}
	rc = write_score(c->pid, c->oom_score_adj);
	if (rc == -EACCES && ++c->oom_tries < START_OOM_TRIES) {
		c->oom_ns = c->w->now_ns + NSEC_PER_MSEC;
		return; /* else it is dead, or nobody may look at it */
	}
	if (rc < 0 && rc != -ENOENT && rc != -ESRCH)
		log_event(LOG_DEBUG, "oom-score-kept", KV("session", c->sid.v));
	(void)raise_forked(c);
	look_again(c);
}
