/* SPDX-License-Identifier: MIT */
/*
 * The model: a copy of everything the view shows, and the rates by the
 * difference to the copy before. Called once a refresh. It asks no server and
 * maps nothing to write; a server that was replaced is noticed and its memory
 * opened anew.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "top.h"

#define SILENT_MS    3000u /* a heartbeat comes once a second */
#define NS_PER_SEC   1e9

/* Nanoseconds of a clock. */
static uint64_t
clock_of(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

void
model_init(struct top_model *m, const char *runtime_dir)
{
	memset(m, 0, sizeof(*m));
	m->runtime_dir = runtime_dir != NULL ? strdup(runtime_dir) : NULL;
	m->state = "no server";
}

void
model_fini(struct top_model *m)
{
	psup_view_close(&m->view);
	free(m->rows);
	free(m->before);
	free(m->runtime_dir);
	memset(m, 0, sizeof(*m));
}

/* Which of two rows has the lower instance. */
static int
by_instance(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	return (x->s.instance > y->s.instance) -
	    (x->s.instance < y->s.instance);
}

struct top_row *
model_find(struct top_model *m, uint64_t instance)
{
	struct top_row key;

	key.s.instance = instance;
	if (m->count == 0)
		return NULL;
	return bsearch(&key, m->rows, m->count, sizeof(key), by_instance);
}

/* Room for one more row. False: no memory. */
static bool
rows_room(struct top_model *m)
{
	size_t room = m->room == 0 ? 256 : 2 * m->room;
	struct top_row *more;

	if (m->count < m->room)
		return true;
	more = reallocarray(m->rows, room, sizeof(*more));
	if (more == NULL)
		return false;
	m->rows = more;
	m->room = room;
	return true;
}

/* All sessions, sorted; one that a moving slot showed twice counts once.
 * 0 or -ENOMEM. */
static int
copy_sessions(struct top_model *m)
{
	size_t cursor = 0, kept = 0;
	struct top_row *r;

	m->count = 0;
	for (;;) {
		if (!rows_room(m))
			return -ENOMEM;
		r = &m->rows[m->count];
		if (psup_view_next_session(m->view, &cursor, &r->s) != 1)
			break;
		r->output_rate = r->cpu_percent = -1;
		r->rss_bytes = -1;
		r->live = strcmp(r->s.status, "running") == 0;
		m->count++;
	}
	if (m->count > 1)
		qsort(m->rows, m->count, sizeof(*m->rows), by_instance);
	for (size_t i = 0; i < m->count; i++)
		if (i == 0 || m->rows[i].s.instance !=
		        m->rows[kept - 1].s.instance)
			m->rows[kept++] = m->rows[i];
	m->count = kept;
	return 0;
}

/* Rates of sessions, and their sum: both copies are sorted. */
static void
session_rates(struct top_model *m, double seconds)
{
	const struct top_row *b = m->before;
	const struct top_row *end = m->before + m->before_count;
	uint64_t moved, sum = 0;

	for (size_t i = 0; i < m->count; i++) {
		struct top_row *r = &m->rows[i];

		while (b < end && b->s.instance < r->s.instance)
			b++;
		moved = r->s.total_bytes;
		if (b < end && b->s.instance == r->s.instance)
			moved = moved > b->s.total_bytes
			    ? moved - b->s.total_bytes
			    : 0;
		sum += moved;
		r->output_rate = (double)moved / seconds;
	}
	m->output_rate = (double)sum / seconds;
}

/* A counter's growth a second; one that began anew has none. */
static double
rate_of(uint64_t now, uint64_t before, double seconds)
{
	return now > before ? (double)(now - before) / seconds : 0;
}

/* The process of a role, or NULL. */
static const struct psup_view_process *
process_of(const struct top_model *m, const char *role)
{
	for (size_t i = 0; i < m->process_count; i++)
		if (strcmp(m->processes[i].role, role) == 0)
			return &m->processes[i];
	return NULL;
}

/* Is there such a process? One that nobody reaped is none. */
static bool
is_alive(const struct psup_view_process *p)
{
	char state;

	if (p == NULL || p->pid <= 0)
		return false;
	state = sample_process_state(p->pid);
	if (state == '\0') /* /proc may hide it */
		return kill(p->pid, 0) == 0 || errno == EPERM;
	return state != 'Z' && state != 'X';
}

/* What the processes' pages say about the server. */
static void
judge_server(struct top_model *m)
{
	const struct psup_view_process *keeper = process_of(m, "keeper");
	const struct psup_view_process *master = process_of(m, "master");
	char state;

	m->healthy = false;
	if (!is_alive(keeper)) {
		m->state = "down";
		return;
	}
	if (!is_alive(master)) {
		m->state = "master down";
		return;
	}
	state = sample_process_state(master->pid);
	if (state == 'T' || state == 't')
		m->state = "master stopped";
	else if (master->heartbeat_age_ms > SILENT_MS)
		m->state = "master silent";
	else {
		m->state = "running";
		m->healthy = true;
	}
}

/* Processes, lanes and totals. */
static void
copy_rest(struct top_model *m)
{
	size_t cursor = 0;

	m->process_count = m->lane_count = 0;
	while (m->process_count < TOP_PROCESSES &&
	    psup_view_next_process(m->view, &cursor,
	        &m->processes[m->process_count]) == 1)
		m->process_count++;
	cursor = 0;
	while (m->lane_count < TOP_LANES &&
	    psup_view_next_lane(m->view, &cursor, &m->lanes[m->lane_count]) ==
	        1)
		m->lane_count++;
	psup_view_totals(m->view, &m->totals);
}

/* Nothing is known of a server. */
static void
forget(struct top_model *m)
{
	psup_view_close(&m->view);
	m->count = m->before_count = 0;
	m->process_count = m->lane_count = 0;
	memset(&m->totals, 0, sizeof(m->totals));
	m->refreshes = 0;
	m->healthy = false;
	m->state = "no server";
	m->starts_rate = m->ends_rate = m->output_rate = -1;
}

/* The memory that is there now, where the server we look at is not well (it may
 * have been replaced) or there was none. 0 or -errno. */
static int
reopen(struct top_model *m)
{
	struct psup_view_totals t;
	psup_view *v;
	int rc;

	if (m->view != NULL && m->healthy)
		return 0;
	rc = psup_view_open(m->runtime_dir, &v, m->why, sizeof(m->why));
	if (rc < 0) {
		if (m->why[0] == '\0')
			snprintf(m->why, sizeof(m->why), "%s", strerror(-rc));
		forget(m);
		return rc;
	}
	psup_view_totals(v, &t);
	if (m->view != NULL && t.incarnation != m->totals.incarnation)
		forget(m);
	psup_view_close(&m->view);
	m->view = v;
	return 0;
}

int
model_refresh(struct top_model *m)
{
	uint64_t mono = clock_of(CLOCK_MONOTONIC);
	double seconds = (double)(mono - m->mono_ns) / NS_PER_SEC;
	struct top_row *rows;
	size_t room;
	int rc = reopen(m);

	m->now_ms = clock_of(CLOCK_REALTIME) / 1000000u;
	m->mono_ns = mono;
	if (rc < 0)
		return rc;
	rows = m->before;
	room = m->before_room;
	m->before = m->rows;
	m->before_room = m->room;
	m->before_count = m->count;
	m->rows = rows;
	m->room = room;
	m->totals_before = m->totals;
	if (copy_sessions(m) < 0)
		return -ENOMEM;
	copy_rest(m);
	judge_server(m);
	m->starts_rate = m->ends_rate = m->output_rate = -1;
	if (m->refreshes++ > 0 && seconds > 0) {
		session_rates(m, seconds);
		m->starts_rate = rate_of(m->totals.started_ever,
		    m->totals_before.started_ever, seconds);
		m->ends_rate = rate_of(m->totals.ended_ever,
		    m->totals_before.ended_ever, seconds);
	}
	return 0;
}
