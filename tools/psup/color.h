/* SPDX-License-Identifier: MIT */
/* Colours, where they are wanted: --color, $NO_COLOR, $TERM, a terminal. */
#ifndef PSUP_COLOR_H
#define PSUP_COLOR_H

#include "cli.h"

enum style { STYLE_NONE, STYLE_BOLD, STYLE_DIM, STYLE_RED, STYLE_GREEN,
	STYLE_YELLOW, STYLE_CYAN };

/* May control sequences go to that descriptor? A terminal that is not dumb. */
bool color_terminal(int fd);
/* Are there colours on that descriptor? */
bool color_on(const struct cli *c, int fd);
/* What switches a style on, and all of them off; "" where there are none. */
const char *color_begin(const struct cli *c, int fd, enum style style);
const char *color_end(const struct cli *c, int fd, enum style style);

/* ------------------------------------------------------------------ cells */

/* Bytes as people read them: 512, 20.3K, 1.5G. */
void cells_amount(uint64_t n, char *ret, size_t size);
/* Columns and lines of stdout's terminal, or of $COLUMNS and $LINES; 0: it is
 * none. */
void cells_of_terminal(size_t *ret_columns, size_t *ret_lines);

#endif
