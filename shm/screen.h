/* SPDX-License-Identifier: MIT */
/*
 * What a terminal would show: libvterm's state machine behind the filter of
 * screen_filter.h, over a grid of our own whose lines scroll by pointer. Takes
 * any bytes. The target psup_screen; no I/O but in screen_replay.
 *
 *     screen_new -> screen_feed, screen_resize, screen_gap ... -> screen_facts,
 *     screen_cells, screen_line -> screen_free
 *
 * Memory: 28 bytes a cell, twice where the alternate screen was used; at most
 * 56 MB, at 1000 x 1000.
 */
#ifndef PSUP_SHM_SCREEN_H
#define PSUP_SHM_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/ring.h"

#define SCREEN_SIZE_MAX   1000u
#define SCREEN_CELL_CHARS 4u  /* a character and its marks */
#define SCREEN_CELL_BYTES 16u /* of UTF-8 */

enum screen_attr {
	SCREEN_BOLD = 1,
	SCREEN_UNDERLINE = 2,
	SCREEN_ITALIC = 4,
	SCREEN_BLINK = 8,
	SCREEN_REVERSE = 16,
	SCREEN_STRIKE = 32
};

/* Colours: SCREEN_DEFAULT, SCREEN_INDEXED | 0..255, SCREEN_RGB | 0xrrggbb */
#define SCREEN_DEFAULT 0u
#define SCREEN_INDEXED 0x01000000u
#define SCREEN_RGB     0x02000000u

struct screen_cell {
	uint32_t ch[SCREEN_CELL_CHARS]; /* 0 at the end; ch[0] 0: blank */
	uint32_t fg, bg;
	uint16_t attrs; /* enum screen_attr */
	uint16_t width; /* 1, 2; 0: the right half of a wide one */
};

struct screen_facts {
	unsigned cols, rows;
	unsigned cursor_col, cursor_row; /* from 0 */
	bool cursor_visible, alternate;
	const char *title; /* valid UTF-8, no control characters */
};

struct screen;

/* NULL: no memory. Sizes are brought into 1..SCREEN_SIZE_MAX. */
struct screen *screen_new(unsigned cols, unsigned rows);
void screen_free(struct screen **s);
void screen_feed(struct screen *s, const char *data, size_t n);
void screen_resize(struct screen *s, unsigned cols, unsigned rows);
/* Bytes are missing here: an unfinished sequence is forgotten, what was drawn
 * goes; title, alternate screen and cursor stay. */
void screen_gap(struct screen *s);
/* Ran out of memory: what it shows is not what there was. */
bool screen_failed(const struct screen *s);

void screen_facts(const struct screen *s, struct screen_facts *ret);
/* The first *ret_n cells of a line; those beyond are blank and have *ret_bg. */
const struct screen_cell *screen_cells(const struct screen *s, unsigned row,
    unsigned *ret_n, uint32_t *ret_bg);
/* One cell as UTF-8; a blank is " ". Returns the bytes. */
size_t screen_cell_text(const struct screen_cell *c,
    char dst[SCREEN_CELL_BYTES]);
/* A line as UTF-8; trim: without blanks at its end. dst needs cols *
 * SCREEN_CELL_BYTES. Returns the bytes. */
size_t screen_line(const struct screen *s, unsigned row, bool trim,
    char *dst);

/* ---------------------------------------------------------------- replay */

/*
 * Draws the screen of a session again from its ring, by steps: from the
 * beginning, at the sizes it had, over the gap to the head as it was at the
 * first step.
 */
struct replay {
	struct screen *screen;
	uint64_t pos, to;     /* drawn up to; position of the head */
	uint64_t dropped;     /* bytes that could not be drawn */
	uint64_t spent_ns;
	bool approximate;     /* bytes or sizes are missing */
	struct ring_resize sizes[RING_SIZES];
	size_t size_count, size_at;
};

/* What one replay may take; beyond, the oldest bytes count as dropped. */
#define REPLAY_MAX_BYTES (8u << 20)
#define REPLAY_MAX_NS    (2000u * 1000u * 1000u)

/* Errors: -ENOTTY (no terminal), -EBADMSG, -EAGAIN (being overwritten: try
 * again), -ENOENT (gone), -ENOMEM. */
int replay_begin(struct ring_reader *rd, struct replay *ret);
/* Goes on for about `ns`. 1: there is more. 0: done. Errors as above; the
 * replay is then to be ended. */
int replay_step(struct replay *r, struct ring_reader *rd, uint64_t ns);
void replay_end(struct replay *r);

#endif
