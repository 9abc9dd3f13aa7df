/* SPDX-License-Identifier: MIT */
/*
 * psup-top without server and terminal: a model that a test may change, keys
 * that are typed, lines that are drawn.
 */
#ifndef PSUP_LIB_TOP_H
#define PSUP_LIB_TOP_H

#include "tools/top/draw.h"

extern struct top_model model;
extern struct top_list list;
extern struct top_row rows[4];
extern struct ui ui;
extern struct pane pane;
extern struct frame frame;

/* Characters are UTF-8. */
void top_use_utf8(void);
/* Four sessions of two scopes: two run in lane main, one waits for it, one
 * ended. The server runs. */
void top_set_up(void);
void top_tear_down(void);

/* Types each character. */
void type(const char *keys);
/* Draws, and tells whether a line holds a text. */
bool shows(const char *text);

#endif
