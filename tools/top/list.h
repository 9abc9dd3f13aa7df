/* SPDX-License-Identifier: MIT */
/*
 * What the table shows, in its order: sessions, or scopes with their sessions
 * below them. Pure: it reads the model and what the person asked for.
 */
#ifndef TOP_LIST_H
#define TOP_LIST_H

#include "columns.h"
#include "line.h"

#define LIST_FILTER 128
#define LIST_FOLDED 64 /* scopes at most that are folded */
#define LIST_COLUMNS 32

/* All sessions of a scope that are shown. */
struct list_scope {
	char name[48];
	size_t sessions, live;
	double output_rate; /* < 0: not known */
	uint64_t total_bytes;
	bool folded;
	size_t order; /* of its first session in the list */
};

struct list_entry {
	struct top_row *row; /* NULL: the scope's own line */
	size_t scope;        /* in a tree */
};

struct top_list {
	/* asked for */
	size_t sort; /* a column */
	bool reverse, live_only, tree;
	char filter[LIST_FILTER];
	char folded[LIST_FOLDED][48];
	size_t folded_count;
	size_t chosen[LIST_COLUMNS]; /* columns; none: the terminal's width says */
	size_t chosen_count;
	/* what is shown */
	struct list_entry *entries;
	size_t count, room;
	size_t matching; /* sessions, folded ones too */
	struct list_scope *scopes;
	size_t scope_count, scope_room;
	/* of each column's texts: where scripts get all of them; on the display
	 * of session, scope and lane, in bytes */
	int widest[LIST_COLUMNS];
};

/* Filters and sorts. 0 or -ENOMEM. */
int list_build(struct top_list *l, const struct top_model *m);
void list_fini(struct top_list *l);
/* Folds or unfolds a scope. False: too many are folded. */
bool list_fold(struct top_list *l, const char *scope, bool fold);

/* list_columns.c: those that are shown, of LIST_COLUMNS at most. How many. */
size_t list_shown(const struct top_list *l, int width, size_t *ret);
/* Chosen by their names, parted by blanks or commas. False: not one of them is
 * taken, and why. */
bool list_columns_take(struct top_list *l, const char *text, char *ret_why,
    size_t size);
void list_columns_text(const struct top_list *l, char *dst, size_t size);
/* The i-th of all columns: those that are chosen, then the others. */
size_t list_columns_offer(const struct top_list *l, size_t i);
bool list_column_is_chosen(const struct top_list *l, size_t column);
/* Takes one in or out. False: it is the last one. */
bool list_column_toggle(struct top_list *l, size_t column);
/* Changes places with the next one, or the one before; where it is then. */
size_t list_column_move(struct top_list *l, size_t column, bool later);

/* How wide a column is, but for what is left to NAME. */
int list_width_of(const struct top_list *l, size_t i, int width);
/* For a width of 0: how wide each column must be. */
void list_measure(struct top_list *l, const struct top_model *m);
/* The table's head, or an entry, `width` columns wide (0: no limit, each
 * column as it was measured). */
void list_head(const struct top_list *l, int width, struct line *ret);
/* The column whose title stands there, or -1. */
int list_column_at(const struct top_list *l, int width, int col);
void list_line(const struct top_list *l, const struct top_model *m,
    const struct list_entry *e, int width, struct line *ret);

#endif
