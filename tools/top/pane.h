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
#define PANE_SEARCH    128 /* bytes of what is searched for */
#define PANE_NO_HIT    SIZE_MAX

/* What is to be read of output. Bytes between the fields are 0. */
struct pane_want {
	size_t lines, back; /* so many, which end so many before the last one */
	int width;
	char search[PANE_SEARCH]; /* shown where it stands; "": nothing */
	size_t here; /* the hit that is chosen, as `back`; or PANE_NO_HIT */
};

struct pane {
	struct line *lines; /* as many as were asked for, at most */
	size_t count, room;
	size_t back_max;    /* lines that are not shown */
	char title[160];    /* escaped */
	/* of output: what was read */
	uint64_t instance, end; /* position */
	uint64_t hold; /* it is not read beyond; 0: to the end */
	struct pane_want was;
	bool screen;
	/* the lines that have what is searched for, the newest first: how many
	 * stand between it and the last one */
	size_t *hits;
	size_t hit_count, hit_room;
	/* of details */
	struct sample_process processes[PANE_PROCESSES];
	size_t process_count;
};

void pane_fini(struct pane *p);
/* Begins anew. A further line, or NULL: no memory. */
void pane_clear(struct pane *p);
struct line *pane_add(struct pane *p, int width);

/* Reads what the session shows. Where somebody looks back, or at a hit, what
 * comes meanwhile moves nothing. Where nothing changed since the last time,
 * nothing is done. */
void pane_output(struct pane *p, psup_view *v, const struct top_row *r,
    const struct pane_want *w);
/* A further hit, so many lines before the last one; older than those before. */
void pane_add_hit(struct pane *p, size_t before_last);

/* The facts of a session; `processes` are there already. */
void pane_details(struct pane *p, const struct top_model *m,
    const struct top_row *r, size_t want, size_t from, int width);

#endif
