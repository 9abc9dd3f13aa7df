/* SPDX-License-Identifier: MIT */
/*
 * Atomics without an order: numbers that one process writes and others look at,
 * and that say nothing of any other memory.
 */
#ifndef PSUP_RELAXED_H
#define PSUP_RELAXED_H

#include <stdatomic.h>

#define RELAXED(field) atomic_load_explicit(&(field), memory_order_relaxed)
#define SET_RELAXED(field, v)                                                  \
	atomic_store_explicit(&(field), (v), memory_order_relaxed)
/* Of several writers, and of one alone, which needs no locked instruction. */
#define ADD_RELAXED(field, n)                                                  \
	atomic_fetch_add_explicit(&(field), (n), memory_order_relaxed)
#define COUNT_UP(field, n) SET_RELAXED(field, RELAXED(field) + (n))

#endif
