/* SPDX-License-Identifier: MIT */
/* The directory that a command runs in: on the host, in a box, or on the host where
 * its box had it. Called by exec.c; looks at no file, as exec_spec.c. */
#include "supervisor/api/exec_build.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"

#define BOX_TOP "/workspace"

bool
exec_base_get(const struct exec_base *b, const struct val *params, const char *key,
    char *ret, size_t size)
{
	const struct val *env = val_get(params, "baseEnv");
	size_t n = strlen(key);

	if (env != NULL)
		return val_copy(env, key, ret, size) > 0;
	for (size_t at = 0; at < b->base_env_bytes;
	     at += strlen(b->base_env + at) + 1) {
		const char *e = b->base_env + at;

		if (strncmp(e, key, n) == 0 && e[n] == '=') {
			(void)strlcpy(ret, e + n + 1, size);
			return ret[0] != '\0';
		}
	}
	return false;
}

/* Is there a name in it that leads upwards? */
static bool
leads_up(const char *path)
{
	for (; *path != '\0'; path += strcspn(path, "/")) {
		path += strspn(path, "/");
		if (strncmp(path, "..", 2) == 0 &&
		    (path[2] == '/' || path[2] == '\0'))
			return true;
	}
	return false;
}

/* The next name of a path, which is no "." */
static const char *
next_name(const char *path)
{
	do
		path += strspn(path, "/");
	while (path[0] == '.' && (path[1] == '/' || path[1] == '\0') &&
	    *++path != '\0');
	return path;
}

/* What of `path` lies behind `top`; NULL: it is neither that nor below it. */
static const char *
behind(const char *path, const char *top)
{
	if (top[0] == '\0' || path[0] != '/')
		return NULL;
	for (top = next_name(top); *top != '\0'; top = next_name(top)) {
		size_t n = strcspn(top, "/");

		path = next_name(path);
		if (strcspn(path, "/") != n || memcmp(path, top, n) != 0)
			return NULL;
		path += n;
		top += n;
	}
	return path;
}

/* An absolute path as the box has it: one of its own, any of a container, or one
 * of the host that it shows of its scope's directory. False: none of these. */
static bool
box_path(const struct exec_base *b, const char *path, char *ret, size_t size)
{
	const char *dir = b->directory;
	bool agent = b->cfg->sandbox.access == CONFIG_ACCESS_RO;
	const char *rest = behind(path, dir);
	int n;

	if (leads_up(path))
		return false;
	if (b->cfg->sandbox.backend == CONFIG_BACKEND_CONTAINER ||
	    behind(path, BOX_TOP) != NULL ||
	    (agent && behind(path, BOX_AGENT) != NULL))
		n = snprintf(ret, size, "%s", path);
	else if (rest != NULL)
		n = snprintf(
		    ret, size, "%s%s", agent ? BOX_AGENT : BOX_TOP, rest);
	else
		return false;
	return n >= 0 && (size_t)n < size;
}

/* In a box: the workspace or the scope's directory, or below one of them. Where the
 * call comes from there, that is where it begins. */
static int
box_workdir(const struct exec_base *b, const struct val *params, char *ret,
    size_t size, struct proto_problem *why)
{
	char dir[4200], base[4200], home[4200], full[8500], shown[200];

	if (val_copy(params, "baseDir", base, sizeof(base)) == 0)
		(void)snprintf(base, sizeof(base), "%s", b->dir);
	if (!box_path(b, base, home, sizeof(home)) ||
	    behind(base, b->directory) == NULL)
		(void)strlcpy(home, BOX_TOP, sizeof(home));
	if (val_copy(params, "workdir", dir, sizeof(dir)) == 0)
		dir[0] = '\0';
	if (dir[0] == '~' && (dir[1] == '\0' || dir[1] == '/'))
		(void)snprintf(full, sizeof(full), BOX_TOP "%s", dir + 1);
	else if (dir[0] == '/')
		(void)strlcpy(full, dir, sizeof(full));
	else
		(void)snprintf(full, sizeof(full), "%s%s%s", home,
		    dir[0] != '\0' ? "/" : "", dir);
	if (box_path(b, full, ret, size))
		return 0;
	(void)snprintf(ret, size, "%s", full);
	text_escape(dir, strlen(dir), false, shown, sizeof(shown));
	return proto_problem_set(why, PROTO_E_WORKDIR, "workdir",
	    "workdir %s is not in the box; expected %s; nothing was run", shown,
	    leads_up(full)		? "a path without .." :
		b->directory[0] == '\0' ? BOX_TOP " or below" :
		b->cfg->sandbox.access == CONFIG_ACCESS_RO ?
					 BOX_TOP ", " BOX_AGENT ", its "
					 "scope's directory or below" :
					 BOX_TOP ", its scope's directory or "
					 "below");
}

bool
exec_is_shown(const struct exec_base *b, const char *path)
{
	return leads_up(path) || behind(path, b->workspace) != NULL ||
	       behind(path, b->directory) != NULL;
}

/* The same directory on the host, where it is one of a box that the call leaves. */
static bool
workdir_outside(const struct exec_base *b, const char *inside, char *ret,
    size_t size)
{
	const char *top = b->workspace, *rest = behind(inside, BOX_TOP);
	int n;

	if (!b->left || leads_up(inside))
		return false;
	if (rest == NULL && b->cfg->sandbox.access == CONFIG_ACCESS_RO) {
		top = b->directory;
		rest = behind(inside, BOX_AGENT);
	}
	if (rest == NULL || top[0] == '\0')
		return false;
	n = snprintf(ret, size, "%s%s", top, rest);
	return n >= 0 && (size_t)n < size;
}

/* The directory the command runs in; the child finds out if it is there. */
int
exec_workdir(const struct exec_base *b, const struct val *params, char *ret,
    size_t size, struct proto_problem *why)
{
	char dir[4200], base[4200], home[4200], shown[200];
	int n;

	if (b->boxed)
		return box_workdir(b, params, ret, size, why);
	if (val_copy(params, "baseDir", base, sizeof(base)) == 0)
		(void)strlcpy(base, b->dir, sizeof(base));
	if (val_copy(params, "workdir", dir, sizeof(dir)) == 0)
		(void)strlcpy(dir,
		    b->cfg->workdir[0] != '\0' ? b->cfg->workdir
			: base[0] != '\0'      ? base
					       : b->home, sizeof(dir));
	if (!exec_base_get(b, params, "HOME", home, sizeof(home)))
		(void)strlcpy(home, b->home, sizeof(home));
	if (dir[0] == '~' && (dir[1] == '\0' || dir[1] == '/'))
		n = snprintf(ret, size, "%s%s", home, dir + 1);
	else if (dir[0] == '/')
		n = snprintf(ret, size, "%s", dir);
	else if (base[0] == '/')
		n = snprintf(ret, size, "%s/%s", base, dir);
	else
		n = -1;
	text_escape(dir, strlen(dir), false, shown, sizeof(shown));
	if (n < 0 || (size_t)n >= size)
		return proto_problem_set(why, PROTO_E_WORKDIR, "workdir",
		    "workdir %s is %s; nothing was run", shown,
		    n < 0 ? "relative, and no baseDir was given" : "too long");
	if (workdir_outside(b, ret, home, sizeof(home)))
		(void)strlcpy(ret, home, size);
	else if (b->left && behind(ret, BOX_TOP) != NULL)
		return proto_problem_set(why, PROTO_E_WORKDIR, "workdir",
		    "workdir %s is a box's, and has no place on the host; "
		    "expected a directory there; nothing was run", shown);
	return 0;
}
