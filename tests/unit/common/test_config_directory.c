/* SPDX-License-Identifier: MIT */
/* [sandbox] access and the directories of scopes: which a box may show. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/config_sandbox.h"
#include "lib_conf.h"

static void
end(void)
{
	char command[200];

	(void)snprintf(command, sizeof(command), "rm -rf %s/*/", conf_dir);
	cr_expect_eq(system(command), 0);
	conf_fini();
}

TestSuite(config_directory, .init = conf_init, .fini = end, .timeout = 60);

static char got[CONFIG_DIRECTORY];

static const char *
of(const char *scope)
{
	return config_directory(&config, scope, got) ? got : "none";
}

Test(config_directory, is_that_of_its_scope_or_of_all)
{
	cr_assert_eq(read_text("[sandbox]\nmode = named\naccess = ro\n"
	    "directory = /d\n[scope \"a b\"]\nsandbox = yes\n"
	    "directory = /old\ndirectory = /a b\n[scope \"c\"]\n"
	    "sandbox = yes\n"), 0, "%s", why);
	cr_expect_str_eq(of("a b"), "/a b");
	cr_expect_str_eq(of("c"), "/d");
	cr_expect_str_eq(of(""), "/d");
	config_defaults(&config);
	cr_assert_eq(read_text("[sandbox]\nmode = all\naccess = rw\n"
	    "directory =\n[scope \"x\"]\ndirectory = ~/x\n"), 0, "%s", why);
	cr_expect_str_eq(of("x"), "~/x");
	cr_expect_str_eq(of("y"), "none");
}

Test(config_directory, refuses_what_cannot_be_meant)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "access = rw", "sandbox.directory: none, but access = rw; "
		    "expected a directory, here or in a [scope \"NAME\"]" },
		{ "access = ro\nscope = shared\n[scope \"x\"]\ndirectory = /x",
		    "sandbox.directory: none, but access = ro" },
		{ "access = ro\nscope = shared\ndirectory = /d\n"
		  "[scope \"x\"]\ndirectory = /x", "[scope \"x\"] names /x, "
		    "but scope = shared has one box for all" },
		{ "access = ro\n[scope \"x\"]\ndirectory = /x\n[scope \"y\"]\n"
		  "sandbox = yes", "none, but access = ro, and [scope \"y\"] "
		    "has no directory of its own" },
		{ "directory = /d", "/d, but access = none shows it to no box; "
		    "expected access = ro or rw" },
		{ "[scope \"x\"]\ndirectory = /x", "/x, but access = none" },
		{ "directory = d", "sandbox.directory: \"d\"; expected an "
		    "absolute path or ~/..." },
		{ "directory = /a/../b", "without . and .." },
		{ "directory = /", "not / itself" },
		{ "[scope \"x\"]\ndirectory = d", "scope \"x\".directory: "
		    "\"d\"; expected an absolute path" },
		{ "[scope \"x\"]\ndirectory = /a/..", "without . and .." },
		{ "[scope \"x\"]\ndir = /a", "no such setting; expected "
		    "max_running, sandbox or directory" },
		{ "access = ro\ndirectory = /d\nbind = /b:/agent/x:ro",
		    "sandbox.bind: /agent/x would hide /agent, which access = "
		    "ro shows" },
	};

	for (size_t i = 0; i < NELEMS(bad); i++) {
		char text[300];

		(void)snprintf(text, sizeof(text), "[sandbox]\nmode = named\n"
		    "%s\n", bad[i].text);
		cr_expect_eq(read_text(text), -EINVAL, "%s", bad[i].text);
		cr_expect_not_null(strstr(why, bad[i].says), "%s: %s",
		    bad[i].text, why);
	}
	cr_expect_eq(read_text("[sandbox]\nmode = all\naccess = rw\n"
	    "directory = /d\nbind = /b:/agent:ro\n"), 0, "rw: %s", why);
}

/* With this access and directory of scope x; 0 or why. */
static int
resolve(const char *access, const char *path, const char *more)
{
	char text[1000];

	config_defaults(&config);
	(void)snprintf(text, sizeof(text), "[sandbox]\nmode = all\n"
	    "access = %s\nworkspace = %s\n%s\n[scope \"x\"]\ndirectory = %s\n",
	    access, dir("ws"), more, path);
	cr_assert_eq(read_text(text), 0, "%s", why);
	return config_sandbox_resolve(&config, dir("run"), conf_path, why,
	    sizeof(why));
}

#define expect_no(access, path, more, says)                                    \
	do {                                                                   \
		cr_expect_eq(resolve(access, path, more), -EINVAL);            \
		cr_expect_not_null(strstr(why, says), "%s", why);              \
	} while (0)

Test(config_directory, is_where_its_path_leads)
{
	char link[120];

	(void)snprintf(link, sizeof(link), "%s/ws-link", conf_dir);
	cr_assert_eq(symlink(dir("a"), link), 0);
	cr_expect_eq(resolve("rw", link, ""), 0, "%s", why);
	cr_expect_str_eq(of("x"), dir("a"));
	cr_assert_eq(unlink(link), 0);
	expect_no("rw", link, "", "No such file or directory; expected a "
				  "directory that is there");
	expect_no("ro", conf_path, "", "is none; expected a directory");
}

