/* SPDX-License-Identifier: MIT */
/* Whole sequences, for term_out.c alone: t->seq holds one of t->len bytes. */
#ifndef PSUP_TERM_SEQ_H
#define PSUP_TERM_SEQ_H

#include "term_out.h"

/* May our terminal see it? What it changes there is noted; one that does too much
 * gives way to another, which takes its place in t->seq. */
bool term_seq_escape(struct term_out *t); /* ESC, others, a last byte */
bool term_seq_csi(struct term_out *t);
bool term_seq_string(struct term_out *t); /* perhaps its beginning alone */

/* What acts at once within a sequence, and is no part of it. */
bool term_is_control(char c);

#endif
