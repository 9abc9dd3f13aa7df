/* SPDX-License-Identifier: MIT */
/* Variables of psup exec: --env and --env-file. Called by cmd_exec.c. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec_env.h"

#define FILE_MAX (1u << 20)

static bool
is_assignment(const char *text)
{
	return strchr(text, '=') != NULL && text[0] != '=';
}

/* Among those of its name the last one counts. Is it in use now? */
static bool
set(struct usage *u, struct exec_env *env, const char *option, const char *text)
{
	size_t n = strcspn(text, "=") + 1, i = 0;

	while (i < env->count && strncmp(env->v[i], text, n) != 0)
		i++;
	if (i == EXEC_ENV_MAX) {
		usage_wrong(u, "%s: at most %d variables", option,
		    EXEC_ENV_MAX);
		return false;
	}
	env->v[i] = text;
	env->count += i == env->count;
	return true;
}

void
exec_env_take(struct usage *u, const char *option, const char *text, void *env)
{
	if (is_assignment(text))
		(void)set(u, env, option, text);
	else
		usage_wrong(u, "%s: \"%.40s\" is not KEY=VALUE", option, text);
}

/* All of a file, with a NUL behind it; NULL: that was said. It is kept: the
 * variables lie in it. */
static char *
read_file(struct usage *u, const char *path)
{
	char *text = malloc(FILE_MAX + 1);
	FILE *f = fopen(path, "re");
	size_t n = 0;

	if (f != NULL && text != NULL)
		n = fread(text, 1, FILE_MAX + 1, f);
	if (f == NULL || text == NULL || ferror(f))
		usage_wrong(u, "--env-file %.200s: %s", path, strerror(errno));
	else if (n > FILE_MAX)
		usage_wrong(u, "--env-file %.200s: larger than 1M", path);
	else if (memchr(text, '\0', n) != NULL)
		usage_wrong(u, "--env-file %.200s: it holds a NUL", path);
	if (f != NULL)
		fclose(f);
	if (u->wrong) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

void
exec_env_take_file(struct usage *u, const char *option, const char *path,
    void *env)
{
	char *text = read_file(u, path), *at = text, *line;
	bool used = false;
	size_t len;

	for (int n = 1; at != NULL && (line = strsep(&at, "\n")) != NULL &&
	     !u->wrong; n++) {
		while (isblank((unsigned char)*line))
			line++;
		if ((len = strlen(line)) > 0 && line[len - 1] == '\r')
			line[len - 1] = '\0';
		if (line[0] == '\0' || line[0] == '#')
			continue;
		if (is_assignment(line))
			used |= set(u, env, option, line);
		else
			usage_wrong(u, "--env-file %.200s: line %d is not "
			               "KEY=VALUE: \"%.40s\"", path, n, line);
	}
	if (!used)
		free(text);
}
