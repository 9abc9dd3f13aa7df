/* SPDX-License-Identifier: MIT */
/* See cgroup_path.h. */
#include "common/cgroup_path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Is `word` one of the comma-separated ones in text[0..len)? */
static bool
has_word(const char *text, size_t len, const char *word)
{
	size_t n = strlen(word), at = 0;

	while (at <= len) {
		size_t end = at;

		while (end < len && text[end] != ',')
			end++;
		if (end - at == n && memcmp(text + at, word, n) == 0)
			return true;
		at = end + 1;
	}
	return false;
}

/* The path in "N:controllers:path" of the wanted hierarchy, or NULL. */
static char *
own_group(char *text, const char *controller)
{
	char *line, *save = NULL;

	for (line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		char *names = strchr(line, ':');
		char *path = names != NULL ? strchr(names + 1, ':') : NULL;
		size_t len;

		if (path == NULL)
			continue;
		len = (size_t)(path - names - 1);
		if (controller == NULL ?
			len == 0 && strncmp(line, "0:", 2) == 0 :
			has_word(names + 1, len, controller))
			return path + 1;
	}
	return NULL;
}

/* Does this line of mountinfo show the hierarchy? Cuts root and mount point
 * out of it. */
static bool
is_mount(char *line, const char *controller, char **ret_root,
    char **ret_point)
{
	char *save = NULL, *word, *tail = strstr(line, " - ");
	char *type, *options;
	int i;

	if (tail == NULL)
		return false;
	*tail = '\0';
	type = strtok_r(tail + 3, " ", &save);
	(void)strtok_r(NULL, " ", &save);
	options = strtok_r(NULL, " ", &save);
	if (type == NULL || options == NULL ||
	    (controller == NULL ? strcmp(type, "cgroup2") != 0 :
		strcmp(type, "cgroup") != 0 ||
		!has_word(options, strlen(options), controller)))
		return false;
	save = NULL;
	word = strtok_r(line, " ", &save);
	for (i = 0; word != NULL && i < 4; i++) {
		if (i == 3)
			*ret_root = word;
		word = strtok_r(NULL, " ", &save);
	}
	*ret_point = word;
	return word != NULL && strchr(word, '\\') == NULL;
}

/* Puts mount point and the group's path below the mount's root together. */
static int
join(const char *root, const char *point, const char *group, char *ret,
    size_t size)
{
	size_t n = strlen(root);
	int len;

	if (strcmp(root, "/") == 0)
		n = 0;
	else if (strncmp(group, root, n) != 0 ||
	    (group[n] != '/' && group[n] != '\0'))
		return -ENOENT;
	group += n;
	if (group[0] == '/')
		group++;
	if (strncmp(group, "..", 2) == 0)
		return -ENOENT; /* outside of our namespace */
	len = snprintf(ret, size, "%s%s%s", point, group[0] ? "/" : "", group);
	return len > 0 && (size_t)len < size ? 0 : -ENAMETOOLONG;
}

int
cgroup_path_of(char *groups, char *mounts, const char *controller, char *ret,
    size_t size)
{
	char *group = own_group(groups, controller), *root, *point;
	char *line, *save = NULL;
	int r = -ENOENT;

	if (group == NULL)
		return r;
	for (line = strtok_r(mounts, "\n", &save); line != NULL && r == -ENOENT;
	     line = strtok_r(NULL, "\n", &save))
		if (is_mount(line, controller, &root, &point))
			r = join(root, point, group, ret, size);
	return r;
}
