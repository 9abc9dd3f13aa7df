/* SPDX-License-Identifier: MIT */
/* The facts of one session as lines. Pure. Called by display.c. */
#include <string.h>
#include <time.h>

#include "tools/lib/cells.h"
#include "columns.h"
#include "pane.h"

#define LABEL_COLS 10

/* The lines that are wanted are added; the others counted. */
struct details {
	struct pane *pane;
	size_t skip, want, lines;
	int width;
};

/* The next line with its label, or NULL: it is not on the screen. */
static struct line *
begin(struct details *d, const char *label)
{
	struct line *l = NULL;

	if (d->lines >= d->skip && d->pane->count < d->want)
		l = pane_add(d->pane, d->width);
	d->lines++;
	if (l != NULL)
		line_cell(l, STYLE_LABEL, label, LABEL_COLS, false);
	return l;
}

/* What a stranger wrote, over as many lines as it needs. */
static void
wrapped(struct details *d, const char *label, const char *text)
{
	char safe[1024], part[1024];
	const char *rest = safe;
	struct line *l;

	psup_escape(text, strlen(text), false, safe, sizeof(safe));
	do {
		cells_copy(rest, 0, d->width > 2 * LABEL_COLS
		        ? d->width - LABEL_COLS
		        : LABEL_COLS,
		    part, sizeof(part), &rest);
		l = begin(d, label);
		if (l != NULL)
			line_put(l, STYLE_PLAIN, "%s", part);
		label = "";
	} while (*rest != '\0' && part[0] != '\0');
}

/* "name 12:01:02 (2m05 ago)" */
static void
moment(struct line *l, const char *name, uint64_t ms, uint64_t now_ms)
{
	time_t t = (time_t)(ms / 1000);
	char text[40] = "?", age[16];
	struct tm tm;

	if (ms == 0)
		return;
	if (localtime_r(&t, &tm) != NULL)
		strftime(text, sizeof(text), "%F %T", &tm);
	cells_age(ms > now_ms ? ms - now_ms : now_ms - ms, age, sizeof(age));
	line_put(l, STYLE_LABEL, "%s ", name);
	line_put(l, STYLE_VALUE, "%s", text);
	line_put(l, STYLE_LABEL, " (%s%s%s)  ", ms > now_ms ? "in " : "", age,
	    ms > now_ms ? "" : " ago");
}

/* A column's text after its name. */
static void
figure(struct line *l, const struct top_model *m, const struct top_row *r,
    const char *name, const char *unit)
{
	const struct column *c = &columns[column_find(name)];
	char text[COLUMN_TEXT];

	c->text(m, r, text, sizeof(text));
	line_put(l, STYLE_LABEL, "%s ", name);
	line_text(l, STYLE_VALUE, text);
	line_put(l, STYLE_LABEL, "%s  ", strcmp(text, "-") == 0 ? "" : unit);
}

/* Who it is. */
static void
identity(struct details *d, const struct top_row *r)
{
	struct line *l = begin(d, "session");

	if (l != NULL) {
		line_text(l, STYLE_BOLD, r->s.id);
		line_put(l, STYLE_LABEL, "  instance ");
		line_put(l, STYLE_VALUE, "%llu",
		    (unsigned long long)r->s.instance);
		line_put(l, STYLE_LABEL, "  scope ");
		line_text(l, STYLE_VALUE,
		    r->s.scope[0] != '\0' ? r->s.scope : "-");
	}
	if (r->s.label[0] != '\0')
		wrapped(d, "label", r->s.label);
	wrapped(d, "name", r->s.name);
	wrapped(d, "command", r->s.command);
}

