/* SPDX-License-Identifier: MIT */
/*
 * Output of another terminal on its way to ours: questions to the terminal
 * are left out where somebody else answers them, so is what reaches beyond its
 * window, and what was switched on is remembered, so that it can be switched
 * off again. Does no I/O.
 */
#ifndef PSUP_TERM_OUT_H
#define PSUP_TERM_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TERM_SEQ_MAX 1024u /* of a longer string only the beginning is seen */

struct term_out {
	bool replay;  /* old output: it asks nothing and rings no bell */
	bool own;     /* a session of whoever sits at the terminal, as if it
	               * ran there: it may set clipboard and title, show
	               * pictures and print */
	char part[4]; /* of a character that is not whole yet */
	size_t part_len;
	int state;    /* enum term_state, private */
	char seq[TERM_SEQ_MAX];
	size_t len;
	/* not as by default (term_seq.c) */
	uint32_t modes, colors; /* by its tables */
	bool keypad, margins, cursor_shape, modify_keys, insert, newline;
	unsigned keyboards; /* pushed, kitty's protocol */
	bool keyboard_set;  /* the same */
};

/* Appends what is to be shown; -ENOMEM or 0. */
typedef int term_put_fn(void *arg, const char *data, size_t len);

/* Hands on what our terminal is to get of the bytes. A sequence that is not
 * whole is kept for the next call. 0 or what `put` said. */
int term_out(struct term_out *t, const char *data, size_t len,
    term_put_fn *put, void *arg);
/* Is anything still as the session left it? */
bool term_out_is_changed(const struct term_out *t);
/* What puts our terminal back; at most `size` bytes, NUL-terminated. */
void term_out_undo(const struct term_out *t, char *ret, size_t size);

#endif
