/* SPDX-License-Identifier: MIT */
/*
 * The state of the display, and how it moves. Pure: keys.c changes it,
 * draw.c shows it, display.c refreshes the model below it and carries out
 * what was asked for.
 */
#ifndef TOP_UI_H
#define TOP_UI_H

#include "actions.h"
#include "keys.h"
#include "list.h"
#include "pane.h"

enum ui_screen { SCREEN_TABLE, SCREEN_LANES, SCREEN_PROCESSES, SCREEN_COLUMNS,
	SCREEN_HELP };
enum ui_prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_SEARCH, PROMPT_SEND,
	PROMPT_CONFIRM };
enum ui_seek { SEEK_NONE, SEEK_OLDER, SEEK_NEWER };
enum ui_pane { PANE_NONE, PANE_OUTPUT, PANE_DETAILS };

#define UI_MARKED 256 /* sessions at most */

struct ui {
	const struct top_model *model;
	struct top_list *list;
	int rows, cols;   /* of the terminal */
	unsigned delay_ms;
	enum ui_screen screen;
	enum ui_prompt prompt;
	enum ui_pane pane;
	bool zoom;
	bool other_header;  /* the long one on a small terminal, or short */
	size_t chosen, top; /* of the table */
	bool holds;         /* to what is chosen; else to the first line */
	uint64_t chosen_instance;
	char chosen_scope[48]; /* where a scope's line is chosen */
	size_t lane, lane_top; /* of the lanes */
	char chosen_lane[32];  /* once somebody moved; else it is the first */
	size_t column;         /* of all columns, as they are offered */
	bool columns_changed;  /* since they were kept */
	bool keep_columns;     /* to be done */
	size_t scroll;         /* of help and processes */
	size_t scroll_max;     /* as last drawn */
	/* Lines the pane is scrolled: back from the end of the output, or on
	 * from the beginning of the details. */
	size_t back, back_max;
	/* Searched for in the output; which hit is looked at, the newest is 1, 0:
	 * none, and where it is (see pane.h); of how many; where to go when they
	 * are known. */
	char search[PANE_SEARCH];
	size_t hit, hit_line, hit_count;
	enum ui_seek seek;
	uint64_t marked[UI_MARKED]; /* instances */
	size_t marked_count;
	int mouse_row, mouse_col; /* of the last click or turn of the wheel */
	char typed[ACTION_KEYS]; /* keys to send */
	struct action action;  /* that is asked about, or to be done */
	bool carry_out;        /* action: a yes was said */
	uint64_t attach;       /* sit down at the terminal of this instance */
	char message[512];
	bool message_bad;
	bool quit, refresh, redraw;
};

/* The entry that is chosen, or NULL; its session, or NULL. */
const struct list_entry *ui_entry(const struct ui *u);
struct top_row *ui_row(const struct ui *u);
/* The lane that is chosen, or NULL. */
const struct top_lane *ui_lane(const struct ui *u);
/* Is the header short? How many lines it has. */
bool ui_header_is_short(const struct ui *u);
size_t ui_header_lines(const struct ui *u);
/* How many lines the table, or the pane, has; 0: it is not shown. */
size_t ui_table_lines(const struct ui *u);
size_t ui_pane_lines(const struct ui *u);
/* Is output in the pane, and can it be seen? Is it searched? */
bool ui_shows_output(const struct ui *u);
bool ui_searches(const struct ui *u);
/* Filters and sorts again; what was chosen stays chosen. */
void ui_rebuild(struct ui *u);
/* Moves what is chosen, or scrolls. */
void ui_move(struct ui *u, long by);
/* search.c: goes to the hit that was asked for, as the pane says where they are.
 * True: another part of the output is to be shown. */
bool ui_seek_hit(struct ui *u, const struct pane *p);
/* Searches no more, or looks at no hit. */
void ui_search_end(struct ui *u);
/* Marks a session, or no longer. False: too many are. */
bool ui_mark(struct ui *u, uint64_t instance);
bool ui_is_marked(const struct ui *u, uint64_t instance);
/* Says something in the last line. */
void ui_say(struct ui *u, bool bad, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Refuses, or asks for a yes. */
void ui_ask(struct ui *u, const struct action *a);

#endif
