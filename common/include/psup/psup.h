/* SPDX-License-Identifier: MIT */
/*
 * libpsup: the C client of psup.
 */
#ifndef PSUP_PSUP_H
#define PSUP_PSUP_H

#ifdef __cplusplus
extern "C" {
#endif

#define PSUP_API __attribute__((visibility("default")))

/* The library's version, "major.minor.patch". */
PSUP_API const char *psup_version(void);

#ifdef __cplusplus
}
#endif

#endif
