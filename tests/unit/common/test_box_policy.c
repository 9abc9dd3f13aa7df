/* SPDX-License-Identifier: MIT */
/* Which host a call gets: all combinations against the rules written once more,
 * and the words of each refusal. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/box_facts.h"
#include "common/box_policy.h"
#include "common/check.h"

#define NO_BWRAP "no sandbox: bwrap is not installed"

static struct config *c;

static void
begin(void)
{
	c = malloc(sizeof(*c));
	cr_assert_not_null(c);
	config_defaults(c);
}

static void
end(void)
{
	free(c);
}

TestSuite(box_policy, .init = begin, .fini = end, .timeout = 20);

/* [scope "x"] sandbox = ... */
static void
scope_says(enum config_scope_box box)
{
	c->scope_count = 1;
	(void)strcpy(c->scopes[0].name, "x");
	c->scopes[0].box = box;
}

/* The rules of the design, each by itself. */
static enum box_verdict
expected(const struct box_call *call, bool available, bool *ret_left,
    enum session_host *ret_host)
{
	enum config_scope_box says = (enum config_scope_box)c->scopes[0].box;
	bool own = strcmp(call->scope, "x") == 0;
	bool covered = c->sandbox.mode == CONFIG_SANDBOX_ALL ||
	    (c->sandbox.mode == CONFIG_SANDBOX_NAMED && own &&
	        says >= CONFIG_SCOPE_BOX_YES);
	bool boxed = covered || call->host == BOX_HOST_SANDBOX;

	*ret_left = false;
	*ret_host = HOST_GATEWAY;
	if (call->host == BOX_HOST_NODE ||
	    c->sandbox.mode == CONFIG_SANDBOX_UNKNOWN)
		return BOX_UNSUPPORTED;
	if (call->elevated && boxed) {
		if (!c->elevated.enabled || !own || c->elevated.scopes[0] == 0 ||
		    says == CONFIG_SCOPE_BOX_REQUIRED)
			return BOX_FORBIDDEN;
		if (call->ask >= BOX_ASK_ON_MISS ||
		    c->elevated.ask != CONFIG_ASK_POLICY)
			return BOX_UNSUPPORTED;
		*ret_left = true;
		return BOX_GRANTED;
	}
	if (!boxed || call->elevated)
		return BOX_GRANTED;
	if (call->host == BOX_HOST_GATEWAY)
		return BOX_FORBIDDEN;
	*ret_host = HOST_SANDBOX;
	return c->sandbox.mode != CONFIG_SANDBOX_OFF && available ?
	    BOX_GRANTED : BOX_UNSUPPORTED;
}

/* Of one call: all that is true of every answer. */
static void
look(const struct box_call *call, bool available)
{
	struct box_answer a;
	bool left;
	enum session_host host;
	enum box_verdict want = expected(call, available, &left, &host);
	bool refused;

	box_policy(c, available ? "" : NO_BWRAP, call, &a);
	cr_assert_eq(a.verdict, want, "mode %d says %d host %d elevated %d "
	    "ask %d/%d scope \"%s\" gates %d %s: %d, not %d: %s",
	    (int)c->sandbox.mode, (int)c->scopes[0].box, (int)call->host,
	    call->elevated, (int)call->ask, (int)c->elevated.ask, call->scope,
	    c->elevated.enabled, c->elevated.scopes, (int)a.verdict, (int)want,
	    a.text);
	cr_assert_eq(a.left, left);
	cr_assert(want != BOX_GRANTED || a.host == host);
	refused = want == BOX_UNSUPPORTED || want == BOX_FORBIDDEN;
	cr_assert_eq(a.field != NULL, refused);
	cr_assert(!refused || a.text[0] != '\0');
	/* nobody leaves a sandbox unasked */
	cr_assert(a.verdict != BOX_GRANTED || a.host != HOST_GATEWAY ||
	    call->elevated ||
	    !config_sandbox_covers(c, call->scope));
}

static void
each_call(void)
{
	static const char *const scopes[] = {"", "x", "other"};

	for (unsigned i = 0; i < BOX_HOSTS * BOX_ASKS * 2 * 2 * 3; i++) {
		struct box_call call = {
		    .host = (enum box_host)(i % BOX_HOSTS),
		    .ask = (enum box_ask)(i / BOX_HOSTS % BOX_ASKS),
		    .elevated = i / (BOX_HOSTS * BOX_ASKS) % 2,
		    .scope = scopes[i / (BOX_HOSTS * BOX_ASKS * 4)]};

		look(&call, i / (BOX_HOSTS * BOX_ASKS * 2) % 2);
	}
}

