/* SPDX-License-Identifier: MIT */
/* The last minute as a line of small bars. Pure. */
#ifndef TOP_HISTORY_H
#define TOP_HISTORY_H

#include "line.h"

#define HISTORY_SECONDS 60

struct top_model;

struct history {
	uint64_t second; /* of the last value; 0: there is none */
	size_t count;
	uint64_t started; /* sessions, ever, at that second */
	/* the newest last */
	double starts[HISTORY_SECONDS], output[HISTORY_SECONDS],
	    running[HISTORY_SECONDS];
};

/* What a refresh said, once for each second that began since the one before;
 * a rate that is not known counts as none. */
void history_add(struct history *h, const struct top_model *m);
/* Nothing of the server before. */
void history_clear(struct history *h);
/* `name` and the last values, the newest to the right, in `cols` columns at
 * most; nothing where that is too little. The highest is a full cell. */
void history_line(const struct history *h, const double *values,
    const char *name, int cols, struct line *ret);

#endif
