/* SPDX-License-Identifier: MIT */
/*
 * The board: a seqlocked slot per live or recent session and per lane, counts
 * per state. Written by the master alone; anyone of the same uid maps it
 * read-only. A stopped or killed reader harms nobody.
 */
#ifndef PSUP_SHM_BOARD_H
#define PSUP_SHM_BOARD_H

#include <stdbool.h>
#include <stddef.h>

#include "shm/layout.h"

struct board {
	struct board_header *hdr; /* mapped; read-only for readers */
	size_t bytes;
	uint32_t slot_count;
	bool writable;
};

/* Keeper: creates the file `board` anew with `slot_count` slots, allocated in
 * full (a hole would be a SIGBUS on a full tmpfs). -ENOSPC, -errno. */
int board_create(int dirfd, uint32_t slot_count, uint64_t incarnation);

/* Maps an existing board, checking magic, version and size against the file.
 * Errors: -ENOENT, -EBADMSG, -EPROTO (another version), -errno. */
int board_attach(int dirfd, bool writable, struct board *ret);
/* Of which layout a board is that board_attach() refuses (-EPROTO). */
int board_stamp(int dirfd, uint32_t *ret);
void board_detach(struct board *b);

/* Writer: fills slot `i` from *s (seq and generation are the board's own; a
 * new session in the slot raises the generation), and keeps counts[] right. */
void board_put(struct board *b, uint32_t i, const struct board_slot *s);
/* Writer: state FREE. */
void board_clear(struct board *b, uint32_t i);
void board_put_lane(struct board *b, uint32_t i, const struct board_lane *l);

/* Reader: a consistent copy. 1: got it. 0: the slot is free. -EBUSY: a writer
 * was met three times. -EINVAL: no such slot. -EBADMSG: its state is none. A
 * lane without a name is free. */
int board_get(const struct board *b, uint32_t i, struct board_slot *ret);
int board_get_lane(const struct board *b, uint32_t i, struct board_lane *ret);

#endif
