/* SPDX-License-Identifier: MIT */
/*
 * Is a file of LMDB whole? LMDB trusts its pages: a wrong number in one of
 * them is an assertion, a wild access, or a page given out twice, later on.
 */
#ifndef PSUP_SHM_INDEX_WALK_H
#define PSUP_SHM_INDEX_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_names {
	const char *const *name;
	size_t count;
};

/* Follows every page of every tree and of the free list, of the newest of the
 * two meta pages, through `map`, the whole file. Nothing in it is believed.
 * `map_max`: the most that it may ask LMDB to map, bytes. `names`: of
 * the trees there may be; another one is the damaged name of one of them.
 * 0: whole. -EBADMSG: not. -ENOMEM: no memory for a bit per page. */
int index_walk(const void *map, size_t bytes, uint64_t map_max,
    const struct index_names *names);

#endif
