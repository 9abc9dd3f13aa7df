/* SPDX-License-Identifier: MIT */
/* The server's state as a person reads it. */
#ifndef PSUP_STATUS_PAGE_H
#define PSUP_STATUS_PAGE_H

#include "table.h"

/* Prints the answer of status: a dozen lines, and what is wrong. */
void status_page_print(const struct cli *c, const json_t *status);

#endif
