/* SPDX-License-Identifier: MIT */
/*
 * How long ended sessions stay: the TTL by one timer to the next expiry, the
 * caps per scope, and the output budget, which evicts the oldest ended ones
 * and then refuses. A running session is never hurt.
 *
 * Expiry goes by CLOCK_BOOTTIME for what ended under this master. For what
 * ended under an earlier one only the wall time of the end is known; a clock
 * that was set in between moves that expiry.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "common/cgroup.h"
#include "common/clock.h"
#include "common/log.h"
#include "shm/stats.h"
#include "supervisor/master.h"

#define NEARLY_FULL (1u << 20) /* of the tmpfs: nothing new starts below */
/* What a new session is counted with before its ring says more. */
#define FIRST_BYTES (16u << 10)

/* Milliseconds until an ended session expires; 0: now. */
static uint64_t
expires_in(const struct session *s)
{
	uint64_t age;

	if (s->ended_ns != 0) {
		age = (clock_boot_ns() - s->ended_ns) / NSEC_PER_MSEC;
	} else {
		uint64_t now = clock_wall_ms();

		age = now > s->ended_ms ? now - s->ended_ms : 0;
	}
	return age >= s->ttl_ms ? 0 : s->ttl_ms - age;
}

/* Does a request still wait for its words? */
static bool
in_use(const struct session *s)
{
	return !LIST_EMPTY(&s->watches) || s->dirty;
}

/* The timer: forgets what has expired. */
static void
on_sweep(int fd, short what, void *arg)
{
	struct master *m = arg;
	struct session *s, *next;

	(void)fd;
	(void)what;
	TAILQ_FOREACH_SAFE(s, &m->ended, ended_link, next)
		if (!in_use(s) && expires_in(s) == 0)
			registry_forget(m, s);
	sweep_arm(m);
}

/* Arms the timer to the next expiry; none where nothing is kept. */
void
sweep_arm(struct master *m)
{
	const struct session *s = TAILQ_FIRST(&m->ended);
	uint64_t ms;

	if (s == NULL)
		return;
	ms = expires_in(s);
	timer_in(m, &m->sweep_timer, on_sweep, m, ms < 100 ? 100 : ms);
}

/* Keeps one scope within its caps; the newest always stays. */
static void
sweep_scope(struct master *m, const struct session *newest)
{
	uint64_t count = 0, bytes = 0;
	struct session *s, *prev;

	if (m->cfg.finished == 0 && m->cfg.finished_bytes == 0)
		return;
	TAILQ_FOREACH_REVERSE_SAFE(s, &m->ended, session_list, ended_link,
	    prev) {
		if (strcmp(s->scope, newest->scope) != 0 || !s->backgrounded)
			continue;
		count++;
		bytes += s->total;
		if (s == newest || in_use(s))
			continue;
		if ((m->cfg.finished != 0 && count > m->cfg.finished) ||
		    (m->cfg.finished_bytes != 0 &&
			bytes > m->cfg.finished_bytes)) {
			count--;
			bytes -= s->total;
			registry_forget(m, s);
		}
	}
}

/* A session has just ended, or was found ended at the start. */
void
sweep_ended(struct master *m, struct session *s)
{
	bool first = TAILQ_EMPTY(&m->ended);

	if (s->in_ended)
		return;
	s->in_ended = true;
	TAILQ_INSERT_TAIL(&m->ended, s, ended_link);
	m->finished_bytes += s->ring_bytes;
	sweep_scope(m, s);
	if (first)
		sweep_arm(m);
}

/* An answered foreground session: kept for a while for operators; one with a
 * request key as long as any other. */
void
sweep_answered(struct master *m, struct session *s)
{
	struct session *old, *next;

	if (s->backgrounded || s->recent || !s->in_ended ||
	    s->request_key[0] != '\0')
		return;
	s->recent = true;
	m->recent++;
	if (m->recent <= MASTER_RECENT)
		return;
	TAILQ_FOREACH_SAFE(old, &m->ended, ended_link, next) {
		if (!old->recent || old == s || in_use(old))
			continue;
		registry_forget(m, old);
		if (m->recent <= MASTER_RECENT)
			break;
	}
}

/* Bytes of output memory in use: live rings and ended ones, but for those that
 * are being removed. */
