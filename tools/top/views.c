/* SPDX-License-Identifier: MIT */
/* Lanes, processes and help, each in place of the table. Pure. Called by
 * draw.c. */
#include <stdio.h>
#include <string.h>

#include "tools/lib/cells.h"
#include "draw.h"
#include "header.h"

#define HELP_KEYS 14  /* columns of a key in the help */
#define HELP_LINES 160
#define LANES_WIDE 110 /* of a terminal that has room for all hints */
#define HELP_TWO  120 /* of a terminal that has room for it twice */

/* The bar on top of a view. */
static void
title(struct line *l, const char *text)
{
	line_put(l, STYLE_HEAD, "%s", text);
	line_pad(l, STYLE_HEAD, l->width);
}

/* Which part of `count` lines fits, from u->scroll on. */
static size_t
scrolled(struct ui *u, size_t count, size_t lines)
{
	u->scroll_max = count > lines ? count - lines : 0;
	if (u->scroll > u->scroll_max)
		u->scroll = u->scroll_max;
	return u->scroll;
}

/* A lane under the titles; its name has so many columns. */
static void
lane_line(const struct top_lane *l, int name, struct line *to)
{
	char taken[24], wait[16] = "-";

	snprintf(taken, sizeof(taken), "%u/%u", l->l.active, l->l.width);
	if (l->wait_ms > 0)
		cells_age(l->wait_ms, wait, sizeof(wait));
	header_lane_bar(l, to);
	line_put(to, STYLE_PLAIN, " ");
	line_cell(to, l->l.active + l->l.queued > 0 ? STYLE_BOLD : STYLE_DIM,
	    l->l.name, name, false);
	line_put(to, l->l.active > 0 ? STYLE_VALUE : STYLE_DIM, " %7s", taken);
	line_put(to, l->l.queued > 0 ? STYLE_WARN : STYLE_DIM, " %6u %7s",
	    l->l.queued, wait);
	header_lane_held(l, to);
	line_ellipsis(to);
}

void
draw_lanes(struct ui *u, struct line *to, size_t lines)
{
	const struct top_model *m = u->model;
	int name = (int)sizeof("LANE") - 1, width;
	char text[160], hint[80];
	size_t at;

	for (at = 0; at < m->lane_count; at++)
		if ((width = cells_width(m->lanes[at].l.name)) > name)
			name = width;
	if (name > u->cols / 4)
		name = u->cols / 4;
	snprintf(hint, sizeof(hint), "  %s", u->cols < LANES_WIDE ? "(p: pause)"
	    : "(p pauses the chosen one, or lets it go on; escape goes back)");
	if (m->lane_count >= lines)
		snprintf(hint, sizeof(hint), "%zu-%zu of %zu", u->lane_top + 1,
		    u->lane_top + lines - 1, m->lane_count);
	snprintf(text, sizeof(text), " TAKEN          %-*s RUNNING QUEUED LONGEST "
	    "HELD BY  %s", name, "LANE", hint);
	title(&to[0], text);
	for (size_t i = 0; i + 1 < lines; i++) {
		at = u->lane_top + i;
		if (at >= m->lane_count)
			break;
		lane_line(&m->lanes[at], name, &to[i + 1]);
		if (at == u->lane)
			line_paint(&to[i + 1], STYLE_CHOSEN);
	}
	if (m->lane_count == 0 && lines > 1)
		line_put(&to[1], STYLE_DIM, " no lanes");
}

/* A process's figures. */
static void
process_line(const struct top_process *p, struct line *l)
{
	char up[16] = "-", moved[16], beat[24] = "-", slot[16] = "", pid[16];

	if (p->exists && p->up_ms > 0)
		cells_age(p->up_ms, up, sizeof(up));
	cells_bytes((double)p->p.bytes_moved, moved, sizeof(moved));
	if (p->p.heartbeat_age_ms != UINT64_MAX)
		snprintf(beat, sizeof(beat), "%.1fs",
		    (double)p->p.heartbeat_age_ms / 1000);
	if (p->p.slot >= 0)
		snprintf(slot, sizeof(slot), " %d", p->p.slot);
	snprintf(pid, sizeof(pid), "%d", p->p.pid);
	line_put(l, p->exists ? STYLE_BOLD : STYLE_BAD, " %s%-*s", p->p.role,
	    (int)(10 - strlen(p->p.role)), slot);
	line_put(l, STYLE_PLAIN,
	    " %7s %c %6s %4u %4u %6s %8llu %8llu %6llu %8llu %6s",
	    p->exists ? pid : "down", p->state != '\0' ? p->state : '-', up,
	    p->p.generation, p->p.restarts, beat,
	    (unsigned long long)p->p.sessions,
	    (unsigned long long)p->p.spawned,
	    (unsigned long long)p->p.spawn_failed,
	    (unsigned long long)p->p.ended, moved);
	if (p->p.last_words[0] != '\0') {
		line_put(l, STYLE_WARN, "  its predecessor: ");
		line_text(l, STYLE_WARN, p->p.last_words);
		line_ellipsis(l);
	}
}

