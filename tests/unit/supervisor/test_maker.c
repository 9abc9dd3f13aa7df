/* SPDX-License-Identifier: MIT */
/* What bwrap and pid 1 of a box say of themselves. */
#include "supervisor/host/boxes.h"

#include <criterion/criterion.h>
#include <string.h>

static int32_t
parse(const char *text)
{
	uint64_t start;

	return maker_parse(text, strlen(text), &start);
}

Test(maker, needs_both_words_in_any_order)
{
	cr_expect_eq(parse("{\n    \"child-pid\": 4711\n}\nR"), 4711);
	cr_expect_eq(parse("R{\n    \"child-pid\": 4711,\n \"net\": 1}\n"),
	    4711);
	cr_expect_eq(parse("{\n    \"child-pid\": 4711\n}\n"), 0);
	cr_expect_eq(parse("R"), 0);
	cr_expect_eq(parse(""), 0);
}

Test(maker, believes_no_other_letter_and_no_strange_number)
{
	cr_expect_eq(parse("{\"child-pid\": 4711}bwrap: /a/R"), 0);
	cr_expect_eq(parse("bwrap: R x\n{\"child-pid\": 4711}"), 0);
	cr_expect_eq(parse("warning\nR{\"child-pid\": 4711}"), 4711);
	cr_expect_eq(parse("{\"child-pid\": 1}R"), 0);
	cr_expect_eq(parse("{\"child-pid\": -5}R"), 0);
	cr_expect_eq(parse("{\"child-pid\": 99999999999999999999}R"), 0);
	cr_expect_eq(parse("{\"pid\": 4711}R"), 0);
	cr_expect_eq(parse("R}{"), 0);
}

Test(maker, hears_when_a_containers_process_began)
{
	static const char text[] = "{\"child-pid\": 4711, \"start\": 99}\nR";
	uint64_t start = 1;

	cr_expect_eq(maker_parse(text, sizeof(text) - 1, &start), 4711);
	cr_expect_eq(start, 99);
	cr_expect_eq(maker_parse("{\"child-pid\": 12}R", 18, &start), 12);
	cr_expect_eq(start, 0);
}
