/* SPDX-License-Identifier: MIT */
/* What a command is started with: shell, environment, directory, limits. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "supervisor/api/exec_host.h"
#include "supervisor/api/exec_spec.h"

static struct config cfg;
static const char server_env[] = "HOME=/tmp\0PATH=/usr/bin:/bin";
static struct exec_base base = {.cfg = &cfg, .base_env = server_env,
    .base_env_bytes = sizeof(server_env), .dir = "", .umask = 022,
    .home = "/tmp",
    .user_shell = "/usr/sbin/nologin", .path = "/usr/bin:/bin"};
static const struct exec_ids ids = {"nova-gulf", "alpha", "1.2", false};

struct params {
	struct enc e;
	struct codec_arena *arena;
	const struct val *v;
};

/* Begins a params map. */
static void
params_begin(struct params *p)
{
	memset(p, 0, sizeof(*p));
	config_defaults(&cfg);
	enc_map(&p->e);
}

/* Ends and decodes it. */
static const struct val *
params_end(struct params *p)
{
	char why[100];
	size_t used;

	enc_end(&p->e);
	cr_assert_eq(codec_decode(p->e.buf, p->e.len, &codec_limits_trusted,
			 &used, &p->arena, &p->v, why, sizeof(why)),
	    CODEC_OK, "%s", why);
	return p->v;
}

static void
params_fini(struct params *p)
{
	codec_arena_free(&p->arena);
	enc_fini(&p->e);
}

/* Is that string in the blob? */
static bool
has(const struct spec *sp, const char *want)
{
	for (uint32_t i = 0; i < sp->blob_bytes;
	     i += (uint32_t)strlen(sp->blob + i) + 1)
		if (strcmp(sp->blob + i, want) == 0)
			return true;
	return false;
}

/* [env] block= takes more out of the base, and refuses it by name. */
Test(exec_spec, the_config_blocks_more_variables, .timeout = 10)
{
	struct proto_problem why;
	struct spec *sp = NULL;
	struct params p;

	params_begin(&p);
	snprintf(cfg.env_block, sizeof(cfg.env_block), "ACME_* other");
	enc_kv_str(&p.e, "command", "echo");
	enc_key(&p.e, "baseEnv");
	enc_map(&p.e);
	enc_kv_str(&p.e, "ACME_TOKEN", "x");
	enc_kv_str(&p.e, "Other", "x");
	enc_kv_str(&p.e, "OTHERS", "x");
	enc_end(&p.e);
	cr_assert_eq(exec_spec_make(&base, params_end(&p), "/", &ids, &sp,
			 &why), 0);
	cr_assert_not(has(sp, "ACME_TOKEN=x"));
	cr_assert_not(has(sp, "Other=x"));
	cr_assert(has(sp, "OTHERS=x"));
	spec_free(&sp);
	params_fini(&p);
	params_begin(&p);
	snprintf(cfg.env_block, sizeof(cfg.env_block), "ACME_* other");
	enc_kv_str(&p.e, "command", "echo");
	enc_key(&p.e, "env");
	enc_map(&p.e);
	enc_kv_str(&p.e, "acme_x", "y");
	enc_end(&p.e);
	cr_assert_lt(exec_spec_make(&base, params_end(&p), "/", &ids, &sp,
			 &why), 0);
	cr_assert_eq(why.code, PROTO_E_FORBIDDEN);
	cr_assert(strstr(why.message, "acme_x") != NULL);
	cr_assert_str_eq(why.field, "env.acme_x");
	params_fini(&p);
}

Test(exec_spec, command_and_argv_exclude_each_other, .timeout = 10)
{
	struct proto_problem why;
	struct params p;

	params_begin(&p);
	cr_assert_lt(exec_check(params_end(&p), &why), 0);
	cr_assert_eq(why.code, PROTO_E_INVALID_PARAMS);
	params_fini(&p);
	params_begin(&p);
	enc_kv_str(&p.e, "command", "true");
	enc_key(&p.e, "argv");
	enc_array(&p.e);
	enc_str(&p.e, "true");
	enc_end(&p.e);
	cr_assert_lt(exec_check(params_end(&p), &why), 0);
	params_fini(&p);
}

