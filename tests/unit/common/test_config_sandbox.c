/* SPDX-License-Identifier: MIT */
/* [sandbox], [elevated] and what a [scope "x"] says of them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/config_sandbox.h"
#include "lib_conf.h"

TestSuite(config_sandbox, .init = conf_init, .fini = conf_fini, .timeout = 20);

Test(config_sandbox, is_off_where_nothing_is_said)
{
	const struct config_sandbox *s = &config.sandbox;

	cr_expect_eq(s->mode, CONFIG_SANDBOX_OFF);
	cr_expect(s->memory == 1u << 30 && s->pids == 256 && s->cpus == 100);
	cr_expect(s->idle_min == 1440 && s->max_age_min == 10080);
	cr_expect_str_eq(s->workspace, "~/.local/share/psup/boxes");
	cr_expect_str_eq(s->env, "LANG=C.UTF-8\n");
	cr_expect_not(config.elevated.enabled);
	cr_expect_not(config_sandbox_covers(&config, "x"));
	cr_expect_not(config_sandbox_covers(&config, ""));
}

Test(config_sandbox, reads_every_setting)
{
	const struct config_sandbox *s = &config.sandbox;
	const char *at = s->binds;
	struct box_bind b;

	cr_assert_eq(read_text("[sandbox]\nmode = Named\nscope = session\n"
	    "user = agents\nworkspace = /srv/boxes\naccess = rw\n"
	    "directory = ~/agent\nbind = /srv/a:/a:ro\nbind = /srv/b:/b/c:rw\nnetwork = host\n"
	    "allow_host_network = yes\nenv = A=1\nenv = LANG=de\nenv = A=2=3\n"
	    "setup = make deps && true\nmemory = 512M\npids = 64\n"
	    "cpus = 1.5\nidle_min = 0\nmax_age_min = 7\nengine = podman\n"
	    "[elevated]\nenabled = yes\nscopes = main , a b,c\nask = on-miss\n"
	    "[scope \"x\"]\nsandbox = yes\n[scope \"y\"]\nsandbox = Required\n"
	    "[scope \"z\"]\nsandbox = no\nmax_running = 3\n"), 0, "%s", why);
	cr_expect(s->mode == CONFIG_SANDBOX_NAMED &&
	    s->scope == CONFIG_BOX_SESSION && s->access == CONFIG_ACCESS_RW);
	cr_expect(s->network == CONFIG_NETWORK_HOST && s->allow_host_network);
	cr_expect_eq(s->engine, CONFIG_ENGINE_PODMAN);
	cr_expect_str_eq(s->user, "agents");
	cr_expect_str_eq(s->workspace, "/srv/boxes");
	cr_expect_str_eq(s->directory, "~/agent");
	cr_expect_str_eq(s->env, "LANG=de\nA=2=3\n", "the later one counts");
	cr_expect_str_eq(s->setup, "make deps && true");
	cr_expect(s->memory == 512u << 20 && s->pids == 64 && s->cpus == 150);
	cr_expect(s->idle_min == 0 && s->max_age_min == 7);
	cr_assert(config_next_bind(&at, &b));
	cr_expect(strcmp(b.host, "/srv/a") == 0 && !b.writable);
	cr_assert(config_next_bind(&at, &b));
	cr_expect(strcmp(b.inside, "/b/c") == 0 && b.writable);
	cr_expect_not(config_next_bind(&at, &b));
	cr_expect(config.elevated.enabled);
	cr_expect_eq(config.elevated.ask, CONFIG_ASK_ON_MISS);
	cr_expect(config_elevated_has(&config.elevated, "main") &&
	    config_elevated_has(&config.elevated, "a b") &&
	    config_elevated_has(&config.elevated, "c") &&
	    !config_elevated_has(&config.elevated, "a") &&
	    !config_elevated_has(&config.elevated, ""));
	cr_expect(config_sandbox_covers(&config, "x") &&
	    config_sandbox_covers(&config, "y") &&
	    !config_sandbox_covers(&config, "z") &&
	    !config_sandbox_covers(&config, "other") &&
	    !config_sandbox_covers(&config, ""));
	cr_expect_eq(config_scope_box(&config, "y"),
	    CONFIG_SCOPE_BOX_REQUIRED);
	cr_expect(config.scopes[2].bounded && !config.scopes[0].bounded);
}

Test(config_sandbox, reads_a_container)
{
	cr_assert_eq(read_text("[sandbox]\nmode = all\nscope = shared\n"
	    "backend = container\ncontainer = agent-1\n"), 0, "%s", why);
	cr_expect_eq(config.sandbox.backend, CONFIG_BACKEND_CONTAINER);
	cr_expect_str_eq(config.sandbox.container, "agent-1");
}

Test(config_sandbox, all_covers_who_has_no_scope_too)
{
	cr_assert_eq(read_text("[sandbox]\nmode = all\n"), 0, "%s", why);
	cr_expect(config_sandbox_covers(&config, "") &&
	    config_sandbox_covers(&config, "x"));
}

Test(config_sandbox, refuses_with_line_and_reason)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "mode = maybe", ":2: sandbox.mode: \"maybe\" is no choice; "
		    "expected off, all or named" },
		{ "mode = unknown", "expected off, all or named" },
		{ "mod = all", "sandbox.mod: no such setting" },
		{ "scope = box", "expected agent, session or shared" },
		{ "user = a b", "sandbox.user: \"a b\" is no name" },
		{ "user = ../x", "\"../x\" is no name" },
		{ "workspace = boxes", "sandbox.workspace: \"boxes\"; expected "
		    "an absolute path or ~/..." },
		{ "workspace = /", "not / itself" },
		{ "workspace = ~/", "not / itself" },
		{ "workspace = ~x/boxes", "\"~x/boxes\"; expected" },
		{ "workspace = /a/../b", "without . and .." },
		{ "access = r", "expected none, ro or rw" },
		{ "bind = /a", "sandbox.bind: \"/a\"; expected "
		    "HOST:INSIDE:ro or HOST:INSIDE:rw" },
		{ "bind = /a:/proc:ro", "would hide the box's own /proc" },
		{ "bind = /a:/x:ro\nbind = /b:/x//:ro",
		    "sandbox.bind: /a and /b are both to be /x in the box" },
		{ "network = bridge", "expected none or host" },
		{ "network = host", "sandbox.network: host shares" },
		{ "env = A", "sandbox.env: \"A\"; expected NAME=value" },
		{ "env = LD_PRELOAD=/x", "LD_PRELOAD" },
		{ "env = 1=2", "sandbox.env:" },
		{ "memory = 1x", "\"1x\" is no size" },
		{ "memory = g", "\"g\" is no size" },
		{ "memory = -1", "\"-1\" is no size" },
		{ "memory = 1m", "1m is out of range; expected 16777216 to" },
		{ "memory = 99999999999t", "is out of range" },
		{ "memory = 999999999999999999999999999", "is no size" },
		{ "pids = 7", "7 is out of range; expected 8 to 1000000" },
		{ "cpus = 1025", "expected 0 to 1024" },
		{ "cpus = 0.125", "is no number; expected 0" },
		{ "cpus = -1", "is no number; expected 0" },
		{ "idle_min = 1q", "\"1q\" is no number" },
		{ "backend = chroot", "expected bwrap or container" },
		{ "backend = container", "sandbox.container: backend = "
		    "container, but no container is named" },
		{ "container = x", "sandbox.container: \"x\", but backend = "
		    "bwrap" },
		{ "backend = container\ncontainer = x", "sandbox.scope: agent, "
		    "but the container x is one box for all; expected scope = "
		    "shared" },
		{ "backend = container\ncontainer = x\nscope = shared\n"
		  "bind = /a:/b:ro", "sandbox.bind: the container x shows what "
		    "it was made with" },
		{ "backend = container\ncontainer = x\nscope = shared\n"
		  "access = ro\ndirectory = /a", "sandbox.access: the "
		    "container x" },
		{ "backend = container\ncontainer = x\nscope = shared\n"
		  "network = host\nallow_host_network = yes",
		    "sandbox.network: the container x" },
		{ "container = -rf", "\"-rf\" is no name" },
		{ "engine = lxd", "expected docker or podman" },
		{ "[elevated]\nenabled = perhaps", "elevated.enabled" },
		{ "[elevated]\nask = never", "expected policy, on-miss or "
		    "always" },
		{ "[elevated]\nscopes = a,,b", "\"\" is no scope" },
		{ "[elevated]\nscopes = a\"b", "\"a\"b\" is no scope" },
		{ "[scope \"x\"]\nsandbox = perhaps", "scope \"x\".sandbox: "
		    "\"perhaps\" is no choice; expected yes, no or required" },
		{ "[scope \"x\"]\nsandbox = yes", "sandbox.mode: off, but "
		    "[scope \"x\"] says sandbox = yes" },
		{ "mode = all\n[scope \"x\"]\nsandbox = no", "sandbox.mode: "
		    "all covers every scope, but [scope \"x\"]" },
	};

	for (size_t i = 0; i < NELEMS(bad); i++) {
		char text[200];

		(void)snprintf(text, sizeof(text), "[sandbox]\n%s\n",
		    bad[i].text);
		cr_expect_eq(read_text(text), -EINVAL, "%s", bad[i].text);
		cr_expect_not_null(strstr(why, bad[i].says), "%s: %s",
		    bad[i].text, why);
		cr_expect_eq(config.sandbox.mode, CONFIG_SANDBOX_OFF);
		cr_expect_str_eq(config.sandbox.binds, "");
	}
}

Test(config_sandbox, lists_have_an_end)
{
	char text[20000];
	size_t len = (size_t)sprintf(text, "[sandbox]\n");

	for (int i = 0; i <= BOX_BINDS; i++)
		len += (size_t)sprintf(text + len, "bind = /a:/b%d:ro\n", i);
	cr_assert_eq(read_text(text), -EINVAL);
	cr_expect_not_null(strstr(why, ":34: sandbox.bind: there are 32 "
	    "already"), "%s", why);
	len = (size_t)sprintf(text, "[sandbox]\n");
	for (int i = 0; i < 300; i++)
		len += (size_t)sprintf(text + len, "env = V%d=%040d\n", i, 0);
	cr_assert_eq(read_text(text), -EINVAL);
	cr_expect_not_null(strstr(why, "expected at most 4095 for all"),
	    "%s", why);
}

/* With this bind and these; 0 or why. */
static int
resolve(const char *mode, const char *settings)
{
	char text[1000];

	config_defaults(&config);
	(void)snprintf(text, sizeof(text), "[sandbox]\nmode = %s\n%s\n", mode,
	    settings);
	cr_assert_eq(read_text(text), 0, "%s", why);
	return config_sandbox_resolve(&config, dir("run"), conf_path, why,
	    sizeof(why));
}

