/* SPDX-License-Identifier: MIT */
/*
 * stdin's spool: the master appends, the worker splices spool -> pipe by a
 * position that the kernel keeps in the ring's header (spool_off), consumed
 * space is punched, never overwritten (tmpfs lends its pages to the pipe).
 */
#ifndef PSUP_SHM_SPOOL_H
#define PSUP_SHM_SPOOL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/ids.h"
#include "shm/ring.h"

/* Master: opens (creating) spool/<sid> for appending. fd or -errno. */
int spool_open_append(int dirfd, struct sid sid);
/* Appends whole or not at all (a short write is taken back by ftruncate).
 * Errors: -ENOSPC, -errno. */
int spool_append(int fd, uint64_t end, const void *data, size_t size);

/* Worker: opens for reading. fd, or -ENOENT (nothing was written yet). */
int spool_open_read(int dirfd, struct sid sid);
/* One splice spool -> pipe, from hdr->spool_off up to `end`. Returns bytes,
 * 0 at `end`. Errors: -EAGAIN (pipe full), -EPIPE, -errno. */
ssize_t spool_splice(int fd, struct ring_header *hdr, int pipe_fd,
    uint64_t end);
/* Punches whole pages below `consumed`, from *punched on; moves *punched. */
void spool_punch(int fd, uint64_t consumed, uint64_t *punched);

#endif
