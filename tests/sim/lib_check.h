/* SPDX-License-Identifier: MIT */
/*
 * Every invariant of the scheduler's parts: walks all there is. NULL, or a
 * sentence about the first that is broken.
 */
#ifndef PSUP_TEST_CHECK_H
#define PSUP_TEST_CHECK_H

#include "supervisor/lane/lane.h"
#include "supervisor/share/share.h"

/* The order is the owner's to check. */
const char *rank_check(const struct rank_tree *t);
const char *share_check(const struct shares *sh);
const char *lanes_check(const struct lanes *ls);

#endif
