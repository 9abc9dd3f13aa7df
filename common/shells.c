/* SPDX-License-Identifier: MIT */
#include "common/shells.h"

#include <string.h>

#include "common/check.h"

/* The last component. */
static const char *
base_name(const char *path)
{
	const char *p = strrchr(path, '/');

	return p != NULL ? p + 1 : path;
}

bool
shell_is_posix(const char *path)
{
	static const char *const no[] = { "fish", "false", "nologin", "true" };
	size_t i;

	for (i = 0; i < NELEMS(no); i++)
		if (strcmp(base_name(path), no[i]) == 0)
			return false;
	return path[0] == '/';
}

const char *const *
shell_options(const char *path)
{
	static const struct {
		const char *name, *options[SHELL_OPTIONS_MAX + 1];
	} shells[] = {
		{ "bash", { "--noprofile", "--norc", "-c", NULL } },
		{ "zsh", { "-f", "-c", NULL } },
		{ NULL, { "-c", NULL } },
	};
	size_t i = 0;

	while (shells[i].name != NULL &&
	    strcmp(base_name(path), shells[i].name) != 0)
		i++;
	return shells[i].options;
}
