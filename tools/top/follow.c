/* SPDX-License-Identifier: MIT */
/*
 * What the followed session shows: the screen of a terminal, or the tail of
 * the output, as escaped lines. Called by ui.c. Reads shared memory alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "top.h"

#define TAIL_BYTES 16384u
#define BUSY_TRIES 20

/* Forgets the lines. */
static void
drop_lines(struct follow *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->lines[i]);
	f->count = 0;
}

void
follow_fini(struct follow *f)
{
	drop_lines(f);
	free(f->lines);
	f->lines = NULL;
	f->room = 0;
}

/* Appends a line, safe to show. False: no memory. */
static bool
add_line(struct follow *f, const char *text, size_t len)
{
	size_t room = f->room == 0 ? 64 : 2 * f->room;
	char **more, *safe;

	if (f->count == f->room) {
		more = reallocarray(f->lines, room, sizeof(*more));
		if (more == NULL)
			return false;
		f->lines = more;
		f->room = room;
	}
	safe = malloc(4 * len + 1);
	if (safe == NULL)
		return false;
	psup_escape(text, len, true, safe, 4 * len + 1);
	f->lines[f->count++] = safe;
	return true;
}

/* The rows of a terminal, without the empty ones at its end. */
static const char *
read_screen(struct follow *f, psup_view *v, uint64_t instance)
{
	struct psup_screen_facts facts;
	psup_screen_image *image;
	char line[TOP_LINE];
	size_t last = 0;
	int rc = -EAGAIN;

	for (int i = 0; i < BUSY_TRIES && rc == -EAGAIN; i++)
		rc = psup_view_screen(v, instance, &image);
	if (rc < 0)
		return rc == -ENOENT ? "no output" : strerror(-rc);
	psup_screen_facts(image, &facts);
	for (int row = 0; row < facts.rows; row++) {
		if (psup_screen_line(image, row, line, sizeof(line)) > 0 ||
		    row == facts.cursor_row)
			last = f->count + 1;
		if (!add_line(f, line, strlen(line)))
			break;
	}
	while (f->count > last)
		free(f->lines[--f->count]);
	psup_screen_free(&image);
	f->screen = true;
	f->cursor_row = facts.cursor_row;
	return NULL;
}

/* The last bytes that are retained. How many, or -1. */
static ssize_t
read_tail(psup_view *v, const struct psup_view_session *s, char *dst,
    size_t size)
{
	uint64_t from = s->total_bytes > size ? s->total_bytes - size : 0;
	struct psup_view_chunk chunk = {0};
	size_t len = 0;
	int busy = 0;
	ssize_t n;

	while (len < size) {
		n = psup_view_read_output(v, s->instance, from, dst + len,
		    size - len, &chunk);
		if (n < 0 && chunk.verdict == PSUP_READ_BUSY &&
		    busy++ < BUSY_TRIES)
			continue;
		if (n < 0 && len == 0)
			return -1;
		if (n <= 0)
			break;
		len += (size_t)n;
		from = chunk.next;
	}
	return (ssize_t)len;
}

/* Splits the tail into its last lines. A carriage return that ends a line is
 * not shown; the first line may be a rest and is left out where there are
 * others. */
static const char *
read_output(struct follow *f, psup_view *v, const struct psup_view_session *s,
    size_t want)
{
	static char tail[TAIL_BYTES];
	ssize_t n = read_tail(v, s, tail, sizeof(tail));
	const char *p = tail, *end, *stop;
	size_t lines = 0;

	if (n < 0)
		return s->total_bytes == 0 ? "no output"
		                           : "the output cannot be read";
	end = tail + n;
	if (end > tail && end[-1] == '\n')
		end--;
	for (p = end; p > tail; p--)
		if (p[-1] == '\n' && ++lines == want)
			break;
	while (p <= end && n > 0) {
		stop = memchr(p, '\n', (size_t)(end - p));
		if (stop == NULL)
			stop = end;
		if (!add_line(f, p, (size_t)(stop - p) -
		        (stop > p && stop[-1] == '\r')))
			return strerror(ENOMEM);
		p = stop + 1;
	}
	return NULL;
}

const char *
follow_read(struct follow *f, psup_view *v, const struct psup_view_session *s,
    size_t want)
{
	drop_lines(f);
	f->screen = false;
	f->cursor_row = 0;
	return s->pty ? read_screen(f, v, s->instance)
	              : read_output(f, v, s, want);
}
