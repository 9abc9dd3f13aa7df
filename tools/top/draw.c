/* SPDX-License-Identifier: MIT */
/* What stands on which line: header, table, pane, and the last line with a
 * question, news or hints. Called by display.c. */
#include <stdio.h>
#include <string.h>

#include "draw.h"
#include "header.h"

#define ROWS_MIN 10
#define COLS_MIN 40
#define YES_NO   " [y/N]"

/* A bar with a title, and something to its right. */
static void
bar(struct line *l, const char *what, const char *id, const char *more)
{
	line_put(l, STYLE_HEAD, " %s ", what);
	line_text(l, STYLE_SORTED, id);
	more += strspn(more, " ");
	if (more[0] != '\0') {
		line_put(l, STYLE_HEAD, "  ");
		line_text(l, STYLE_HEAD, more);
	}
	line_pad(l, STYLE_HEAD, l->width);
}

/* The table's head and its rows. */
static void
draw_table(struct ui *u, struct line *to, size_t lines)
{
	size_t at;

	list_head(u->list, u->cols, &to[0]);
	line_pad(&to[0], STYLE_HEAD, u->cols);
	for (size_t i = 0; i < lines; i++) {
		at = u->top + i;
		if (at >= u->list->count)
			continue;
		list_line(u->list, u->model, &u->list->entries[at], u->cols,
		    &to[i + 1]);
		if (u->list->entries[at].row != NULL &&
		    ui_is_marked(u, u->list->entries[at].row->s.instance))
			line_paint(&to[i + 1], STYLE_ASK);
		if (at == u->chosen)
			line_paint(&to[i + 1], STYLE_CHOSEN);
	}
	if (u->list->count == 0 && lines > 0)
		line_put(&to[1], STYLE_DIM, "%s",
		    u->list->filter[0] != '\0' || u->list->live_only
		        ? "no session matches"
		        : "no sessions");
}

/* "  hit 3 of 17 (n N)" */
static void
hits_of(const struct ui *u, char *dst, size_t size)
{
	if (u->hit > 0)
		snprintf(dst, size, "  hit %zu of %zu (n N)", u->hit,
		    u->hit_count);
	else
		snprintf(dst, size, "  %zu hit%s (n)", u->hit_count,
		    u->hit_count == 1 ? "" : "s");
}

/* Its bar, then its lines. */
static void
draw_pane(struct ui *u, const struct pane *p, struct line *to, size_t lines)
{
	const struct top_row *r = ui_row(u);
	char more[256], hits[64] = "";

	u->back_max = p->back_max;
	if (u->back > u->back_max)
		u->back = u->back_max;
	if (ui_searches(u))
		hits_of(u, hits, sizeof(hits));
	snprintf(more, sizeof(more), "%s%s%s", p->title, hits,
	    u->back > 0 && u->pane == PANE_OUTPUT ? "  (scrolled back: ])"
	        : u->back_max > 0                 ? "  ([ ] scroll)"
	                                          : "");
	if (r == NULL) {
		bar(&to[0], "no session is chosen", "", "");
		return;
	}
	bar(&to[0],
	    u->pane == PANE_DETAILS ? "details of"
	        : r->s.pty          ? "screen of"
	                            : "output of",
	    r->s.id, more);
	for (size_t i = 0; i + 1 < lines && i < p->count; i++)
		to[i + 1] = p->lines[i];
}

/* "h help  q quit ..." */
static void
hints(const struct ui *u, struct line *l)
{
	static const struct {
		const char *key, *what;
	} rows[] = {{"h", "help"}, {"q", "quit"}, {"/", "filter"},
	    {"<>", "sort"}, {"f", "output"}, {"d", "details"}, {"k", "kill"},
	    {"a", "attach"}, {"space", "mark"}, {"s", "send"}, {"t", "tree"}, {"l", "lanes"},
	    {"w", "processes"}, {"p", "pause lane"}, {"x", "remove"}};
	bool searches = u->zoom && ui_shows_output(u);
	const char *what;
	int wide;

	line_put(l, STYLE_BOLD, "%zu", u->list->matching);
	line_put(l, STYLE_LABEL, " of %zu", u->model->count);
	if (u->list->filter[0] != '\0') {
		line_put(l, STYLE_KEY, "  /");
		line_text(l, STYLE_WARN, u->list->filter);
	}
	if (u->marked_count > 0)
		line_put(l, STYLE_ASK, "  %zu marked", u->marked_count);
	if (u->list->live_only)
		line_put(l, STYLE_WARN, "  live");
	line_put(l, STYLE_PLAIN, "  ");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		what = searches && rows[i].key[0] == '/' ? "search"
		                                         : rows[i].what;
		wide = (int)(strlen(rows[i].key) + strlen(what)) + 2;
		if (l->cols + wide > l->width)
			break;
		line_put(l, STYLE_KEY, " %s", rows[i].key);
		line_put(l, STYLE_LABEL, " %s", what);
	}
}

