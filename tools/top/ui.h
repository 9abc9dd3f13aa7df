/* SPDX-License-Identifier: MIT */
/* The state of the display: keys.c changes it, ui.c draws it. */
#ifndef TOP_UI_H
#define TOP_UI_H

#include "top.h"

enum ui_mode { UI_TABLE, UI_FILTER, UI_CONFIRM, UI_HELP };

struct ui {
	struct top_model *model;
	struct top_options *options;
	struct top_list *list;
	struct sampler *sampler;
	enum ui_mode mode;
	int rows, cols;
	size_t top;       /* the first row that is shown */
	size_t chosen;    /* its place in the list */
	uint64_t chosen_instance;
	size_t page;      /* rows the table shows */
	bool follow;
	size_t help_top;
	const char *confirm; /* the method that was asked for */
	uint64_t confirm_instance;
	char confirm_id[48];
	char message[512];
	bool quit, refresh;
};

/* What a key does, in the mode the display is in. */
void keys_press(struct ui *u, int key);
/* Line i of the help, or false beyond the last. */
bool keys_help_line(size_t i, char *dst, size_t size);

/* The chosen row, or NULL. */
const struct top_row *ui_chosen(const struct ui *u);
/* Filters and sorts again; the chosen session stays chosen. */
void ui_rebuild(struct ui *u);
/* Moves the choice. */
void ui_move(struct ui *u, long by);
/* Draws everything. */
void ui_draw(struct ui *u);

#endif
