/* SPDX-License-Identifier: MIT */
/* An answer with output is the same in slices as at once, and no slice is longer
 * than it may be: slices are counted. */
#include "supervisor/words/output_answer.h"

#include "common/check.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(output_answer, .timeout = 60);

#define BYTES (1u << 20)

/* What a command may have written: one thing again and again. */
static char *
written(const char *what, size_t len)
{
	size_t n = strlen(what);
	char *s = malloc(len + 1);

	for (size_t i = 0; i < len; i++)
		s[i] = what[i % n];
	s[len] = '\0';
	return s;
}

static void
begin(struct output_answer *a, const char *key, const char *s, size_t len)
{
	*a = (struct output_answer){.rule = TEXT_CLEAN, .none = "(none)"};
	enc_map(&a->e);
	enc_key(&a->e, "details");
	enc_map(&a->e);
	a->parts[0] = (struct output_part){.key = key, .data = s, .len = len};
	a->parts[1] = (struct output_part){.key = "all", .data = s, .len = len};
	sbuf_add(&a->before, "before\n\n");
	sbuf_add(&a->after, "after");
}

/* Makes it to the end, a slice a call; how many these were. */
static unsigned
finish(struct output_answer *a)
{
	size_t longest = 0, before = a->e.len;
	unsigned n = 1;

	for (; !output_answer_some(a, 0); n++, before = a->e.len)
		if (a->e.len - before > longest)
			longest = a->e.len - before;
	/* the end of one part and the beginning of the next */
	cr_expect_leq(longest, 65536 + 4 * (8192 + TEXT_SEQUENCE_MAX));
	cr_expect_not(a->e.failed);
	return n;
}

/* What the answer has under a name. */
static void
expect_is(const struct val *v, const char *key, const char *s, size_t len)
{
	struct val_str got = val_str(v, key);

	cr_assert_not_null(got.ptr, "%s", key);
	cr_assert(got.len == len && memcmp(got.ptr, s, len) == 0,
	    "%s: %zu bytes, not %zu", key, got.len, len);
}

/* What the text shows, the line ends before the last words left out. */
static void
expect_text(const struct val *v, const char *shown, size_t len)
{
	struct sbuf b = SBUF_INIT;

	sbuf_add(&b, "before\n\n");
	sbuf_addn(&b, shown, len);
	if (len == 0)
		sbuf_add(&b, "(none)");
	while (b.p[b.len - 1] == '\n')
		b.len--;
	sbuf_add(&b, "\n\nafter");
	expect_is(v, "text", b.p, b.len);
	sbuf_fini(&b);
}

static void
check(const char *what, size_t len, const char *key)
{
	struct codec_limits wide = codec_limits_trusted;
	char *s = written(what, len), *shown = malloc(4 * len + 1), why[100];
	size_t n = text_clean(TEXT_CLEAN, s, len, false, shown), used;
	struct output_answer a;
	struct codec_arena *arena;
	const struct val *v;
	unsigned slices;

	begin(&a, key, s, len);
	slices = finish(&a);
	/* cleaned twice, and cleaned or copied into the text */
	cr_expect_geq(slices, 2 * (len / (8192 + TEXT_SEQUENCE_MAX)));
	cr_assert_eq(codec_decode(a.e.buf, a.e.len, &wide, &used, &arena, &v,
	    why, sizeof(why)), CODEC_OK, "%s", why);
	if (key != NULL)
		expect_is(val_get(v, "details"), key, shown, n);
	expect_is(val_get(v, "details"), "all", shown, n);
	expect_text(v, shown, n);
	codec_arena_free(&arena);
	output_answer_fini(&a);
	free(shown);
	free(s);
}

Test(output_answer, is_the_same_in_slices)
{
	static const char *const kinds[] = {"a", "\n", "\33", "\377", "\10",
	    "\33[31mx\33[0m", "\33[0m", "\303\244", "x\n\n", "\33]0;t"};

	for (size_t i = 0; i < NELEMS(kinds); i++) {
		check(kinds[i], BYTES, "output");
		check(kinds[i], BYTES / 4 - 1, NULL);
		check(kinds[i], 1, "output");
		check(kinds[i], 0, "output");
		check(kinds[i], 0, NULL);
	}
}
