/* SPDX-License-Identifier: MIT */
/* Which scopes are in a sandbox, and that what is to be in one runs nowhere
 * else, whatever becomes of psup.conf. */
#include "lib_inner.h"
#include "lib_scn.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(sandbox_policy);

#define NAMED "[sandbox]\nmode = named\n[scope \"boxed\"]\nsandbox = yes\n"

SCENARIO(sandbox_policy, a_covered_scope_runs_nowhere_else)
{
	struct peer *boxed, *other;
	char touch[400];

	(void)snprintf(touch, sizeof(touch), "touch %s",
	    file_in_scenario("ran"));
	psupd(.conf = NAMED, .env = {"PATH=/nonexistent"}); /* no bwrap */
	boxed = peer("boxed");
	other = peer("other");
	expect_refused_for(ask_as(boxed, "exec", STR("command", touch)),
	    "unsupported", "host");
	expect_str(ask_as(other, "exec", PUPPET("print up")), "status",
	    "completed");
	expect_refused_for(ask("exec", STR("command", touch),
	    STR("scope", "boxed")), "unsupported", "host");
	expect(access(file_in_scenario("ran"), F_OK) < 0, "it ran");
}

/* Each gate of elevated that is shut, and the box that auto would be. */
SCENARIO(sandbox_policy, what_a_covered_scope_may_not_is_said_in_full)
{
	struct answer *a;
	struct peer *boxed;

	psupd(.conf = NAMED "[elevated]\nscopes = other\n");
	boxed = peer("boxed");
	a = ask_as(boxed, "exec", STR("command", "true"), YES("elevated"));
	expect_refused_for(a, "forbidden", "elevated");
	expect(strcmp(words_of(a), "elevated is not available: [elevated] "
	    "enabled = no; scope boxed is not in [elevated] scopes") == 0,
	    "%s", words_of(a));
	expect_refused_for(ask_as(boxed, "exec", STR("command", "true"),
	    STR("host", "gateway")), "forbidden", "host");
	write_conf(NAMED "[elevated]\nenabled = yes\nscopes = boxed\n");
	kill_now(keeper_pid(), SIGHUP);
	await_log("config-read");
	expect_str(ask_as(boxed, "exec", STR("command", "true"),
	    YES("elevated")), "status", "completed");
	a = ask_as(boxed, "exec", STR("command", "true"), YES("elevated"),
	    STR("ask", "always"));
	expect_refused_for(a, "unsupported", "ask");
	a = ask_as(boxed, "exec", STR("command", "true"), YES("elevated"),
	    STR("security", "deny"));
	expect_refused_for(a, "forbidden", "security");
}

/* Where a call that leaves its box says one of its directories, that is the same
 * one on the host, and said; no link in there leads it astray. */
SCENARIO(sandbox_policy, who_leaves_is_where_its_box_had_it)
{
	const char *top = file_in_scenario("boxes"), *dir, *other;
	struct peer *boxed;
	struct answer *a;

	psupd(.conf = scn_format(NAMED "[sandbox]\nworkspace = %s\n"
	    "[elevated]\nenabled = yes\nscopes = boxed\n", top));
	boxed = peer("boxed");
	a = ask_as(boxed, "exec", STR("command", "pwd"), YES("elevated"),
	    STR("workdir", "/workspace"));
	expect_refused(a, "bad-workdir");
	expect(mkdir(top, 0700) == 0);
	dir = scn_format("%s/agent%%20boxed", top);
	expect(mkdir(dir, 0700) == 0);
	expect(mkdir(scn_format("%s/sub", dir), 0700) == 0);
	other = file_in_scenario("other");
	expect(mkdir(other, 0700) == 0);
	expect(symlink(other, scn_format("%s/astray", dir)) == 0);
	a = ask_as(boxed, "exec", STR("command", "pwd -P"), YES("elevated"),
	    STR("workdir", "/workspace/sub"));
	expect_str(a, "aggregated", scn_format("%s/sub\n", dir));
	expect_str(a, "cwd", scn_format("%s/sub", dir));
	expect_text(a, scn_format("elevated: it runs on the host, in %s/sub",
	    dir));
	a = ask_as(boxed, "exec", STR("command", "pwd"), YES("elevated"),
	    STR("workdir", "/workspace/astray"));
	expect_refused(a, "bad-workdir");
	expect(strstr(words_of(a), "symbolic links") != NULL, "%s",
	    words_of(a));
	a = ask_as(boxed, "exec", STR("command", "pwd"), YES("elevated"),
	    STR("workdir", scn_format("%s/astray", dir)));
	expect_refused(a, "bad-workdir");
	expect_refused(ask_as(boxed, "exec", STR("command", "pwd"),
	    YES("elevated"), STR("workdir", "/workspace/../..")),
	    "bad-workdir");
	/* its own directories of the host are what they were */
	expect_str(ask_as(boxed, "exec", STR("command", "pwd"), YES("elevated"),
	    STR("workdir", other)), "aggregated", scn_format("%s\n", other));
	write_conf(scn_format(NAMED "[sandbox]\nscope = session\nworkspace = "
	    "%s\n[elevated]\nenabled = yes\nscopes = boxed\n", top));
	kill_now(keeper_pid(), SIGHUP);
	await_log("event=config-read");
	a = ask_as(boxed, "exec", STR("command", "pwd"), YES("elevated"),
	    STR("workdir", "/workspace"));
	expect_refused(a, "bad-workdir");
	expect(strstr(words_of(a), "has no place on the host") != NULL, "%s",
	    words_of(a));
}