/* host, elevated and ask of a scope that has no sandbox, or with mode = all. */
static int
host_of(uint64_t mode, const char *host, bool elevated, const char *ask,
    struct box_answer *ret, struct proto_problem *why)
{
	struct config *c = malloc(sizeof(*c));
	struct params p;
	int r;

	cr_assert_not_null(c);
	config_defaults(c);
	c->sandbox.mode = mode;
	params_begin(&p);
	if (host[0] != '\0')
		enc_kv_str(&p.e, "host", host);
	if (ask[0] != '\0')
		enc_kv_str(&p.e, "ask", ask);
	enc_kv_bool(&p.e, "elevated", elevated);
	r = exec_host(c, "", params_end(&p), "x", ret, why);
	params_fini(&p);
	free(c);
	return r;
}

Test(exec_spec, what_host_a_call_gets, .timeout = 10)
{
	struct proto_problem why;
	struct box_answer a;

	cr_expect_eq(host_of(CONFIG_SANDBOX_OFF, "", true, "", &a, &why), 0);
	cr_expect(a.verdict == BOX_GRANTED &&
	    a.host == HOST_GATEWAY && !a.left);
	cr_expect_not_null(strstr(a.text, "elevated changes nothing"));
	cr_expect_lt(host_of(CONFIG_SANDBOX_OFF, "sandbox", false, "", &a,
	    &why), 0);
	cr_expect_eq(why.code, PROTO_E_UNSUPPORTED);
	cr_expect_str_eq(why.field, "host");
	cr_expect_lt(host_of(CONFIG_SANDBOX_OFF, "moon", false, "", &a, &why),
	    0);
	cr_expect_eq(why.code, PROTO_E_INVALID_PARAMS);
	cr_expect_not_null(strstr(why.message, "auto, gateway, sandbox or node"),
	    "%s", why.message);
	cr_expect_lt(host_of(CONFIG_SANDBOX_ALL, "", true, "", &a, &why), 0);
	cr_expect_eq(why.code, PROTO_E_FORBIDDEN);
	cr_expect_str_eq(why.field, "elevated");
	cr_expect_lt(host_of(CONFIG_SANDBOX_ALL, "", true, "maybe", &a, &why),
	    0);
	cr_expect_str_eq(why.field, "ask");
	cr_expect_eq(host_of(CONFIG_SANDBOX_OFF, "", false, "maybe", &a, &why),
	    0, "without elevated it has no meaning");
	cr_expect_eq(host_of(CONFIG_SANDBOX_ALL, "auto", false, "", &a, &why),
	    0);
	cr_expect_eq(a.host, HOST_SANDBOX);
}

Test(exec_spec, a_command_gets_a_shell_and_its_marks, .timeout = 10)
{
	struct proto_problem why;
	struct spec *sp = NULL;
	struct params p;

	params_begin(&p);
	enc_kv_str(&p.e, "command", "echo $X");
	enc_key(&p.e, "env");
	enc_map(&p.e);
	enc_kv_str(&p.e, "X", "a b");
	enc_end(&p.e);
	strcpy(cfg.shell, "/opt/bash");
	strcpy(cfg.path_prepend, "/first");
	cr_assert_eq(exec_spec_make(&base, params_end(&p), "/tmp", &ids, &sp,
			 &why), 0);
	cr_assert_eq(sp->argc, 5);
	cr_assert(has(sp, "--norc"));
	cr_assert(has(sp, "echo $X"));
	cr_assert(has(sp, "X=a b"));
	cr_assert(has(sp, "OPENCLAW_SHELL=exec"));
	cr_assert(has(sp, "PSUP_SESSION_ID=nova-gulf"));
	cr_assert(has(sp, "PSUP_SCOPE=alpha"));
	cr_assert(has(sp, "PATH=/first:/usr/bin:/bin"));
	cr_assert(has(sp, "HOME=/tmp"));
	spec_free(&sp);
	params_fini(&p);
}

#define LONG "A_NAME_AS_LONG_AS_THE_OTHERS_AND_OTHERWISE_AT_ITS_END_ALONE_"

