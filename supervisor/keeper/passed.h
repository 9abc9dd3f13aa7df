/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that psupd is started with: a listening socket by socket
 * activation ($LISTEN_FDS), and --ready-fd's. All others are closed.
 */
#ifndef PSUP_SUPERVISOR_KEEPER_PASSED_H
#define PSUP_SUPERVISOR_KEEPER_PASSED_H

#include <stddef.h>

struct passed {
	int listener; /* close-on-exec; -1: none was passed */
	int ready;    /* the same, of --ready-fd */
};

/* 0..2 are open afterwards, so that what is said goes nowhere else. */
void passed_open_stdio(void);

/*
 * Takes the listening socket that $LISTEN_PID and $LISTEN_FDS speak of (where
 * there are several descriptors, the one named psup in $LISTEN_FDNAMES) and
 * `ready` (-1: none), moves them out of the way of 3..5, which become
 * /dev/null, and closes everything else; the variables are gone from the
 * environment. 0, or -EINVAL with a sentence in `why`.
 */
int passed_take(int ready, struct passed *ret, char *why, size_t why_size);

#endif
