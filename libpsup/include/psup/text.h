/* SPDX-License-Identifier: MIT */
/* Small text helpers that show things the way psup does. */
#ifndef PSUP_TEXT_PUBLIC_H
#define PSUP_TEXT_PUBLIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef PSUP_API
#define PSUP_API __attribute__((visibility("default")))
#endif

/* Copies with control characters, bidi controls and invalid UTF-8 as \xNN,
 * NUL-terminated, cut to size on a character border. TAB and LF stay where
 * keep_lines. 4 * len + 1 bytes always suffice. Returns the length written. */
PSUP_API size_t psup_escape(const char *s, size_t len, bool keep_lines,
    char *dst, size_t size);

/* Copies with every mistake in UTF-8 as one U+FFFD; dst needs 3 * len bytes.
 * Returns the bytes written. */
PSUP_API size_t psup_repair(const char *s, size_t len, char *dst);
PSUP_API bool psup_is_utf8(const char *s, size_t len);

/* Copies output as poll and log show it: rule is "clean" (also NULL), "ansi",
 * "shown" or "plain". dst needs 4 * len bytes. With `more`, what is not whole
 * at the end is left out: psup_open_tail() bytes, to be given again with what
 * follows. Returns the bytes written; 0 also for a rule there is not. */
PSUP_API size_t psup_clean(const char *rule, const char *s, size_t len,
    bool more, char *dst);
PSUP_API size_t psup_open_tail(const char *s, size_t len);

/* 500ms, 45s, 2m5s, 1h30m */
PSUP_API void psup_duration(uint64_t ms, char *dst, size_t size);

/* 15 for "TERM", "SIGTERM", "15"; 0: no such signal. */
PSUP_API int psup_signal_number(const char *name);
/* "SIGTERM" for 15. */
PSUP_API const char *psup_signal_name(int sig);

/* Which word of a list (NULL at end) was probably meant; NULL: none of them.
 * The same of the names of options as getopt_long() takes them: for
 * "--runtme-dir=x", "runtime-dir". */
struct option;
PSUP_API const char *psup_nearest(const char *word, const char *const *words);
PSUP_API const char *psup_nearest_option(const struct option *options,
    const char *word);

#ifdef __cplusplus
}
#endif

#endif
