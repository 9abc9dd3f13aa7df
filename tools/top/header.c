/* SPDX-License-Identifier: MIT */
/*
 * The server, its processes, sessions, output, pressure and lanes in seven
 * lines, or in three. Called by draw.c and batch.c.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/lib/cells.h"
#include "header.h"

#define BEAT_LATE_MS 3000u
#define KEEPER_LATE_MS 8000u /* with nothing to do it turns every 5 s */
#define CLOCK_COLS   8
#define LOAD_COLS    7 /* "  load " */

/* "name value" */
static void
fact(struct line *l, const char *name, uint32_t style, const char *value)
{
	line_put(l, STYLE_LABEL, "%s%s ", l->cols > 0 ? "  " : "", name);
	line_put(l, style, "%s", value);
}

static void
count_fact(struct line *l, const char *name, uint64_t n, uint32_t style)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	fact(l, name, n > 0 ? style : STYLE_DIM, text);
}

/* ------------------------------------------------------------- line by line */

void
header_advice(const struct top_model *m, char *dst, size_t size)
{
	const struct top_process *master = facts_process(m, "master");

	dst[0] = '\0';
	switch (m->state) {
	case SERVER_NONE:
	case SERVER_OTHER_VERSION:
		snprintf(dst, size, "%s%s", m->why,
		    m->state == SERVER_NONE
		        ? ": psupd or any psup exec starts one"
		        : "");
		break;
	case SERVER_DOWN:
		snprintf(dst, size,
		    "psupd or any psup exec starts it; this is what it left");
		break;
	case SERVER_MASTER_DOWN:
		snprintf(dst, size, "commands go on; the keeper starts it");
		break;
	case SERVER_MASTER_STOPPED:
		snprintf(dst, size,
		    "commands go on; kill -CONT %d lets it go on",
		    master != NULL ? master->p.pid : 0);
		break;
	case SERVER_MASTER_SILENT:
		snprintf(dst, size, "commands go on; no heartbeat for %.1f s",
		    master != NULL ? (double)master->p.heartbeat_age_ms / 1000
		                   : 0);
		break;
	case SERVER_RUNS:
		break;
	}
}

/* How a process's heartbeat looks. */
static uint32_t
beat_style(const struct top_process *p)
{
	if (!p->exists || p->state == 'T')
		return STYLE_BAD;
	return p->p.heartbeat_age_ms > (strcmp(p->p.role, "keeper") == 0
	           ? KEEPER_LATE_MS
	           : BEAT_LATE_MS)
	    ? STYLE_WARN
	    : STYLE_VALUE;
}

/* Of all processes: how many, which are down, how often they were restarted. */
static void
workers_brief(const struct top_model *m, struct line *l)
{
	uint64_t up = 0, down = 0, restarts = 0, late = 0;

	for (size_t i = 0; i < m->process_count; i++) {
		const struct top_process *p = &m->processes[i];

		up += p->exists && strcmp(p->p.role, "worker") == 0;
		down += !p->exists;
		restarts += p->p.restarts;
		late += p->exists && beat_style(p) != STYLE_VALUE;
	}
	count_fact(l, "workers", up, STYLE_VALUE);
	if (down > 0)
		count_fact(l, "down", down, STYLE_BAD);
	if (late > 0)
		count_fact(l, "silent", late, STYLE_WARN);
	if (restarts > 0)
		count_fact(l, "restarts", restarts, STYLE_WARN);
}

/* How it is, since when, where or what to do; what time it is. */
static void
server_words(const struct top_model *m, bool brief, struct line *l)
{
	uint64_t since = m->totals.created_ms;
	time_t now = (time_t)(m->now_ms / 1000);
	char clock[16] = "", text[768];
	struct tm tm;

	line_put(l, STYLE_BOLD, "psup");
	line_put(l, m->state == SERVER_RUNS ? STYLE_GOOD : STYLE_BAD, "  %s",
	    server_state_name(m->state));
	if (m->view != NULL && m->state != SERVER_DOWN) {
		cells_age(m->now_ms > since ? m->now_ms - since : 0, text,
		    sizeof(text));
		fact(l, "up", STYLE_VALUE, text);
	}
	header_advice(m, text, sizeof(text));
	if (brief && text[0] == '\0')
		workers_brief(m, l);
	line_put(l, STYLE_PLAIN, "  ");
	line_text(l, text[0] != '\0' ? STYLE_WARN : STYLE_DIM,
	    text[0] != '\0' ? text : m->dir);
	if (localtime_r(&now, &tm) != NULL)
		strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	if (l->width == 0 || l->cols + CLOCK_COLS + 2 <= l->width)
		line_pad(l, STYLE_PLAIN, l->width > 0 ? l->width - CLOCK_COLS
		                                      : l->cols + 2);
	else
		return;
	line_put(l, STYLE_DIM, "%s", clock);
}

