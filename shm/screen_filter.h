/* SPDX-License-Identifier: MIT */
/*
 * What a program writes to its terminal, made fit for a terminal library that
 * trusts its input: a streaming tokenizer without I/O. It passes on text that
 * is valid UTF-8 without control characters, the controls that move the cursor,
 * and whole escape sequences of a list, with few and small numbers. Everything
 * else (strings, queries, mouse, keyboard, double-width lines, margins) is left
 * out: no screen needs it. A sequence is passed on when it is whole, so where
 * input is cut makes no difference.
 */
#ifndef PSUP_SHM_SCREEN_FILTER_H
#define PSUP_SHM_SCREEN_FILTER_H

#include <stddef.h>
#include <stdint.h>

#define FILTER_TITLE_MAX 256u

enum filter_kind {
	FILTER_TEXT,     /* UTF-8, whole characters */
	FILTER_MARK,     /* a combining mark on the character before */
	FILTER_SEQUENCE, /* one control character or escape sequence */
	FILTER_TITLE,    /* the title, as it is now: valid UTF-8, escaped */
	FILTER_RESET     /* RIS comes next */
};

typedef void filter_fn(void *arg, enum filter_kind kind, const char *data,
    size_t len);

struct screen_filter {
	filter_fn *fn;
	void *arg;
	int state;      /* enum state of the .c */
	char seq[64];   /* an unfinished sequence */
	size_t seq_len;
	char string[FILTER_TITLE_MAX];
	size_t string_len;
	unsigned char u8[4]; /* an unfinished character */
	unsigned u8_len, u8_need;
	unsigned combining;  /* marks on the last character so far */
	char last[4];        /* the last character */
	unsigned last_len;
	char text[256];      /* collected, not passed on yet */
	size_t text_len;
};

void filter_init(struct screen_filter *f, filter_fn *fn, void *arg);
void filter_feed(struct screen_filter *f, const char *data, size_t n);
/* Forgets what is unfinished: the next byte begins something. */
void filter_cut(struct screen_filter *f);

/* How many bytes at the start of data, which begins anywhere, to leave out so
 * that what follows begins a line or a sequence. */
size_t filter_border(const char *data, size_t n);

#endif
