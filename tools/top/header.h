/* SPDX-License-Identifier: MIT */
/* The lines above the table. Pure. */
#ifndef TOP_HEADER_H
#define TOP_HEADER_H

#include "line.h"
#include "model.h"

#define HEADER_LINES 7
#define HEADER_SHORT 3 /* of small terminals */

/* Line i of the header, `width` columns wide (0: no limit). */
void header_line(const struct top_model *m, size_t i, int width,
    struct line *ret);
/* The same in three lines: what is wrong, who runs and waits, the lanes. */
void header_short_line(const struct top_model *m, size_t i, int width,
    struct line *ret);
/* What an operator does about the server's state, or "". */
void header_advice(const struct top_model *m, char *dst, size_t size);

/* A process, all of its words or few. */
void header_process(const struct top_process *p, bool few, struct line *ret);
/* header_lanes.c: what holds a lane back, or who has it for longest. */
void header_lane_held(const struct top_lane *l, struct line *ret);
/* All of them in a line, who waits first; a part of 1 as a bar. */
void header_lanes(const struct top_model *m, struct line *ret);
void header_bar(struct line *l, uint32_t style, double part);
/* How much of it is taken, as a bar. */
void header_lane_bar(const struct top_lane *l, struct line *ret);

#endif
