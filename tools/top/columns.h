/* SPDX-License-Identifier: MIT */
/* The columns of the table: columns.def made into functions. Pure. */
#ifndef TOP_COLUMNS_H
#define TOP_COLUMNS_H

#include "model.h"

#define COLUMN_TEXT 512 /* bytes of a cell's text */

struct column {
	const char *name, *title;
	int key;
	int width;
	bool right;
	int from_width;
	bool sampled;
	bool descending; /* what is most first */
	const char *doc;
	void (*text)(const struct top_model *m, const struct top_row *r,
	    char *dst, size_t size);
	/* NULL: compared as text. < 0: nothing known. */
	double (*number)(const struct top_model *m, const struct top_row *r);
};
extern const struct column columns[];
extern const size_t column_count;
/* The index of a name, or -1. */
int column_find(const char *name);

const char *input_name(enum top_input i);

#endif
