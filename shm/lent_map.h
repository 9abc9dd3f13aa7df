/* SPDX-License-Identifier: MIT */
/*
 * Mappings of files that anybody of our uid may cut short: the file is lent,
 * not owned. Touching a page behind its new end is a SIGBUS; the handler here
 * lays private zero pages over that mapping, and over no other memory, so the
 * process goes on. Its next turn finds `lost` and makes the file again.
 *
 * Used by psupd, psup-master and psup-worker. The public library maps nothing:
 * a signal handler is its host's business.
 */
#ifndef PSUP_SHM_LENT_MAP_H
#define PSUP_SHM_LENT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Once a process, before its first access. A SIGBUS from elsewhere stays a
 * death, with last words. */
void lent_map_guard(void);

/* Maps a stretch of an open file (MAP_SHARED) and remembers it until
 * lent_unmap(). -ENOMEM, -errno. */
int lent_map(int fd, uint64_t offset, size_t bytes, bool writable, void **ret);
void lent_unmap(void *map);
/* Do processes that this one forks have it, too? They do, until it is said. */
void lent_map_forked(void *map, bool yes);
/* Lays the file (another one, or the same with its length back) where the
 * mapping is, whose address stays. On an error what was there stays. */
int lent_map_again(void *map, int fd);

/* Private zero pages in its place; for good, unless it is mapped again. */
void lent_map_let_go(void *map);

/* Has a SIGBUS put zero pages in its place? */
bool lent_map_lost(const void *map);
/* Is this the file that was mapped? */
bool lent_map_is_of(const void *map, int fd);
/* How many were ever lost in this process; asked once a turn. */
unsigned lent_maps_lost(void);

#endif
