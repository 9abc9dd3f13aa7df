/* SPDX-License-Identifier: MIT */
/* What a program writes to its terminal, as the screen and as the worker's
 * scanner see it. */
#include "common/text.h"
#include "fuzz.h"
#include "shm/screen.h"
#include "worker/pty_scan.h"

/* Every line, by cells and as text. */
static void
look(const struct screen *s)
{
	struct screen_facts f;
	const struct screen_cell *cells;
	char *line;
	unsigned n;
	uint32_t bg;

	screen_facts(s, &f);
	EXPECT(f.cursor_col < f.cols && f.cursor_row < f.rows);
	EXPECT(text_is_printable(f.title, strlen(f.title)));
	line = malloc(f.cols * SCREEN_CELL_BYTES);
	EXPECT(line != NULL);
	for (unsigned row = 0; row < f.rows; row++) {
		size_t len = screen_line(s, row, row % 2 == 0, line);

		EXPECT(len <= f.cols * SCREEN_CELL_BYTES);
		EXPECT(text_is_printable(line, len));
		cells = screen_cells(s, row, &n, &bg);
		EXPECT(n <= f.cols && (n == 0 || cells[0].width <= 2));
	}
	free(line);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned cols = take_byte(&data, &size) % 100;
	struct screen *s = screen_new(cols, take_byte(&data, &size) % 50);
	struct pty_scan scan = {0};
	char answer[256];
	size_t len;

	EXPECT(s != NULL);
	while (size > 0) {
		unsigned what = take_byte(&data, &size);
		char *text = take_text(&data, &size, 255, &len);
		size_t answered = 0;

		screen_feed(s, text, len);
		pty_scan(&scan, text, len, answer, sizeof(answer), &answered);
		EXPECT(answered <= sizeof(answer) && scan.len <= PTY_SEQ_MAX);
		if (what == 1)
			screen_resize(s, take_byte(&data, &size),
			    take_byte(&data, &size));
		else if (what == 2)
			screen_gap(s);
		else if (what == 3)
			look(s);
		free(text);
	}
	look(s);
	screen_free(&s);
	return 0;
}
