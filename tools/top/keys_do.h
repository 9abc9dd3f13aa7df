/* SPDX-License-Identifier: MIT */
/* A function for each row of keys.def: keys_move.c, keys_act.c, keys.c. */
#ifndef TOP_KEYS_DO_H
#define TOP_KEYS_DO_H

#include "ui.h"

#define KEYS(title)
#define KEY(function, ...) void do_##function(struct ui *u, int argument);
#include "keys.def"
#undef KEYS
#undef KEY

/* Sorts by a column. */
void keys_sort_by(struct ui *u, size_t column);

#endif
