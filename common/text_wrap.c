/* SPDX-License-Identifier: MIT */
/* See text_wrap.h. Words are counted in characters, not bytes. */
#include "common/text_wrap.h"

#include <string.h>

#define WIDTH 79u

/* Characters of UTF-8. */
static size_t
columns_of(const char *s, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)s[i] & 0xc0) != 0x80;
	return n;
}

/* One paragraph or line, without its end. */
static void
wrap_line(FILE *to, const char *s, size_t len, size_t indent, size_t *column)
{
	size_t at = 0, word;

	for (; at < len; at += word) {
		while (at < len && (s[at] == ' ' || s[at] == '\n'))
			at++;
		for (word = 0; at + word < len && s[at + word] != ' ' &&
		     s[at + word] != '\n'; word++)
			;
		if (word == 0)
			break;
		if (*column > indent &&
		    *column + 1 + columns_of(s + at, word) > WIDTH) {
			fprintf(to, "\n%*s", (int)indent, "");
			*column = indent;
		} else if (*column > indent) {
			fputc(' ', to);
			++*column;
		}
		fwrite(s + at, 1, word, to);
		*column += columns_of(s + at, word);
	}
}

void
text_wrap(FILE *to, const char *text, size_t indent, size_t column)
{
	size_t len;

	while (*text != '\0') {
		const char *end = text;

		if (*text == '\n') {
			fputc('\n', to);
			text++;
			continue;
		}
		if (*text == ' ') { /* as it is */
			len = strcspn(text, "\n");
			fprintf(to, "%*s%.*s\n", (int)indent, "", (int)len,
			    text);
			text += len + (text[len] == '\n');
			continue;
		}
		/* up to an empty line, or one that stays as it is */
		do {
			end += strcspn(end, "\n");
			end += *end == '\n';
		} while (*end != '\0' && *end != '\n' && *end != ' ');
		if (column == 0)
			column = (size_t)fprintf(to, "%*s", (int)indent, "");
		wrap_line(to, text, (size_t)(end - text), indent, &column);
		fputc('\n', to);
		column = 0;
		text = end;
	}
}
