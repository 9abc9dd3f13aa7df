/* SPDX-License-Identifier: MIT */
/*
 * The display: what stands on which line, and its loop. Called by main. What
 * keys do is in keys.c, how a line gets to the terminal in view_curses.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ui.h"

#define NS_PER_MS   1000000u
#define PANE_MIN    16 /* rows of a terminal that has room for a pane */
#define TABLE_FIRST (HEADER_LINES + 1)

static struct follow followed;
static uint64_t followed_instance, followed_total;
static size_t followed_want;
static const char *followed_why;

/* Monotonic time. */
static uint64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / NS_PER_MS;
}

/* ------------------------------------------------------------------ choice */

const struct top_row *
ui_chosen(const struct ui *u)
{
	return u->chosen < u->list->count ? u->list->rows[u->chosen] : NULL;
}

/* Keeps the choice within the list and the page around the choice. */
static void
clamp(struct ui *u)
{
	const struct top_row *r;

	if (u->chosen >= u->list->count)
		u->chosen = u->list->count > 0 ? u->list->count - 1 : 0;
	if (u->chosen < u->top)
		u->top = u->chosen;
	if (u->page > 0 && u->chosen >= u->top + u->page)
		u->top = u->chosen - u->page + 1;
	if (u->top + u->page > u->list->count)
		u->top = u->list->count > u->page ? u->list->count - u->page
		                                  : 0;
	r = ui_chosen(u);
	u->chosen_instance = r != NULL ? r->s.instance : 0;
}

void
ui_move(struct ui *u, long by)
{
	long to = (long)u->chosen + by;

	u->chosen = to < 0 ? 0 : (size_t)to;
	clamp(u);
}

void
ui_rebuild(struct ui *u)
{
	if (list_build(u->list, u->model) < 0)
		snprintf(u->message, sizeof(u->message), "%s",
		    strerror(ENOMEM));
	for (size_t i = 0; i < u->list->count; i++)
		if (u->list->rows[i]->s.instance == u->chosen_instance)
			u->chosen = i;
	clamp(u);
}

/* ----------------------------------------------------------------- drawing */

/* A line, escaped and as wide as the terminal. */
static void
put(const struct ui *u, int row, enum view_style style, const char *text)
{
	char line[3 * TOP_LINE];

	if (row < 0 || row >= u->rows)
		return;
	cells_fit(text, u->cols, false, line, sizeof(line));
	view_line(row, style, line);
}

/* How many rows the pane has; 0: none. */
static int
pane_rows(const struct ui *u)
{
	return u->follow && u->rows >= PANE_MIN ? (u->rows - TABLE_FIRST) / 2
	                                        : 0;
}

/* Reads what the chosen session shows, where it may have changed. */
static void
read_followed(const struct ui *u, const struct top_row *r, size_t want)
{
	if (r->s.instance == followed_instance && followed_want == want &&
	    r->s.total_bytes == followed_total && followed_why == NULL)
		return;
	followed_why = follow_read(&followed, u->model->view, &r->s, want);
	followed_instance = r->s.instance;
	followed_total = r->s.total_bytes;
	followed_want = want;
}

/* The pane: a bar with the session's name, and its last lines. Of a screen
 * the part that has the cursor. */
static void
draw_pane(const struct ui *u, int first, int rows)
{
	const struct top_row *r = ui_chosen(u);
	char bar[TOP_LINE];
	size_t want = (size_t)rows - 1, from = 0, last;

	snprintf(bar, sizeof(bar), "%s %s",
	    r == NULL ? "" : r->s.pty ? "screen of" : "output of",
	    r != NULL ? r->s.id : "no session");
	put(u, first, VIEW_BAR, bar);
	if (r != NULL)
		read_followed(u, r, want);
	if (r != NULL && followed.count > want) {
		last = followed.screen ? (size_t)followed.cursor_row + 1
		                       : followed.count;
		from = last > want ? last - want : 0;
	}
	for (size_t i = 0; i < want; i++) {
		const char *text = "";

		if (r != NULL && followed_why != NULL && i == 0)
			text = followed_why;
		else if (r != NULL && followed_why == NULL &&
		    from + i < followed.count)
			text = followed.lines[from + i];
		put(u, first + 1 + (int)i, VIEW_PLAIN, text);
	}
}

/* How a row looks. */
static enum view_style
row_style(const struct ui *u, size_t i)
{
	const struct top_row *r = u->list->rows[i];

	if (i == u->chosen)
		return VIEW_CHOSEN;
	if (r->live)
		return r->s.started_ms > 0 ? VIEW_GOOD : VIEW_PLAIN;
	return strcmp(r->s.status, "completed") == 0 ? VIEW_DIM : VIEW_BAD;
}

