/* SPDX-License-Identifier: MIT */
/*
 * How a foreground exec stands, at the right edge of the terminal that stderr
 * is: "running 12s  1.2M  340 lines". It is there only while nothing else is
 * written, leaves the cursor where it is, and goes before anything is written.
 * Called by run.c.
 */
#ifndef PSUP_PROGRESS_H
#define PSUP_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sink.h"

struct progress {
	bool on;          /* stderr is a terminal, and it is wanted */
	bool shared;      /* output goes to a terminal, too */
	bool mid_line;    /* what was written last there was no whole line */
	bool typed;       /* somebody types: no more of it */
	size_t column;    /* where it begins; 0: it is not shown */
	uint64_t began_ns, wrote_ns;
	uint64_t bytes, lines;
	unsigned spin;
	struct sink *err;
};

#define PROGRESS_TURN_MS 200

/* `err` is stderr's. */
void progress_open(struct progress *p, struct sink *err, bool wanted);
/* So much output is about to be written, to a terminal or not. */
void progress_output(struct progress *p, const char *data, size_t len,
    bool to_terminal);
/* A line was typed at our terminal: the cursor is below ours now. */
void progress_typed(struct progress *p, const char *data, size_t len);
/* A moment has passed: shows or renews it where it may stand. */
void progress_turn(struct progress *p, bool running);
/* Takes it away. */
void progress_hide(struct progress *p);

#endif
