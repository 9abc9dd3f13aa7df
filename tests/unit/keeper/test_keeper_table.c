/* SPDX-License-Identifier: MIT */
/* The keeper's table: rows, owners, what must be told. */
#include <criterion/criterion.h>

#include "supervisor/keeper/table.h"

static struct table *t;

static void
setup(void)
{
	t = table_new(100);
	cr_assert_not_null(t);
}

static void
teardown(void)
{
	table_free(t);
}

TestSuite(table, .init = setup, .fini = teardown, .timeout = 20);

static struct row *
add(uint64_t sid, uint32_t slot)
{
	return table_add(t, (struct sid){ sid }, (struct wid){ slot, 1 });
}

Test(table, row_is_found_by_session_and_pid)
{
	struct row *r = add(7, 2);

	cr_assert_not_null(r);
	cr_expect_eq(table_find(t, (struct sid){ 7 }), r);
	cr_expect_null(table_find_pid(t, 700));
	table_set_pid(t, r, 700);
	cr_expect_eq(table_find_pid(t, 700), r);
	cr_expect_eq(table_count(t), 1);
	table_remove(t, r);
	cr_expect_null(table_find(t, (struct sid){ 7 }));
	cr_expect_null(table_find_pid(t, 700));
	cr_expect_eq(table_count(t), 0);
}

Test(table, refuses_what_makes_no_sense)
{
	cr_expect_null(add(0, 0), "session 0");
	cr_expect_null(add(1, TABLE_OWNERS), "a slot that is none");
	cr_expect_not_null(add(1, 0));
	cr_expect_null(add(1, 1), "held already");
}

Test(table, full_and_reused)
{
	uint64_t i;

	for (i = 1; i <= 100; i++)
		cr_assert_not_null(add(i, 0));
	cr_expect_null(add(101, 0));
	table_remove(t, table_find(t, (struct sid){ 50 }));
	cr_expect_null(table_at(t, 49));
	cr_expect_not_null(add(101, 0));
	cr_expect_null(add(102, 0));
	cr_expect_eq(table_high(t), 100);
	cr_expect_eq(table_at(t, 49)->sid.v, 101, "the free row is taken");
}

Test(table, new_row_holds_nothing)
{
	struct row *r = add(1, 0);

	cr_expect_eq(row_mask(r), 0);
	r->fds[0] = 10;
	r->fds[2] = 12;
	cr_expect_eq(row_mask(r), CTL_FD_OUT | CTL_FD_IN);
	table_remove(t, r);
	r = add(2, 0);
	cr_expect_eq(row_mask(r), 0, "not the descriptors of the one before");
	cr_expect_eq(r->pid, 0);
	cr_expect_eq(r->exit.code, 0);
}

Test(table, told_in_order_and_once)
{
	struct row *a = add(1, 0), *b = add(2, 0);

	cr_expect_null(table_first_todo(t, 0));
	table_mark(t, b, ROW_TELL);
	table_mark(t, a, ROW_GIVE);
	table_mark(t, b, ROW_TELL);
	cr_expect_eq(table_first_todo(t, 0), b);
	table_unmark(t, b, ROW_TELL);
	table_unmark(t, b, ROW_TELL);
	cr_expect_eq(table_first_todo(t, 0), a);
	table_unmark(t, a, ROW_TELL);
	cr_expect_eq(table_first_todo(t, 0), a, "still to be given");
	table_remove(t, a);
	cr_expect_null(table_first_todo(t, 0));
}

Test(table, owner_takes_rows_and_what_is_to_be_told)
{
	struct row *a = add(1, 0), *b = add(2, 0);

	table_mark(t, a, ROW_GIVE);
	cr_expect_eq(table_owned(t, 0), 2);
	cr_expect_eq(table_first_owned(t, 0), a);
	table_set_owner(t, a, 3);
	cr_expect_eq(table_first_owned(t, 0), b);
	cr_expect_eq(table_first_owned(t, 3), a);
	cr_expect_null(table_first_todo(t, 0));
	cr_expect_eq(table_first_todo(t, 3), a);
	cr_expect_eq(table_owned(t, 0), 1);
	cr_expect_eq(table_owned(t, 3), 1);
	table_set_owner(t, b, 0);
	cr_expect_eq(table_owned(t, 0), 1, "to itself changes nothing");
	cr_expect_eq(a->spawner.slot, 0, "who spawned it stays known");
}

Test(table, many_rows_come_and_go)
{
	uint64_t sid;

	for (sid = 1; sid <= 20000; sid++) {
		struct row *r = add(sid, (uint32_t)(sid % 4));

		cr_assert_not_null(r);
		table_set_pid(t, r, (int32_t)(1000 + sid % 5000));
		if (sid <= 60)
			continue;
		r = table_find(t, (struct sid){ sid - 60 });
		table_remove(t, r);
	}
	cr_expect_eq(table_count(t), 60);
	cr_expect_leq(table_high(t), 61);
	for (sid = 19941; sid <= 20000; sid++)
		cr_expect_not_null(table_find(t, (struct sid){ sid }));
}
