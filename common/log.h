/* SPDX-License-Identifier: MIT */
/*
 * Log lines: one event a line, key=value (or one JSON object), every value
 * escaped (text.h). Never blocking: what a full pipe does not take is dropped
 * and counted, and the count is said in the next line that fits. The same
 * event again and again is suppressed and counted alike. Where the descriptor
 * is the journal's, each line begins with its priority, <N>, and the journal
 * has the time. docs/operations.md lists the keys that all have in common.
 * Libraries (libpsup, shm) never log.
 */
#ifndef PSUP_LOG_H
#define PSUP_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_NOTE, LOG_DEBUG };
enum log_format { LOG_LOGFMT, LOG_JSON };

#define LOG_BURST       20u /* lines of one event at once ... */
#define LOG_EACH_MS     200u /* ... and then one in so long; debug: no bound */

/* Level and format in one number, for the heritage. */
#define LOG_PACK(level, format) ((uint32_t)(level) | (uint32_t)(format) << 8)
#define LOG_LEVEL_OF(packed)    ((enum log_level)((packed) & 0xffu))
#define LOG_FORMAT_OF(packed)   ((enum log_format)((packed) >> 8 & 0xffu))

/* `process` ("keeper", "worker") must live as long as the process. */
void log_open(const char *process, int fd, enum log_level max);
void log_set_format(enum log_format format);
/* Both, as LOG_PACK() has them; another process's word for it: what is neither
 * a level nor a format changes nothing. */
void log_set(uint32_t packed);
/* Which worker it is. */
void log_set_worker(uint32_t slot, uint32_t generation);
/* Where counts are kept for others to see; each may be NULL. */
void log_count_into(_Atomic uint64_t *lines, _Atomic uint64_t *dropped,
    _Atomic uint64_t *suppressed);

/* A value of an event. */
struct log_kv {
	const char *key; /* NULL: the end */
	enum { LOG_KV_TEXT, LOG_KV_INT, LOG_KV_UINT, LOG_KV_BOOL } type;
	const char *s;
	int64_t i;
	uint64_t u;
};
static inline struct log_kv
log_kv_text(const char *key, const char *s)
{
	return (struct log_kv){.key = key, .type = LOG_KV_TEXT, .s = s};
}
static inline struct log_kv
log_kv_int(const char *key, int64_t i)
{
	return (struct log_kv){.key = key, .type = LOG_KV_INT, .i = i};
}
static inline struct log_kv
log_kv_uint(const char *key, uint64_t u)
{
	return (struct log_kv){.key = key, .type = LOG_KV_UINT, .u = u};
}
static inline struct log_kv
log_kv_bool(const char *key, bool b)
{
	return (struct log_kv){.key = key, .type = LOG_KV_BOOL, .u = b};
}
#define KV(key, v)                                                             \
	_Generic((v), char *: log_kv_text, const char *: log_kv_text,          \
	    bool: log_kv_bool, unsigned char: log_kv_uint,                     \
	    unsigned short: log_kv_uint, unsigned: log_kv_uint,                \
	    unsigned long: log_kv_uint, unsigned long long: log_kv_uint,       \
	    default: log_kv_int)(key, v)

/* log_event(LOG_WARN, "worker-died", KV("pid", pid), KV("why", text)); the
 * name is a constant: by it the same event is known again. */
#define log_event(level, name, ...)                                            \
	((level) <= log_max                                                    \
	        ? log_event_of(level, name,                                    \
	              (const struct log_kv[]){__VA_ARGS__ __VA_OPT__(,)        \
	                  log_kv_text(NULL, NULL)})                            \
	        : (void)0)
extern enum log_level log_max; /* of log_open() */
void log_event_of(enum log_level level, const char *name,
    const struct log_kv *kvs);

/* Lines dropped since log_open(). */
uint64_t log_dropped(void);
/* Once in a while: says what was suppressed and did not come again. */
void log_tick(void);

/* Names for configuration and command line; -1: none of that name. */
int log_level_of(const char *name);
int log_format_of(const char *name);
#define LOG_LEVEL_NAMES  "error, warn, note or debug"
#define LOG_FORMAT_NAMES "logfmt or json"

#endif