__attribute__((format(printf, 1, 2))) static const char *
fmt(const char *how, ...)
{
	static char text[400];
	va_list ap;

	va_start(ap, how);
	(void)vsnprintf(text, sizeof(text), how, ap);
	va_end(ap);
	return text;
}

static void
remove_all(void)
{
	static const char *const names[] = { "run/in", "run", "a/b", "a",
	    "link", "loop" };
	char path[120];

	for (size_t i = 0; i < NELEMS(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", conf_dir,
		    names[i]);
		(void)remove(path);
	}
}

Test(config_sandbox, follows_the_links_of_a_bind)
{
	char link[120], want[300];

	(void)snprintf(link, sizeof(link), "%s/link", conf_dir);
	cr_assert_eq(symlink(dir("a"), link), 0);
	cr_expect_eq(resolve("all", fmt("bind = %s:/x:rw", link)), 0,
	    "%s", why);
	(void)snprintf(want, sizeof(want), "%s/a:/x:rw\n", conf_dir);
	cr_expect_str_eq(config.sandbox.binds, want);
	cr_expect_neq(config.sandbox.workspace[0], '~');
	remove_all();
}

Test(config_sandbox, refuses_what_a_box_must_not_see)
{
	char link[120], loop[120];

	(void)snprintf(link, sizeof(link), "%s/link", conf_dir);
	(void)snprintf(loop, sizeof(loop), "%s/loop", conf_dir);
	(void)dir("run");
	cr_assert_eq(symlink(dir("run/in"), link), 0);
	cr_assert_eq(symlink("loop", loop), 0);
	cr_expect_eq(resolve("all", fmt("bind = %s:/x:ro", conf_dir)),
	    -EINVAL);
	cr_expect_not_null(strstr(why, "shares the server's runtime directory"),
	    "%s", why);
	cr_expect_eq(resolve("all", fmt("bind = %s:/x:ro", link)),
	    -EINVAL, "by a link");
	cr_expect_not_null(strstr(why, "shares the server's runtime directory"),
	    "%s", why);
	cr_expect_eq(resolve("all", "bind = /:/x:ro"), -EINVAL);
	cr_expect_eq(resolve("all", fmt("bind = %s:/x:ro", loop)),
	    -EINVAL);
	cr_expect_not_null(strstr(why, "Too many levels of symbolic links"),
	    "%s", why);
	cr_expect_eq(resolve("all", "bind = /nonexistent/x:/x:ro"), -EINVAL);
	cr_expect_not_null(strstr(why, "sandbox.bind: /nonexistent/x: No such "
	    "file or directory; expected"), "%s", why);
	cr_expect_eq(resolve("off", "bind = /nonexistent/x:/x:ro"), 0,
	    "off: nobody looks");
	remove_all();
}