/* Of baseEnv and env so many each, half of them the same; the cpu time, in ns. */
static uint64_t
make_many(unsigned count)
{
	struct proto_problem why;
	struct spec *sp = NULL;
	struct params p;
	char name[100], want[110];
	uint64_t ns;

	params_begin(&p);
	enc_kv_str(&p.e, "command", "true");
	for (unsigned half = 0; half < 2; half++) {
		enc_key(&p.e, half == 0 ? "baseEnv" : "env");
		enc_map(&p.e);
		for (unsigned i = 0; i < count; i++) {
			snprintf(name, sizeof(name), LONG "%04u",
			    i + half * count / 2);
			enc_kv_str(&p.e, name, half == 0 ? "base" : "call");
		}
		enc_end(&p.e);
	}
	params_end(&p);
	ns = clock_cpu_ns();
	cr_assert_eq(exec_spec_make(&base, p.v, "/tmp", &ids, &sp, &why), 0);
	ns = clock_cpu_ns() - ns;
	for (unsigned i = 0; i < count + count / 2; i++) {
		snprintf(want, sizeof(want), LONG "%04u=%s", i,
		    i < count / 2 ? "base" : "call");
		cr_assert(count > 100 || has(sp, want), "%s", want);
	}
	cr_assert(sp->envc >= count + count / 2 &&
	    sp->envc < count + count / 2 + 10, "%u", sp->envc);
	spec_free(&sp);
	params_fini(&p);
	return ns;
}

/* Who sends many variables takes the time of many, and not that of its square. */
Test(exec_spec, variables_are_found_by_their_names, .timeout = 60)
{
	uint64_t few = UINT64_MAX, many = UINT64_MAX, ns;

	for (int i = 0; i < 20; i++) {
		ns = make_many(64);
		few = ns < few ? ns : few;
		ns = make_many(1024);
		many = ns < many ? ns : many;
	}
	cr_expect_lt(many, 40 * few, "%llu, %llu", (unsigned long long)many,
	    (unsigned long long)few);
}

/* The user's own shell, but for those that are none for a command; then bash,
 * then sh of the server's PATH. None of these is there, and nobody looks; argv
 * is the first one's. */
Test(exec_spec, shells_are_named_in_order, .timeout = 10)
{
	static const struct {
		const char *user, *shell; /* the server's, the client's */
		const char *flag;
		const char *paths[8];
	} cases[] = {
	    {"/x/fish", NULL, "--norc",
		{"/a/bash", "/b/bash", "/a/sh", "/b/sh", "/bin/sh"}},
	    {"/x/false", "/x/nologin", "--noprofile",
		{"/a/bash", "/b/bash", "/a/sh", "/b/sh", "/bin/sh"}},
	    {"/x/zsh", NULL, "-f",
		{"/x/zsh", "/a/bash", "/b/bash", "/a/sh", "/b/sh", "/bin/sh"}},
	    {"/x/zsh", "/y/ksh", "-c",
		{"/y/ksh", "/x/zsh", "/a/bash", "/b/bash", "/a/sh", "/b/sh",
		    "/bin/sh"}},
	    {"/x/zsh", "/x/zsh", "-f",
		{"/x/zsh", "/a/bash", "/b/bash", "/a/sh", "/b/sh", "/bin/sh"}},
	    {"/x/zsh", "relative/bash", "-f",
		{"/x/zsh", "/a/bash", "/b/bash", "/a/sh", "/b/sh", "/bin/sh"}},
	};
	struct proto_problem why;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct exec_base b = base;
		struct spec *sp = NULL;
		struct params p;
		uint32_t at = 0, n;

		b.user_shell = cases[i].user;
		b.path = "/a::rel:/b:";
		params_begin(&p);
		enc_kv_str(&p.e, "command", "echo $X; exit 1");
		if (cases[i].shell != NULL) {
			enc_key(&p.e, "baseEnv");
			enc_map(&p.e);
			enc_kv_str(&p.e, "SHELL", cases[i].shell);
			enc_end(&p.e);
		}
		cr_assert_eq(exec_spec_make(&b, params_end(&p), "/tmp", &ids,
		                 &sp, &why), 0);
		cr_expect_eq(sp->flags, CTL_START_SHELL | CTL_START_DIRECT);
		cr_expect(has(sp, cases[i].flag), "%zu", i);
		for (n = 1 + sp->argc + sp->envc; n > 0; n--)
			at += (uint32_t)strlen(sp->blob + at) + 1;
		for (n = 0; n < sp->path_count; n++) {
			cr_assert_not_null(cases[i].paths[n], "%zu", i);
			cr_expect_str_eq(sp->blob + at, cases[i].paths[n]);
			at += (uint32_t)strlen(sp->blob + at) + 1;
		}
		cr_expect_null(cases[i].paths[n], "%zu", i);
		cr_expect_eq(at, sp->blob_bytes);
		spec_free(&sp);
		params_fini(&p);
	}
}

