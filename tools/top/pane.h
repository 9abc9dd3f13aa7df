/* SPDX-License-Identifier: MIT */
/*
 * The pane below the table: the output of a session, its terminal's screen,
 * or its details. Output is read from shared memory (pane_output.c); details
 * are pure (pane_details.c).
 */
#ifndef TOP_PANE_H
#define TOP_PANE_H

#include "line.h"
#include "sample.h"

#define PANE_PROCESSES 64

struct pane {
	struct line *lines; /* as many as were asked for, at most */
	size_t count, room;
	size_t back_max;    /* lines that are not shown */
	char title[160];    /* escaped */
	/* of output: what was read */
	uint64_t instance, end; /* position */
	size_t want, back;
	int width;
	bool screen;
	/* of details */
	struct sample_process processes[PANE_PROCESSES];
	size_t process_count;
};

void pane_fini(struct pane *p);
/* Begins anew. A further line, or NULL: no memory. */
void pane_clear(struct pane *p);
struct line *pane_add(struct pane *p, int width);

/* Reads what the session shows: `want` lines that end `back` lines before the
 * last one. Where nothing changed since the last time, nothing is done. */
void pane_output(struct pane *p, psup_view *v, const struct top_row *r,
    size_t want, size_t back, int width);

/* The facts of a session; `processes` are there already. */
void pane_details(struct pane *p, const struct top_model *m,
    const struct top_row *r, size_t want, size_t from, int width);

#endif
