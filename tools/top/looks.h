/* SPDX-License-Identifier: MIT */
/* How each style looks: without colours, with 8 of them, with 256. Pure. */
#ifndef TOP_LOOKS_H
#define TOP_LOOKS_H

#include "line.h"

enum { LOOK_BOLD = 1, LOOK_DIM = 2, LOOK_UNDERLINE = 4, LOOK_REVERSE = 8 };

struct look {
	unsigned mono, attr; /* LOOK_ bits without colours; with 8 */
	short fg, bg;        /* of the 8; -1: the terminal's own */
	unsigned attr256;
	short fg256, bg256;
};
extern const struct look looks[STYLES];

#endif
