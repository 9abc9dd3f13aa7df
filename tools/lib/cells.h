/* SPDX-License-Identifier: MIT */
/*
 * Text in the columns of a terminal, and figures in four characters. Pure.
 * Widths are utf8proc's, or the C library's where that says more: curses
 * counts by it, and nothing may run into its neighbour. Text is cut
 * between grapheme clusters, and of a cluster that stands is shown what every
 * terminal gives the same columns: a letter with its marks, of joined emoji the
 * first. Needs a locale whose characters are UTF-8.
 */
#ifndef PSUP_TOOLS_CELLS_H
#define PSUP_TOOLS_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies what is safe already (psup_escape) while it fits: `width` columns
 * (0: no limit) beginning at column `at`, which tabs need. Half a cluster is
 * never shown, nor a mark without its letter. Returns the columns used;
 * *ret_rest (may be NULL) is where it stopped. */
int cells_copy(const char *safe, int at, int width, char *dst, size_t size,
    const char **ret_rest);

/* The same at column 0 of at least one; what is cut ends with an ellipsis. */
int cells_cut(const char *safe, int width, char *dst, size_t size);

/* What a stranger wrote: escaped, padded or cut to `width` columns (0: as wide
 * as it is); what is cut ends with an ellipsis. Returns the columns used. */
int cells_fit(const char *text, int width, bool right, char *dst, size_t size);

/* The columns of what a stranger wrote, once escaped. */
int cells_width(const char *text);

/* 12.3K for 12595; four characters for most figures. "-" for < 0. */
void cells_bytes(double bytes, char *dst, size_t size);
/* 7s, 2m05, 1h30, 3d04 */
void cells_age(uint64_t ms, char *dst, size_t size);

#endif
