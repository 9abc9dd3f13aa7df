/* SPDX-License-Identifier: MIT */
/* Choice, pages and questions: see ui.h. Called by keys.c, draw.c and
 * display.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/format.h"
#include "header.h"
#include "ui.h"

#define PANE_FROM   16 /* rows of a terminal that has room for a pane */
#define ROOMY       32 /* and of one that has room for both */

const struct list_entry *
ui_entry(const struct ui *u)
{
	return u->chosen < u->list->count ? &u->list->entries[u->chosen] : NULL;
}

struct top_row *
ui_row(const struct ui *u)
{
	const struct list_entry *e = ui_entry(u);

	return e != NULL ? e->row : NULL;
}

const struct top_lane *
ui_lane(const struct ui *u)
{
	return u->lane < u->model->lane_count ? &u->model->lanes[u->lane]
	                                      : NULL;
}

bool
ui_header_is_short(const struct ui *u)
{
	return (u->rows < ROOMY) != u->other_header;
}

size_t
ui_header_lines(const struct ui *u)
{
	return ui_header_is_short(u) ? HEADER_SHORT : HEADER_LINES;
}

/* Lines between the header and the last line. */
static size_t
body_lines(const struct ui *u)
{
	size_t lines = (size_t)u->rows, other = ui_header_lines(u) + 1;

	return lines > other ? lines - other : 0;
}

size_t
ui_pane_lines(const struct ui *u)
{
	size_t body = body_lines(u);

	if (u->pane == PANE_NONE || u->screen != SCREEN_TABLE ||
	    u->rows < PANE_FROM)
		return 0;
	if (u->zoom)
		return body;
	return u->rows < ROOMY ? body - body / 3 - 1 : body / 2;
}

size_t
ui_table_lines(const struct ui *u)
{
	size_t body = body_lines(u), pane = ui_pane_lines(u);

	return body > pane + 1 ? body - pane - 1 : 0;
}

bool
ui_shows_output(const struct ui *u)
{
	return u->pane == PANE_OUTPUT && ui_pane_lines(u) > 0;
}

bool
ui_searches(const struct ui *u)
{
	return ui_shows_output(u) && u->search[0] != '\0';
}

/* Keeps an index within so many, and a page of them around it. */
static void
clamp(size_t *at, size_t *top, size_t count, size_t page)
{
	if (*at >= count)
		*at = count > 0 ? count - 1 : 0;
	if (*at < *top)
		*top = *at;
	if (page > 0 && *at >= *top + page)
		*top = *at - page + 1;
	if (*top + page > count)
		*top = count > page ? count - page : 0;
}

/* The choice of the table, and what it is called. */
static void
settle(struct ui *u)
{
	const struct list_entry *e;
	uint64_t before = u->chosen_instance;

	clamp(&u->chosen, &u->top, u->list->count, ui_table_lines(u));
	clamp(&u->lane, &u->lane_top, u->model->lane_count,
	    body_lines(u) > 1 ? body_lines(u) - 1 : 0);
	e = ui_entry(u);
	u->chosen_instance = 0;
	u->chosen_scope[0] = '\0';
	if (e != NULL && e->row != NULL)
		u->chosen_instance = e->row->s.instance;
	else if (e != NULL)
		memcpy(u->chosen_scope, u->list->scopes[e->scope].name,
		    sizeof(u->chosen_scope));
	if (u->chosen_instance != before)
		u->back = u->hit = 0;
}

/* Is an entry what was chosen before the list was made anew? */
static bool
was_chosen(const struct ui *u, const struct list_entry *e)
{
	if (e->row != NULL)
		return e->row->s.instance == u->chosen_instance;
	return u->chosen_instance == 0 &&
	    strcmp(u->list->scopes[e->scope].name, u->chosen_scope) == 0;
}

/* Marks of sessions that are no more go. */
static void
sweep_marks(struct ui *u)
{
	size_t kept = 0;

	for (size_t i = 0; i < u->marked_count; i++)
		if (facts_find(u->model, u->marked[i]) != NULL)
			u->marked[kept++] = u->marked[i];
	u->marked_count = kept;
}

void
ui_rebuild(struct ui *u)
{
	sweep_marks(u);
	if (list_build(u->list, u->model) < 0)
		ui_say(u, true, "%s", strerror(ENOMEM));
	for (size_t i = 0; i < u->list->count && u->holds; i++)
		if (was_chosen(u, &u->list->entries[i])) {
			u->chosen = i;
			break;
		}
	for (size_t i = 0; i < u->model->lane_count; i++)
		if (strcmp(u->model->lanes[i].l.name, u->chosen_lane) == 0)
			u->lane = i;
	settle(u);
}

/* at + by, within 0..max. */
static size_t
moved(size_t at, long by, size_t max)
{
	if (by < 0)
		return at > (size_t)-by ? at - (size_t)-by : 0;
	return (size_t)by < max && at < max - (size_t)by ? at + (size_t)by
	                                                 : max;
}

void
ui_move(struct ui *u, long by)
{
	switch (u->screen) {
	case SCREEN_TABLE:
		u->holds = true;
		u->chosen = moved(u->chosen, by, u->list->count);
		break;
	case SCREEN_LANES:
		u->lane = moved(u->lane, by, u->model->lane_count);
		break;
	case SCREEN_COLUMNS:
		u->column = moved(u->column, by, column_count - 1);
		break;
	case SCREEN_PROCESSES:
	case SCREEN_HELP:
		u->scroll = moved(u->scroll, by, u->scroll_max);
		break;
	}
	settle(u);
	if (u->screen == SCREEN_LANES && ui_lane(u) != NULL)
		snprintf(u->chosen_lane, sizeof(u->chosen_lane), "%s",
		    ui_lane(u)->l.name);
}

bool
ui_is_marked(const struct ui *u, uint64_t instance)
{
	for (size_t i = 0; i < u->marked_count; i++)
		if (u->marked[i] == instance)
			return true;
	return false;
}

bool
ui_mark(struct ui *u, uint64_t instance)
{
	for (size_t i = 0; i < u->marked_count; i++)
		if (u->marked[i] == instance) {
			u->marked[i] = u->marked[--u->marked_count];
			return true;
		}
	if (u->marked_count == UI_MARKED)
		return false;
	u->marked[u->marked_count++] = instance;
	return true;
}

void
ui_say(struct ui *u, bool bad, const char *fmt, ...)
{
	(void)FORMATTED(u->message, sizeof(u->message), fmt);
	for (char *p = u->message; *p != '\0'; p++)
		if (*p == '\n')
			*p = ' ';
	u->message_bad = bad;
}

void
ui_ask(struct ui *u, const struct action *a)
{
	char why[256];

	action_refusal(u->model, a, why, sizeof(why));
	if (why[0] != '\0') {
		ui_say(u, true, "%s", why);
		return;
	}
	u->action = *a;
	u->prompt = PROMPT_CONFIRM;
}
