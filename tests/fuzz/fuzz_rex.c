/* SPDX-License-Identifier: MIT */
/* Expressions and texts looked for in output: what is found does not depend
 * on the pieces, and takes no longer than promised. */
#include "common/match.h"
#include "common/rex.h"
#include "fuzz.h"

/* What is found in s, fed in pieces of `piece` bytes. */
static enum match_found
find(const struct match_spec *spec, const char *s, size_t len, size_t piece,
    uint64_t *ret_at)
{
	struct match *m = match_new(spec);
	size_t pos = 0, end = 0, n;
	enum match_found found;
	uint64_t until;
	bool held, final;

	EXPECT(m != NULL);
	*ret_at = 0;
	while (pos < len) {
		end = end + piece < len ? end + piece : len;
		n = match_feed(m, s + pos, end - pos, pos, end < len, 1u << 20,
		    &held);
		EXPECT(n <= end - pos);
		pos += n;
		if (match_result(m, ret_at, &until, &final) != MATCH_NOTHING &&
		    final)
			break;
		if (n == 0 && end == len)
			break;
	}
	match_at_end(m, pos);
	found = match_result(m, ret_at, &until, &final);
	EXPECT(found == MATCH_NOTHING || *ret_at <= until);
	match_free(&m);
	return found;
}

/* The steps of one search. */
static void
steps(const char *pattern, size_t len, const char *s, size_t n)
{
	struct rex_run run;
	const char *why = NULL;
	struct rex *re = NULL;
	size_t at = 0;

	if (rex_compile(pattern, len, &re, &at, &why) != 0) {
		EXPECT(why != NULL && at <= len);
		return;
	}
	EXPECT(rex_size(re) <= REX_PROGRAM_MAX);
	EXPECT(rex_run_init(&run, re) == 0);
	for (size_t i = 0; i < n && !rex_done(&run); i++)
		rex_feed(&run, (unsigned char)s[i], i, i + 1);
	EXPECT(run.work <= 4 * (uint64_t)rex_size(re) * (n + 1));
	rex_at_end(&run, n);
	rex_run_fini(&run);
	rex_free(&re);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned flags = take_byte(&data, &size);
	size_t pattern_len, text_len, at;
	char *pattern = take_text(&data, &size, 255, &pattern_len);
	char *text = take_text(&data, &size, 255, &text_len);
	struct match_wish wish = {.raw = flags % 2,
		.text = text_len > 0 ? text : NULL, .text_len = text_len,
		.regex = pattern_len > 0 ? pattern : NULL,
		.regex_len = pattern_len};
	struct match_spec *spec = NULL;
	const char *why = NULL;
	const char *s = (const char *)data;
	uint64_t a, b;

	size = size < 600 ? size : 600;
	steps(pattern, pattern_len, s, size);
	if ((wish.text != NULL || wish.regex != NULL) &&
	    match_spec_new(&wish, &spec, &at, &why) == 0) {
		enum match_found whole = find(spec, s, size, size, &a);

		EXPECT(find(spec, s, size, flags / 2 % 16 + 1, &b) == whole);
		EXPECT(whole == MATCH_NOTHING || a == b);
		match_spec_free(&spec);
	}
	free(pattern);
	free(text);
	return 0;
}