void
header_process(const struct top_process *p, bool few, struct line *l)
{
	char beat[24] = "-", who[24];

	if (p->p.heartbeat_age_ms != UINT64_MAX)
		snprintf(beat, sizeof(beat), "%.1fs",
		    (double)p->p.heartbeat_age_ms / 1000);
	if (p->p.slot < 0)
		snprintf(who, sizeof(who), "%s", p->p.role);
	else if (few)
		snprintf(who, sizeof(who), "%c%d", p->p.role[0], p->p.slot);
	else
		snprintf(who, sizeof(who), "%s %d", p->p.role, p->p.slot);
	line_put(l, STYLE_LABEL, "%s%s ", l->cols > 0 ? "  " : "", who);
	if (p->exists)
		line_put(l, STYLE_VALUE, "%d", p->p.pid);
	else
		line_put(l, STYLE_BAD, "down");
	line_put(l, STYLE_LABEL, few ? " g" : " gen ");
	line_put(l, STYLE_VALUE, "%u", p->p.generation);
	line_put(l, STYLE_LABEL, few ? " r" : " restarts ");
	line_put(l, p->p.restarts > 0 ? STYLE_WARN : STYLE_VALUE, "%u",
	    p->p.restarts);
	line_put(l, STYLE_LABEL, few ? " " : " beat ");
	line_put(l, beat_style(p), "%s", beat);
	if (p->p.slot >= 0) {
		line_put(l, STYLE_LABEL, few ? " n" : " has ");
		line_put(l, STYLE_VALUE, "%llu",
		    (unsigned long long)p->p.sessions);
	}
}

static void
line_server(const struct top_model *m, struct line *l)
{
	server_words(m, false, l);
}

static void
line_server_brief(const struct top_model *m, struct line *l)
{
	server_words(m, true, l);
}

/* Keeper and master. */
static void
line_heads(const struct top_model *m, struct line *l)
{
	for (size_t i = 0; i < m->process_count; i++)
		if (m->processes[i].p.slot < 0)
			header_process(&m->processes[i], false, l);
	if (l->cols == 0)
		line_put(l, STYLE_WARN, "processes: nothing is known of them");
}

/* All of them in one phrase. */
static void
workers_summed(const struct top_model *m, struct line *l)
{
	uint64_t up = 0, down = 0, restarts = 0, sessions = 0, beat = 0;
	char text[24];

	for (size_t i = 0; i < m->process_count; i++) {
		const struct top_process *p = &m->processes[i];

		if (p->p.slot < 0)
			continue;
		up += p->exists;
		down += !p->exists;
		restarts += p->p.restarts;
		sessions += p->p.sessions;
		if (p->exists && p->p.heartbeat_age_ms != UINT64_MAX &&
		    p->p.heartbeat_age_ms > beat)
			beat = p->p.heartbeat_age_ms;
	}
	count_fact(l, "workers", up, STYLE_VALUE);
	count_fact(l, "down", down, STYLE_BAD);
	count_fact(l, "restarts", restarts, STYLE_WARN);
	snprintf(text, sizeof(text), "%.1fs", (double)beat / 1000);
	fact(l, "oldest beat", beat > BEAT_LATE_MS ? STYLE_WARN : STYLE_VALUE,
	    text);
	count_fact(l, "have", sessions, STYLE_VALUE);
	line_put(l, STYLE_DIM, "  (w: each)");
}

/* Workers and the standby: all words, few, or the sum, as there is room. */
static void
line_workers(const struct top_model *m, struct line *l)
{
	int width = l->width;

	for (int few = 0; few < 2; few++) {
		line_init(l, 0);
		for (size_t i = 0; i < m->process_count; i++)
			if (m->processes[i].p.slot >= 0)
				header_process(&m->processes[i], few != 0, l);
		if (width == 0 || l->cols <= width) {
			l->width = width;
			return;
		}
	}
	line_init(l, width);
	workers_summed(m, l);
}

/* Sessions by state. */
static void
line_sessions(const struct top_model *m, struct line *l)
{
	const struct psup_view_totals *t = &m->totals;

	count_fact(l, "sessions running", t->running, STYLE_GOOD);
	count_fact(l, "starting", t->starting, STYLE_GOOD);
	count_fact(l, "queued", t->queued, STYLE_WARN);
	count_fact(l, "exited", t->exited, STYLE_WARN);
	count_fact(l, "ended", t->ended, STYLE_VALUE);
	count_fact(l, "failed", m->failed, STYLE_BAD);
	if (t->failed_ever > 0)
		count_fact(l, "spawn errors", t->failed_ever, STYLE_BAD);
	if (l->width > 0)
		history_line(&m->history, m->history.running, "running",
		    l->width - l->cols, l);
}

/* Rates, "-" for what is not known yet. */
static void
rate_fact(struct line *l, const char *name, double rate)
{
	char text[32] = "-";

	if (rate >= 0)
		snprintf(text, sizeof(text), "%.*f/s", rate < 9.995 ? 2 : 1,
		    rate);
	fact(l, name, rate > 0 ? STYLE_VALUE : STYLE_DIM, text);
}

