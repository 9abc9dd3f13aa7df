/* SPDX-License-Identifier: MIT */
/* Text for people: borders, repair, escapes, small formats, slugs. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "common/err.h"
#include "common/slug.h"
#include "common/text.h"
#include "common/text_clean.h"

static char out[4096];

#define S(s) (s), sizeof(s) - 1

Test(text, utf8, .timeout = 10)
{
	cr_expect(text_is_utf8(S("")) && text_is_utf8(S("aé€😀")));
	cr_expect(!text_is_utf8(S("\x80")) && !text_is_utf8(S("\xc0\x80")));
	cr_expect(!text_is_utf8(S("\xed\xa0\x80")));
	cr_expect(!text_is_utf8(S("\xe2\x82")));
	cr_expect(!text_is_utf8(S("\xf4\x90\x80\x80")));
	for (size_t at = 0; at < 24; at++) {
		char s[25] = "aaaaaaaaaaaaaaaaaaaaaaaa";

		s[at] = '\xc3';
		cr_expect(!text_is_utf8(s, 24), "%zu", at);
		s[at + 1] = '\xa9';
		cr_expect(text_is_utf8(s, 25), "%zu", at);
	}
}

Test(text, borders, .timeout = 10)
{
	const char s[] = "a€b"; /* 61 e2 82 ac 62 */
	static const size_t cuts[] = { 0, 1, 1, 1, 4, 5, 5 };
	size_t i;

	for (i = 0; i < NELEMS(cuts); i++)
		cr_expect_eq(text_cut_back(s, 5, i), cuts[i], "%zu", i);
	cr_expect_eq(text_skip_partial(s + 2, 3), 2);
	cr_expect_eq(text_skip_partial(s, 5), 0);
	cr_expect_eq(text_skip_partial(S("\x80\x80\x80\x80")), 3);
	cr_expect_eq(text_unfinished(s, 3), 2);
	cr_expect_eq(text_unfinished(s, 4), 0);
	cr_expect_eq(text_unfinished(S("\xf0\x9f\x98")), 3);
	cr_expect_eq(text_unfinished(S("\x80\x80\x80\x80")), 0);
	cr_expect_eq(text_unfinished(S("")), 0);
}

