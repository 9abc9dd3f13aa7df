/* SPDX-License-Identifier: MIT */
/* Which rows of a list are shown. */
#ifndef PSUP_LIST_FILTER_H
#define PSUP_LIST_FILTER_H

#include "cli.h"

#define LIST_TAGS_MAX 16

/* What is asked for; NULL, 0: anything. */
struct list_filter {
	const char *status; /* a word of LIST_STATUSES */
	const char *lane, *scope;
	const char *label;  /* with * and ? as a shell's patterns have them */
	const char *tags[LIST_TAGS_MAX]; /* "key" or "key=value", all of them */
	size_t tag_count;
	const char *const *ids;
	size_t id_count;    /* 0: any */
	int64_t since_ms;   /* started then or later */
	int64_t before_ms;  /* ended, or where it runs started, by then */
};
#define LIST_STATUSES                                                          \
	"running|queued|finished|completed|failed|killed|lost"

/* What the server is asked for, among the parameters of list. */
void list_filter_args(const struct list_filter *f, psup_args *a);
/* The same of rows that shared memory has, which knows no tags: takes away what
 * is not meant from their answer. */
void list_filter(const struct list_filter *f, json_t *answer);

#endif
