/* SPDX-License-Identifier: MIT */
/* A runtime directory with a board, stats and the ring of session 1, and the
 * hostile process that writes into them. */
#ifndef PSUP_TESTS_FUZZ_PLACE_H
#define PSUP_TESTS_FUZZ_PLACE_H

#include "common/ids.h"
#include "fuzz.h"

enum place_file { PLACE_RING, PLACE_BOARD, PLACE_STATS, PLACE_FILES };

extern const struct sid place_sid;

/* As their owners left them; made at the first call. The directory. */
int place_reset(void);
const char *place_path(void);
/* The next change of the input: where, how many, the bytes. */
void place_patch(enum place_file f, const uint8_t **data, size_t *size);
/* Cuts the ring off, or makes it longer. */
void place_cut(unsigned bytes);

#endif
