/* SPDX-License-Identifier: MIT */
/*
 * Rows of JSON objects as a table for people: columns as wide as what is in
 * them, the last as wide as the terminal has room, columns left out where there
 * is none. Everything is escaped. Or each row by a template.
 */
#ifndef PSUP_TABLE_H
#define PSUP_TABLE_H

#include "color.h"

#define TABLE_CELL 400 /* bytes of a cell */

/* One column: a name for --format and, in capitals, the title. */
struct column {
	const char *name;
	const char *help;  /* a few words */
	bool right;        /* numbers */
	int keep;          /* where room is short the lowest goes first; 0: only
	                    * by --format */
	/* Fills the cell (any bytes; "": nothing to say); its style. */
	enum style (*fill)(const json_t *row, char *cell, size_t size);
	const char *title; /* NULL: the name */
};

/* How a column is filled. PLAIN: without a style, by what `fills` the cell. */
#define FILL(name)                                                             \
	static enum style fill_##name(const json_t *row, char *cell,           \
	    size_t size)
#define PLAIN(name, fills)                                                     \
	FILL(name)                                                             \
	{                                                                      \
		fills;                                                         \
		return STYLE_NONE;                                             \
	}
#define TEXT_OF(name, key)   PLAIN(name, cell_text(row, key, cell, size))
#define NUMBER_OF(name, key) PLAIN(name, cell_number(row, key, cell, size))
/* A member as it is; nothing where it is no text, or no number. */
void cell_text(const json_t *row, const char *key, char *cell, size_t size);
void cell_number(const json_t *row, const char *key, char *cell, size_t size);

/* Which columns, in which order, or a template. */
struct table {
	const struct column *columns[40];
	size_t count;
	bool asked;           /* for these columns: none is left out as empty */
	const char *template; /* "{id} {status}"; NULL: the columns */
	const struct column *all;
	size_t all_count;
};

/* The columns that are shown unasked. */
void table_default(struct table *t, const struct column *all, size_t count);
/* --format TEXT: column names with commas, or a template. Returns EXIT_OK, or
 * what is wrong was said. */
int table_format(struct cli *c, struct table *t, const char *text);
/* Prints rows, an array; at most `columns` wide (0: as wide as it is), and at
 * most `lines` lines (0: all). */
void table_print(const struct cli *c, const struct table *t,
    const json_t *rows, size_t columns, size_t lines);
/* The names and what they hold, for the help. */
void table_help(const struct column *all, size_t count);

#endif
