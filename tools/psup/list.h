/* SPDX-License-Identifier: MIT */
/* psup list: its columns, and its rows from shared memory. */
#ifndef PSUP_LIST_H
#define PSUP_LIST_H

#include "table.h"

extern const struct column list_columns[];
extern const size_t list_column_count;
/* What of a row the columns look at; NULL at end. From list_keys_asked on it is
 * those alone that are shown where they are asked for. */
extern const char *const list_keys[];
extern const char *const *const list_keys_asked;
/* When the rows came (wall clock): what "ago" counts from, for all alike. */
extern int64_t list_now_ms;

/* The rows that shared memory has, as the list method's answer. The exit code;
 * *ret is the caller's. */
int view_list(struct cli *c, bool all, json_t **ret);

#endif
