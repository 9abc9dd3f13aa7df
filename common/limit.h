/* SPDX-License-Identifier: MIT */
/* The limits a session may have: what clients and psup.conf call them, and
 * what each may be. */
#ifndef PSUP_LIMIT_H
#define PSUP_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include "common/ctl.h"

struct limit_row {
	const char *name;
	int64_t min, max;
	const char *expected; /* for a refusal */
};
extern const struct limit_row limit_rows[CTL_LIMITS];

/* The row of a name, or CTL_LIMITS. */
unsigned limit_find(const char *name, size_t len);

#endif
