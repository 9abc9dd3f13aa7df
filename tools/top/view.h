/* SPDX-License-Identifier: MIT */
/* The terminal. view_curses.c is the one home of curses. */
#ifndef TOP_VIEW_H
#define TOP_VIEW_H

#include "draw.h"

/* 0, or -1: there is no terminal that can be used. */
int view_open(bool monochrome, bool mouse);
void view_close(void);
void view_size(int *ret_rows, int *ret_cols);
/* Shows it: what did not change is not sent, unless all is to be. */
void view_frame(const struct frame *f, bool all);
/* A character, an enum top_key, or TOPKEY_NONE after timeout_ms. */
int view_key(int timeout_ms);
/* Where the mouse was at the last key of it. */
void view_mouse(int *ret_row, int *ret_col);
/* The terminal is somebody else's, and ours again. */
void view_suspend(void);
void view_resume(void);

#endif
