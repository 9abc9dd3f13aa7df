/* SPDX-License-Identifier: MIT */
/*
 * The table of sessions: one row of `columns` makes the title, the text, the
 * order and the key that sorts by it. Called by batch.c and ui.c. Draws
 * nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "top.h"

#define TEXT_OF(field)                                                         \
	static void text_##field(const struct top_model *m,                    \
	    const struct top_row *r, char *dst, size_t size)                   \
	{                                                                      \
		(void)m;                                                       \
		snprintf(dst, size, "%s", r->s.field);                         \
	}
TEXT_OF(id)
TEXT_OF(scope)
TEXT_OF(lane)

/* queued with its place, else the state. */
static void
text_state(const struct top_model *m, const struct top_row *r, char *dst,
    size_t size)
{
	(void)m;
	if (r->s.lane_position > 0)
		snprintf(dst, size, "queued %u", r->s.lane_position);
	else
		snprintf(dst, size, "%s", r->s.state);
}

/* Milliseconds it runs, ran or waits. */
static double
number_age(const struct top_model *m, const struct top_row *r)
{
	uint64_t from = r->s.started_ms > 0 ? r->s.started_ms : r->s.created_ms;
	uint64_t to = r->live ? m->now_ms : r->s.ended_ms;

	return to > from ? (double)(to - from) : 0;
}

static void
text_age(const struct top_model *m, const struct top_row *r, char *dst,
    size_t size)
{
	cells_age((uint64_t)number_age(m, r), dst, size);
}

static double
number_cpu(const struct top_model *m, const struct top_row *r)
{
	(void)m;
	return r->cpu_percent;
}

static void
text_cpu(const struct top_model *m, const struct top_row *r, char *dst,
    size_t size)
{
	(void)m;
	if (r->cpu_percent < 0)
		snprintf(dst, size, "-");
	else
		snprintf(dst, size, "%.1f", r->cpu_percent);
}

static double
number_rss(const struct top_model *m, const struct top_row *r)
{
	(void)m;
	return (double)r->rss_bytes;
}

/* Bytes, or "-" for what is not known. */
static void
text_bytes(double bytes, char *dst, size_t size)
{
	if (bytes < 0)
		snprintf(dst, size, "-");
	else
		cells_bytes(bytes, dst, size);
}

static void
text_rss(const struct top_model *m, const struct top_row *r, char *dst,
    size_t size)
{
	text_bytes(number_rss(m, r), dst, size);
}

static double
number_rate(const struct top_model *m, const struct top_row *r)
{
	(void)m;
	return r->output_rate;
}

static void
text_rate(const struct top_model *m, const struct top_row *r, char *dst,
    size_t size)
{
	text_bytes(number_rate(m, r), dst, size);
}

static double
number_total(const struct top_model *m, const struct top_row *r)
{
	(void)m;
	return (double)r->s.total_bytes;
}

static void
text_total(const struct top_model *m, const struct top_row *r, char *dst,
    size_t size)
{
	text_bytes(number_total(m, r), dst, size);
}

/* Milliseconds without output of a running one; < 0: it does not run. */
static double
number_idle(const struct top_model *m, const struct top_row *r)
{
	uint64_t last = r->s.last_output_ms > 0 ? r->s.last_output_ms
	                                        : r->s.started_ms;

	if (!r->live || r->s.started_ms == 0)
		return -1;
	return m->now_ms > last ? (double)(m->now_ms - last) : 0;
}

static void
text_idle(const struct top_model *m, const struct top_row *r, char *dst,
    size_t size)
{
	double idle = number_idle(m, r);

	if (idle < 0)
		snprintf(dst, size, "-");
	else
		cells_age((uint64_t)idle, dst, size);
}

/* The code, the signal, or why it ended without either. */
static void
text_exit(const struct top_model *m, const struct top_row *r, char *dst,
    size_t size)
{
	const char *name;

	(void)m;
	if (r->live)
		snprintf(dst, size, "-");
	else if (r->s.exit_signal > 0) {
		name = psup_signal_name(r->s.exit_signal);
		if (name != NULL && strncmp(name, "SIG", 3) == 0)
			name += 3;
		snprintf(dst, size, "%s", name != NULL ? name : "signal");
	} else if (r->s.exit_code >= 0)
		snprintf(dst, size, "%d", r->s.exit_code);
	else
		snprintf(dst, size, "%s", r->s.status);
}

/* The label, or the name, and the command. */
static void
text_name(const struct top_model *m, const struct top_row *r, char *dst,
    size_t size)
{
	const char *name = r->s.label[0] != '\0' ? r->s.label : "";

	(void)m;
	snprintf(dst, size, "%s%s%s", name, name[0] != '\0' ? ": " : "",
	    r->s.command[0] != '\0' ? r->s.command : r->s.name);
}

