/* SPDX-License-Identifier: MIT */
/*
 * The server's own environment: what it was started with, as far as that is
 * anything to it. Called by main.c before all else.
 */
#include "supervisor/keeper/keeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "envpolicy.h"
#include "supervisor/keeper/notify.h"

/* "=PID" of whoever has cleaned its environment already */
#define CLEANED "PSUP_CLEANED"

extern char **environ;

/* May psupd itself keep this variable? */
static bool
env_kept(const char *var)
{
	static const char *const families[] = { "PSUP_", "OPENCLAW_",
		"PI_BASH_", "CLAWDBOT_BASH_",
		/* by which psup-container's engine finds its containers */
		"DOCKER_HOST=", "CONTAINER_HOST=", "XDG_CONFIG_HOME=",
		"XDG_DATA_HOME=" };
	/* marks of a session that started us; they are not ours */
	static const char *const dropped[] = { "PSUP_INSTANCE=",
		"PSUP_SESSION_ID=", "PSUP_SCOPE=", CLEANED "=" };
	size_t i;

	for (i = 0; i < NELEMS(dropped); i++) {
		if (strncmp(var, dropped[i], strlen(dropped[i])) == 0)
			return false;
	}
	for (i = 0; i < NELEMS(families); i++) {
		if (strncmp(var, families[i], strlen(families[i])) == 0)
			return true;
	}
	/* who logs must know whether it is the journal that reads */
	return strncmp(var, "JOURNAL_STREAM=", 15) == 0 ||
	    notify_is_own(var) || env_is_basic(var, strcspn(var, "="));
}

void
keeper_clean_environment(char **argv)
{
	static char mark[sizeof(CLEANED) + 12];
	const char *done = getenv(CLEANED);
	char path[PATH_MAX];
	size_t i, n, kept = 0;
	char **env;
	ssize_t len;

	(void)snprintf(mark, sizeof(mark), CLEANED "=%d", (int)getpid());
	if (done != NULL && strcmp(done, mark + sizeof(CLEANED)) == 0) {
		(void)unsetenv(CLEANED);
		return;
	}
	for (n = 0; environ[n] != NULL; n++)
		;
	env = calloc(n + 2, sizeof(*env));
	if (env == NULL)
		return;
	for (i = 0; i < n; i++) {
		if (env_kept(environ[i]))
			env[kept++] = environ[i];
	}
	len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (kept < n && len > 0) {
		path[len] = '\0';
		env[kept] = mark;
		(void)execve(path, argv, env);
		/* it runs with more than it should see, but it runs */
	}
	free(env);
}
