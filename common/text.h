/* SPDX-License-Identifier: MIT */
/*
 * Text rules, applied when reading and showing, never when storing: UTF-8
 * cuts and repair, escaping for terminals and logs, small formats.
 */
#ifndef PSUP_TEXT_H
#define PSUP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool text_is_utf8(const char *s, size_t len);
/* UTF-8, and nothing in it that text_escape() would escape. */
bool text_is_printable(const char *s, size_t len);
/* The largest n <= max such that s[0..n) does not end inside a UTF-8
 * sequence. */
size_t text_cut_back(const char *s, size_t len, size_t max);
/* How many bytes at the start of s belong to a sequence that began before. */
size_t text_skip_partial(const char *s, size_t len);
/* How many bytes at the end of s are the beginning of an unfinished
 * sequence (0..3). */
size_t text_unfinished(const char *s, size_t len);
/* How many bytes at the start of s, where no valid character is, are one
 * mistake: a sequence as far as it goes, else a byte (Unicode's maximal
 * subpart). len > 0. */
size_t text_mistake(const char *s, size_t len);
/* Copies with every mistake as U+FFFD. dst needs 3 * len bytes. Returns the
 * bytes written. */
size_t text_repair(const char *s, size_t len, char *dst);

/* Is it neither a control character nor a bidi control nor a line separator? */
bool text_is_shown(uint32_t cp);
/* The first character of s; 0: none that is valid. */
uint32_t text_code_point(const char *s, size_t len);
/* Does it stand on the character before? Joiners and the like, too. */
bool text_is_combining(uint32_t cp);

/* Copies with C0, DEL, C1, bidi controls and invalid bytes as \xNN (of each
 * byte), NUL-terminated, cut to size on a character border. TAB and LF stay
 * where keep_lines. Returns the length written. */
size_t text_escape(const char *s, size_t len, bool keep_lines, char *dst,
    size_t size);

/* The first half, "...", the last half within `limit` bytes, UTF-8-safe. */
void text_middle(const char *s, size_t len, size_t limit, char *dst,
    size_t size);
/* 500ms, 45s, 2m5s, 1h30m */
void text_duration(uint64_t ms, char *dst, size_t size);
/* Verb and target of a command line: behaviour of a session's `name`. */
void text_derive_name(const char *command, size_t len, char *dst, size_t size);
/* White space folded to single blanks, cut to `limit` bytes with "..." */
void text_fold(const char *s, size_t len, size_t limit, char *dst, size_t size);
/* "SIGTERM" for 15; "SIG34" where it has no name. */
const char *text_signal_name(int sig);
/* 15 for "TERM", "SIGTERM", "term", "15"; 0: no such signal */
int text_signal_number(const char *s, size_t len);

#endif
