/* SPDX-License-Identifier: MIT */
/*
 * What follows from a copy of shared memory: how the server is, rates, who
 * holds a lane. Pure; called by model.c once a refresh, and by whoever asks
 * for a row's age.
 */
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define SILENT_MS 3000u  /* a heartbeat comes once a second */
#define IDLE_MS   15000u /* as the server's waitingForInput */

const char *
server_state_name(enum server_state s)
{
	static const char *const names[] = {
	    [SERVER_NONE] = "no server",
	    [SERVER_OTHER_VERSION] = "another version",
	    [SERVER_DOWN] = "down",
	    [SERVER_MASTER_DOWN] = "master down",
	    [SERVER_MASTER_STOPPED] = "master stopped",
	    [SERVER_MASTER_SILENT] = "master silent",
	    [SERVER_RUNS] = "running"};

	return names[s];
}

const struct top_process *
facts_process(const struct top_model *m, const char *role)
{
	for (size_t i = 0; i < m->process_count; i++)
		if (strcmp(m->processes[i].p.role, role) == 0)
			return &m->processes[i];
	return NULL;
}

enum server_state
facts_server(const struct top_model *m)
{
	const struct top_process *keeper = facts_process(m, "keeper");
	const struct top_process *master = facts_process(m, "master");

	if (keeper == NULL || !keeper->exists)
		return SERVER_DOWN;
	if (master == NULL || !master->exists)
		return SERVER_MASTER_DOWN;
	if (master->state == 'T' || master->state == 't')
		return SERVER_MASTER_STOPPED;
	if (master->p.heartbeat_age_ms > SILENT_MS)
		return SERVER_MASTER_SILENT;
	return SERVER_RUNS;
}

/* A counter's growth a second; one that began anew has none. */
static double
rate_of(uint64_t now, uint64_t before, double seconds)
{
	return now > before ? (double)(now - before) / seconds : 0;
}

/* Both copies are sorted by instance. */
void
facts_rates(struct top_model *m, double seconds)
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
	m->starts_rate = rate_of(m->totals.started_ever,
	    m->totals_before.started_ever, seconds);
	m->ends_rate = rate_of(m->totals.ended_ever,
	    m->totals_before.ended_ever, seconds);
}

uint64_t
facts_age(const struct top_model *m, const struct top_row *r)
{
	uint64_t from = r->s.started_ms > 0 ? r->s.started_ms : r->s.created_ms;
	uint64_t to = r->s.ended_ms > 0 ? r->s.ended_ms : m->now_ms;

	return to > from ? to - from : 0;
}

int64_t
facts_idle(uint64_t now_ms, const struct top_row *r)
{
	uint64_t last = r->s.last_output_ms > 0 ? r->s.last_output_ms
	                                        : r->s.started_ms;

	if (!r->live || r->s.started_ms == 0 || r->s.ended_ms != 0)
		return -1;
	return now_ms > last ? (int64_t)(now_ms - last) : 0;
}

void
facts_row(struct top_row *r, uint64_t now_ms)
{
	int64_t idle;

	r->output_rate = r->cpu_percent = -1;
	r->rss_bytes = -1;
	r->processes = 0;
	r->live = strcmp(r->s.status, "running") == 0;
	r->input = INPUT_CLOSED;
	idle = facts_idle(now_ms, r);
	if (r->s.stdin_open && idle >= 0)
		r->input = idle >= IDLE_MS ? INPUT_IDLE : INPUT_OPEN;
}

void
facts_failed(struct top_model *m)
{
	m->failed = 0;
	for (size_t i = 0; i < m->count; i++)
		m->failed += strcmp(m->rows[i].s.status, "failed") == 0 ||
		    strcmp(m->rows[i].s.status, "lost") == 0;
}

/* Who waits stands first, then who runs. */
static int
lane_rank(const struct top_lane *l)
{
	if (l->l.queued > 0 || l->l.paused || l->l.draining)
		return 0;
	return l->l.active > 0 ? 1 : 2;
}

/* Of a rank lane2 comes before lane10. */
static int
by_lane(const void *a, const void *b)
{
	const struct top_lane *x = a, *y = b;
	int by_rank = lane_rank(x) - lane_rank(y);

	return by_rank != 0 ? by_rank : strverscmp(x->l.name, y->l.name);
}

void
facts_sort_lanes(struct top_model *m)
{
	qsort(m->lanes, m->lane_count, sizeof(m->lanes[0]), by_lane);
}

void
facts_holders(struct top_model *m)
{
	const struct top_row *r, *first;

	for (size_t n = 0; n < m->lane_count; n++) {
		struct top_lane *l = &m->lanes[n];

		l->holders = 0;
		l->holder[0] = '\0';
		l->wait_ms = 0;
		first = NULL;
		for (size_t i = 0;
		     i < m->count && l->l.active + l->l.queued > 0; i++) {
			r = &m->rows[i];
			if (!r->live || strcmp(r->s.lane, l->l.name) != 0)
				continue;
			if (r->s.lane_position > 0 ||
			    strcmp(r->s.state, "queued") == 0) {
				if (facts_age(m, r) > l->wait_ms)
					l->wait_ms = facts_age(m, r);
				continue;
			}
			l->holders++;
			if (first == NULL ||
			    r->s.started_ms < first->s.started_ms)
				first = r;
		}
		if (first == NULL)
			continue;
		memcpy(l->holder, first->s.id, sizeof(l->holder));
		l->holder_ms = facts_age(m, first);
	}
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
facts_find(const struct top_model *m, uint64_t instance)
{
	struct top_row key;

	key.s.instance = instance;
	if (m->count == 0)
		return NULL;
	return bsearch(&key, m->rows, m->count, sizeof(key), by_instance);
}
