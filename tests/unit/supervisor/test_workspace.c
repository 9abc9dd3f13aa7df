/* SPDX-License-Identifier: MIT */
/* The directory of a box: whose it is, and which links lead to it. */
#include "supervisor/host/workspace.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/config_sandbox.h"

#define OWNER 65534u /* of a box, where we are root */
#define OTHER 1u

static struct config_sandbox conf;
static char top[] = "/tmp/psup-ws-XXXXXX", got[PATH_MAX], why[BOX_WHY_MAX];
static char want[PATH_MAX];

static const char *
in_top(const char *name)
{
	static char path[4][PATH_MAX];
	static unsigned at;
	char *p = path[at++ % 4];

	(void)snprintf(p, PATH_MAX, "%s/%s", top, name);
	return p;
}

/* Makes that of `name` in a directory of this test. */
static int
make(const char *below, const char *name)
{
	(void)snprintf(
	    conf.workspace, sizeof(conf.workspace), "%s/%s", top, below);
	conf.uid = geteuid() == 0 ? OWNER : geteuid();
	conf.gid = geteuid() == 0 ? OWNER : getegid();
	why[0] = got[0] = '\0';
	return workspace_make(&conf, name, got, why);
}

static void
begin(void)
{
	cr_assert_not_null(mkdtemp(top));
}

static void
end(void)
{
	char command[200];

	(void)snprintf(command, sizeof(command), "rm -rf %s", top);
	cr_expect_eq(system(command), 0);
}

TestSuite(workspace, .init = begin, .fini = end);

Test(workspace, is_made_with_all_above_it_and_given_away)
{
	mode_t mask = umask(077);
	struct stat st;

	cr_assert_eq(make("a/b", "one"), 0, "%s", why);
	(void)umask(mask);
	(void)snprintf(want, sizeof(want), "%s/a/b/one", top);
	cr_expect_str_eq(got, want);
	cr_assert_eq(lstat(got, &st), 0);
	cr_expect_eq(st.st_uid, conf.uid);
	cr_expect_eq(st.st_mode & 07777, 0700u);
	cr_assert_eq(stat(in_top("a"), &st), 0);
	cr_expect_eq(st.st_uid, geteuid(), "what is above stays ours");
	cr_expect_eq(st.st_mode & 07777, 0755u, "whatever the umask is");
	cr_expect_eq(make("a/b", "one"), 0, "again: %s", why);
}

Test(workspace, that_is_somebody_elses_is_not_used)
{
	if (geteuid() != 0) {
		end(); /* a test that is skipped has no end of its own */
		cr_skip_test("only root gives away");
	}
	cr_assert_eq(make("a", "one"), 0, "%s", why);
	cr_assert_eq(chown(got, OTHER, OTHER), 0);
	cr_expect_eq(make("a", "one"), -EPERM);
	cr_expect_not_null(strstr(why, "is uid 1's; expected uid 65534"), "%s",
	    why);
}

Test(workspace, is_not_where_somebodys_link_leads)
{
	struct stat st;

	cr_assert_eq(mkdir(in_top("real"), 0755), 0);
	cr_assert_eq(symlink("real", in_top("link")), 0);
	cr_expect_eq(make("link/x", "one"), 0, "our own: %s", why);
	(void)snprintf(want, sizeof(want), "%s/real/x/one", top);
	cr_expect_str_eq(got, want);
	cr_assert_eq(symlink(in_top("link"), in_top("far")), 0);
	cr_expect_eq(make("far", "two"), 0, "over two: %s", why);
	cr_assert_eq(symlink("loop", in_top("loop")), 0);
	cr_expect_eq(make("loop", "one"), -ELOOP);
	/* the box's directory itself is none */
	cr_assert_eq(symlink("real", in_top("real/three")), 0);
	cr_expect(make("real", "three") < 0);
	if (geteuid() != 0)
		return;
	cr_assert_eq(lchown(in_top("link"), OWNER, OWNER), 0);
	cr_expect_eq(make("link/y", "one"), -EPERM);
	cr_expect_not_null(strstr(why, "the link link on the way is uid "
	    "65534's"), "%s", why);
	cr_expect_eq(make("far", "three"), -EPERM, "behind another");
	cr_expect_eq(lstat(in_top("real/y"), &st), -1, "it was made");
}

Test(workspace, has_a_name_that_no_other_box_has)
{
	char a[NAME_MAX + 1], b[NAME_MAX + 1], key[200];

	cr_assert_eq(workspace_name("agent ../x", 1, a), 0);
	cr_expect_str_eq(a, "agent%20%2e%2e%2fx");
	cr_assert_eq(workspace_name("agent ..%2fx", 1, b), 0);
	cr_expect_str_neq(a, b);
	cr_assert_eq(workspace_name("session 01", 1, a), 0);
	cr_assert_eq(workspace_name("session 01", 2, b), 0);
	cr_expect_str_neq(a, b, "of two servers, or of one and the next");
	cr_assert_eq(workspace_name("agent x", 1, a), 0);
	cr_assert_eq(workspace_name("agent x", 2, b), 0);
	cr_expect_str_eq(a, b, "a scope's stays");
	memset(key, '/', sizeof(key) - 1);
	key[sizeof(key) - 1] = '\0';
	cr_expect_eq(workspace_name(key, 1, a), -ENAMETOOLONG);
}

Test(workspace, is_forgotten_where_it_is_empty)
{
	struct stat st;

	cr_assert_eq(make("a", "one"), 0, "%s", why);
	workspace_forget(&conf, "one");
	cr_expect_eq(stat(got, &st), -1);
	cr_assert_eq(make("a", "one"), 0, "%s", why);
	cr_assert_eq(mkdir(in_top("a/one/kept"), 0700), 0);
	workspace_forget(&conf, "one");
	cr_expect_eq(stat(got, &st), 0);
	(void)snprintf(conf.workspace, sizeof(conf.workspace), "%s/none", top);
	workspace_forget(&conf, "one");
	cr_expect_eq(stat(in_top("none"), &st), -1, "nothing is made for it");
}
