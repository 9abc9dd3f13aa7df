/* SPDX-License-Identifier: MIT */
/* The other ends of a master's channels, in the hands of a test. */
#ifndef PSUP_LIB_FAR_H
#define PSUP_LIB_FAR_H

#include "supervisor/master.h"

/* A channel as the keeper hands them out. */
void far_pair(int ret_ends[2]);

/* A master with one worker; the worker's end. */
int far_worker(struct master *m);

#endif