/* The last line: a question, the filter, news, or what keys there are. */
static void
draw_foot(const struct ui *u)
{
	char line[TOP_LINE];

	if (u->mode == UI_CONFIRM)
		snprintf(line, sizeof(line), "%s %s? y/n", u->confirm,
		    u->confirm_id);
	else if (u->mode == UI_FILTER)
		snprintf(line, sizeof(line), "/%s_", u->list->filter);
	else if (u->message[0] != '\0')
		snprintf(line, sizeof(line), "%s", u->message);
	else
		snprintf(line, sizeof(line), "%zu of %zu sessions%s%s  h help  "
		        "q quit  / filter  < > sort  f follow  k kill",
		    u->list->count, u->model->count,
		    u->list->filter[0] != '\0' ? "  /" : "", u->list->filter);
	put(u, u->rows - 1, u->mode == UI_TABLE ? VIEW_PLAIN : VIEW_BOLD,
	    line);
}

/* The help instead of everything else. */
static void
draw_help(const struct ui *u)
{
	char line[TOP_LINE];
	size_t i = u->help_top;

	put(u, 0, VIEW_BAR, "psup-top: keys");
	for (int row = 1; row < u->rows - 1; row++, i++)
		put(u, row, VIEW_PLAIN,
		    keys_help_line(i, line, sizeof(line)) ? line : "");
	put(u, u->rows - 1, VIEW_BOLD,
	    "up and down scroll, any other key goes back");
}

/* Header and table, the pane below. */
static void
draw_table(struct ui *u)
{
	int pane = pane_rows(u), end = u->rows - 1 - pane;
	char line[2 * TOP_LINE];
	size_t i;

	for (int row = 0; row < HEADER_LINES; row++) {
		header_line(u->model, row, line, sizeof(line));
		put(u, row,
		    row > 0                 ? VIEW_PLAIN
		        : u->model->healthy ? VIEW_BOLD
		                            : VIEW_BAD,
		    line);
	}
	list_line(u->list, u->model, NULL, u->cols, line, sizeof(line));
	put(u, HEADER_LINES, VIEW_BAR, line);
	u->page = end > TABLE_FIRST ? (size_t)(end - TABLE_FIRST) : 0;
	clamp(u);
	for (int row = TABLE_FIRST; row < end; row++) {
		i = u->top + (size_t)(row - TABLE_FIRST);
		if (i >= u->list->count) {
			put(u, row, VIEW_PLAIN, "");
			continue;
		}
		list_line(u->list, u->model, u->list->rows[i], u->cols, line,
		    sizeof(line));
		put(u, row, row_style(u, i), line);
	}
	if (pane > 0)
		draw_pane(u, end, pane);
}

void
ui_draw(struct ui *u)
{
	view_size(&u->rows, &u->cols);
	if (u->mode == UI_HELP)
		draw_help(u);
	else {
		draw_table(u);
		draw_foot(u);
	}
	view_show();
}

/* -------------------------------------------------------------------- loop */

/* A new copy; processor time of what is on the screen, of everything only
 * where it is the order. */
static int
refresh(struct ui *u)
{
	struct top_model *m = u->model;
	int rc = model_refresh(m);

	if (rc == -ENOMEM)
		return rc;
	if (columns[u->list->sort].sampled)
		for (size_t i = 0; i < m->count; i++)
			sample_row(u->sampler, &m->rows[i], m->mono_ns);
	ui_rebuild(u);
	if (!columns[u->list->sort].sampled)
		for (size_t i = u->top;
		     i < u->list->count && i < u->top + u->page; i++)
			sample_row(u->sampler, u->list->rows[i], m->mono_ns);
	sample_sweep(u->sampler);
	return 0;
}

/* Refreshes when it is time, draws, takes a key. */
static int
loop(struct ui *u)
{
	long left = u->options->refreshes;
	uint64_t next = 0, now;
	int rc;

	while (!u->quit) {
		now = now_ms();
		if (now >= next || u->refresh) {
			if (left == 0)
				break;
			left -= left > 0;
			rc = refresh(u);
			if (rc < 0)
				return rc;
			u->refresh = false;
			next = now + u->options->delay_ms;
		}
		ui_draw(u);
		now = now_ms();
		keys_press(u, view_key(next > now ? (int)(next - now) : 0));
	}
	return 0;
}

int
ui_run(struct top_model *m, struct top_options *o)
{
	struct ui u = {.model = m, .options = o, .list = &o->list};
	int rc;

	u.sampler = sample_new();
	if (u.sampler == NULL) {
		fprintf(stderr, "psup-top: %s\n", strerror(ENOMEM));
		return 1;
	}
	if (view_open(o->monochrome) < 0) {
		fprintf(stderr, "psup-top: this terminal cannot be used (TERM); "
		                "try --batch\n");
		sample_free(&u.sampler);
		return 1;
	}
	ui_draw(&u); /* to know the size */
	rc = loop(&u);
	view_close();
	follow_fini(&followed);
	sample_free(&u.sampler);
	if (rc < 0)
		fprintf(stderr, "psup-top: %s\n", strerror(-rc));
	return rc < 0 ? 1 : 0;
}
