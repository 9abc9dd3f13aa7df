/* SPDX-License-Identifier: MIT */
/* Why there is no box, as clients, status and doctor are told. Pure. */
#ifndef PSUP_SUPERVISOR_BOX_WHY_H
#define PSUP_SUPERVISOR_BOX_WHY_H

#include <stddef.h>

#define BOX_WHY_MAX 256

#define BOX_WHY_BEGINS "no sandbox: "

/* From what bwrap or psup-container said before it ended, else from the signal that
 * ended it (0: none), or from why it could not be executed (an errno, else 0). What
 * is not known is its last line, escaped; psup-container's is a reason as it
 * stands. */
void box_why(int exec_errno, int signal, const char *said, size_t len,
    char ret[BOX_WHY_MAX]);

#endif