uint64_t
sweep_used(const struct master *m)
{
	uint64_t used = m->finished_bytes;

	if (m->pages == NULL)
		return used;
	for (uint32_t i = 0; i < MASTER_WORKERS; i++) {
		const struct stats_page *p;

		if (!m->workers[i].present)
			continue;
		p = &m->pages[STATS_PAGE_OF_WORKER(i)];
		used += atomic_load_explicit(&p->ring_bytes,
		    memory_order_relaxed);
	}
	return used > m->leaving_bytes ? used - m->leaving_bytes : 0;
}

/* Forgets ended sessions, oldest first, until `bytes` more have room. */
void
sweep_evict_for(struct master *m, uint64_t bytes)
{
	struct session *s, *next;
	uint64_t used = sweep_used(m);

	if (used + bytes <= m->budget)
		return;
	TAILQ_FOREACH_SAFE(s, &m->ended, ended_link, next) {
		uint64_t freed = s->ring_bytes;

		if (in_use(s))
			continue;
		log_event(LOG_DEBUG, "session-evicted", KV_SESSION(s));
		registry_forget(m, s);
		used = used > freed ? used - freed : 0;
		if (used + bytes <= m->budget)
			return;
	}
}

/* Bytes that the runtime directory's file system still has. */
static uint64_t
fs_free(const struct master *m)
{
	struct statfs fs;

	if (fstatfs(m->dirfd, &fs) < 0 || fs.f_blocks == 0)
		return UINT64_MAX;
	return (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
}

/* May one more session start? */
int
sweep_admit(struct master *m, struct session *s, struct proto_problem *why)
{
	(void)s;
	if (m->live - m->counts[STATE_QUEUED] >= m->h.max_sessions) {
		proto_problem_set(why, PROTO_E_NO_SPACE, "",
		    "%u sessions run, and the descriptors allow no more "
		    "(raise the limit of open files)",
		    m->h.max_sessions);
		return -ENOSPC;
	}
	sweep_evict_for(m, FIRST_BYTES);
	if (sweep_used(m) + FIRST_BYTES > m->budget) {
		proto_problem_set(why, PROTO_E_NO_SPACE, "",
		    "no space: running sessions fill the output budget of "
		    "%" PRIu64 " bytes",
		    m->budget);
		return -ENOSPC;
	}
	while (fs_free(m) < NEARLY_FULL) {
		struct session *old = TAILQ_FIRST(&m->ended);

		while (old != NULL && in_use(old))
			old = TAILQ_NEXT(old, ended_link);
		if (old == NULL) {
			proto_problem_set(why, PROTO_E_NO_SPACE, "",
			    "no space: less than 1 MiB is left in %s",
			    m->h.runtime_dir);
			return -ENOSPC;
		}
		registry_forget(m, old);
	}
	return 0;
}

/* A number in a file, or UINT64_MAX ("max", or no such file). */
static uint64_t
number_in(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned long long v;
	int n;

	if (f == NULL)
		return UINT64_MAX;
	n = fscanf(f, "%llu", &v);
	fclose(f);
	return n == 1 ? v : UINT64_MAX;
}

/* The least that our own control group, or one above it, allows. */
static uint64_t
memory_allowed(enum cgroup_hierarchy which, const char *file)
{
	char path[CGROUP_PATH_MAX], name[CGROUP_PATH_MAX + 40];
	uint64_t least = UINT64_MAX, v;
	char *slash;

	if (cgroup_own_path(which, path, sizeof(path)) < 0)
		return least;
	do {
		snprintf(name, sizeof(name), "%s/%s", path, file);
		v = number_in(name);
		if (v < least)
			least = v;
		slash = strrchr(path, '/');
		if (slash != NULL)
			*slash = '\0';
	} while (slash != NULL && slash != path);
	return least;
}

/* The output budget: as configured, else a quarter of what the tmpfs and the
 * memory cgroup allow. */
void
sweep_budget(struct master *m)
{
	struct statfs fs;
	uint64_t room = UINT64_MAX, cg;

	if (m->cfg.output_budget != 0) {
		m->budget = m->cfg.output_budget;
	} else {
		if (fstatfs(m->dirfd, &fs) == 0 && fs.f_blocks != 0)
			room = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize;
		cg = memory_allowed(CGROUP_UNIFIED, "memory.max");
		if (cg < room)
			room = cg;
		cg = memory_allowed(CGROUP_MEMORY, "memory.limit_in_bytes");
		if (cg < room)
			room = cg;
		m->budget = room == UINT64_MAX ? 1ull << 30 : room / 4;
	}
	atomic_store_explicit(&m->board.hdr->budget_bytes, m->budget,
	    memory_order_relaxed);
}