Test(exec_spec, a_program_is_looked_up_in_the_commands_path, .timeout = 10)
{
	struct proto_problem why;
	struct spec *sp = NULL;
	struct params p;

	params_begin(&p);
	enc_key(&p.e, "argv");
	enc_array(&p.e);
	enc_str(&p.e, "prog");
	enc_end(&p.e);
	enc_key(&p.e, "baseEnv");
	enc_map(&p.e);
	enc_kv_str(&p.e, "PATH", "/a::b");
	enc_kv_str(&p.e, "LD_PRELOAD", "x");
	enc_end(&p.e);
	cr_assert_eq(exec_spec_make(&base, params_end(&p), "/w", &ids, &sp,
			 &why), 0);
	cr_assert_eq(sp->path_count, 3);
	cr_assert(has(sp, "/a/prog"));
	cr_assert(has(sp, "/w/prog"));
	cr_assert(has(sp, "/w/b/prog"));
	cr_assert_not(has(sp, "LD_PRELOAD=x"));
	spec_free(&sp);
	params_fini(&p);
}

Test(exec_spec, too_big_is_refused_before_the_spawn, .timeout = 10)
{
	char *big = malloc(131073);
	struct proto_problem why;
	struct spec *sp = NULL;
	struct params p;

	memset(big, 'x', 131072);
	big[131072] = '\0';
	params_begin(&p);
	enc_key(&p.e, "argv");
	enc_array(&p.e);
	enc_str(&p.e, "/bin/true");
	enc_str(&p.e, big);
	enc_end(&p.e);
	cr_assert_lt(exec_spec_make(&base, params_end(&p), "/", &ids, &sp,
			 &why), 0);
	cr_assert_eq(why.code, PROTO_E_TOO_BIG);
	cr_assert_null(sp);
	params_fini(&p);
	params_begin(&p);
	enc_key(&p.e, "argv");
	enc_array(&p.e);
	for (int i = 0; i < 20; i++)
		enc_strn(&p.e, big, 131000);
	enc_end(&p.e);
	cr_assert_lt(exec_spec_make(&base, params_end(&p), "/", &ids, &sp,
			 &why), 0);
	cr_assert_eq(why.code, PROTO_E_TOO_BIG);
	params_fini(&p);
	free(big);
}

/* Whether it is there is not asked here: nobody may ever answer. */
Test(exec_spec, a_directory_is_named_and_not_looked_at, .timeout = 10)
{
	struct proto_problem why;
	struct params p;
	char dir[4096];

	params_begin(&p);
	enc_kv_str(&p.e, "workdir", "~/.");
	cr_assert_eq(exec_workdir(&base, params_end(&p), dir, sizeof(dir),
			 &why), 0);
	cr_assert_str_eq(dir, "/tmp/.");
	params_fini(&p);
	params_begin(&p);
	enc_kv_str(&p.e, "workdir", "/nonesuch-directory");
	cr_assert_eq(exec_workdir(&base, params_end(&p), dir, sizeof(dir),
			 &why), 0);
	cr_assert_str_eq(dir, "/nonesuch-directory");
	params_fini(&p);
	params_begin(&p);
	enc_kv_str(&p.e, "workdir", "relative");
	cr_assert_lt(exec_workdir(&base, params_end(&p), dir, sizeof(dir),
			 &why), 0);
	cr_assert_eq(why.code, PROTO_E_WORKDIR);
	params_fini(&p);
	params_begin(&p);
	enc_kv_str(&p.e, "workdir", "..");
	enc_kv_str(&p.e, "baseDir", "/tmp");
	cr_assert_eq(exec_workdir(&base, params_end(&p), dir, sizeof(dir),
			 &why), 0);
	cr_assert_str_eq(dir, "/tmp/..");
	params_fini(&p);
}

/* What a call's workdir and baseDir are in a box that shows its scope's directory;
 * NULL: refused. */
