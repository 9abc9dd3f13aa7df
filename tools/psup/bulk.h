/* SPDX-License-Identifier: MIT */
/* One thing asked of many sessions. */
#ifndef PSUP_BULK_H
#define PSUP_BULK_H

#include "cli.h"

/* What the call says beside the session; NULL: nothing. */
typedef void bulk_fill_fn(psup_args *a);

/* Asks for each session, many at a time, and prints a line for each in the
 * order given (with --json an object). Of one session the exit code is that of
 * cli_answer(), of several EXIT_FAILED where one failed. wait_ms: without any
 * answer. Never starts a server. */
int bulk_call(struct cli *c, const char *method, const char *const *ids,
    size_t count, bulk_fill_fn *fill, int wait_ms);
/* For calls that take several ids and fail where one is of no session. Connected:
 * says of each that is none, and closes the gap. How many are left. */
size_t bulk_known(struct cli *c, char **ids, size_t count);

#endif
