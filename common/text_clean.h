/* SPDX-License-Identifier: MIT */
/*
 * What a reader is shown of a command's output: one table of rules, one scanner
 * of terminal sequences. Applied when reading, never when storing.
 *
 * A sequence is CSI, OSC, DCS, SOS, PM, APC, a charset or a two-byte escape,
 * begun by ESC or by its C1 character. It never contains a line's end, and has
 * at most TEXT_SEQUENCE_MAX bytes; what goes beyond is no sequence, its ESC is
 * shown. So lines are the same under every rule, and whoever cuts output at
 * text_open_tail() gets the same text in pieces as in one.
 */
#ifndef PSUP_TEXT_CLEAN_H
#define PSUP_TEXT_CLEAN_H

#include <stdbool.h>
#include <stddef.h>

#define TEXT_SEQUENCE_MAX 8192u

/*
 *           sequences  other control characters  format characters  no UTF-8
 *     clean left out   \xNN                      left out           U+FFFD
 *     ansi  kept       \xNN                      left out           U+FFFD
 *     shown \xNN       \xNN                      \xNN               \xNN
 *     plain kept       kept                      kept               U+FFFD
 *
 * TAB, LF and CR stay under all of them.
 */
enum text_rule { TEXT_CLEAN, TEXT_ANSI, TEXT_SHOWN, TEXT_PLAIN, TEXT_RULES };

/* TEXT_RULES where there is none of that name. */
enum text_rule text_rule_find(const char *name, size_t len);

/* How many bytes the next whole thing at s (len > 0) has: a character, a byte
 * that is none, or, with *ret_sequence, a sequence. TEXT_OPEN: what is there
 * is not whole. */
#define TEXT_OPEN ((size_t)-1)
size_t text_element(const char *s, size_t len, bool *ret_sequence);
/* Copies by a rule; dst needs 4 * len bytes. With `more` (bytes may follow)
 * what is unfinished at the end is left out. Returns the bytes written. */
size_t text_clean(enum text_rule rule, const char *s, size_t len, bool more,
    char *dst);
/* A part of the same copy: goes on at *at, where the last call has stopped,
 * with what begins before `stop`. dst needs 4 * (stop - *at) bytes, and
 * 4 * TEXT_SEQUENCE_MAX for what goes beyond. */
size_t text_clean_some(enum text_rule rule, const char *s, size_t len,
    size_t *at, size_t stop, char *dst);
/* How many bytes at the end of s begin a sequence or a character that is not
 * whole. */
size_t text_open_tail(const char *s, size_t len);
/* The first index >= `at` where neither a sequence nor a character is cut,
 * by what stands before `at`. */
size_t text_resync(const char *s, size_t len, size_t at);

#endif