static const char *
in_box(uint64_t access, const char *workdir, const char *base_dir)
{
	struct exec_base b = base;
	static char dir[4096];
	struct proto_problem why;
	struct params p;
	int r;

	params_begin(&p);
	cfg.sandbox.access = access;
	b.boxed = true;
	snprintf(b.directory, sizeof(b.directory), "%s",
	    access == CONFIG_ACCESS_NONE ? "" : "/srv/a");
	if (workdir != NULL)
		enc_kv_str(&p.e, "workdir", workdir);
	if (base_dir != NULL)
		enc_kv_str(&p.e, "baseDir", base_dir);
	r = exec_workdir(&b, params_end(&p), dir, sizeof(dir), &why);
	params_fini(&p);
	cr_expect(r == 0 || why.code == PROTO_E_WORKDIR);
	return r < 0 ? "refused" : dir;
}

/* No link in there is followed, however its path is written. */
Test(exec_spec, knows_what_a_box_shows, .timeout = 10)
{
	static const struct {
		const char *path;
		bool shown;
	} rows[] = {{"/srv/a", true}, {"/srv/a/", true}, {"/srv/a/b", true},
	    {"//srv/a/b", true}, {"/srv//a", true}, {"/srv/./a/b", true},
	    {"/./srv/././/a/.", true}, {"/w/x", true}, {"/tmp/../srv/a", true},
	    {"/srv", false}, {"/srv/.", false}, {"/srv/ab", false},
	    {"/srv/.a", false}, {"/srv/a.", false}, {"/", false},
	    {"/x/srv/a", false}};
	struct exec_base b = base;

	snprintf(b.directory, sizeof(b.directory), "/srv/a");
	snprintf(b.workspace, sizeof(b.workspace), "/w");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect_eq(exec_is_shown(&b, rows[i].path), rows[i].shown,
		    "%s", rows[i].path);
	b.directory[0] = b.workspace[0] = '\0';
	cr_expect_not(exec_is_shown(&b, "/"));
}

Test(exec_spec, a_box_has_its_scopes_directory_in_another_place, .timeout = 10)
{
	static const struct {
		uint64_t access;
		const char *workdir, *base, *is;
	} rows[] = {
	    {CONFIG_ACCESS_NONE, NULL, "/srv/a", "/workspace"},
	    {CONFIG_ACCESS_NONE, "/srv/a", NULL, "refused"},
	    {CONFIG_ACCESS_NONE, "/agent", NULL, "refused"},
	    {CONFIG_ACCESS_RW, NULL, "/srv/a", "/workspace"},
	    {CONFIG_ACCESS_RW, NULL, "/srv/a/b c", "/workspace/b c"},
	    {CONFIG_ACCESS_RW, NULL, "/srv/ab", "/workspace"},
	    {CONFIG_ACCESS_RW, NULL, "/workspace/x", "/workspace"},
	    {CONFIG_ACCESS_RW, "d", "/srv/a/b", "/workspace/b/d"},
	    {CONFIG_ACCESS_RW, "//srv/./a/b", NULL, "/workspace/b"},
	    {CONFIG_ACCESS_RW, "/srv/.a/b", NULL, "refused"},
	    {CONFIG_ACCESS_RW, "~/d", "/srv/a/b", "/workspace/d"},
	    {CONFIG_ACCESS_RW, "/srv/a/d", "/srv/a/b", "/workspace/d"},
	    {CONFIG_ACCESS_RW, "/srv/a/../b", NULL, "refused"},
	    {CONFIG_ACCESS_RW, "..", "/srv/a/b", "refused"},
	    {CONFIG_ACCESS_RW, NULL, "/srv/a/../b", "/workspace"},
	    {CONFIG_ACCESS_RW, "/agent", NULL, "refused"},
	    {CONFIG_ACCESS_RO, NULL, "/srv/a/b", "/agent/b"},
	    {CONFIG_ACCESS_RO, "/agent/b", NULL, "/agent/b"},
	    {CONFIG_ACCESS_RO, "/agents", NULL, "refused"},
	    {CONFIG_ACCESS_RO, "x", NULL, "/workspace/x"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect_str_eq(
		    in_box(rows[i].access, rows[i].workdir, rows[i].base),
		    rows[i].is, "row %zu", i);
}
