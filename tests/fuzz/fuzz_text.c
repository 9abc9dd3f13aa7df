/* SPDX-License-Identifier: MIT */
/* Text rules. Cut anywhere, the pieces show what the whole shows; no control
 * character comes through that should not. */
#include "common/text.h"
#include "common/text_clean.h"
#include "fuzz.h"

/* One rule, as a whole and in two pieces. */
static void
rule(enum text_rule r, const char *s, size_t len, size_t cut)
{
	char *whole = malloc(4 * len + 1), *pieces = malloc(4 * len + 1);
	size_t n, m, end = cut - text_open_tail(s, cut);

	EXPECT(whole != NULL && pieces != NULL && end <= cut);
	n = text_clean(r, s, len, false, whole);
	m = text_clean(r, s, end, false, pieces);
	m += text_clean(r, s + end, len - end, false, pieces + m);
	EXPECT(n <= 4 * len && n == m && memcmp(whole, pieces, n) == 0);
	EXPECT(text_is_utf8(whole, n));
	for (size_t i = 0; i < n && r != TEXT_PLAIN; i++)
		EXPECT((unsigned char)whole[i] >= ' ' || whole[i] == '\t' ||
		    whole[i] == '\n' || whole[i] == '\r' ||
		    (r == TEXT_ANSI && whole[i] == '\033') ||
		    (r == TEXT_ANSI && whole[i] == '\a'));
	EXPECT(text_clean(r, s, len, true, pieces) <= n);
	free(whole);
	free(pieces);
}

/* The smaller functions. */
static void
others(const char *s, size_t len, size_t cut)
{
	char small[64], *copy = malloc(3 * len + 1);
	bool sequence;
	size_t n;

	EXPECT(copy != NULL);
	EXPECT(text_is_utf8(copy, text_repair(s, len, copy)));
	n = text_escape(s, len, false, small, sizeof(small));
	EXPECT(n < sizeof(small) && text_is_printable(small, n));
	n = text_resync(s, len, cut);
	EXPECT(n >= cut && n <= len);
	EXPECT(text_cut_back(s, len, cut) <= cut);
	EXPECT(text_skip_partial(s, len) <= 3 && text_unfinished(s, len) <= 3);
	text_middle(s, len, 40, small, sizeof(small));
	text_derive_name(s, len, small, sizeof(small));
	EXPECT(!text_is_utf8(s, len) || text_is_utf8(small, strlen(small)));
	text_fold(s, len, 40, small, sizeof(small));
	(void)text_signal_number(s, len);
	for (size_t at = 0; at < len; at += n) {
		n = text_element(s + at, len - at, &sequence);
		if (n == TEXT_OPEN)
			break;
		EXPECT(n > 0 && n <= len - at);
	}
	free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t cut = take_byte(&data, &size);
	char *s = malloc(size + 1); /* not one byte more is to be read */

	EXPECT(s != NULL);
	memcpy(s, data, size);
	if (cut > size)
		cut = size;
	for (int r = 0; r < TEXT_RULES; r++)
		rule((enum text_rule)r, s, size, cut);
	others(s, size, cut);
	free(s);
	return 0;
}
