/* SPDX-License-Identifier: MIT */
/*
 * Memory for libvterm, which does not look whether it got any: room for all
 * that it will ask for at one size is made beforehand, and given back at once
 * in the end.
 */
#ifndef PSUP_SCREEN_ARENA_H
#define PSUP_SCREEN_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arena_chunk;
struct screen_arena {
	struct arena_chunk *chunks; /* the newest first */
};

/* Room for a terminal of that size; false: there is no memory. */
bool arena_prepare(struct screen_arena *a, unsigned cols, unsigned rows);
/* Zeroed. Beyond what was prepared: the process ends where there is none. */
void *arena_alloc(struct screen_arena *a, size_t size);
void arena_free(struct screen_arena *a);

#endif
