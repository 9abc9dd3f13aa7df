/* SPDX-License-Identifier: MIT */
/* Command lines by their rows: what is taken, what is refused, and where the
 * operands begin. What is said about it tests/cli/mistakes.t reads. */
#include "common/option.h"

#include <criterion/criterion.h>
#include <string.h>

static struct {
	bool flag, shared;
	int number;
	int64_t large;
	double seconds;
	int64_t wait, size;
	const char *text, *word, *called;
	int calls;
	enum { CHOICE_ONE, CHOICE_TWO } choice;
} o;

static void
take_call(struct usage *u, const char *text)
{
	o.calls++;
	o.called = text;
	if (text != NULL && strcmp(text, "bad") == 0)
		usage_wrong(u, "--call: it is bad");
}

static void
take_into(struct usage *u, const char *option, const char *text, void *into)
{
	(void)u;
	cr_expect_str_eq(option, "--into");
	*(const char **)into = text;
}

static const struct opt own[] = {
	FLAG("flag", 'f', o.flag, "set"),
	NUMBER("number", 'n', "N", o.number, -3, 5, "a small one"),
	NUMBER("large", 0, "N", o.large, 0, 9007199254740991, "a large one"),
	SECONDS("seconds", 0, o.seconds, "with a fraction"),
	TEXT("text", 't', "TEXT", NULL, o.text, "anything"),
	TEXT("word", 0, "WORD", "one|two", o.word, "one of two"),
	CALL("call", 'c', "[WHAT]", NULL, take_call, "may have a value"),
	INTO("into", 0, "TEXT", NULL, take_into, o.text, "as text"),
	TEXT("choice", 0, "WORD", "one|two", o.choice, "one of two, counted"),
	NUMBER("wait", 0, "MS", o.wait, 10, 86400000, "a duration"),
	SIZE("size", 0, o.size, 0, INT64_C(1) << 50, "bytes"),
	OPT_END};

static const struct opt shared[] = {
	FLAG("shared", 0, o.shared, "every command's"), OPT_END};

static const option_tables tables = {own, NULL, shared};

/* Reads words parted by blanks: where the operands begin, or -1. */
static int
parse(const char *line, bool stops, struct usage *u)
{
	static char text[200];
	static char *argv[20];
	int argc = 0;
	char *p = text;

	memset(&o, 0, sizeof(o));
	*u = (struct usage){.program = "test"};
	snprintf(text, sizeof(text), "test %s", line);
	while ((argv[argc] = strsep(&p, " ")) != NULL)
		argc++;
	return option_parse(u, tables, stops, argc, argv);
}

static bool
is_refused(const char *line)
{
	struct usage u;

	return parse(line, false, &u) == -1 && u.wrong;
}

Test(option, takes_what_its_rows_say)
{
	struct usage u;

	cr_assert_eq(parse("-fn -3 --large=9007199254740991 a --seconds 0.5 "
	                   "-tx --word two --shared b", false, &u), 10);
	cr_expect_not(u.wrong);
	cr_expect(o.flag && o.shared);
	cr_expect_eq(o.number, -3);
	cr_expect_eq(o.large, 9007199254740991);
	cr_expect_eq(o.seconds, 0.5);
	cr_expect_str_eq(o.text, "x");
	cr_expect_str_eq(o.word, "two");
	cr_assert_eq(parse("--into y --choice two", false, &u), 5);
	cr_expect_str_eq(o.text, "y");
	cr_expect_eq(o.choice, CHOICE_TWO);
	cr_assert_eq(parse("--sec 1 --lar 2", false, &u), 5, "abbreviated");
	cr_expect_eq(o.seconds, 1);
	cr_expect_eq(o.large, 2);
}

Test(option, gives_a_value_that_may_be_left_out_only_behind_a_sign)
{
	struct usage u;

	cr_assert_eq(parse("--call x", false, &u), 2);
	cr_expect_eq(o.calls, 1);
	cr_expect_null(o.called);
	cr_assert_eq(parse("--call=x -cy", false, &u), 3);
	cr_expect_eq(o.calls, 2);
	cr_expect_str_eq(o.called, "y");
}

Test(option, stops_where_it_is_told_to)
{
	struct usage u;

	cr_expect_eq(parse("-f ls --flag", true, &u), 2);
	cr_expect_not(u.dashes);
	cr_expect_eq(parse("-f -- --number", false, &u), 3);
	cr_expect(u.dashes);
	cr_expect_eq(parse("", false, &u), 1, "an empty word is an operand");
}

Test(option, refuses_what_is_wrong_and_goes_no_further)
{
	static const char *const lines[] = {"--nothing", "-z", "--number",
	    "--number=6", "--number=-4", "--number=1x", "--number=",
	    "--large=9007199254740992", "--seconds=-1", "--seconds=nan",
	    "--seconds=soon", "--word=three", "--choice=three", "--flag=x", "--call=bad", "--s"};
	struct usage u;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		cr_expect(is_refused(lines[i]), "%s", lines[i]);
	cr_expect_eq(parse("--call=bad --flag", false, &u), -1);
	cr_expect_not(o.flag);
}

Test(option, is_found_by_its_whole_name)
{
	cr_expect_eq(option_find(tables, "text", 4), &own[4]);
	cr_expect_eq(option_find(tables, "shared=x", 6), &shared[0]);
	cr_expect_null(option_find(tables, "tex", 3));
	cr_expect(option_takes(&own[6]) && !option_needs(&own[6]));
	cr_expect(option_needs(&own[1]) && !option_takes(&own[0]));
}

Test(option, takes_units)
{
	static const struct {
		const char *line;
		int64_t wait, size;
		double seconds;
	} rows[] = {
		{"--wait 500", 500, 0, 0}, {"--wait 500ms", 500, 0, 0},
		{"--wait 1h30m", 5400000, 0, 0}, {"--wait 1.5s", 1500, 0, 0},
		{"--seconds 10m", 0, 0, 600}, {"--seconds 2.5", 0, 0, 2.5},
		{"--seconds 250ms", 0, 0, 0.25}, {"--size 100M", 0, 104857600, 0},
		{"--size 4096", 0, 4096, 0}, {"--size 1.5k", 0, 1536, 0},
		{"--size 1024T", 0, INT64_C(1) << 50, 0},
	};
	static const char *const wrong[] = {"--wait 9", "--wait 2d",
		"--wait 10x", "--wait s", "--wait 1h-5m", "--wait 0.05s1",
		"--size 1025T", "--size 0.5", "--size 1M0.1", "--seconds 366d",
		"--seconds nan", "--size 0x10"};
	struct usage u;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(parse(rows[i].line, false, &u), 3, "%s",
		    rows[i].line);
		cr_expect(o.wait == rows[i].wait && o.size == rows[i].size &&
		    o.seconds == rows[i].seconds, "%s", rows[i].line);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		cr_expect(is_refused(wrong[i]), "%s", wrong[i]);
}
