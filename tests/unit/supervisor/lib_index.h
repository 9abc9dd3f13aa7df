/* SPDX-License-Identifier: MIT */
/* A real index in a directory of its own, for what is kept in it. */
#ifndef PSUP_TEST_LIB_INDEX_H
#define PSUP_TEST_LIB_INDEX_H

#include "shm/index.h"

struct place {
	char dir[64];
	struct index *ix;
};

/* Makes the directory and opens the index. */
void place_make(struct place *p);
/* The master is lost, and what it had not committed is gone: closes the index
 * and opens it again. What uses it must be closed before. */
void place_reopen(struct place *p);
/* Closes and removes it. */
void place_remove(struct place *p);

#endif
