/* SPDX-License-Identifier: MIT */
/* Between screen_filter.c, the tokenizer, and screen_sequences.c, which knows what
 * sequences mean. */
#ifndef PSUP_SHM_SCREEN_SEQUENCES_H
#define PSUP_SHM_SCREEN_SEQUENCES_H

#include "shm/screen_filter.h"

#define FILTER_ESC 0x1b

/* Each takes what lies in f->seq or f->string, without its last byte. */
void sequence_csi(struct screen_filter *f, char final);
void sequence_esc(struct screen_filter *f, char final);
void sequence_string(struct screen_filter *f);

/* Of screen_filter.c: passes the collected text on; then a sequence. */
void filter_flush(struct screen_filter *f);
void filter_pass(struct screen_filter *f, const char *seq, size_t len);
/* Collects text: one character of up to 4 bytes, or n > 0 plain ones. */
void filter_add_text(struct screen_filter *f, const char *data, size_t n);

#endif