/* When, and what became of it. */
static void
life(struct details *d, const struct top_model *m, const struct top_row *r)
{
	struct line *l = begin(d, "state");
	char text[COLUMN_TEXT];

	if (l != NULL) {
		columns[column_find("state")].text(m, r, text, sizeof(text));
		line_put(l, STYLE_BOLD, "%s", text);
		line_put(l, STYLE_LABEL, "  reason ");
		line_put(l, STYLE_VALUE, "%s  ", r->s.reason);
		figure(l, m, r, "exit", "");
		line_put(l, STYLE_LABEL, "%s",
		    r->s.backgrounded ? "backgrounded" : "foreground");
	}
	l = begin(d, "times");
	if (l != NULL) {
		/* what did not wait began when it came */
		if (r->s.started_ms - r->s.created_ms >= 1000)
			moment(l, "created", r->s.created_ms, m->now_ms);
		moment(l, "started", r->s.started_ms, m->now_ms);
	}
	if (r->s.ended_ms == 0 && r->s.deadline_ms == 0)
		return;
	l = begin(d, "");
	if (l != NULL) {
		moment(l, "ended", r->s.ended_ms, m->now_ms);
		moment(l, "deadline", r->s.deadline_ms, m->now_ms);
	}
}

/* Where it runs or waits. */
static void
place(struct details *d, const struct top_model *m, const struct top_row *r)
{
	struct line *l = begin(d, "lane");

	if (l != NULL && r->s.lane[0] == '\0')
		line_put(l, STYLE_DIM, "none");
	else if (l != NULL) {
		line_text(l, STYLE_VALUE, r->s.lane);
		if (r->s.lane_position > 0)
			line_put(l, STYLE_WARN, ", place %u in its queue",
			    r->s.lane_position);
		for (size_t i = 0; i < m->lane_count; i++)
			if (strcmp(m->lanes[i].l.name, r->s.lane) == 0 &&
			    m->lanes[i].holders > 0) {
				line_put(l, STYLE_LABEL, "  held by ");
				line_text(l, STYLE_VALUE, m->lanes[i].holder);
			}
	}
	l = begin(d, "process");
	if (l == NULL)
		return;
	if (r->s.pid > 0)
		line_put(l, STYLE_VALUE, "%d", r->s.pid);
	else
		line_put(l, STYLE_DIM, "none");
	if (r->s.worker >= 0)
		line_put(l, STYLE_LABEL, "  worker %d", r->s.worker);
	line_put(l, STYLE_LABEL, "%s  on %s  ", r->s.boxed ? "  in its box" : "",
	    r->s.pty ? "a terminal" : "pipes");
	figure(l, m, r, "input", "");
}

/* What it costs and says. */
static void
figures(struct details *d, const struct top_model *m, const struct top_row *r)
{
	struct line *l = begin(d, "output");

	if (l != NULL) {
		figure(l, m, r, "total", " bytes");
		figure(l, m, r, "rate", "/s");
		if (r->s.last_output_ms != 0)
			moment(l, "last", r->s.last_output_ms, m->now_ms);
	}
	l = begin(d, "usage");
	if (l != NULL) {
		figure(l, m, r, "cpu", "%");
		figure(l, m, r, "rss", "");
		figure(l, m, r, "age", "");
	}
}

void
pane_details(struct pane *p, const struct top_model *m,
    const struct top_row *r, size_t want, size_t from, int width)
{
	struct details d = {p, from, want, 0, width};
	const struct sample_process *s;
	struct line *l;
	char rss[16];

	pane_clear(p);
	p->instance = 0; /* output is to be read anew */
	p->title[0] = '\0';
	identity(&d, r);
	life(&d, m, r);
	place(&d, m, r);
	figures(&d, m, r);
	for (size_t i = 0; i < p->process_count; i++) {
		s = &p->processes[i];
		l = begin(&d, i == 0 ? "processes" : "");
		if (l == NULL)
			continue;
		cells_bytes((double)s->rss_bytes, rss, sizeof(rss));
		line_put(l, STYLE_VALUE, "%8d ", s->pid);
		line_put(l, STYLE_LABEL, "%c %5s ", s->stat.state, rss);
		line_put(l, STYLE_DIM, "%*s", 2 * s->depth, "");
		line_text(l, STYLE_PLAIN, s->stat.name);
	}
	for (size_t i = 0; i < p->count; i++)
		line_ellipsis(&p->lines[i]);
	p->back_max = d.lines > want ? d.lines - want : 0;
}
