/* SPDX-License-Identifier: MIT */
/*
 * What the terminal of a session shows, drawn from shared memory. It asks
 * nobody: it works while the master is down. It costs the reader a few
 * milliseconds for 200 kB of output, and the server nothing.
 */
#ifndef PSUP_SCREEN_H
#define PSUP_SCREEN_H

#include <psup/view.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psup_screen_image psup_screen_image;

struct psup_screen_facts {
	int cols, rows;
	int cursor_col, cursor_row; /* from 0 */
	bool cursor_visible;
	bool alternate;       /* the screen of full-screen programs */
	bool approximate;     /* bytes or sizes are missing */
	uint64_t dropped;     /* bytes that could not be drawn */
	uint64_t next;        /* the position up to which it is drawn */
	char title[256];      /* UTF-8 without control characters */
};

/* Draws it. 0, -ENOTTY (the session has no terminal), -ENOENT (there is no
 * output of it), -EBADMSG (damaged), -EAGAIN (being overwritten: try again),
 * -ENOMEM. */
PSUP_API int psup_view_screen(psup_view *v, uint64_t instance,
    psup_screen_image **ret);
PSUP_API void psup_screen_free(psup_screen_image **s);
PSUP_API void psup_screen_facts(const psup_screen_image *s,
    struct psup_screen_facts *ret);

/* Line `row` without the blanks at its end, as UTF-8 without control
 * characters, NUL-terminated, cut to size on a character border. cols * 16 + 1
 * bytes always suffice. Returns the length. */
PSUP_API size_t psup_screen_line(const psup_screen_image *s, int row,
    char *dst, size_t size);

enum psup_screen_attr {
	PSUP_SCREEN_BOLD = 1,
	PSUP_SCREEN_UNDERLINE = 2,
	PSUP_SCREEN_ITALIC = 4,
	PSUP_SCREEN_BLINK = 8,
	PSUP_SCREEN_REVERSE = 16,
	PSUP_SCREEN_STRIKE = 32
};

struct psup_screen_cell {
	char text[17];  /* UTF-8; "" for the right half of a wide character */
	int width;      /* 1, 2; 0: the right half */
	unsigned attrs; /* enum psup_screen_attr */
	int32_t fg, bg; /* -1: the default; 0..255; 0x1000000 | rrggbb */
};
/* 0, or -1: there is no such cell. */
PSUP_API int psup_screen_cell(const psup_screen_image *s, int row, int col,
    struct psup_screen_cell *ret);

#ifdef __cplusplus
}
#endif

#endif
