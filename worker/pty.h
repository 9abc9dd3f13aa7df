/* SPDX-License-Identifier: MIT */
/*
 * A session's terminal: ptmx, and between it and ring and spool a pipe each.
 * The keeper holds a copy of all three, so what left the kernel's terminal is
 * in a pipe or in the ring, and what left the spool is in a pipe or in the
 * terminal, whenever a worker is killed.
 *
 * A pipe here is one descriptor, open for reading and writing.
 */
#ifndef PSUP_WORKER_PTY_H
#define PSUP_WORKER_PTY_H

#include "worker/child.h"

#define PTY_LINE_MAX  4095u /* bytes of a line the kernel keeps, besides \n */
#define PTY_RETRY_MS  100u

/* Makes terminal and pipes; ret_slave: stdin, stdout, stderr of the command.
 * Errors: -errno; nothing is left open. */
int pty_open(struct child *c, unsigned cols, unsigned rows, int ret_slave[3]);
/* What the header says, after GIVE. */
void pty_take_over(struct child *c);
/* Closes ptmx. Its events are deleted before. */
void pty_close(struct child *c);
void pty_resize(struct child *c, unsigned cols, unsigned rows);

/* Does the program take lines from it at the moment, or bytes? */
bool pty_takes_lines(struct child *c);

/* Output, at most `max`, from ptmx into the pipe, which is empty. Returns
 * bytes, 0: nobody has the terminal open. Errors: -EAGAIN, -errno. */
ssize_t pty_fetch(struct child *c, size_t max);
/* Does the pipe hold output? Nothing else will say so. */
bool pty_staged(const struct child *c);
/* Looks at the bytes that were just moved into the ring, from `before` on. */
void pty_look(struct child *c, uint64_t before);

/* Input, from the spool up to `end`. 0: all is given. Errors: -EAGAIN: the
 * terminal is full; -EBUSY: a line is too long for the mode it is in; -EIO:
 * nobody has the terminal open; -errno. */
int pty_give(struct child *c, uint64_t end);

/* --- between pty.c and pty_input.c */
#define PTY_CHUNK 4096u /* moved at once where there is no splice */
/* The kernel does not splice terminals. */
bool pty_no_splice(void);
/* Sets and clears bits of the header's flags; this worker is their writer. */
void pty_flags(struct child *c, uint32_t clear, uint32_t set);
/* What a worker that died had in hand of the input. */
void pty_input_take_over(struct child *c);

#endif
