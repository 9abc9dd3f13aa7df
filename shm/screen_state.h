/* SPDX-License-Identifier: MIT */
/* A screen; for screen.c and screen_draw.c alone. */
#ifndef PSUP_SHM_SCREEN_STATE_H
#define PSUP_SHM_SCREEN_STATE_H

#include <vterm.h>

#include "shm/screen.h"
#include "shm/screen_arena.h"
#include "shm/screen_filter.h"
#include "shm/screen_page.h"

struct screen {
	VTerm *vt;
	VTermState *state;
	struct screen_arena arena; /* of vt */
	struct screen_filter filter;
	unsigned cols, rows;
	struct page pages[2];
	bool alternate, cursor_visible, failed;
	struct screen_cell pen; /* its ch are 0 */
	int last_row, last_col; /* of the last character; -1: none */
	char title[FILTER_TITLE_MAX];
};

/* The line that is drawn on; NULL: there is none. */
struct row *screen_row(struct screen *s, int row);

extern const VTermStateCallbacks screen_callbacks;

#endif
