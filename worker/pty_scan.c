/* SPDX-License-Identifier: MIT */
/*
 * The scanner of pty_scan.h. Called by pty.c with what was just moved. It
 * interprets nothing else of the output: no screen is kept here.
 */
#include "worker/pty_scan.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "shm/layout.h"

#define ESC 0x1b
#define CURSOR_BITS (uint32_t)(PTY_CURSOR_NORMAL | PTY_CURSOR_APP)

/* Where answers go. */
struct answers {
	char *to;
	size_t size, *len;
};

/* One CSI sequence, taken apart. */
struct csi {
	const char *params; /* digits and ; alone, NUL-terminated */
	char prefix;        /* ? > = or 0 */
	char between;       /* the intermediate byte, or 0 */
	char final;
};

/* Appends an answer, whole or not at all. */
static void
answer(struct answers *a, const char *text)
{
	size_t n = strlen(text);

	if (n > a->size - *a->len)
		return;
	memcpy(a->to + *a->len, text, n);
	*a->len += n;
}

/* The first parameter; 0 where there is none. */
static unsigned long
first_param(const struct csi *q)
{
	return strtoul(q->params, NULL, 10);
}

/* DSR: the state, or the place of the cursor, of which we keep none. */
static void
on_dsr(struct pty_scan *, const struct csi *q, struct answers *a)
{
	if (first_param(q) == 6)
		answer(a, "\033[1;1R");
	else if (first_param(q) == 5 && q->prefix == 0)
		answer(a, "\033[0n");
}

/* DA1: a VT220 with colours. */
static void
on_da1(struct pty_scan *, const struct csi *q, struct answers *a)
{
	if (first_param(q) == 0)
		answer(a, "\033[?62;22c");
}

/* DA2 */
static void
on_da2(struct pty_scan *, const struct csi *q, struct answers *a)
{
	if (first_param(q) == 0)
		answer(a, "\033[>1;10;0c");
}

/* DECRQM: 1 set, 2 reset, 0 not recognized. */
static void
on_decrqm(struct pty_scan *s, const struct csi *q, struct answers *a)
{
	unsigned long mode = first_param(q);
	char text[48];
	int value = 0;

	if (q->prefix == '?' && mode == 1)
		value = (s->modes & PTY_CURSOR_APP) != 0 ? 1 : 2;
	else if (q->prefix == '?' && mode == 2004)
		value = (s->modes & PTY_PASTE) != 0 ? 1 : 2;
	snprintf(text, sizeof(text), "\033[%s%lu;%d$y",
	    q->prefix == '?' ? "?" : "", mode, value);
	answer(a, text);
}

/* DECSET and DECRST: one or several modes. */
static void
on_mode(struct pty_scan *s, const struct csi *q, struct answers *)
{
	const char *p = q->params;
	bool on = q->final == 'h';
	unsigned long mode;
	char *end;

	while (*p != '\0') {
		mode = strtoul(p, &end, 10);
		if (mode == 1)
			s->modes = (s->modes & ~CURSOR_BITS) |
			    (on ? PTY_CURSOR_APP : PTY_CURSOR_NORMAL);
		else if (mode == 2004)
			s->modes = on ? s->modes | PTY_PASTE
			              : s->modes & ~(uint32_t)PTY_PASTE;
		p = *end == ';' ? end + 1 : end;
		if (p == end && *p != '\0')
			return;
	}
}

/* DECSTR: cursor keys as after power on. */
static void
on_reset(struct pty_scan *s, const struct csi *, struct answers *)
{
	s->modes = (s->modes & ~CURSOR_BITS) | PTY_CURSOR_NORMAL;
}

static const struct {
	char prefix, between, final;
	void (*on)(struct pty_scan *, const struct csi *, struct answers *);
} known[] = {
    {0, 0, 'n', on_dsr},
    {'?', 0, 'n', on_dsr},
    {0, 0, 'c', on_da1},
    {'>', 0, 'c', on_da2},
    {0, '$', 'p', on_decrqm},
    {'?', '$', 'p', on_decrqm},
    {'?', 0, 'h', on_mode},
    {'?', 0, 'l', on_mode},
    {0, '!', 'p', on_reset},
};

/* A whole CSI sequence of len bytes, ESC and final byte included. */
static void
csi_done(struct pty_scan *s, struct answers *a)
{
	char params[PTY_SEQ_MAX];
	struct csi q = {.params = params, .final = s->seq[s->len - 1]};
	size_t at = 2, end = s->len - 1, i;

	if (s->seq[at] >= '<' && s->seq[at] <= '?' && at < end)
		q.prefix = s->seq[at++];
	if (end > at && s->seq[end - 1] >= ' ' && s->seq[end - 1] <= '/')
		q.between = s->seq[--end];
	for (i = at; i < end; i++)
		if ((s->seq[i] < '0' || s->seq[i] > '9') && s->seq[i] != ';')
			return;
	memcpy(params, s->seq + at, end - at);
	params[end - at] = '\0';
	for (i = 0; i < NELEMS(known); i++)
		if (known[i].prefix == q.prefix &&
		    known[i].between == q.between && known[i].final == q.final)
			known[i].on(s, &q, a);
}

/* One byte of a sequence that has begun. */
static void
seq_byte(struct pty_scan *s, char c, struct answers *a)
{
	if (c == ESC) {
		s->len = 0;
	} else if (c == 0x18 || c == 0x1a || s->len == PTY_SEQ_MAX) {
		s->len = 0; /* cancelled, or nothing we know */
		return;
	} else if ((unsigned char)c < ' ') {
		return; /* acted on within the sequence, no part of it */
	}
	s->seq[s->len++] = c;
	if (s->len == 2 && c != '[') {
		if (c == 'c') { /* RIS */
			on_reset(s, NULL, a);
			s->modes &= ~(uint32_t)PTY_PASTE;
		}
		s->len = 0;
	} else if (s->len > 2 && c >= '@' && c <= '~') {
		csi_done(s, a);
		s->len = 0;
	} else if ((unsigned char)c >= 0x7f) {
		s->len = 0;
	}
}

void
pty_scan(struct pty_scan *s, const char *data, size_t n, char *to,
    size_t size, size_t *len)
{
	struct answers a = {to, size, len};
	const char *end = data + n;

	while (data < end) {
		if (s->len == 0) {
			data = memchr(data, ESC, (size_t)(end - data));
			if (data == NULL)
				return;
		}
		seq_byte(s, *data++, &a);
	}
}
