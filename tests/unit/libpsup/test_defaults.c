/* SPDX-License-Identifier: MIT */
/* What a handle has each of its connections begin with: a server that knows
 * nothing of it, one that has no room, and one whose connections break. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib_fake.h"

TestSuite(defaults, .timeout = 30);

static unsigned refusals; /* that the server has in store, */
static const char *refusal; /* by this code */
static unsigned breaks; /* connections that break by an exec */
static unsigned kept_by; /* the connection that has the defaults */
static unsigned execs, bare; /* of them, on one that has none */

static bool
server(struct fake *f, uint64_t id, const char *method,
    const struct val *params)
{
	if (strcmp(method, "defaults") == 0) {
		if (refusals > 0) {
			refusals--;
			fake_answer_error(f, id, refusal, "no", "");
			return true;
		}
		cr_expect(val_is_str(val_get(val_get(params, "baseEnv"),
				     "MARK"), "one"));
		cr_expect(val_is_str(val_get(params, "baseDir"), "/usr"));
		cr_expect(val_is_str(val_get(params, "umask"), "027"));
		kept_by = f->connections;
	} else if (strcmp(method, "exec") == 0) {
		execs++;
		bare += kept_by != f->connections;
		if (breaks > 0) {
			breaks--;
			return false;
		}
	}
	fake_answer_text(f, id, method);
	return true;
}

static int
begin(struct fake *f, psup **ret)
{
	static const char *const env[] = {"MARK=one", NULL};
	struct psup_options o = PSUP_OPTIONS_INIT;
	struct psup_exec x = PSUP_EXEC_INIT;
	psup_args *a;
	int rc;

	fake_start(f, server);
	f->incarnation = "00000000000000aa";
	x.base_env = env;
	x.base_dir = "/usr";
	x.umask = 027;
	a = psup_exec_args(&x);
	o.runtime_dir = f->dir;
	o.defaults = a;
	cr_assert_eq(psup_new(ret), PSUP_OK);
	rc = psup_connect(*ret, &o);
	psup_args_free(&a);
	return rc;
}

static int
exec(psup *p)
{
	struct psup_exec x = PSUP_EXEC_INIT;
	psup_reply *r = NULL;
	int rc;

	x.command = "true";
	x.request_key = "k";
	rc = psup_exec(p, &x, &r);
	psup_reply_free(&r);
	return rc;
}

static void
end(struct fake *f, psup **p)
{
	psup_free(p);
	fake_stop(f);
}

Test(defaults, a_server_that_knows_none_is_as_good)
{
	struct fake f;
	psup *p;

	refusals = 1;
	refusal = "unknown-method";
	cr_assert_eq(begin(&f, &p), PSUP_OK);
	cr_expect_not(psup_has_defaults(p));
	breaks = 2;
	cr_expect_eq(exec(p), PSUP_OK, "%s", psup_error_message(p));
	cr_expect_eq(execs, 3);
	cr_expect_eq(kept_by, 0, "they were sent again");
	end(&f, &p);
}

Test(defaults, come_before_what_is_asked_again)
{
	struct fake f;
	psup *p;

	cr_assert_eq(begin(&f, &p), PSUP_OK);
	cr_expect(psup_has_defaults(p));
	breaks = 3;
	refusal = "share-used-up"; /* for a while */
	refusals = 2;
	cr_expect_eq(exec(p), PSUP_OK, "%s", psup_error_message(p));
	cr_expect_eq(execs, 4);
	cr_expect_eq(bare, 0);
	cr_expect_eq(refusals, 0);
	end(&f, &p);
}

/* What was sent without its environment is not asked of who has none. */
Test(defaults, are_not_done_without_where_they_were)
{
	struct fake f;
	psup *p;

	cr_assert_eq(begin(&f, &p), PSUP_OK);
	breaks = 1;
	refusal = "unknown-method";
	refusals = 1;
	cr_expect_eq(exec(p), PSUP_ERR_LOST);
	cr_expect_eq(bare, 0);
	cr_expect_eq(execs, 1);
	end(&f, &p);
}

Test(defaults, must_be_what_the_server_takes)
{
	struct psup_options o = PSUP_OPTIONS_INIT;
	struct fake f;
	psup_args *a = psup_args_new();
	psup *p;

	fake_start(&f, server);
	psup_args_str(a, "command", "true");
	o.runtime_dir = f.dir;
	o.defaults = a;
	cr_assert_eq(psup_new(&p), PSUP_OK);
	cr_expect_eq(psup_connect(p, &o), PSUP_OK);
	cr_expect_not(psup_has_defaults(p));
	cr_expect_eq(kept_by, 0);
	psup_args_free(&a);
	end(&f, &p);
}