Test(box_policy, every_combination)
{
	for (unsigned i = 0; i < 4 * 4 * 2 * 2 * 3; i++) {
		c->sandbox.mode = i % 4;
		scope_says((enum config_scope_box)(i / 4 % 4));
		c->elevated.enabled = i / 16 % 2;
		(void)strcpy(c->elevated.scopes, i / 32 % 2 ? "x\n" : "");
		c->elevated.ask = i / 64;
		each_call();
	}
}

Test(box_policy, says_which_gate_is_shut)
{
	struct box_call call = {.elevated = true, .scope = "build"};
	struct box_answer a;

	c->sandbox.mode = CONFIG_SANDBOX_ALL;
	box_policy(c, "", &call, &a);
	cr_expect_eq(a.verdict, BOX_FORBIDDEN);
	cr_expect_str_eq(a.field, "elevated");
	cr_expect_str_eq(a.text, "elevated is not available: [elevated] enabled "
	    "= no; scope build is not in [elevated] scopes");
	c->elevated.enabled = true;
	call.scope = "";
	box_policy(c, "", &call, &a);
	cr_expect_str_eq(a.text, "elevated is not available: a call without "
	    "scope is not in [elevated] scopes");
	scope_says(CONFIG_SCOPE_BOX_REQUIRED);
	(void)strcpy(c->elevated.scopes, "x\n");
	call.scope = "x";
	box_policy(c, "", &call, &a);
	cr_expect_str_eq(a.text, "elevated is not available: [scope \"x\"] "
	    "sandbox = required");
}

Test(box_policy, says_what_is_not_built)
{
	struct box_call call = {.elevated = true, .scope = "x",
	    .ask = BOX_ASK_ALWAYS};
	struct box_answer a;

	c->sandbox.mode = CONFIG_SANDBOX_ALL;
	c->elevated.enabled = true;
	(void)strcpy(c->elevated.scopes, "x\n");
	box_policy(c, "", &call, &a);
	cr_expect_str_eq(a.field, "ask");
	cr_expect_str_eq(a.text, "elevated needs an approval (ask = always), "
	    "and approvals are not built yet");
	call.security = BOX_SECURITY_ALLOWLIST;
	box_policy(c, "", &call, &a);
	cr_expect_eq(a.verdict, BOX_UNSUPPORTED);
	cr_expect_str_eq(a.field, "security");
	cr_expect_str_eq(a.text, "elevated needs a list of what is allowed "
	    "(security = allowlist), and approvals are not built yet");
	call.security = BOX_SECURITY_FULL;
	c->elevated.ask = CONFIG_ASK_ON_MISS;
	call.ask = BOX_ASK_OFF;
	box_policy(c, "", &call, &a);
	cr_expect_eq(a.verdict, BOX_UNSUPPORTED, "a call never widens");
	cr_expect_str_eq(a.text, "elevated needs an approval ([elevated] ask = "
	    "on-miss), and approvals are not built yet");
}

Test(box_policy, lets_no_call_out_that_denies_it)
{
	struct box_call call = {.elevated = true, .scope = "x",
	    .security = BOX_SECURITY_DENY};
	struct box_answer a;

	c->sandbox.mode = CONFIG_SANDBOX_ALL;
	c->elevated.enabled = true;
	(void)strcpy(c->elevated.scopes, "x\n");
	box_policy(c, "", &call, &a);
	cr_expect(a.verdict == BOX_FORBIDDEN && !a.left);
	cr_expect_str_eq(a.field, "security");
	cr_expect_str_eq(a.text, "elevated is refused by the call itself "
	    "(security = deny)");
}

Test(box_policy, says_where_a_call_may_not_go)
{
	struct box_call call = {.host = BOX_HOST_GATEWAY, .scope = "x"};
	struct box_answer a;

	c->sandbox.mode = CONFIG_SANDBOX_ALL;
	box_policy(c, "", &call, &a);
	cr_expect_str_eq(a.text, "host gateway: scope x is in a sandbox "
	    "([sandbox] mode = all); expected auto or sandbox, or elevated "
	    "where that is allowed");
	call.host = BOX_HOST_AUTO;
	box_policy(c, NO_BWRAP, &call, &a);
	cr_expect_str_eq(a.text, NO_BWRAP);
	cr_expect_str_eq(a.field, "host");
	c->sandbox.mode = CONFIG_SANDBOX_OFF;
	call.host = BOX_HOST_SANDBOX;
	box_policy(c, "", &call, &a);
	cr_expect_str_eq(a.text, "no sandbox: [sandbox] mode = off");
	call = (struct box_call){.elevated = true, .scope = "x"};
	box_policy(c, "", &call, &a);
	cr_expect(a.verdict == BOX_GRANTED && a.host == HOST_GATEWAY &&
	    !a.left);
	cr_expect_str_eq(a.text,
	    "elevated changes nothing: scope x has no sandbox");
}

