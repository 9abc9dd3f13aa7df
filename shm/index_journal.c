/* SPDX-License-Identifier: MIT */
/* The changes of the open transaction, as bytes one behind the other. */
#include "shm/index_journal.h"

#include <stdlib.h>
#include <string.h>

#include "common/reserve.h"

#define KEPT_BYTES (1u << 20) /* of an empty buffer */

struct entry {
	uint32_t db;
	uint32_t is_put;
	uint32_t key_size, val_size;
};

/* Makes room for more bytes. */
static bool
journal_room(struct journal *j, size_t more)
{
	size_t cap = j->cap != 0 ? j->cap : 4096;
	unsigned char *p;

	if (j->cap - j->len >= more)
		return true;
	while (cap - j->len < more)
		cap *= 2;
	p = reserve_realloc(j->buf, cap);
	if (p == NULL)
		return false;
	j->buf = p;
	j->cap = cap;
	return true;
}

/* Appends bytes for which there is room. */
static void
journal_bytes(struct journal *j, const void *p, size_t size)
{
	if (size > 0)
		memcpy(j->buf + j->len, p, size);
	j->len += size;
}

/* Remembers one change. */
void
journal_add(struct journal *j, enum index_db db, struct index_bytes key,
    const struct index_bytes *val)
{
	struct entry e = {.db = (uint32_t)db, .is_put = val != NULL,
	    .key_size = (uint32_t)key.size,
	    .val_size = val != NULL ? (uint32_t)val->size : 0};

	if (!journal_room(j, sizeof(e) + e.key_size + e.val_size)) {
		j->lost = true;
		return;
	}
	journal_bytes(j, &e, sizeof(e));
	journal_bytes(j, key.data, e.key_size);
	if (val != NULL)
		journal_bytes(j, val->data, e.val_size);
}

/* Shows every change. */
int
journal_each(const struct journal *j, journal_fn *fn, void *arg)
{
	size_t at = 0;
	int r = 0;

	while (r == 0 && at < j->len) {
		struct index_bytes key, val;
		struct entry e;

		memcpy(&e, j->buf + at, sizeof(e));
		at += sizeof(e);
		key = (struct index_bytes){j->buf + at, e.key_size};
		at += e.key_size;
		val = (struct index_bytes){j->buf + at, e.val_size};
		at += e.val_size;
		r = fn(arg, (enum index_db)e.db, key,
		    e.is_put != 0 ? &val : NULL);
	}
	return r;
}

/* Begins anew. */
void
journal_clear(struct journal *j)
{
	j->len = 0;
	j->lost = false;
	if (j->cap > KEPT_BYTES)
		journal_free(j);
}

/* Frees its memory. */
void
journal_free(struct journal *j)
{
	free(j->buf);
	*j = (struct journal){0};
}