/* What is typed, the end of it where it is too long. */
static void
typed(struct line *l, const char *ask, const char *text)
{
	size_t skip = 0, len = strlen(text), room;

	line_put(l, STYLE_ASK, "%s", ask);
	room = l->width > l->cols + 2 ? (size_t)(l->width - l->cols - 2) : 0;
	if (len > room)
		skip = len - room;
	while (skip < len && ((unsigned char)text[skip] & 0xc0) == 0x80)
		skip++;
	line_text(l, STYLE_BOLD, text + skip);
	line_put(l, STYLE_ASK, "_");
}

static void
draw_foot(const struct ui *u, struct line *l)
{
	char question[512], ask[96];
	int room;

	switch (u->prompt) {
	case PROMPT_CONFIRM:
		room = l->width - (int)sizeof(YES_NO);
		action_question(u->model, &u->action, question,
		    (size_t)room + 1 < sizeof(question) ? (size_t)room + 1
		                                        : sizeof(question));
		if ((int)strlen(question) > room)
			line_cell(l, STYLE_ASK, question, room, false);
		else
			line_text(l, STYLE_ASK, question);
		line_put(l, STYLE_ASK, YES_NO);
		return;
	case PROMPT_SEND:
		snprintf(ask, sizeof(ask), "keys to %s: ", u->action.id);
		typed(l, ask, u->typed);
		return;
	case PROMPT_SEARCH:
		typed(l, "search the output: ", u->search);
		line_put(l, STYLE_LABEL, "  %zu hits", u->hit_count);
		return;
	case PROMPT_FILTER:
		typed(l, "/", u->list->filter);
		line_put(l, STYLE_LABEL, "  %zu of %zu", u->list->matching,
		    u->model->count);
		return;
	case PROMPT_NONE:
		break;
	}
	if (u->message[0] != '\0')
		line_text(l, u->message_bad ? STYLE_BAD : STYLE_BOLD,
		    u->message);
	else
		hints(u, l);
}

/* The header, then the table and the pane or another view. */
static void
draw_body(struct ui *u, const struct pane *p, struct frame *f)
{
	size_t header = ui_header_lines(u), pane;
	size_t lines = (size_t)f->rows - header - 1;
	struct line *body = &f->lines[header];
	void (*write)(const struct top_model *, size_t, int, struct line *) =
	    ui_header_is_short(u) ? header_short_line : header_line;

	for (size_t i = 0; i < header; i++)
		write(u->model, i, f->cols, &f->lines[i]);
	if (u->screen == SCREEN_LANES)
		draw_lanes(u, body, lines);
	else if (u->screen == SCREEN_PROCESSES)
		draw_processes(u, body, lines);
	else if (u->screen == SCREEN_COLUMNS)
		draw_columns(u, body, lines);
	else {
		pane = ui_pane_lines(u);
		if (lines > pane)
			draw_table(u, body, lines - pane - 1);
		if (pane > 0)
			draw_pane(u, p, &body[lines - pane], pane);
	}
}

void
draw(struct ui *u, const struct pane *p, struct frame *f)
{
	for (int i = 0; i < f->rows; i++)
		line_init(&f->lines[i], f->cols);
	if (f->rows < ROWS_MIN || f->cols < COLS_MIN) {
		if (f->rows > 0)
			line_put(&f->lines[0], STYLE_BAD,
			    "needs %dx%d: here %dx%d", COLS_MIN, ROWS_MIN,
			    f->cols, f->rows);
		return;
	}
	if (u->screen == SCREEN_HELP)
		draw_help(u, f->lines, (size_t)f->rows - 1);
	else
		draw_body(u, p, f);
	draw_foot(u, &f->lines[f->rows - 1]);
}
