/* SPDX-License-Identifier: MIT */
/*
 * What a program asks of its terminal and says to it, found in its output as
 * it passes by: a streaming scanner without I/O. It keeps at most one
 * unfinished escape sequence, so where output is cut makes no difference.
 *
 * Answered: DSR (5n, 6n, ?6n), DA1, DA2, DECRQM. Followed: cursor keys (?1)
 * and bracketed paste (?2004), set, reset, by RIS and by DECSTR.
 */
#ifndef PSUP_WORKER_PTY_SCAN_H
#define PSUP_WORKER_PTY_SCAN_H

#include <stddef.h>
#include <stdint.h>

#define PTY_SEQ_MAX 64u /* a longer sequence is none that we know */

struct pty_scan {
	uint32_t modes; /* PTY_CURSOR_*, PTY_PASTE of shm/layout.h */
	size_t len;     /* of the unfinished sequence */
	char seq[PTY_SEQ_MAX];
};

/* Looks at the next n bytes of output. Appends what is to be answered to the
 * *len bytes of answer, as long as it fits into size. */
void pty_scan(struct pty_scan *s, const char *data, size_t n, char *answer,
    size_t size, size_t *len);

#endif