/* Each is a line of the settings that a box is made by. */
Test(config_directory, leads_to_one_line)
{
	char link[120], more[300];

	(void)snprintf(link, sizeof(link), "%s/ws-link", conf_dir);
	cr_assert_eq(symlink(dir("a\nb"), link), 0);
	expect_no("ro", link, "", "/ws-link leads to a path with control "
				  "characters; expected one without");
	(void)snprintf(more, sizeof(more), "bind = %s:/x:ro", link);
	expect_no("ro", dir("a"), more, "sandbox.bind: ");
	cr_expect_not_null(strstr(why, "/ws-link leads to a path with control "
	    "characters"), "%s", why);
	cr_assert_eq(unlink(link), 0);
}

Test(config_directory, is_nothing_that_a_box_must_not_have)
{
	const char *a = dir("a"), *b = dir("a/b");
	char more[300];

	expect_no("ro", "/dev", "", "shares the server's runtime directory");
	expect_no("ro", dir("run"), "", "shares the server's runtime directory");
	expect_no("ro", "/run", "", "contains the socket of a container engine");
	expect_no("ro", conf_dir, "", "shares the server's runtime directory");
	expect_no("ro", dir("ws"), "", "contains the workspace");
	expect_no("rw", dir("ws/in"), "", "is through the workspace");
	(void)snprintf(more, sizeof(more), "bind = %s:/x:rw", a);
	expect_no("ro", b, more, "where boxes may replace it");
	(void)snprintf(more, sizeof(more), "bind = %s:/x:ro", b);
	expect_no("rw", a, more, "where boxes may replace it");
	cr_expect_eq(resolve("ro", a, more), 0, "%s", why);
	(void)snprintf(more, sizeof(more), "directory = %s", a);
	expect_no("rw", b, more, "where boxes may replace it");
	cr_expect_eq(resolve("ro", b, more), 0, "%s", why);
	cr_expect_eq(resolve("rw", a, more), 0, "the same: %s", why);
}

/* By that file a box could let itself out. */
Test(config_directory, has_no_psup_conf_that_a_box_may_write)
{
	char more[300];

	(void)snprintf(more, sizeof(more), "%s/psup.conf", dir("a"));
	cr_assert_eq(resolve("rw", dir("a"), ""), 0, "%s", why);
	cr_expect_eq(config_sandbox_resolve(&config, dir("run"), more, why,
	    sizeof(why)), -EINVAL);
	cr_expect_not_null(strstr(why, "boxes may write there"), "%s", why);
	cr_assert_eq(resolve("ro", dir("a"), ""), 0, "%s", why);
	cr_expect_eq(config_sandbox_resolve(&config, dir("run"), more, why,
	    sizeof(why)), 0, "%s", why);
}

/* A link there is the box's to turn, before the next reload. */
Test(config_directory, is_on_no_way_to_another)
{
	const char *a = dir("a"), *b = dir("b"), *c = dir("b/c");
	char link[120], far[120], more[400], conf[140];

	(void)snprintf(link, sizeof(link), "%s/link", a);
	(void)snprintf(far, sizeof(far), "%s/b/far", conf_dir);
	(void)snprintf(conf, sizeof(conf), "%s/psup.conf", link);
	cr_assert_eq(symlink(c, link), 0);
	cr_assert_eq(symlink(link, far), 0);
	(void)snprintf(more, sizeof(more), "bind = %s:/x:ro", link);
	expect_no("rw", a, more, "where boxes may replace it");
	cr_expect_eq(resolve("ro", a, more), 0, "%s", why);
	(void)snprintf(more, sizeof(more), "bind = %s:/x:ro", far);
	expect_no("rw", a, more, "where boxes may replace it");
	(void)snprintf(more, sizeof(more), "bind = %s:/x:rw", a);
	expect_no("ro", far, more, "where boxes may replace it");
	(void)snprintf(more, sizeof(more), "workspace = %s/ws", link);
	expect_no("rw", a, more, "sandbox.workspace: the way to ");
	cr_expect_eq(resolve("ro", a, more), 0, "%s", why);
	/* out again by its own parent */
	(void)snprintf(more, sizeof(more), "bind = %s:/x:ro", far);
	cr_assert(unlink(far) == 0 && symlink("../a/in/../../b/c", far) == 0);
	(void)dir("a/in");
	expect_no("rw", a, more, "where boxes may replace it");
	cr_expect_eq(resolve("rw", b, ""), 0, "%s", why);
	cr_assert_eq(resolve("rw", a, ""), 0, "%s", why);
	cr_expect_eq(config_sandbox_resolve(&config, dir("run"), conf, why,
	    sizeof(why)), -EINVAL);
	cr_expect_not_null(strstr(why, "boxes may write there"), "%s", why);
}

Test(config_directory, is_whom_boxes_run_as)
{
	if (geteuid() != 0) {
		end(); /* a test that is skipped has no end of its own */
		cr_skip_test("only root gives away");
	}
	expect_no("ro", dir("a"), "user = nobody", "is uid 0's; expected one "
	    "of uid ");
	cr_assert_eq(chown(dir("a"), 65534, 65534), 0);
	cr_expect_eq(resolve("rw", dir("a"), "user = nobody"), 0, "%s", why);
	expect_no("rw", dir("a"), "", "sandbox.user: none, and the server is "
	    "root; expected the name of uid 65534, whose ");
}
