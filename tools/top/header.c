/* SPDX-License-Identifier: MIT */
/*
 * The lines above the table: the server, its processes, sessions, output and
 * lanes. Called by batch.c and ui.c. What does not fit a terminal is cut by
 * the caller.
 */
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "top.h"

/* A line that grows and is cut at its end. */
struct growing {
	char *dst;
	size_t size, len;
};

/* Appends. */
static void __attribute__((format(printf, 2, 3)))
grow(struct growing *g, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(g->dst + g->len, g->size - g->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		g->len += (size_t)n < g->size - g->len ? (size_t)n
		                                       : g->size - g->len - 1;
}

/* What a stranger wrote. */
static void
grow_text(struct growing *g, const char *text)
{
	char safe[TOP_LINE];

	psup_escape(text, strlen(text), false, safe, sizeof(safe));
	grow(g, "%s", safe);
}

/* Rates, "-" for what is not known yet. */
static void
grow_rate(struct growing *g, const char *name, double rate)
{
	if (rate < 0)
		grow(g, "  %s -/s", name);
	else
		grow(g, "  %s %.1f/s", name, rate);
}

/* A process: pid, generation, restarts, age of its heartbeat; of a worker the
 * sessions it has. */
static void
grow_process(struct growing *g, const struct psup_view_process *p)
{
	char beat[32] = "-";

	if (p->heartbeat_age_ms != UINT64_MAX)
		snprintf(beat, sizeof(beat), "%.1fs",
		    (double)p->heartbeat_age_ms / 1000);
	if (p->slot >= 0)
		grow(g, "%s%d ", p->role[0] == 's' ? "s" : "w", p->slot);
	else
		grow(g, "%s ", p->role);
	if (p->pid > 0)
		grow(g, "%d", p->pid);
	else
		grow(g, "down");
	/* many workers share a line */
	if (p->slot >= 0)
		grow(g, " g%u r%u %s n%llu", p->generation, p->restarts, beat,
		    (unsigned long long)p->sessions);
	else
		grow(g, " gen %u restarts %u beat %s", p->generation,
		    p->restarts, beat);
}

/* Where, how it is, since when, what time it is. */
static void
line_server(struct growing *g, const struct top_model *m)
{
	time_t now = (time_t)(m->now_ms / 1000);
	char clock[32] = "", age[32];
	struct tm tm;

	if (localtime_r(&now, &tm) != NULL)
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	grow(g, "psup-top %s  server: %s", clock, m->state);
	if (m->view == NULL) {
		grow(g, " (");
		grow_text(g, m->why);
		grow(g, ")");
		return;
	}
	cells_age(m->now_ms > m->totals.created_ms
	        ? m->now_ms - m->totals.created_ms
	        : 0,
	    age, sizeof(age));
	grow(g, "  up %s  ", age);
	grow_text(g, psup_view_dir(m->view));
}

/* Keeper and master. */
static void
line_heads(struct growing *g, const struct top_model *m)
{
	for (size_t i = 0; i < m->process_count; i++)
		if (m->processes[i].slot < 0) {
			grow(g, "%s", g->len > 0 ? "  " : "");
			grow_process(g, &m->processes[i]);
		}
}

/* Workers and the standby. */
static void
line_workers(struct growing *g, const struct top_model *m)
{
	for (size_t i = 0; i < m->process_count; i++)
		if (m->processes[i].slot >= 0) {
			grow(g, "%s", g->len > 0 ? "  " : "");
			grow_process(g, &m->processes[i]);
		}
}

/* Sessions by state. */
static void
line_sessions(struct growing *g, const struct top_model *m)
{
	const struct psup_view_totals *t = &m->totals;

	grow(g, "sessions: %llu queued, %llu starting, %llu running, %llu "
	        "exited, %llu ended",
	    (unsigned long long)t->queued, (unsigned long long)t->starting,
	    (unsigned long long)t->running, (unsigned long long)t->exited,
	    (unsigned long long)t->ended);
}

/* Output and its budget; starts and ends. */
static void
line_output(struct growing *g, const struct top_model *m)
{
	char used[32], budget[32];

	cells_bytes((double)m->totals.budget_used, used, sizeof(used));
	cells_bytes((double)m->totals.budget_bytes, budget, sizeof(budget));
	if (m->output_rate < 0)
		grow(g, "output: - MB/s");
	else
		grow(g, "output: %.2f MB/s", m->output_rate / 1e6);
	grow(g, "  budget %s of %s", used, budget);
	if (m->totals.budget_bytes > 0)
		grow(g, " (%.0f%%)", 100 * (double)m->totals.budget_used /
		        (double)m->totals.budget_bytes);
	grow_rate(g, "starts", m->starts_rate);
	grow_rate(g, "ends", m->ends_rate);
	grow(g, "  failed %llu", (unsigned long long)m->totals.failed_ever);
}

/* Each lane: active/width, what waits, and what holds it back. */
static void
line_lanes(struct growing *g, const struct top_model *m)
{
	const struct psup_view_lane *l;

	grow(g, "lanes:%s", m->lane_count == 0 ? " none" : "");
	for (size_t i = 0; i < m->lane_count; i++) {
		l = &m->lanes[i];
		grow(g, "%s ", i > 0 ? " |" : "");
		grow_text(g, l->name);
		grow(g, " %u/%u", l->active, l->width);
		if (l->queued > 0)
			grow(g, " +%u queued", l->queued);
		grow(g, "%s%s", l->paused ? " paused" : "",
		    l->draining ? " draining" : "");
		if (l->queued > 0 && !l->paused && l->active >= l->width)
			grow(g, " full");
	}
}

void
header_line(const struct top_model *m, int i, char *dst, size_t size)
{
	static void (*const lines[HEADER_LINES])(struct growing *,
	    const struct top_model *) = {line_server, line_heads,
	    line_workers, line_sessions, line_output, line_lanes};
	struct growing g = {dst, size, 0};

	dst[0] = '\0';
	if (i >= 0 && i < HEADER_LINES && (i == 0 || m->view != NULL))
		lines[i](&g, m);
}