/* The same of bytes. */
static void
bytes_rate_fact(struct line *l, const char *name, double rate)
{
	char text[16];

	cells_bytes(rate, text, sizeof(text));
	fact(l, name, rate > 0 ? STYLE_VALUE : STYLE_DIM, text);
	if (rate >= 0)
		line_put(l, STYLE_LABEL, "/s");
}

/* Starts, ends, output and its budget. */
static void
line_output(const struct top_model *m, struct line *l)
{
	double used = (double)m->totals.budget_used;
	double budget = (double)m->totals.budget_bytes;
	char text[2][16], of[40];

	rate_fact(l, "starts", m->starts_rate);
	rate_fact(l, "ends", m->ends_rate);
	bytes_rate_fact(l, "output", m->output_rate);
	cells_bytes(used, text[0], sizeof(text[0]));
	cells_bytes(budget, text[1], sizeof(text[1]));
	snprintf(of, sizeof(of), "%s/%s", text[0], text[1]);
	fact(l, "budget", STYLE_VALUE, of);
	if (budget > 0)
		header_bar(l, used < 0.7 * budget ? STYLE_GOOD
		        : used < 0.9 * budget ? STYLE_WARN
		                              : STYLE_BAD,
		    used > budget ? 1 : used / budget);
	if (l->width == 0)
		return;
	history_line(&m->history, m->history.starts, "starts",
	    (l->width - l->cols) / 2, l);
	history_line(&m->history, m->history.output, "output",
	    l->width - l->cols, l);
}

/* Sessions, output and load: what there is none of is left out. */
static void
line_figures(const struct top_model *m, struct line *l)
{
	const struct psup_view_totals *t = &m->totals;
	char used[16], budget[16], text[40];

	count_fact(l, "running", t->running, STYLE_GOOD);
	if (t->starting > 0)
		count_fact(l, "starting", t->starting, STYLE_GOOD);
	count_fact(l, "queued", t->queued, STYLE_WARN);
	if (t->exited > 0)
		count_fact(l, "exited", t->exited, STYLE_WARN);
	count_fact(l, "ended", t->ended, STYLE_VALUE);
	count_fact(l, "failed", m->failed, STYLE_BAD);
	bytes_rate_fact(l, "out", m->output_rate);
	cells_bytes((double)t->budget_used, used, sizeof(used));
	cells_bytes((double)t->budget_bytes, budget, sizeof(budget));
	snprintf(text, sizeof(text), "%s/%s", used, budget);
	fact(l, "budget", STYLE_VALUE, text);
	if (t->boxes > 0)
		count_fact(l, "boxes", t->boxes, STYLE_VALUE);
	snprintf(text, sizeof(text), "%.1f", m->pressure.load);
	/* the last one, and the first that many sessions push out */
	if (m->pressure.load >= 0 && (l->width == 0 ||
	    l->cols + (int)strlen(text) + LOAD_COLS <= l->width))
		fact(l, "load", STYLE_VALUE, text);
}

/* One kind of pressure. */
static void
pressure_fact(struct line *l, const char *name, double v)
{
	char text[16] = "-";

	if (v >= 0)
		snprintf(text, sizeof(text), "%.1f%%", v);
	fact(l, name, v < 1 ? STYLE_DIM : v < 25 ? STYLE_VALUE : STYLE_WARN,
	    text);
}

static void
line_pressure(const struct top_model *m, struct line *l)
{
	char text[16] = "-";

	pressure_fact(l, "pressure cpu", m->pressure.cpu);
	pressure_fact(l, "memory", m->pressure.memory);
	pressure_fact(l, "io", m->pressure.io);
	if (m->pressure.load >= 0)
		snprintf(text, sizeof(text), "%.2f", m->pressure.load);
	fact(l, "load", STYLE_VALUE, text);
	if (m->totals.boxes == 0)
		return;
	count_fact(l, "boxes", m->totals.boxes, STYLE_VALUE);
	count_fact(l, "inside", m->totals.boxed, STYLE_GOOD);
}

/* Line i of `count`. */
static void
write_line(void (*const *lines)(const struct top_model *, struct line *),
    size_t count, const struct top_model *m, size_t i, int width,
    struct line *ret)
{
	line_init(ret, width);
	if (i < count && (i == 0 || m->view != NULL))
		lines[i](m, ret);
	line_ellipsis(ret);
}

void
header_line(const struct top_model *m, size_t i, int width, struct line *ret)
{
	static void (*const lines[HEADER_LINES])(const struct top_model *,
	    struct line *) = {line_server, line_heads, line_workers,
	    line_sessions, line_output, line_pressure, header_lanes};

	write_line(lines, HEADER_LINES, m, i, width, ret);
}

void
header_short_line(const struct top_model *m, size_t i, int width,
    struct line *ret)
{
	static void (*const lines[HEADER_SHORT])(const struct top_model *,
	    struct line *) = {line_server_brief, line_figures, header_lanes};

	write_line(lines, HEADER_SHORT, m, i, width, ret);
}
