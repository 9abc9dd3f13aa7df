/* SPDX-License-Identifier: MIT */
/*
 * Copies everything the view shows. Called once a refresh. It asks no server
 * and maps nothing to write; a server that was replaced, or came back as
 * another version, is noticed and its memory opened anew.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/grow.h"
#include "model.h"
#include "proc.h"

#define NS_PER_SEC   1e9
#define REOPEN_EVERY 10u /* refreshes, though all seems well */

void
model_init(struct top_model *m, const char *runtime_dir)
{
	memset(m, 0, sizeof(*m));
	m->runtime_dir = runtime_dir != NULL ? strdup(runtime_dir) : NULL;
	m->starts_rate = m->ends_rate = m->output_rate = -1;
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

/* All sessions, sorted; one that a moving slot showed twice counts once.
 * 0 or -ENOMEM. */
static int
copy_sessions(struct top_model *m)
{
	size_t cursor = 0, kept = 0;
	struct top_row *r;

	m->count = 0;
	for (;;) {
		if (!GROW(m->rows, m->room, m->count + 1, 256))
			return -ENOMEM;
		r = &m->rows[m->count];
		if (psup_view_next_session(m->view, &cursor, &r->s) != 1)
			break;
		facts_row(r, m->now_ms);
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

/* Processes, lanes and totals. */
static void
copy_rest(struct top_model *m)
{
	uint64_t boot_ms = clock_boot_ms(), born_ms;
	struct procfs_stat st;
	struct top_process *p;
	size_t cursor = 0;

	m->process_count = m->lane_count = 0;
	while (m->process_count < TOP_PROCESSES) {
		p = &m->processes[m->process_count];
		if (psup_view_next_process(m->view, &cursor, &p->p) != 1)
			break;
		p->exists = proc_exists(p->p.pid, &st);
		p->state = st.state;
		born_ms = st.start * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
		p->up_ms = born_ms > 0 && boot_ms > born_ms
		    ? boot_ms - born_ms
		    : 0;
		m->process_count++;
	}
	cursor = 0;
	while (m->lane_count < TOP_LANES &&
	    psup_view_next_lane(m->view, &cursor,
	        &m->lanes[m->lane_count].l) == 1)
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
	history_clear(&m->history);
	m->starts_rate = m->ends_rate = m->output_rate = -1;
}

/* The memory that is there now, where the server we look at is not well (it may
 * have been replaced), has another master, or there was none. 0 or -errno. */
static int
reopen(struct top_model *m)
{
	struct psup_view_totals t;
	psup_view *v;
	int rc;

	if (m->view != NULL && m->state == SERVER_RUNS &&
	    m->refreshes % REOPEN_EVERY != 0) {
		psup_view_totals(m->view, &t);
		if (t.incarnation == m->totals.incarnation &&
		    t.master_generation == m->totals.master_generation)
			return 0;
	}
	m->why[0] = '\0';
	rc = psup_view_open(m->runtime_dir, &v, m->why, sizeof(m->why));
	if (rc < 0) {
		if (m->why[0] == '\0')
			snprintf(m->why, sizeof(m->why), "%s", strerror(-rc));
		forget(m);
		m->state = rc == -EPROTO ? SERVER_OTHER_VERSION : SERVER_NONE;
		return rc;
	}
	psup_view_totals(v, &t);
	if (m->view != NULL && t.incarnation != m->totals.incarnation)
		forget(m);
	psup_view_close(&m->view);
	m->view = v;
	snprintf(m->dir, sizeof(m->dir), "%s", psup_view_dir(v));
	return 0;
}

int
model_refresh(struct top_model *m)
{
	uint64_t mono = clock_boot_ns();
	double seconds = (double)(mono - m->mono_ns) / NS_PER_SEC;
	struct top_row *rows;
	size_t room;
	int rc = reopen(m);

	m->now_ms = clock_wall_ms();
	m->mono_ns = mono;
	pressure_read(&m->pressure);
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
	m->state = facts_server(m);
	m->starts_rate = m->ends_rate = m->output_rate = -1;
	if (m->refreshes++ > 0 && seconds > 0)
		facts_rates(m, seconds);
	history_add(&m->history, m);
	facts_sort_lanes(m);
	facts_holders(m);
	facts_failed(m);
	return 0;
}