Test(box_policy, knows_the_words)
{
	cr_expect_eq(box_host_of("Sandbox", 7), BOX_HOST_SANDBOX);
	cr_expect_eq(box_host_of("sandboxes", 9), -1);
	cr_expect_eq(box_host_of("", 0), -1);
	cr_expect_eq(box_ask_of("on-miss", 7), BOX_ASK_ON_MISS);
	cr_expect_eq(box_ask_of("", 0), -1);
	cr_expect_eq(box_security_of("Deny", 4), BOX_SECURITY_DENY);
	cr_expect_eq(box_security_of("none", 4), -1);
}

Test(box_policy, names_what_is_in_the_way_of_a_box)
{
	static const struct {
		struct box_facts facts;
		const char *user, *says;
		uint64_t backend, engine;
	} rows[] = {
	    {{.has_maker = true, .max_user_ns = 100}, "", "", 0, 0},
	    {{.has_maker = true, .max_user_ns = -1, .suid_dumpable = 2}, "",
	        "", 0, 0},
	    {{.has_maker = true, .max_user_ns = 9, .root = true}, "agents", "",
	        0, 0},
	    {{.has_maker = true, .max_user_ns = 9, .root = true}, "",
	        "no sandbox: the server is root; say [sandbox] user = NAME", 0,
	        0},
	    {{.max_user_ns = 9}, "", NO_BWRAP, 0, 0},
	    {{.has_maker = true}, "",
	        "no sandbox: user.max_user_namespaces is reached", 0, 0},
	    {{.has_maker = true, .max_user_ns = 9, .user_ns_for_root = true},
	        "", "no sandbox: the kernel refuses user namespaces here "
	        "(container's seccomp profile, or AppArmor)", 0, 0},
	    {{.has_maker = true, .max_user_ns = 9, .suid_dumpable = 1}, "",
	        "no sandbox: fs.suid_dumpable is 1, and a box's commands could "
	        "open the memory of its first process; say sysctl "
	        "fs.suid_dumpable=0", 0, 0},
	    {{.has_maker = true, .max_user_ns = 9, .group = "docker"}, "",
	        "no sandbox: the server is in group docker, whose members are "
	        "as good as root; start it without", 0, 0},
	    {{.root = true}, "", "no sandbox: docker is not installed",
	        CONFIG_BACKEND_CONTAINER, CONFIG_ENGINE_DOCKER},
	    {{.root = true}, "", "no sandbox: podman is not installed",
	        CONFIG_BACKEND_CONTAINER, CONFIG_ENGINE_PODMAN},
	    {{.has_maker = true, .root = true}, "agents", "",
	        CONFIG_BACKEND_CONTAINER, CONFIG_ENGINE_PODMAN},
	    {{.has_maker = true, .root = true}, "",
	        "no sandbox: the server is root; say [sandbox] user = NAME",
	        CONFIG_BACKEND_CONTAINER, CONFIG_ENGINE_PODMAN},
	};

	for (size_t i = 0; i < NELEMS(rows); i++) {
		char why[BOX_FACTS_WHY];
		bool is;

		(void)strcpy(c->sandbox.user, rows[i].user);
		c->sandbox.backend = rows[i].backend;
		c->sandbox.engine = rows[i].engine;
		is = box_facts_why(&c->sandbox, &rows[i].facts, why);
		cr_expect_str_eq(why, rows[i].says, "row %zu: %s", i, why);
		cr_expect_eq(is, rows[i].says[0] != '\0');
	}
}

Test(box_policy, finds_the_facts)
{
	struct box_facts f;

	(void)setenv("PATH", "/nonexistent", 1);
	box_facts_look(&c->sandbox, &f);
	cr_expect_not(f.has_maker);
	cr_expect_eq(f.root, geteuid() == 0);
	cr_expect_geq(f.suid_dumpable, 0);
}
