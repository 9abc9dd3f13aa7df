/* SPDX-License-Identifier: MIT */
/*
 * Whether a path that an operator has named answers: what lies there may be a
 * mount whose server is gone, where whoever looks sleeps for ever. Asked by the
 * keeper at its start and by the master, before they look themselves.
 */
#ifndef PSUP_PATH_ANSWERS_H
#define PSUP_PATH_ANSWERS_H

#include <stdbool.h>

/* True: there is an answer, be it that there is nothing. It is waited for 1 s, 2
 * where the machine has no processor for who looks, and not at all where an
 * earlier question about this path still hangs. */
bool path_answers(const char *path);

#endif
