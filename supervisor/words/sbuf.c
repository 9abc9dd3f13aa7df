/* SPDX-License-Identifier: MIT */
/*
 * A growing text. Called wherever an answer's words are composed; a failed
 * allocation is remembered instead of returned, so that composing code reads
 * straight.
 */
#include "supervisor/words/sbuf.h"
#include "common/grow.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for n more bytes and a NUL. */
bool
sbuf_reserve(struct sbuf *b, size_t n)
{
	b->failed = b->failed || !GROW(b->p, b->cap, b->len + n + 1, 128);
	return !b->failed;
}

void
sbuf_fini(struct sbuf *b)
{
	free(b->p);
	*b = (struct sbuf)SBUF_INIT;
}

void
sbuf_addn(struct sbuf *b, const char *s, size_t n)
{
	if (!sbuf_reserve(b, n))
		return;
	if (n > 0)
		memcpy(b->p + b->len, s, n);
	b->len += n;
	b->p[b->len] = '\0';
}

void
sbuf_add(struct sbuf *b, const char *s)
{
	sbuf_addn(b, s, strlen(s));
}

void
sbuf_addf(struct sbuf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0 || !sbuf_reserve(b, (size_t)n))
		return;
	va_start(ap, fmt);
	vsnprintf(b->p + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
}
