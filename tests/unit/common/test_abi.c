/* SPDX-License-Identifier: MIT */
/* Stamps, the rule that says who reads whose, and tables of other builds. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/abi.h"
#include "common/ctl.h"

TestSuite(abi, .timeout = 10);

Test(abi, tables_agree_with_the_headers)
{
	cr_assert_eq(abi_table[ABI_CTL].version, CTL_VERSION);
	cr_assert_eq(abi_table[ABI_CTL].reader, CTL_READER);
	for (int i = 0; i < ABI_COUNT; i++) {
		const struct abi *a = &abi_table[i];

		cr_expect(a->oldest >= 1 && a->oldest <= a->version, "%s",
		    a->name);
		cr_expect(a->reader >= 1 && a->reader <= a->version, "%s",
		    a->name);
		cr_expect(abi_reads((enum abi_id)i, abi_stamp((enum abi_id)i)),
		    "%s", a->name);
	}
}

Test(abi, older_ones_are_read_back_to_the_oldest)
{
	const struct abi *a = &abi_table[ABI_RING];

	cr_assert(abi_reads(ABI_RING, ABI_STAMP(a->oldest, 1)));
	/* of before there were stamps: a version alone */
	cr_assert(abi_reads(ABI_RING, a->oldest));
	cr_assert_not(abi_reads(ABI_RING, ABI_STAMP(a->oldest - 1, 1)));
	cr_assert_not(abi_reads(ABI_RING, 0));
}

Test(abi, newer_ones_are_read_where_they_say_so)
{
	unsigned v = abi_table[ABI_RING].version;
	char why[200];

	cr_assert(abi_reads(ABI_RING, ABI_STAMP(v + 1, v)));
	cr_assert_not(abi_reads(ABI_RING, ABI_STAMP(v + 1, v + 1)));
	cr_assert_not(abi_reads(ABI_RING, v + 1)); /* says nothing */
	abi_refusal(ABI_RING, ABI_STAMP(v + 1, v + 1), why, sizeof(why));
	cr_assert_str_eq(why, "made by psup layout 5 (ring, for readers of 5 "
			      "on), this build reads 2 to 4");
}

Test(abi, records_of_a_newer_index_are_read_in_it_alone)
{
	unsigned v = abi_table[ABI_INDEX].version;

	cr_assert(abi_record_ok(v));
	cr_assert_not(abi_record_ok(0) || abi_record_ok(1) ||
	    abi_record_ok(v + 1));
	abi_index_is(ABI_STAMP(v + 1, v));
	cr_assert(abi_record_ok(v + 1));
	cr_assert_not(abi_record_ok(v + 2));
	abi_index_is(abi_stamp(ABI_INDEX));
}

/* Our own table with one word put in place of another. */
static bool
parse(const char *from, const char *to, struct abi_other *ret, char *why,
    size_t size)
{
	char text[ABI_TEXT_MAX], out[ABI_TEXT_MAX + 64], *at;

	abi_print("psupd", text, sizeof(text));
	at = strstr(text, from);
	cr_assert(at != NULL);
	snprintf(out, sizeof(out), "%.*s%s%s", (int)(at - text), text, to,
	    at + strlen(from));
	return abi_parse(out, "psupd", ret, why, size);
}

Test(abi, another_build_is_compared_structure_by_structure)
{
	static const struct {
		const char *from, *to, *why;
	} rows[] = {
		{"ring 4 3 2", "ring 5 3 2", NULL},
		{"ring 4 3 2", "ring 5 5 5", "ring: 4 is in use, psup 0.1.0 "
		    "reads 5 to 5"},
		{"ring 4 3 2", "ring 5 5 3", "ring: psup 0.1.0 writes 5 for "
		    "readers of 5 on, what runs here reads 2 to 4"},
		{"state 3 1 1", "state 4 4 1", NULL}, /* there is no way back */
		{"state 3 1 1", "state 4 4 4", "state: 3 is in use, psup "
		    "0.1.0 reads 4 to 4"},
		{"ctl 8 2 2", "ctl 1 1 1", "ctl: 8 is in use, psup 0.1.0 "
		    "reads 1 to 1"},
		{"board 3 3 2\n", "", "board: psup 0.1.0 has none, 3 is in "
		    "use"},
		{"stats", "later 1 1 1\nstats", NULL},
	};
	struct abi_other o, same;
	char why[200];

	cr_assert(parse("ring", "ring", &same, why, sizeof(why)));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert(parse(rows[i].from, rows[i].to, &o, why,
		    sizeof(why)), "%s", why);
		cr_expect_eq(abi_agrees(&o, why, sizeof(why)),
		    rows[i].why == NULL, "%zu %s", i, why);
		if (rows[i].why != NULL)
			cr_expect_str_eq(why, rows[i].why);
		cr_expect_eq(abi_same(&o, &same), i == 7);
	}
}

Test(abi, an_answer_that_is_none_is_refused)
{
	static const char *const rows[][2] = {
		{"psupd ", "psup-worker "}, {"psupd ", "psupd"},
		{"ring 4 3 2", "ring 4 3"}, {"ring 4 3 2", "ring 4 3 2 x"},
		{"ring 4 3 2", "ring 4 5 2"}, {"ring 4 3 2", "ring 0 0 0"},
		{"ring 4 3 2", "ring 99999 1 1"},
		{"ring 4 3 2", "a-name-that-is-much-too-long-for-it 4 3 2"},
	};
	struct abi_other o;
	char why[200];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		why[0] = '\0';
		cr_expect_not(parse(rows[i][0], rows[i][1], &o, why,
		    sizeof(why)), "%zu", i);
		cr_expect(why[0] != '\0', "%zu", i);
	}
	cr_expect_not(abi_parse("", "psupd", &o, why, sizeof(why)));
}