/* A box that writes in a directory could make a link of one below. */
Test(config_sandbox, refuses_a_bind_that_boxes_may_replace)
{
	const char *a = dir("a"), *b = dir("a/b");
	char link[120];

	(void)snprintf(link, sizeof(link), "%s/link", conf_dir);
	cr_expect_eq(resolve("all", fmt("bind = %s:/x:rw\nbind = %s:/y:ro", a,
	    b)), -EINVAL);
	cr_expect_not_null(strstr(why, "where boxes may replace it"), "%s",
	    why);
	cr_expect_eq(resolve("all", fmt("bind = %s:/x:ro\nbind = %s:/y:rw", a,
	    b)), 0, "%s", why);
	cr_expect_eq(resolve("all", fmt("workspace = %s\nbind = %s:/y:ro", a,
	    b)), -EINVAL);
	cr_expect_not_null(strstr(why, "is through the workspace"), "%s", why);
	/* nor one above it, itself, or where only a link says so */
	cr_expect_eq(resolve("all", fmt("workspace = %s/not/there\n"
	    "bind = %s:/y:ro", b, a)), -EINVAL);
	cr_expect_not_null(strstr(why, "contains the workspace"), "%s", why);
	cr_expect_eq(resolve("all", fmt("workspace = %s\nbind = %s:/y:ro", b,
	    b)), -EINVAL);
	cr_expect_not_null(strstr(why, "contains the workspace"), "%s", why);
	cr_expect_eq(symlink(b, link), 0);
	cr_expect_eq(resolve("all", fmt("workspace = %s/w\nbind = %s:/y:ro",
	    link, b)), -EINVAL);
	cr_expect_not_null(strstr(why, "contains the workspace"), "%s", why);
	remove_all();
}

