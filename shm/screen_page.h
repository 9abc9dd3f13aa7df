/* SPDX-License-Identifier: MIT */
/*
 * The lines of a screen, as an array of pointers: a line that scrolls away is
 * used again. Private to screen.c.
 */
#ifndef PSUP_SHM_SCREEN_PAGE_H
#define PSUP_SHM_SCREEN_PAGE_H

#include "shm/screen.h"

/* A line: cells beyond `used` are blank, with `bg`. */
struct row {
	unsigned used;
	uint32_t bg;
	struct screen_cell cells[];
};

/* The main screen, or the alternate one. */
struct page {
	struct row **rows; /* NULL: never used */
};

/* Makes the cells up to `end` real; end is within the line. */
void row_extend(struct row *r, unsigned end);
/* A wide character that a change at `col` would halve becomes blanks. */
void row_mend(struct row *r, unsigned col);
/* Blanks from, ..., end - 1 of `cols`. */
void row_erase(struct row *r, unsigned from, unsigned end, unsigned cols,
    uint32_t bg);
/* Copies n cells within a line or from line to line. */
void row_move(struct row *to, unsigned at, struct row *from, unsigned begin,
    unsigned n);

/* False: no memory, and nothing has changed. */
bool page_make(struct page *p, unsigned cols, unsigned rows);
void page_free(struct page *p, unsigned rows);
/* The same lines from `first` on in another size. Nothing is wrapped anew:
 * programs draw again after a resize. */
bool page_resize(struct page *p, unsigned old_rows, unsigned cols,
    unsigned rows, unsigned first);

#endif
