/* SPDX-License-Identifier: MIT */
/* Memory for libvterm; see screen_arena.h. */
#include "shm/screen_arena.h"

#include <stdlib.h>

#include "common/check.h"

/* What libvterm 0.1 asks for: its structs and buffers, about 7 KiB; a bit for
 * each column and two words for each line at every size. */
#define ARENA_FIXED 12288u
#define ARENA_ALIGN (sizeof(max_align_t))

struct arena_chunk {
	struct arena_chunk *next;
	size_t left;
	char *at;
	max_align_t bytes[];
};

static bool
chunk_add(struct screen_arena *a, size_t size)
{
	struct arena_chunk *c = calloc(1, sizeof(*c) + size);

	if (c == NULL)
		return false;
	c->next = a->chunks;
	c->left = size;
	c->at = (char *)c->bytes;
	a->chunks = c;
	return true;
}

bool
arena_prepare(struct screen_arena *a, unsigned cols, unsigned rows)
{
	size_t size = cols + (size_t)rows * 16 + 256;

	if (a->chunks == NULL)
		size += ARENA_FIXED;
	return (a->chunks != NULL && a->chunks->left >= size) ||
	    chunk_add(a, size);
}

void *
arena_alloc(struct screen_arena *a, size_t size)
{
	struct arena_chunk *c = a->chunks;
	void *p;

	size = (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
	if (c == NULL || c->left < size) {
		CHECK(chunk_add(a, size));
		c = a->chunks;
	}
	p = c->at;
	c->at += size;
	c->left -= size;
	return p;
}

void
arena_free(struct screen_arena *a)
{
	struct arena_chunk *c;

	while ((c = a->chunks) != NULL) {
		a->chunks = c->next;
		free(c);
	}
}