Test(config_sandbox, knows_whom_boxes_run_as)
{
	bool root = geteuid() == 0;

	cr_expect_eq(resolve("all", "user = no-such-user-here"),
	    root ? -EINVAL : 0);
	cr_expect(!root || strstr(why, "\"no-such-user-here\" is not known "
	    "here (no such user)") != NULL, "%s", why);
	cr_expect_eq(resolve("all", "user = root"), root ? -EINVAL : 0);
	cr_expect(!root || strstr(why, "has uid 0; expected a user") != NULL,
	    "%s", why);
	cr_expect_eq(resolve("all", ""), 0, "%s", why);
	cr_expect_eq(config.sandbox.uid, geteuid());
	if (root) {
		cr_expect_eq(resolve("all", "user = nobody\nworkspace = /srv/b"),
		    0, "%s", why);
		cr_expect_neq(config.sandbox.uid, 0);
		cr_expect_neq(config.sandbox.gid, 0);
	}
	remove_all();
}

Test(config_sandbox, knows_what_makes_another_box)
{
	struct config_sandbox *other = &config.sandbox;
	struct config_sandbox *as_it_was = malloc(sizeof(*as_it_was));
	uint64_t sum = config_sandbox_sum(&config, "x");

	cr_assert_not_null(as_it_was);
	*as_it_was = config.sandbox;
	other->mode = CONFIG_SANDBOX_ALL;
	other->idle_min = 1;
	(void)strcpy(other->env, "A=1\n");
	cr_expect_eq(config_sandbox_sum(&config, "x"), sum);
	other->pids = 9;
	cr_expect_neq(config_sandbox_sum(&config, "x"), sum);
	*other = *as_it_was;
	(void)strcpy(other->binds, "/a:/b:ro\n");
	cr_expect_neq(config_sandbox_sum(&config, "x"), sum);
	(void)strcpy(other->binds, "");
	(void)strcpy(other->setup, "/a:/b:ro\n");
	cr_expect_neq(config_sandbox_sum(&config, "x"), sum);
	(void)strcpy(other->setup, "");
	cr_expect_eq(config_sandbox_sum(&config, "x"), sum);
	(void)strcpy(config.directories, "y\"/d\n");
	cr_expect_eq(config_sandbox_sum(&config, "x"), sum, "another's");
	cr_expect_neq(config_sandbox_sum(&config, "y"), sum);
	free(as_it_was);
}

Test(config_sandbox, tells_whether_a_refused_file_had_one)
{
	cr_expect_not(config_may_sandbox(""));
	cr_expect(config_may_sandbox("/nonexistent/x"));
	(void)read_text("[exec]\nbackground_ms = x\n");
	cr_expect_not(config_may_sandbox(conf_path));
	(void)read_text("[exec]\nbackground_ms = x\n[sandbox]\nmode = all\n");
	cr_expect(config_may_sandbox(conf_path));
}
