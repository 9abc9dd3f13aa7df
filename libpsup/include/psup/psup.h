/* SPDX-License-Identifier: MIT */
/*
 * libpsup: the C client of psup.
 *
 *     value.h    results, and the arguments of requests
 *     client.h   connections, requests, notifications, errors
 *     calls.h    one typed function per method
 *     view.h     the read-only view: works while the master is down
 *     text.h     escaping, durations, signal names
 *
 * No function logs, prints or exits. A handle belongs to one thread at a time;
 * different handles are independent. Descriptors are close-on-exec. SIGPIPE is
 * never raised by the library.
 */
#ifndef PSUP_PSUP_H
#define PSUP_PSUP_H

#include <psup/calls.h>
#include <psup/client.h>
#include <psup/metrics.h>
#include <psup/screen.h>
#include <psup/text.h>
#include <psup/value.h>
#include <psup/view.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library's version, "major.minor.patch". */
PSUP_API const char *psup_version(void);

#ifdef __cplusplus
}
#endif

#endif
