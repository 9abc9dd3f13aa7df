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

/* What is wrong, after where that is. */
static void
wrong(struct usage *u, const struct exec_env_from *from, const char *what,
    const char *text)
{
	if (from->file == NULL)
		usage_wrong(u, "--env: \"%.40s\" %s", text, what);
	else
		usage_wrong(u, "--env-file %.100s: line %d: \"%.40s\" %s",
		    from->file, from->line, text, what);
}

/* Among those of its name the last one counts. Is it in use now? */
static bool
set(struct usage *u, struct exec_env *env, const struct exec_env_from *from,
    const char *text)
{
	size_t n = strcspn(text, "=") + 1, i = 0;

	if (!is_assignment(text)) {
		wrong(u, from, "is not KEY=VALUE", text);
		return false;
	}
	while (i < env->count && strncmp(env->v[i], text, n) != 0)
		i++;
	if (i == EXEC_ENV_MAX) {
		_Static_assert(EXEC_ENV_MAX == 1024, "as the text says");
		wrong(u, from, "is beyond the 1024 variables that may be set",
		    text);
		return false;
	}
	env->v[i] = text;
	env->from[i] = *from;
	env->count += i == env->count;
	return true;
}

void
exec_env_take(struct usage *u, const char *, const char *text, void *env)
{
	const struct exec_env_from here = {NULL, 0};

	(void)set(u, env, &here, text);
}

/* All of a file, with a NUL behind it; NULL: that was said. It is kept: the
 * variables lie in it. */
static char *
read_file(struct usage *u, const char *path)
{
	char *text = malloc(FILE_MAX + 1);
	FILE *f = fopen(path, "re");
	size_t n = 0, line = 1;
	const char *nul;

	if (f != NULL && text != NULL)
		n = fread(text, 1, FILE_MAX + 1, f);
	if (f == NULL || text == NULL || ferror(f))
		usage_wrong(u, "--env-file %.200s: %s", path, strerror(errno));
	else if (n > FILE_MAX)
		usage_wrong(u, "--env-file %.200s: larger than 1M", path);
	else if ((nul = memchr(text, '\0', n)) != NULL) {
		for (const char *at = text; at < nul; at++)
			line += *at == '\n';
		usage_wrong(u, "--env-file %.200s: line %zu: it holds a NUL",
		    path, line);
	}
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
exec_env_take_file(struct usage *u, const char *, const char *path, void *env)
{
	char *text = read_file(u, path), *at = text, *line;
	struct exec_env_from from = {.file = path};
	bool used = false;
	size_t len;

	while (at != NULL && !u->wrong &&
	    (line = strsep(&at, "\n")) != NULL) {
		from.line++;
		while (isblank((unsigned char)*line))
			line++;
		if ((len = strlen(line)) > 0 && line[len - 1] == '\r')
			line[len - 1] = '\0';
		if (line[0] != '\0' && line[0] != '#')
			used |= set(u, env, &from, line);
	}
	if (!used)
		free(text);
}

void
exec_env_explain(const struct exec_env *env, const char *field)
{
	char name[64] = "env."; /* as the field has it */

	for (size_t i = 0; i < env->count; i++) {
		psup_escape(env->v[i], strcspn(env->v[i], "="), false, name + 4,
		    sizeof(name) - 4);
		if (env->from[i].file != NULL && strcmp(name, field) == 0)
			cli_say("%s: --env-file %.200s: line %d", name + 4,
			    env->from[i].file, env->from[i].line);
	}
}
