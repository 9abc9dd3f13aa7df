/* SPDX-License-Identifier: MIT */
/*
 * What was put into and deleted from the index since its last commit, in
 * order, so that a commit that fails takes nothing away: the next transaction
 * begins with all of it. Used by index.c, freed by index_open.c.
 */
#ifndef PSUP_SHM_INDEX_JOURNAL_H
#define PSUP_SHM_INDEX_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "shm/index.h"

struct journal {
	unsigned char *buf;
	size_t len, cap;
	bool lost; /* there was no memory for some of it */
};

/* Adds a change; `val` NULL: a delete. */
void journal_add(struct journal *j, enum index_db db, struct index_bytes key,
    const struct index_bytes *val);

/* Shows all changes in order until fn returns non-zero, which is returned. */
typedef int journal_fn(void *arg, enum index_db db, struct index_bytes key,
    const struct index_bytes *val);
int journal_each(const struct journal *j, journal_fn *fn, void *arg);

/* They are committed. A buffer that grew large is given back. */
void journal_clear(struct journal *j);
void journal_free(struct journal *j);

#endif
