/* SPDX-License-Identifier: MIT */
/* Somebody at a session's terminal: what attach.c, attach_keys.c and attach_tty.c
 * share. */
#ifndef PSUP_ATTACH_H
#define PSUP_ATTACH_H

#include <termios.h>

#include "cli.h"
#include "sink.h"
#include "term_out.h"

#define ATTACH_KEYS 65536u /* typed, and not taken yet */

struct attach {
	struct cli *c;
	const struct attach_options *o;
	const char *id;
	/* output */
	struct sink out;
	struct term_out screen; /* what our terminal was told */
	uint64_t next;          /* position of the output to come */
	uint64_t replay_to;     /* older output is shown again, not live */
	uint64_t seen;          /* the highest `next` so far */
	uint64_t missed;        /* bytes that were gone before we read them */
	bool polling;           /* a poll is under way */
	uint32_t poll_id;
	bool again;             /* its answer is old: all is drawn anew */
	bool redraw;            /* something was missed: have it drawn anew */
	uint64_t redraw_ns;     /* when the size goes back; 0: not now */
	/* keys */
	bool in_open, in_tty;
	char in[ATTACH_KEYS];
	size_t in_len;
	size_t in_flight;       /* the first so many are under way; 0: none */
	int64_t in_pos;         /* in the session's stdin; -1: not known */
	bool in_repeat;         /* in_flight was sent before, unanswered */
	uint64_t unsure;        /* typed, and perhaps not given */
	/* signals */
	int signal_fd;
	/* our terminal */
	bool entered;           /* it shows the session's screen */
	bool raw;
	struct termios tty;     /* as it was */
	bool hint;              /* is to be shown, once all is drawn */
	uint64_t hint_ns;       /* shown until then; 0: it is not there */
	int hint_row;
	/* the end */
	bool over;
	uint64_t leave_ns;      /* detached: at the latest then; 0: not */
	int by_signal;
	int failed;             /* a psup_rc; PSUP_OK: none */
	psup_reply *last;       /* the answer that said it is over */
};

/* It cannot go on. */
void attach_fail(struct attach *a, int rc);
/* From now on only what was typed before is waited for. */
void attach_leave(struct attach *a, int by_signal);

/* attach_keys.c: reads keys; the detach key is seen even where none are taken. */
void attach_keys_read(struct attach *a);
/* Sends what was typed, one piece at a time. What was under way when the master
 * died is repeated where its place is known, and never otherwise. */
void attach_keys_send(struct attach *a);

/* attach_tty.c: our terminal hands keys through; what it shows is pushed up and kept.
 * Undone by leave, which may be called twice. */
void attach_tty_enter(struct attach *a);
void attach_tty_leave(struct attach *a);
/* Tells the session our size. off: so many lines less than we have; while the
 * hint is there, or to come, its line is ours. */
void attach_tty_resize(struct attach *a, int off);
/* The line that says what a person must know stands on our terminal's last line
 * for a while, once what was there is drawn; where stdout is none, enter says it
 * on stderr. `off` takes it away. */
void attach_tty_hint(struct attach *a);
void attach_tty_hint_off(struct attach *a);
#endif
