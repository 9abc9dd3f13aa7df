/* SPDX-License-Identifier: MIT */
/* Times as people write them. Does no I/O. */
#ifndef PSUP_MOMENT_H
#define PSUP_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A moment, by what lies between it and `now_ms`: "90" (seconds), "1.5h",
 * "1h30m", with w, d, h, m, s, ms; or by the clock, local: "14:30[:05]" (the
 * last such moment), "2026-11-21[ 14:30[:05]]", a T for the blank, and Z behind
 * it for UTC; or "@SECONDS" since 1970. False: it is none of them.
 */
bool moment_parse(const char *text, int64_t now_ms, int64_t *ret_ms);

#endif