/* Name, title, key, width, right, from, sampled, descending, functions. */
const struct column columns[] = {
	{"session", "SESSION", 'I', 15, false, 0, false, false, text_id, NULL},
	{"scope", "SCOPE", 'S', 9, false, 110, false, false, text_scope, NULL},
	{"lane", "LANE", 'L', 8, false, 96, false, false, text_lane, NULL},
	{"state", "STATE", 'T', 9, false, 0, false, false, text_state, NULL},
	{"age", "AGE", 'A', 6, true, 0, false, true, text_age, number_age},
	{"cpu", "CPU%", 'C', 5, true, 0, true, true, text_cpu, number_cpu},
	{"rss", "RSS", 'M', 5, true, 0, true, true, text_rss, number_rss},
	{"rate", "OUT/s", 'O', 5, true, 0, false, true, text_rate,
	    number_rate},
	{"total", "TOTAL", 'B', 5, true, 86, false, true, text_total,
	    number_total},
	{"idle", "IDLE", 'D', 6, true, 0, false, true, text_idle, number_idle},
	{"exit", "EXIT", 'X', 6, true, 0, false, false, text_exit, NULL},
	{"name", "NAME", 'N', 0, false, 0, false, false, text_name, NULL},
};
const size_t column_count = sizeof(columns) / sizeof(columns[0]);

int
column_find(const char *name)
{
	for (size_t i = 0; i < column_count; i++)
		if (strcmp(columns[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* ------------------------------------------------------------------- order */

struct order {
	const struct top_list *list;
	const struct top_model *model;
};

/* By the column that was asked for; among equals the live and the newest come
 * first. */
static int
compare(const void *a, const void *b, void *arg)
{
	const struct top_row *x = *(struct top_row *const *)a;
	const struct top_row *y = *(struct top_row *const *)b;
	const struct order *o = arg;
	const struct column *c = &columns[o->list->sort];
	char text[2][TOP_LINE];
	double nx, ny;
	int d;

	if (c->number != NULL) {
		nx = c->number(o->model, x);
		ny = c->number(o->model, y);
		d = (nx > ny) - (nx < ny);
	} else {
		c->text(o->model, x, text[0], sizeof(text[0]));
		c->text(o->model, y, text[1], sizeof(text[1]));
		d = strcmp(text[0], text[1]);
	}
	if (c->descending != o->list->reverse)
		d = -d;
	if (d == 0)
		d = y->live - x->live;
	if (d == 0)
		d = (x->s.created_ms < y->s.created_ms) -
		    (x->s.created_ms > y->s.created_ms);
	return d != 0 ? d
	              : (x->s.instance < y->s.instance) -
	        (x->s.instance > y->s.instance);
}

/* Does any text of the row hold what was typed? */
static bool
matches(const struct top_list *l, const struct top_row *r)
{
	const char *const texts[] = {r->s.id, r->s.scope, r->s.lane,
	    r->s.state, r->s.status, r->s.name, r->s.label, r->s.command};

	if (l->live_only && !r->live)
		return false;
	if (l->filter[0] == '\0')
		return true;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcasestr(texts[i], l->filter) != NULL)
			return true;
	return false;
}

int
list_build(struct top_list *l, const struct top_model *m)
{
	struct order order = {l, m};
	struct top_row **more;

	l->count = 0;
	if (m->count > l->room) {
		more = reallocarray(l->rows, m->room, sizeof(*more));
		if (more == NULL)
			return -ENOMEM;
		l->rows = more;
		l->room = m->room;
	}
	for (size_t i = 0; i < m->count; i++)
		if (matches(l, &m->rows[i]))
			l->rows[l->count++] = &m->rows[i];
	if (l->count > 1)
		qsort_r(l->rows, l->count, sizeof(struct top_row *), compare,
		    &order);
	return 0;
}

void
list_fini(struct top_list *l)
{
	free(l->rows);
	l->rows = NULL;
	l->count = l->room = 0;
}

void
list_line(const struct top_list *l, const struct top_model *m,
    const struct top_row *r, int width, char *dst, size_t size)
{
	char text[TOP_LINE], line[2 * TOP_LINE], cell[TOP_LINE];
	const struct column *c;
	size_t len = 0;
	int left = width, w;

	for (size_t i = 0; i < column_count; i++) {
		c = &columns[i];
		if (width > 0 && c->from_width > width && l->sort != i)
			continue;
		if (r != NULL)
			c->text(m, r, text, sizeof(text));
		else
			snprintf(text, sizeof(text), "%s%s", c->title,
			    l->sort == i && width > 0 ? "*" : "");
		w = c->width > 0 ? c->width : left > 0 ? left : 0;
		if (w == 0 && width > 0)
			break;
		cells_fit(text, w, c->right, cell, sizeof(cell));
		len += (size_t)snprintf(line + len, sizeof(line) - len, "%s%s",
		    cell, i + 1 < column_count ? " " : "");
		if (len >= sizeof(line))
			break;
		left -= w + 1;
	}
	snprintf(dst, size, "%s", line);
}
