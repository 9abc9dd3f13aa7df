/* SPDX-License-Identifier: MIT */
/* Which variables a command may have. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "common/envpolicy.h"

static const struct {
	const char *name;
	bool inherited;
} rows[] = {
#define ENV_BLOCKED(name) { name, false },
#define ENV_STRIPPED(name) { name, false },
#define ENV_INHERITED(name) { name, true },
#include "common/envpolicy.def"
}, prefixes[] = {
#define ENV_BLOCKED_PREFIX(name) { name, false },
#define ENV_INHERITED_PREFIX(name) { name, true },
#include "common/envpolicy.def"
};

static bool
inherits(const char *key)
{
	return env_may_inherit(key, strlen(key));
}

static int
sets(const char *key)
{
	char why[200] = "";
	int error = env_may_set(key, strlen(key), why, sizeof(why));

	if (error < 0)
		cr_expect_not_null(strstr(why, key), "%s: %s", key, why);
	return error;
}

Test(envpolicy, every_row_is_found, .timeout = 10)
{
	char name[100];

	for (size_t i = 0; i < NELEMS(rows); i++) {
		cr_expect_eq(sets(rows[i].name), -EPERM, "%s: not sorted?",
		    rows[i].name);
		cr_expect_eq(inherits(rows[i].name), rows[i].inherited, "%s",
		    rows[i].name);
	}
	for (size_t i = 0; i < NELEMS(prefixes); i++) {
		snprintf(name, sizeof(name), "%sX", prefixes[i].name);
		cr_expect_eq(sets(name), -EPERM, "%s", name);
		cr_expect_eq(inherits(name), prefixes[i].inherited, "%s",
		    name);
	}
	cr_assert_gt(NELEMS(rows), 240);
	cr_assert_gt(NELEMS(prefixes), 5);
}

Test(envpolicy, names, .timeout = 10)
{
	static const struct {
		const char *key;
		bool inherit;
		int set;
	} cases[] = {
		{ "LD_PRELOAD", false, -EPERM },
		{ "ld_preload", false, -EPERM },
		{ "DYLD_INSERT_LIBRARIES", false, -EPERM },
		{ "BASH_ENV", false, -EPERM },
		{ "Bash_Env", false, -EPERM },
		{ "NODE_OPTIONS", false, -EPERM },
		{ "LUA_INIT_5_4", false, -EPERM },
		{ "_JAVA_OPTIONS", false, -EPERM },
		{ "GH_TOKEN", false, -EPERM },
		{ "HOME", true, -EPERM },
		{ "SSH_AUTH_SOCK", true, -EPERM },
		{ "NPM_CONFIG_REGISTRY", true, -EPERM },
		{ "PATH", true, -EPERM },
		{ "Path", true, -EPERM },
		{ "FOO", true, 0 },
		{ "_", true, 0 },
		{ "a1", true, 0 },
		{ "1A", true, -EINVAL },
		{ "A-B", true, -EINVAL },
		{ "BASH_FUNC_x%%", false, -EINVAL },
		{ "A=B", false, -EINVAL },
		{ "LD", true, 0 },
		{ "ENVIRONMENT", true, 0 },
	};
	size_t i;

	for (i = 0; i < NELEMS(cases); i++) {
		cr_expect_eq(inherits(cases[i].key), cases[i].inherit, "%s",
		    cases[i].key);
		cr_expect_eq(sets(cases[i].key), cases[i].set, "%s",
		    cases[i].key);
	}
	cr_expect(!env_may_inherit("", 0));
	cr_expect(!env_may_inherit("A\0B", 3));
	cr_expect_eq(sets(""), -EINVAL);
}

Test(envpolicy, long_names, .timeout = 10)
{
	char key[200];

	memset(key, 'A', sizeof(key));
	cr_expect_eq(env_may_set(key, sizeof(key), key, 0), 0);
	memcpy(key, "LD_", 3);
	cr_expect(!env_may_inherit(key, sizeof(key)));
	cr_expect(!env_is_basic(key, sizeof(key)));
}

Test(envpolicy, basic, .timeout = 10)
{
	cr_expect(env_is_basic("HOME", 4) && env_is_basic("LC_ALL", 6) &&
	    env_is_basic("XDG_RUNTIME_DIR", 15));
	cr_expect(!env_is_basic("home", 4) && !env_is_basic("HOM", 3) &&
	    !env_is_basic("AWS_SECRET", 10) && !env_is_basic("", 0));
}