/* What exec would do is said without doing it. */
SCENARIO(sandbox_policy, a_call_is_explained)
{
	struct answer *a;

	psupd(.conf = NAMED);
	a = ask("explainSandbox", STR("scope", "other"));
	expect_str(a, "host", "gateway");
	expect_flag(a, "covered", false);
	a = ask_as(peer("boxed"), "explainSandbox", STR("host", "gateway"));
	expect_str(a, "host", "none");
	expect_flag(a, "covered", true);
	expect_text(a, "scope boxed: refused: host gateway: scope boxed is in "
	    "a sandbox");
	expect_absent(a, "box");
	expect_refused_for(ask_as(peer("boxed"), "explainSandbox",
	    STR("scope", "other")), "forbidden", "scope");
	expect_refused_for(ask("explainSandbox", STR("host", "moon")),
	    "invalid-params", "host");
}

/* Down to bubblewrap's command line, whose words come back as they were. */
SCENARIO(sandbox_policy, how_a_box_would_be_made_is_shown)
{
	char conf[1600], bind[600];
	struct answer *a;

	/* a word that a shell would take apart */
	(void)snprintf(bind, sizeof(bind), "%s", file_in_scenario("it's one"));
	expect(mkdir(bind, 0755) == 0);
	(void)snprintf(conf, sizeof(conf), NAMED "[sandbox]\nworkspace = %s\n"
	    "bind = %s:/srv:ro\n%s", file_in_scenario("boxes"), bind,
	    geteuid() == 0 ? "user = nobody\n" : "");
	psupd(.conf = conf);
	a = ask("explainSandbox", STR("scope", "boxed"));
	if (strcmp(text_of(a, "host"), "none") == 0)
		skip_scenario("%s", text_of(a, "reason"));
	expect_str(a, "host", "sandbox");
	expect_text(a, "ends when empty for: 1440 minutes\n");
	expect_text(a, "made by: bwrap \\\n    --unshare-user \\\n");
	expect_text(a, "it'\\''s one' /srv");
	expect_text(a, "/boxes/agent%20boxed /workspace \\\n");
	expect(access(file_in_scenario("boxes"), F_OK) < 0, "it was made");
}

/* A master that cannot read what its predecessor knew, knows at least that. */
SCENARIO(sandbox_policy, a_file_that_went_bad_lets_nobody_out)
{
	psupd(.conf = NAMED);
	write_conf(NAMED "[exec]\nbackground_ms = oops\n");
	kill_master();
	expect_refused_for(ask_as(peer("boxed"), "exec", PUPPET("print up")),
	    "unsupported", "host");
	write_conf("[exec]\nbackground_ms = oops\n");
	kill_master();
	expect_str(ask_as(peer("boxed"), "exec", PUPPET("print up")), "status",
	    "completed");
}

/* A bind that would show psup's own files is known before the server runs. */
SCENARIO(sandbox_policy, a_bind_of_the_runtime_directory_is_refused)
{
	struct run *r;

	write_conf("[sandbox]\nmode = all\nbind = /dev/shm:/x:ro\n");
	r = scn_run(NULL, 0, (const char *const[]){"psupd", NULL});
	expect(r->code != 0 && r->code < 124, "exit %d", r->code);
	expect(strstr(r->err, "sandbox.bind: /dev/shm shares the server's "
	    "runtime directory") != NULL, "%s", r->err);
}
