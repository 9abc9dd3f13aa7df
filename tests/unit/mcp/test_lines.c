/* SPDX-License-Identifier: MIT */
/* Lines out of what is read, however it comes. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tools/mcp/lines.h"

static struct {
	char text[256]; /* the lines, each with a | behind it */
	size_t longest;
	int over;
} got;

static void
on_line(void *arg, char *line, size_t len)
{
	(void)arg;
	if (line == NULL) {
		got.over++;
		return;
	}
	cr_assert_eq(line[len], '\0');
	if (len > got.longest)
		got.longest = len;
	if (len < 32) {
		strcat(got.text, line);
		strcat(got.text, "|");
	}
}

/* The same lines, whatever the pieces are. */
Test(lines, come_whole_from_any_pieces, .timeout = 20)
{
	static const char data[] = "one\ntwo\r\n\n\rthree\n \nlast";

	for (size_t piece = 1; piece <= sizeof(data); piece++) {
		struct lines l = {.len = 0};

		memset(&got, 0, sizeof(got));
		for (size_t at = 0; at < sizeof(data) - 1; at += piece) {
			size_t n = sizeof(data) - 1 - at;

			cr_assert_eq(lines_feed(&l, data + at,
			                 n < piece ? n : piece, on_line, NULL),
			    0);
		}
		cr_assert_str_eq(got.text, "one|two|\rthree| |");
		lines_free(&l);
	}
}

/* Feeds n bytes without LF. */
static void
feed(struct lines *l, size_t n)
{
	char *x = malloc(n);

	memset(x, 'x', n);
	cr_assert_eq(lines_feed(l, x, n, on_line, NULL), 0);
	free(x);
}

Test(lines, of_4_mib_are_taken_and_longer_ones_told_once, .timeout = 20)
{
	struct lines l = {.len = 0};

	feed(&l, LINE_BYTES);
	cr_assert_eq(lines_feed(&l, "\r\nok\n", 5, on_line, NULL), 0);
	cr_assert_eq(got.longest, LINE_BYTES);
	cr_assert_eq(got.over, 0);
	feed(&l, LINE_BYTES + 1);
	cr_assert_eq(lines_feed(&l, "\n", 1, on_line, NULL), 0);
	cr_assert_eq(got.over, 1);
	for (int i = 0; i < 20; i++)
		feed(&l, LINE_BYTES);
	cr_assert_eq(got.over, 2);
	cr_assert_eq(l.cap, 0, "what is thrown away is not kept");
	cr_assert_eq(lines_feed(&l, "\nagain\n", 7, on_line, NULL), 0);
	cr_assert_str_eq(got.text, "ok|again|");
	lines_free(&l);
}
