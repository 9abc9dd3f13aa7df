/* SPDX-License-Identifier: MIT */
/* See lines.h. Called by loop.c with what stdin has. */
#include "lines.h"
#include "common/grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BYTES 4096u

/* Room for `more` bytes, and the NUL behind them. */
static int
reserve(struct lines *l, size_t more)
{
	return GROW(l->buf, l->cap, l->len + more + 1, FIRST_BYTES) ? 0 : -ENOMEM;
}

/* Appends a stretch without LF. */
static int
extend(struct lines *l, const char *data, size_t len, line_fn *fn, void *arg)
{
	if (l->skips)
		return 0;
	/* the CR of a line that just fits may still come */
	if (l->len + len > LINE_BYTES + 1) {
		lines_free(l);
		l->skips = true;
		fn(arg, NULL, 0);
		return 0;
	}
	if (reserve(l, len) < 0)
		return -ENOMEM;
	memcpy(l->buf + l->len, data, len);
	l->len += len;
	l->buf[l->len] = '\0';
	return 0;
}

/* Its LF has come. */
static void
end(struct lines *l, line_fn *fn, void *arg)
{
	if (l->len > 0 && l->buf[l->len - 1] == '\r')
		l->buf[--l->len] = '\0';
	if (!l->skips && l->len > LINE_BYTES)
		fn(arg, NULL, 0);
	else if (!l->skips && l->len > 0)
		fn(arg, l->buf, l->len);
	l->skips = false;
	l->len = 0;
	if (l->cap > LINE_BYTES / 8)
		lines_free(l); /* a large one is rare */
}

int
lines_feed(struct lines *l, const char *data, size_t len, line_fn *fn,
    void *arg)
{
	const char *at = data, *past = data + len, *lf;

	while (at < past &&
	    (lf = memchr(at, '\n', (size_t)(past - at))) != NULL) {
		if (extend(l, at, (size_t)(lf - at), fn, arg) < 0)
			return -ENOMEM;
		end(l, fn, arg);
		at = lf + 1;
	}
	return extend(l, at, (size_t)(past - at), fn, arg);
}

void
lines_free(struct lines *l)
{
	free(l->buf);
	*l = (struct lines){.skips = l->skips};
}
