/* SPDX-License-Identifier: MIT */
/*
 * Keys that act on sessions, scopes, lanes and columns: what is to be done, or
 * asked first, stands in the state. A function for each such row of keys.def.
 */
#include <stdio.h>
#include <string.h>

#include "keys_do.h"

/* Takes a column in or out; it may stand elsewhere then. */
static void
toggle_column(struct ui *u)
{
	size_t column = list_columns_offer(u->list, u->column);

	if (!list_column_toggle(u->list, column))
		ui_say(u, true, "one column stays");
	else
		u->columns_changed = true;
}

/* Marks it, or no longer, and goes to the next. */
void
do_mark(struct ui *u, int)
{
	const struct top_row *r = ui_row(u);

	if (u->screen == SCREEN_COLUMNS) {
		toggle_column(u);
		return;
	}

	if (u->screen != SCREEN_TABLE || r == NULL)
		return;
	if (!ui_mark(u, r->s.instance))
		ui_say(u, true, "%d are marked, and no more can be", UI_MARKED);
	ui_move(u, 1);
}

/* Asks about all that are marked. */
static void
ask_marked(struct ui *u, enum action_kind kind)
{
	struct action a = {.kind = kind, .marked = true,
	    .now = kind == ACTION_KILL_NOW};

	snprintf(a.id, sizeof(a.id), "%zu marked session%s", u->marked_count,
	    u->marked_count == 1 ? "" : "s");
	ui_ask(u, &a);
}

/* Asks about the chosen session. */
static void
ask_session(struct ui *u, enum action_kind kind)
{
	struct action a = {.kind = kind, .now = kind == ACTION_KILL_NOW};
	const struct top_row *r = ui_row(u);

	if (u->screen == SCREEN_TABLE && u->marked_count > 0) {
		ask_marked(u, kind);
		return;
	}
	if (u->screen != SCREEN_TABLE || r == NULL) {
		ui_say(u, true, "no session is chosen");
		return;
	}
	a.instance = r->s.instance;
	memcpy(a.id, r->s.id, sizeof(a.id));
	ui_ask(u, &a);
}

/* A session, or all of a scope. */
void
do_kill(struct ui *u, int now)
{
	struct action a = {.kind = ACTION_KILL_SCOPE, .now = now != 0};
	const struct list_entry *e = ui_entry(u);

	if (u->screen != SCREEN_TABLE || e == NULL || e->row != NULL ||
	    u->marked_count > 0) {
		ask_session(u, now ? ACTION_KILL_NOW : ACTION_KILL);
		return;
	}
	memcpy(a.id, u->list->scopes[e->scope].name, sizeof(a.id));
	if (a.id[0] == '\0')
		ui_say(u, true, "these sessions have no scope to kill");
	else
		ui_ask(u, &a);
}

void
do_remove(struct ui *u, int)
{
	ask_session(u, ACTION_REMOVE);
}

void
do_send(struct ui *u, int)
{
	struct action a = {.kind = ACTION_SEND};
	const struct top_row *r = ui_row(u);
	char why[256];

	if (u->screen != SCREEN_TABLE || r == NULL) {
		ui_say(u, true, "no session is chosen");
		return;
	}
	a.instance = r->s.instance;
	memcpy(a.id, r->s.id, sizeof(a.id));
	action_refusal(u->model, &a, why, sizeof(why));
	if (why[0] == '\0' && (!r->live || !r->s.stdin_open))
		snprintf(why, sizeof(why), "%s takes no input", a.id);
	if (why[0] != '\0') {
		ui_say(u, true, "%s", why);
		return;
	}
	u->action = a;
	u->typed[0] = '\0';
	u->prompt = PROMPT_SEND;
}

void
do_attach(struct ui *u, int)
{
	const struct top_row *r = ui_row(u);

	if (u->screen != SCREEN_TABLE || r == NULL)
		ui_say(u, true, "no session is chosen");
	else if (!r->live || r->s.ended_ms != 0)
		ui_say(u, true, "%s is over", r->s.id);
	else if (!r->s.pty)
		ui_say(u, true,
		    "%s has no terminal: f follows its output, s sends keys",
		    r->s.id);
	else
		u->attach = r->s.instance;
}

/* The chosen lane, or the one of the chosen session. */
static const struct top_lane *
lane_meant(const struct ui *u)
{
	const struct top_row *r = ui_row(u);

	if (u->screen == SCREEN_LANES)
		return ui_lane(u);
	for (size_t i = 0; r != NULL && i < u->model->lane_count; i++)
		if (strcmp(u->model->lanes[i].l.name, r->s.lane) == 0)
			return &u->model->lanes[i];
	return NULL;
}

void
do_lane(struct ui *u, int)
{
	const struct top_lane *l = lane_meant(u);
	struct action a = {0};

	if (l == NULL) {
		ui_say(u, true, "no lane is chosen (l shows the lanes)");
		return;
	}
	a.kind = l->l.paused || l->l.draining ? ACTION_RESUME : ACTION_PAUSE;
	memcpy(a.id, l->l.name, sizeof(l->l.name));
	ui_ask(u, &a);
}
