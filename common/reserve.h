/* SPDX-License-Identifier: MIT */
/*
 * Memory put aside for what must not fail halfway: an answer, an order, a
 * timer. Where malloc fails it is given up, and malloc asked once more. Who
 * turns a loop fills it again, and takes nothing new while that fails.
 *
 * A process that never calls reserve_fill() has none; then these are malloc
 * and realloc.
 */
#ifndef PSUP_RESERVE_H
#define PSUP_RESERVE_H

#include <stdbool.h>
#include <stddef.h>

/* Puts it aside unless it is there; false: there is no memory for it. */
bool reserve_fill(void);
/* NULL: there is none even so. */
void *reserve_malloc(size_t size);
void *reserve_realloc(void *p, size_t size);
/* Gives it up for what allocates by itself; false: it is gone already. */
bool reserve_give_up(void);

#endif
