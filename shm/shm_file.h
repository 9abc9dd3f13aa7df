/* SPDX-License-Identifier: MIT */
/*
 * What board and stats do alike: a file allocated in full under a temporary
 * name and renamed into place once it is filled, and mapped (lent_map.h).
 */
#ifndef PSUP_SHM_SHM_FILE_H
#define PSUP_SHM_SHM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes `name` anew with `bytes` zero bytes, all allocated, under its
 * temporary name, and maps it. Fill it, then shm_file_publish().
 * Errors: -ENOSPC, -errno; nothing is left behind. */
int shm_file_create(int dirfd, const char *name, size_t bytes, void **ret);
/* Renames it into place. On an error it is unlinked and unmapped. */
int shm_file_publish(int dirfd, const char *name, void *map);

/* Opens a regular file, follows no link. fd and its size, or -errno. */
int shm_file_open(int dirfd, const char *name, bool writable,
    uint64_t *ret_bytes);

#endif
