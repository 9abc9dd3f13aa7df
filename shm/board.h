/* SPDX-License-Identifier: MIT */
/*
 * The board: a seqlocked slot per live or recent session and per lane, counts
 * per state. Written by the master alone; anyone of the same uid reads it by
 * pread. A stopped or killed reader harms nobody, and no reader dies of a file
 * that is cut short.
 */
#ifndef PSUP_SHM_BOARD_H
#define PSUP_SHM_BOARD_H

#include <stdbool.h>
#include <stddef.h>

#include "shm/layout.h"

struct board {
	struct board_header *hdr; /* mapped; a reader's: a copy as attached */
	size_t bytes;
	uint32_t slot_count;
	bool writable;
	bool by_read; /* a reader: slots and lanes by `fd` */
	int fd;
};

/* How many slots a board in this directory has; 2048 on a tmpfs of less than
 * 256 MiB, else 16384. */
uint32_t board_slots_for(int dirfd);
/* Keeper: creates the file `board` anew with `slot_count` slots, allocated in
 * full (a hole would be a SIGBUS on a full tmpfs). -ENOSPC, -errno. */
int board_create(int dirfd, uint32_t slot_count, uint64_t incarnation);

/* Maps an existing board (writable) or opens it to be read, checking magic, version and size against the file.
 * Errors: -ENOENT, -EBADMSG, -EPROTO (another version), -errno. */
int board_attach(int dirfd, bool writable, struct board *ret);
/* Of which layout a board is that board_attach() refuses (-EPROTO). */
int board_stamp(int dirfd, uint32_t *ret);
void board_detach(struct board *b);
/* Writer: is the mapped file the one that has the name, and whole? Where not,
 * make it again and attach. */
bool board_is_sound(int dirfd, const struct board *b);

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
