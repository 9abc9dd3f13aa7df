/* SPDX-License-Identifier: MIT */
/* psup attach in place of the display. */
#ifndef TOP_ATTACH_H
#define TOP_ATTACH_H

#include <stddef.h>

/* Runs psup attach (of psup-top's own folder, else of PATH) on this terminal
 * until it ends, and says in words how. The display must not hold the terminal
 * meanwhile. */
void attach_run(const char *runtime_dir, const char *session, char *ret_said,
    size_t size);

#endif
