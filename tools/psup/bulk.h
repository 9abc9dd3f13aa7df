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
/* One call for several sessions. A psup_rc; connects, or is connected. */
typedef int bulk_ask_fn(struct cli *c, const char *const *ids, size_t count,
    psup_reply **ret);
/* Connected: says of each id that is no session's, and closes the gap. How many
 * are left. */
size_t bulk_known(struct cli *c, char **ids, size_t count);
/* Where such a call fails because some ids are of no session, that of each, and
 * asks for the rest. *count: how many were asked for; 0 with PSUP_OK: none is
 * left, and there is no answer. */
int bulk_ask(struct cli *c, char **ids, size_t *count, bulk_ask_fn *ask,
    psup_reply **ret);

#endif
