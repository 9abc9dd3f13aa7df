/* SPDX-License-Identifier: MIT */
/* See surroundings.h. Called by main, link.c and call.c. */
#include "surroundings.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "log.h"
#include "login_env.h"
#include "options.h"
#include "scope.h"

static struct {
	char folder[PATH_MAX], scope[SCOPE_SIZE];
	char **env; /* of commands; NULL: not asked for yet */
	unsigned umask;
} own;

void
surroundings_random(char *ret, size_t digits)
{
	unsigned char raw[32];

	while (getrandom(raw, digits / 2, 0) < 0)
		; /* EINTR */
	for (size_t i = 0; i < digits / 2; i++)
		snprintf(ret + 2 * i, 3, "%02x", raw[i]);
}

/* A folder that is nobody's project has a scope of this process alone. */
static void
choose_scope(void)
{
	const char *home = getenv("HOME");
	char real[PATH_MAX];

	if (home != NULL && realpath(home, real) != NULL)
		home = real;
	if (mcp_options->scope != NULL) {
		snprintf(own.scope, sizeof(own.scope), "%s",
		    mcp_options->scope);
	} else if (scope_is_project(own.folder, home)) {
		scope_of_folder(own.folder, own.scope);
	} else {
		strcpy(own.scope, "mcp:own:");
		surroundings_random(own.scope + 8, 24);
		mcp_log("%s is no project: other clients do not see the "
		        "sessions of this one; --workdir names one",
		    own.folder);
	}
}

int
surroundings_init(void)
{
	const char *dir = mcp_options->workdir;
	struct stat st;

	own.umask = umask(0);
	umask(own.umask);
	if (dir == NULL)
		dir = getenv("CLAUDE_PROJECT_DIR");
	if (dir == NULL || dir[0] == '\0')
		dir = ".";
	if (realpath(dir, own.folder) == NULL || stat(own.folder, &st) < 0) {
		mcp_log("workdir: %s: %s", dir, strerror(errno));
		return -errno;
	}
	if (!S_ISDIR(st.st_mode)) {
		mcp_log("workdir: %s: expected a directory", dir);
		return -ENOTDIR;
	}
	if (mcp_options->scope != NULL &&
	    strlen(mcp_options->scope) >= SCOPE_SIZE) {
		mcp_log("scope: expected up to %d bytes", SCOPE_SIZE - 1);
		return -EINVAL;
	}
	choose_scope();
	return 0;
}

const char *
surroundings_scope(void)
{
	return mcp_options->token_file != NULL ||
	        getenv("PSUP_TOKEN_FILE") != NULL
	    ? mcp_options->scope
	    : own.scope;
}

const char *
surroundings_folder(void)
{
	return own.folder;
}

/* What commands must not get to know. */
static void
hide_tokens(char **env)
{
	char **to = env;

	for (; *env != NULL; env++)
		if (strncmp(*env, "PSUP_TOKEN", 10) != 0)
			*to++ = *env;
	*to = NULL;
}

psup_args *
surroundings_exec_args(void)
{
	struct psup_exec x = PSUP_EXEC_INIT;

	if (own.env == NULL) {
		own.env = mcp_options->login_env ? login_env_read() : NULL;
		if (own.env == NULL)
			own.env = login_env_own();
		if (own.env == NULL)
			return NULL;
		hide_tokens(own.env);
	}
	x.base_dir = own.folder;
	x.base_env = (const char *const *)own.env;
	x.umask = (int)own.umask;
	return psup_exec_args(&x);
}
