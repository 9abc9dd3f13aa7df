/* SPDX-License-Identifier: MIT */
/*
 * Log lines: `level process: noun id key=value ...`, one event a line, every
 * value escaped (text.h), never blocking: what a full pipe does not take is
 * dropped and counted, and the count is said in the next line that fits.
 * Libraries (common/libpsup, shm) never log.
 */
#ifndef PSUP_LOG_H
#define PSUP_LOG_H

#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_NOTE, LOG_DEBUG };

/* `process` must live as long as the process ("keeper", "worker 0.3"); `fd` is
 * made non-blocking only if it is a pipe or a socket. */
void log_open(const char *process, int fd, enum log_level max);
void log_line(enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Lines dropped since log_open(). */
uint64_t log_dropped(void);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_note(...)  log_line(LOG_NOTE, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

#endif
