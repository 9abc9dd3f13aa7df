/* SPDX-License-Identifier: MIT */
/* Paragraphs of help on lines of a terminal. */
#ifndef PSUP_TEXT_WRAP_H
#define PSUP_TEXT_WRAP_H

#include <stdio.h>

/* Writes text to be read: its words on lines of at most 79 columns, which
 * begin with `indent` blanks; the first one begins behind `column` columns that
 * are written already. An empty line parts paragraphs; a line that begins with
 * a blank stays as it is. Ends with an end of line. */
void text_wrap(FILE *to, const char *text, size_t indent, size_t column);

#endif
