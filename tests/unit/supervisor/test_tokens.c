/* SPDX-License-Identifier: MIT */
/* Scope tokens over a real index, across restarts of its master. */
#include "supervisor/store/tokens.h"

#include "lib_index.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(tokens, .timeout = 20);

struct rig {
	struct place in;
	struct tokens *t;
};

static void
rig_start(struct rig *rig)
{
	cr_assert_eq(tokens_open(rig->in.ix, &rig->t), 0);
}

static void
rig_open(struct rig *rig)
{
	place_make(&rig->in);
	rig_start(rig);
}

static void
rig_restart(struct rig *rig, bool commit)
{
	if (commit)
		cr_assert_eq(index_commit(rig->in.ix), 0);
	tokens_close(&rig->t);
	place_reopen(&rig->in);
	rig_start(rig);
}

static void
rig_close(struct rig *rig)
{
	tokens_close(&rig->t);
	place_remove(&rig->in);
}

Test(tokens, is_found_by_its_text_alone)
{
	char a[TOKEN_DIGITS + 1], b[TOKEN_DIGITS + 1];
	struct token_view v;
	struct rig rig;

	rig_open(&rig);
	cr_assert_eq(tokens_mint(rig.t, "alice", "x", 5, a, &v), 0);
	cr_expect_str_eq(v.scope, "alice");
	cr_expect_eq(strlen(v.id), 16);
	cr_assert_eq(tokens_mint(rig.t, "bob", "", 6, b, &v), 0);
	cr_expect_str_neq(a, b);
	cr_expect(tokens_find(rig.t, a, TOKEN_DIGITS, &v));
	cr_expect_str_eq(v.scope, "alice");
	cr_expect_str_eq(v.label, "x");
	cr_expect_eq(v.created_ms, 5);
	cr_expect_not(tokens_find(rig.t, a, TOKEN_DIGITS - 1, &v));
	a[0] = a[0] == 'f' ? '0' : 'f';
	cr_expect_not(tokens_find(rig.t, a, TOKEN_DIGITS, &v));
	cr_expect_not(tokens_find(rig.t, "", 0, &v));
	rig_close(&rig);
}

Test(tokens, survives_its_master_where_it_was_committed)
{
	char a[TOKEN_DIGITS + 1], b[TOKEN_DIGITS + 1];
	struct token_view v;
	struct rig rig;

	rig_open(&rig);
	cr_assert_eq(tokens_mint(rig.t, "alice", "", 5, a, &v), 0);
	rig_restart(&rig, true);
	cr_assert_eq(tokens_mint(rig.t, "bob", "", 6, b, &v), 0);
	rig_restart(&rig, false);
	cr_expect(tokens_find(rig.t, a, TOKEN_DIGITS, &v));
	cr_expect_not(tokens_find(rig.t, b, TOKEN_DIGITS, &v));
	cr_expect_eq(tokens_count(rig.t), 1);
	rig_close(&rig);
}

Test(tokens, is_revoked_by_id_or_scope)
{
	char a[3][TOKEN_DIGITS + 1];
	struct token_view v, last;
	struct rig rig;

	rig_open(&rig);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(tokens_mint(rig.t, i < 2 ? "alice" : "bob", "", 5,
				 a[i], &v), 0);
	cr_expect_eq(tokens_revoke(rig.t, "0123456789abcdef", NULL), 0);
	cr_expect_eq(tokens_revoke(rig.t, v.id, NULL), 1);
	cr_expect_not(tokens_find(rig.t, a[2], TOKEN_DIGITS, &v));
	cr_expect_eq(tokens_revoke(rig.t, NULL, "bob"), 0);
	cr_expect_eq(tokens_count(rig.t), 2);
	rig_restart(&rig, true);
	cr_expect_eq(tokens_count(rig.t), 2);
	tokens_view(rig.t, 1, &last);
	cr_expect_str_eq(last.scope, "alice");
	cr_expect_eq(tokens_revoke(rig.t, NULL, "alice"), 2);
	rig_restart(&rig, true);
	cr_expect_eq(tokens_count(rig.t), 0);
	rig_close(&rig);
}

/* What the index does not have after a failed commit is not known. */
Test(tokens, is_what_the_index_says_after_a_reload)
{
	char a[TOKEN_DIGITS + 1];
	struct token_view v;
	struct rig rig;

	rig_open(&rig);
	cr_assert_eq(tokens_mint(rig.t, "alice", "", 5, a, &v), 0);
	cr_assert_eq(index_del(rig.in.ix, INDEX_SESSIONS,
			 (struct index_bytes){"x", 1}), 0);
	cr_expect_eq(tokens_reload(rig.t), 0);
	cr_expect(tokens_find(rig.t, a, TOKEN_DIGITS, &v));
	rig_close(&rig);
}