void
draw_processes(struct ui *u, struct line *to, size_t lines)
{
	const struct top_model *m = u->model;
	size_t from = scrolled(u, m->process_count, lines - 1);

	title(&to[0], " PROCESS       PID S     UP  GEN REST   BEAT SESSIONS  "
	              "STARTED FAILED    ENDED  MOVED");
	for (size_t i = 0; i + 1 < lines && from + i < m->process_count; i++)
		process_line(&m->processes[from + i], &to[i + 1]);
}

void
draw_columns(struct ui *u, struct line *to, size_t lines)
{
	size_t from = u->column + 2 > lines ? u->column + 2 - lines : 0, c;
	struct line *l;

	title(&to[0], " COLUMNS    (space: in or out; left, right: its place; c "
	              "keeps them)");
	for (size_t i = 0; i + 1 < lines && from + i < column_count; i++) {
		c = list_columns_offer(u->list, from + i);
		l = &to[i + 1];
		line_put(l, STYLE_KEY, " [%s] ",
		    list_column_is_chosen(u->list, c) ? "x" : " ");
		line_put(l, STYLE_BOLD, "%-8s ", columns[c].name);
		line_cell(l, STYLE_PLAIN, columns[c].doc, 0, false);
		if (from + i == u->column)
			line_paint(l, STYLE_CHOSEN);
	}
}

/* A line of the help: of a key, of what it does the rest, or a title. */
struct help_line {
	char keys[64], text[128];
	bool title;
};

/* A row as lines whose text is so wide. How many there are then. */
static size_t
wrap_row(const struct key_row *row, size_t width, struct help_line *to,
    size_t count)
{
	const char *text = row->help;
	bool first = true;
	size_t len;

	do {
		len = strlen(text);
		if (len > width)
			for (len = width; len > 0 && text[len] != ' '; len--)
				;
		if (len == 0)
			len = width; /* a word that is wider */
		to[count] = (struct help_line){.title = row->keys[0] == '\0'};
		snprintf(to[count].text, sizeof(to[count].text), "%.*s",
		    (int)len, text);
		if (first)
			memcpy(to[count].keys, row->keys, sizeof(row->keys));
		first = false;
		count++;
		text += len;
		text += strspn(text, " ");
	} while (*text != '\0' && count < HELP_LINES);
	return count;
}

static void
help_cell(const struct help_line *h, int col, struct line *l)
{
	line_pad(l, STYLE_PLAIN, col);
	if (h->title) {
		line_put(l, STYLE_BOLD, "%s", h->text);
		return;
	}
	line_put(l, STYLE_KEY, "  %-*s", HELP_KEYS - 2, h->keys);
	line_put(l, STYLE_PLAIN, "%s", h->text);
}

void
draw_help(struct ui *u, struct line *to, size_t lines)
{
	static struct help_line help[HELP_LINES];
	size_t count = 0, each, from, beside = u->cols >= HELP_TWO ? 2 : 1;
	int width = u->cols / (int)beside;
	struct key_row row;

	for (size_t i = 0; count < HELP_LINES && keys_row(i, &row); i++)
		count = wrap_row(&row, (size_t)(width - HELP_KEYS - 1), help,
		    count);
	each = (count + beside - 1) / beside;
	from = scrolled(u, each, lines - 1);
	title(&to[0], " psup-top: keys    (arrows scroll; h or escape goes "
	              "back)");
	for (size_t i = 0; i + 1 < lines && from + i < each; i++)
		for (size_t c = 0; c < beside; c++)
			if (c * each + from + i < count)
				help_cell(&help[c * each + from + i],
				    (int)c * width, &to[i + 1]);
}
