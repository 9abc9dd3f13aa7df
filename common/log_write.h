/* SPDX-License-Identifier: MIT */
/* Below the log: a descriptor that is never waited for. log.c alone. */
#ifndef PSUP_LOG_WRITE_H
#define PSUP_LOG_WRITE_H

#include <stdbool.h>
#include <stddef.h>

/* Its own descriptor is not below: there programs lay what they hand on. */
#define LOG_FD_MIN 16

/* Lines go here from now on; -1: nowhere. */
void log_write_open(int fd);
/* One attempt: all of it or nothing. */
bool log_write(const char *line, size_t len);
/* Is it what $JOURNAL_STREAM names? */
bool log_is_journal(int fd);

#endif