Test(text, repair, .timeout = 10)
{
#define R "\xef\xbf\xbd"
	/* a sequence that is cut short is one; what cannot follow is another:
	 * the examples of Unicode 3.9 and of WHATWG's decoder */
	static const struct {
		const char *in, *want;
	} rows[] = {
		{"a\xff€\xe2\x82z", "a" R "€" R "z"},
		{"\xf0\x9f\x98", R}, {"\xf0\x9f", R}, {"\xe2", R},
		{"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41",
		    R R R R R R R R "A"},
		{"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41",
		    R R R R R R R R "A"},
		{"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42",
		    R R R R R "A" R R "B"},
		{"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", R R R R "A"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = text_repair(rows[i].in, strlen(rows[i].in), out);

		out[n] = '\0';
		cr_expect_str_eq(out, rows[i].want, "row %zu", i);
		n = text_clean(TEXT_CLEAN, rows[i].in, strlen(rows[i].in),
		    false, out);
		out[n] = '\0';
		cr_expect_str_eq(out, rows[i].want, "clean, row %zu", i);
	}
#undef R
}

Test(text, escape, .timeout = 10)
{
	static const struct {
		const char *in;
		size_t len;
		bool keep;
		const char *out;
	} cases[] = {
		{ S("plain é€😀"), false, "plain é€😀" },
		{ S("\x1b[31m"), false, "\\x1b[31m" },
		{ S("a\tb\nc\r"), false, "a\\x09b\\x0ac\\x0d" },
		{ S("a\tb\nc\r"), true, "a\tb\nc\\x0d" },
		{ S("\0\x7f"), false, "\\x00\\x7f" },
		{ S("\xc2\x9b"), false, "\\xc2\\x9b" },
		{ S("\x9b\xff"), false, "\\x9b\\xff" },
		{ S("\xe2\x80\xae"), false, "\\xe2\\x80\\xae" },
		{ S("\xe2\x81\xa6\xe2\x80\x8f"), false,
		    "\\xe2\\x81\\xa6\\xe2\\x80\\x8f" },
		{ S("\xe2\x82"), false, "\\xe2\\x82" },
	};
	size_t i;

	for (i = 0; i < NELEMS(cases); i++) {
		cr_expect_eq(text_escape(cases[i].in, cases[i].len,
		    cases[i].keep, out, sizeof(out)), strlen(cases[i].out));
		cr_expect_str_eq(out, cases[i].out);
	}
	cr_expect_eq(text_escape(S("ab\x01"), false, out, 6), 2);
	cr_expect_str_eq(out, "ab");
	cr_expect_eq(text_escape(S("a€"), false, out, 4), 1);
	cr_expect_eq(text_escape(S("a"), false, out, 1), 0);
	cr_expect_eq(text_escape(S("a"), false, NULL, 0), 0);
}

Test(text, escape_is_always_clean, .timeout = 60)
{
	static const char pieces[] = "\xe2\x80\xae\xc2\x9b\x1b\n\t\xf0\x9f\x98"
	    "\x80\xed\xa0\xff" "az";
	char in[40], folded[64];
	uint64_t seed = 0x5eed0003;
	size_t round, i, n, size, len;

	for (round = 0; round < 200000; round++) {
		uint64_t at = seed;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		len = (seed >> 58) % sizeof(in);
		size = 1 + (seed >> 33) % 100;
		for (i = 0; i < len; i++) {
			seed = seed * 6364136223846793005ull + 12345;
			in[i] = (seed >> 60) % 2 != 0 ?
			    pieces[(seed >> 33) % (sizeof(pieces) - 1)] :
			    (char)(seed >> 40);
		}
		n = text_escape(in, len, false, out, size);
		cr_assert(n < size && strlen(out) == n && text_is_utf8(out, n),
		    "seed %#llx", (unsigned long long)at);
		for (i = 0; i < n; i++)
			cr_assert((unsigned char)out[i] >= 0x20 &&
			    out[i] != 0x7f, "seed %#llx",
			    (unsigned long long)at);
		n = text_repair(in, len, out);
		cr_assert(n <= 3 * len && text_is_utf8(out, n));
		text_fold(out, n, 30, folded, sizeof(folded));
		cr_assert(strlen(folded) <= 30 &&
		    text_is_utf8(folded, strlen(folded)));
		text_middle(out, n, 20, folded, sizeof(folded));
		cr_assert(strlen(folded) <= 20 &&
		    text_is_utf8(folded, strlen(folded)));
		text_derive_name(out, n, folded, sizeof(folded));
		cr_assert(text_is_utf8(folded, strlen(folded)));
		cr_assert(text_cut_back(in, len, size) <= size);
	}
}

Test(text, middle_and_fold, .timeout = 10)
{
	text_middle(S("0123456789"), 10, out, sizeof(out));
	cr_expect_str_eq(out, "0123456789");
	text_middle(S("0123456789"), 9, out, sizeof(out));
	cr_expect_str_eq(out, "012...789");
	text_middle(S("€€€€€"), 11, out, sizeof(out));
	cr_expect_str_eq(out, "€...€");
	text_middle(S("0123456789"), 100, out, 8);
	cr_expect_str_eq(out, "01...89");
	text_fold(S("  a \n\n b\t"), 10, out, sizeof(out));
	cr_expect_str_eq(out, "a b");
	text_fold(S("aaaa bbbb cccc"), 10, out, sizeof(out));
	cr_expect_str_eq(out, "aaaa bb...");
	text_fold(S("aaaa bbbb "), 9, out, sizeof(out));
	cr_expect_str_eq(out, "aaaa bbbb");
	text_fold(S("€€€€"), 10, out, sizeof(out));
	cr_expect_str_eq(out, "€€...");
}

Test(text, duration, .timeout = 10)
{
	static const struct {
		uint64_t ms;
		const char *out;
	} cases[] = { { 0, "0ms" }, { 500, "500ms" }, { 999, "999ms" },
		{ 1000, "1s" }, { 45999, "45s" }, { 60000, "1m" },
		{ 125000, "2m5s" }, { 5400000, "1h30m" }, { 3600000, "1h" },
		{ 90000000, "1d1h" } };
	size_t i;

	for (i = 0; i < NELEMS(cases); i++) {
		text_duration(cases[i].ms, out, sizeof(out));
		cr_expect_str_eq(out, cases[i].out);
	}
}

Test(text, derive_name, .timeout = 10)
{
	static const struct {
		const char *command, *name;
	} cases[] = {
		{ "", "" },
		{ "  \t", "" },
		{ "ls", "ls" },
		{ "npm install left-pad", "npm install" },
		{ "make -j8 -k all", "make all" },
		{ "ls -la", "ls -la" },
		{ "grep -r \"two words\" .", "grep two words" },
		{ "echo 'it is' x", "echo it is" },
		{ "say \"a \\\" b\" c", "say a \\\" b" },
		{ "echo \"open", "echo \"open" },
		{ "echo building; sleep 1", "echo building" },
		{ "true && echo done", "true" },
		{ "sleep 5 & wait", "sleep 5" },
		{ "make; make install", "make" },
		{ "echo \"a;\" b", "echo a;" },
		{ "echo \\; x", "echo \\;" },
		{ ";", "" },
		{ "FOO=\"a b\"c run", "FOO=\"a b\"c run" },
		{ "cat /a/very/long/path/that/goes/on/and/on/for/ever/file.txt",
		    "cat /a/very/long/path/that...d/on/for/ever/file.txt" },
	};
	size_t i;

	for (i = 0; i < NELEMS(cases); i++) {
		text_derive_name(cases[i].command, strlen(cases[i].command),
		    out, sizeof(out));
		cr_expect_str_eq(out, cases[i].name);
	}
	text_derive_name(S("averyveryverylongverb target"), out, 16);
	cr_expect_eq(strlen(out), 15);
}

Test(text, signals_and_errors, .timeout = 10)
{
	int sig;

	cr_expect_str_eq(text_signal_name(15), "SIGTERM");
	cr_expect_str_eq(text_signal_name(34), "SIG34");
	cr_expect_str_eq(text_signal_name(0), "SIG?");
	for (sig = 1; sig <= 64; sig++)
		cr_expect_eq(text_signal_number(text_signal_name(sig),
		    strlen(text_signal_name(sig))), sig);
	cr_expect_eq(text_signal_number(S("TERM")), 15);
	cr_expect_eq(text_signal_number(S("term")), 15);
	cr_expect_eq(text_signal_number(S("sigkill")), 9);
	cr_expect_eq(text_signal_number(S("9")), 9);
	cr_expect_eq(text_signal_number(S("65")), 0);
	cr_expect_eq(text_signal_number(S("0")), 0);
	cr_expect_eq(text_signal_number(S("")), 0);
	cr_expect_eq(text_signal_number(S("SIG")), 0);
	cr_expect_eq(text_signal_number(S("9x")), 0);
	cr_expect_eq(text_signal_number(S("-9")), 0);
	cr_expect_eq(text_signal_number(S("99999999999999999999")), 0);
	cr_expect_str_eq(err_name(2), "ENOENT");
	cr_expect_str_eq(err_name(-2), "ENOENT");
	cr_expect_str_eq(err_name(100000), "E?");
}

/* Refuses the first *arg slugs. */
static bool
refuse_some(void *arg, const char *slug)
{
	int *left = arg;

	cr_assert(slug_is_valid(slug, strlen(slug)), "%s", slug);
	return *left > 0 && (*left)-- > 0;
}

/* How many dashes. */
static int
dashes(const char *s)
{
	int n = 0;

	for (; *s != '\0'; s++)
		n += *s == '-';
	return n;
}

static int
by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* A name comes again after all the others. */
Test(text, slugs_come_again_late)
{
	static char slugs[2268][SLUG_MAX];
	char again[SLUG_MAX];
	int none = 0;

	for (size_t i = 0; i < NELEMS(slugs); i++)
		slug_make(1000000 + i, refuse_some, &none, slugs[i]);
	none = 0;
	slug_make(1000000 + NELEMS(slugs), refuse_some, &none, again);
	cr_expect_str_eq(again, slugs[0]);
	qsort(slugs, NELEMS(slugs), SLUG_MAX, by_text);
	for (size_t i = 1; i < NELEMS(slugs); i++)
		cr_expect_str_neq(slugs[i - 1], slugs[i]);
}

/* Slugs of the sessions that are kept, by a hash, and how often one was asked
 * for. */
struct kept {
	char slugs[1 << 18][SLUG_MAX];
	size_t asked;
};

/* Where it is, or would be. */
static char *
kept_place(struct kept *k, const char *slug)
{
	size_t h = 5381;

	for (const char *p = slug; *p != '\0'; p++)
		h = h * 33 + (unsigned char)*p;
	for (h %= NELEMS(k->slugs); k->slugs[h][0] != '\0' &&
	     strcmp(k->slugs[h], slug) != 0;)
		h = (h + 1) % NELEMS(k->slugs);
	return k->slugs[h];
}

static bool
is_kept(void *arg, const char *slug)
{
	struct kept *k = arg;

	k->asked++;
	return kept_place(k, slug)[0] != '\0';
}

/* Beside a hundred thousand kept sessions a name is found by the fourth
 * question, beside some thousand by the second. */
Test(text, slugs_of_many_are_found_at_once)
{
	static struct kept k;
	char slug[SLUG_MAX];

	for (size_t i = 0; i < 100000; i++) {
		k.asked = 0;
		slug_make(1000000 + i, is_kept, &k, slug);
		cr_assert(k.asked <= (i < 24000 ? 2 : 4), "%zu: %zu", i,
		    k.asked);
		strcpy(kept_place(&k, slug), slug);
	}
}

Test(text, slugs, .timeout = 10)
{
	static const struct {
		int refused, dashes;
		const char *suffix;
	} cases[] = { { 0, 1, "" }, { 1, 2, "-2" }, { 2, 2, "" },
		{ 3, 3, "-2" }, { 4, 1, "" }, { 5, 2, "-2" }, { 15, 2, "-12" },
		{ 16, 1, "" }, { 148, 2, "" }, { 149, 3, "-2" },
		{ 292, 3, "" }, { 293, 4, "" } };
	char slug[SLUG_MAX];
	size_t i, n;
	int left;

	for (i = 0; i < NELEMS(cases); i++) {
		left = cases[i].refused;
		slug_make(7, refuse_some, &left, slug);
		n = strlen(cases[i].suffix);
		cr_expect_eq(dashes(slug), cases[i].dashes, "%d: %s",
		    cases[i].refused, slug);
		cr_expect_str_eq(slug + strlen(slug) - n, cases[i].suffix);
	}
	left = 1000000;
	slug_make(7, refuse_some, &left, slug);
	cr_expect(slug_is_valid(slug, strlen(slug)));
	cr_expect(!slug_is_valid("", 0) && !slug_is_valid("A", 1) &&
	    !slug_is_valid("a/b", 3));
}
