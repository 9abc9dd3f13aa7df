/* SPDX-License-Identifier: MIT */
/*
 * The runtime directory: where it is, that it is safe, and what lies in it.
 *
 *     lock      held by the keeper (flock), holds its pid as text; each worker
 *               keeps a read lock on it (fcntl), by which the next keeper finds
 *               those of a dead one
 *     sock      the listening socket
 *     board     shm/board.h          stats   shm/stats.h
 *     index/    LMDB, master only    rings/<instance, 16 hex digits>
 *     spool/<instance, 16 hex digits>    log    the daemon's own log
 */
#ifndef PSUP_RUNDIR_H
#define PSUP_RUNDIR_H

#include <stddef.h>
#include <stdbool.h>

#include "ids.h"

#define RUNDIR_PATH_MAX 108

/* $PSUP_RUNTIME_DIR, else $XDG_RUNTIME_DIR/psup, else /dev/shm/psup-<uid>.
 * Errors: -ENAMETOOLONG (a socket address holds 107 bytes), -EINVAL (not
 * absolute). */
int rundir_default(char ret_path[RUNDIR_PATH_MAX]);

/* Opens the directory (O_DIRECTORY, no symlink followed in the last
 * component), making it 0700 first where `create` is set, and checks owner,
 * mode and, unless `any_fs`, that it is a tmpfs. Returns a descriptor, or
 * -errno with a whole sentence in `why` that names the path, what was found
 * and what was expected. */
int rundir_open(const char *path, bool create, bool any_fs, char *why,
    size_t why_size);

/* A worker is here until it ends. 0 or -errno. */
int rundir_attend(int dirfd);
/* One that is here, by a descriptor of `lock`. 0: nobody; negative: one that has
 * no number in our namespace of pids. */
int32_t rundir_attendant(int lock);

/* "rings/0000000000000001" and "spool/...", relative to the directory. */
#define RUNDIR_NAME_MAX 32
void rundir_ring_name(struct sid sid, char ret_name[RUNDIR_NAME_MAX]);
/* The ring of a forgotten session, until another one gets it. */
#define RUNDIR_SPARE ".spare"
void rundir_spare_name(struct sid sid, char ret_name[RUNDIR_NAME_MAX]);
void rundir_spool_name(struct sid sid, char ret_name[RUNDIR_NAME_MAX]);

#endif
