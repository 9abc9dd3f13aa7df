/* SPDX-License-Identifier: MIT */
/* See config_sandbox.h. Single values are read by config_value.c. */
#include "config_sandbox.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "config_options.h"

bool
config_next_line(const char **at, char *ret, size_t size)
{
	while (**at != '\0') {
		size_t n = strcspn(*at, "\n");
		const char *line = *at;

		*at += n + (line[n] == '\n');
		if (n >= size)
			continue;
		memcpy(ret, line, n);
		ret[n] = '\0';
		return true;
	}
	return false;
}

bool
config_next_bind(const char **at, struct box_bind *ret)
{
	char line[2 * BOX_PATH_MAX + 4], why[256];

	while (config_next_line(at, line, sizeof(line)))
		if (box_bind_parse(line, ret, why, sizeof(why)) == 0)
			return true;
	return false;
}

enum config_scope_box
config_scope_box(const struct config *c, const char *scope)
{
	for (uint32_t i = 0; i < c->scope_count; i++)
		if (strcmp(c->scopes[i].name, scope) == 0)
			return (enum config_scope_box)c->scopes[i].box;
	return CONFIG_SCOPE_BOX_UNSAID;
}

bool
config_sandbox_covers(const struct config *c, const char *scope)
{
	switch ((enum config_sandbox_mode)c->sandbox.mode) {
	case CONFIG_SANDBOX_OFF:
		return false;
	case CONFIG_SANDBOX_NAMED:
		return config_scope_box(c, scope) >= CONFIG_SCOPE_BOX_YES;
	case CONFIG_SANDBOX_ALL:
	case CONFIG_SANDBOX_UNKNOWN:
		return true;
	}
	UNREACHABLE();
}

bool
config_elevated_has(const struct config_elevated *e, const char *scope)
{
	const char *at = e->scopes;
	char name[48];

	while (config_next_line(&at, name, sizeof(name)))
		if (strcmp(name, scope) == 0)
			return true;
	return false;
}

/* FNV-1a, with the end of what is added, so that two texts are not one. */
static uint64_t
sum_add(uint64_t sum, const void *p, size_t n)
{
	for (const unsigned char *c = p; n > 0; n--, c++)
		sum = (sum ^ *c) * UINT64_C(0x100000001b3);
	return (sum ^ 0x1ff) * UINT64_C(0x100000001b3);
}

uint64_t
config_sandbox_sum(const struct config_sandbox *c)
{
	const uint64_t numbers[] = {c->scope, c->access, c->network, c->backend,
	    c->engine, c->uid, c->gid, c->memory, c->pids, c->cpus};
	const char *const texts[] = {
	    c->workspace, c->binds, c->setup, c->container};
	uint64_t sum = sum_add(
	    UINT64_C(0xcbf29ce484222325), numbers, sizeof(numbers));

	for (size_t i = 0; i < NELEMS(texts); i++)
		sum = sum_add(sum, texts[i], strlen(texts[i]));
	return sum;
}

/* Scopes that say something which mode makes untrue. */
static int
check_scopes(const struct config *c, char *why, size_t why_size)
{
	for (uint32_t i = 0; i < c->scope_count; i++) {
		enum config_scope_box box =
		    (enum config_scope_box)c->scopes[i].box;
		const char *name = c->scopes[i].name;

		if (c->sandbox.mode == CONFIG_SANDBOX_ALL &&
		    box == CONFIG_SCOPE_BOX_NO)
			return config_refuse(why, why_size,
			    "all covers every scope, but [scope \"%s\"] says "
			    "sandbox = no; expected mode = named",
			    name);
		if (c->sandbox.mode == CONFIG_SANDBOX_OFF &&
		    box >= CONFIG_SCOPE_BOX_YES)
			return config_refuse(why, why_size,
			    "off, but [scope \"%s\"] says sandbox = %s; "
			    "expected mode = named or all",
			    name,
			    box == CONFIG_SCOPE_BOX_YES ? "yes" : "required");
	}
	return 0;
}

/* Two binds at one place: one of them would not be seen. */
static int
check_binds(const struct config_sandbox *s, char *why, size_t why_size)
{
	const char *at = s->binds, *other;
	struct box_bind a, b;

	while (config_next_bind(&at, &a))
		for (other = at; config_next_bind(&other, &b);)
			if (box_path_above(a.inside, b.inside) &&
			    box_path_above(b.inside, a.inside))
				return config_refuse(why, why_size,
				    "%.80s and %.80s are both to be %.80s in "
				    "the box; expected one for each place",
				    a.host, b.host, a.inside);
	return 0;
}

int
config_check_sandbox(const struct config *c, const char **ret_name, char *why,
    size_t why_size)
{
	const struct config_sandbox *s = &c->sandbox;

	*ret_name = "mode";
	if (check_scopes(c, why, why_size) < 0)
		return -EINVAL;
	*ret_name = "network";
	if (s->network == CONFIG_NETWORK_HOST && !s->allow_host_network)
		return config_refuse(why, why_size,
		    "host shares the machine's network, its loopback and "
		    "abstract sockets with boxes; expected none, or "
		    "allow_host_network = yes beside it");
	*ret_name = "container";
	if ((s->backend == CONFIG_BACKEND_CONTAINER) !=
	    (s->container[0] != '\0'))
		return config_refuse(why, why_size,
		    s->container[0] == '\0' ?
			"backend = container, but no container is named; "
			"expected container = NAME" :
			"\"%.80s\", but backend = bwrap; expected backend = "
			"container, or no container",
		    s->container);
	*ret_name = "bind";
	return check_binds(s, why, why_size);
}

/* Whom boxes run as: `user` where the server is root, else the server. Root
 * without one has none, which makes boxes impossible and not the file wrong. */
static int
find_user(struct config_sandbox *s, const char **ret_home, char *why,
    size_t why_size)
{
	bool root = geteuid() == 0;
	const struct passwd *pw;

	errno = 0;
	pw = root && s->user[0] != '\0' ? getpwnam(s->user) :
					  getpwuid(geteuid());
	*ret_home = pw != NULL ? pw->pw_dir : NULL;
	s->uid = pw != NULL ? pw->pw_uid : geteuid();
	s->gid = pw != NULL ? pw->pw_gid : getegid();
	if (!root || s->user[0] == '\0')
		return 0;
	if (pw == NULL)
		return config_refuse(why, why_size,
		    "sandbox.user: \"%.60s\" is not known here (%s); expected "
		    "the name of a user",
		    s->user, errno == 0 ? "no such user" : strerror(errno));
	if (pw->pw_uid == 0)
		return config_refuse(why, why_size,
		    "sandbox.user: \"%.60s\" has uid 0; expected a user "
		    "without rights",
		    s->user);
	return 0;
}

/* ~ is the home of whom boxes run as. */
static int
find_workspace(
    struct config_sandbox *s, const char *home, char *why, size_t why_size)
{
	char full[sizeof(s->workspace)];
	int n;

	if (s->workspace[0] != '~')
		return 0;
	if (home == NULL || home[0] != '/')
		return config_refuse(why, why_size,
		    "sandbox.workspace: nobody knows the home of uid %u; "
		    "expected an absolute path",
		    (unsigned)s->uid);
	n = snprintf(full, sizeof(full), "%s%s", home, s->workspace + 1);
	if (n < 0 || (size_t)n >= sizeof(full))
		return config_refuse(why, why_size,
		    "sandbox.workspace: %d bytes with the home %.80s; expected "
		    "at most %zu",
		    n, home, sizeof(full) - 1);
	memcpy(s->workspace, full, (size_t)n + 1);
	return 0;
}

/* Where a path leads, or will once what is not there yet is made. */
static void
real_of(const char *path, char ret[PATH_MAX])
{
	char known[PATH_MAX], real[PATH_MAX];
	char *slash;

	(void)strlcpy(known, path, sizeof(known));
	while (realpath(known, real) == NULL) {
		slash = strrchr(known, '/');
		if (slash == NULL || slash == known) {
			(void)strlcpy(ret, path, PATH_MAX);
			return;
		}
		*slash = '\0';
	}
	(void)strlcpy(ret, real, PATH_MAX);
	(void)strlcat(ret, path + strlen(known), PATH_MAX);
}

/* Is `path` below `dir`, and not the same? */
static bool
is_below(const char *path, const char *dir)
{
	return box_path_above(dir, path) && !box_path_above(path, dir);
}

/* Who writes in a directory may put a link in the place of one below it, and
 * the next box would show what that leads to. */
static int
check_nesting(const struct config_sandbox *s, char *why, size_t why_size)
{
	const char *at = s->binds, *other;
	char workspace[PATH_MAX];
	struct box_bind a, b;

	real_of(s->workspace, workspace);
	while (config_next_bind(&at, &a)) {
		if (is_below(a.host, workspace))
			return config_refuse(why, why_size,
			    "sandbox.bind: %.80s lies in the workspace %.80s, "
			    "where boxes may replace it; expected a directory "
			    "elsewhere",
			    a.host, workspace);
		if (box_path_above(a.host, workspace))
			return config_refuse(why, why_size,
			    "sandbox.bind: %.80s contains the workspace %.80s, "
			    "and would show every box those of all others; "
			    "expected a directory without it, or another "
			    "sandbox.workspace",
			    a.host, workspace);
		for (other = s->binds; config_next_bind(&other, &b);)
			if (b.writable && is_below(a.host, b.host))
				return config_refuse(why, why_size,
				    "sandbox.bind: %.80s lies in %.80s, where "
				    "boxes may replace it; expected that one "
				    "read-only, or another directory",
				    a.host, b.host);
	}
	return 0;
}

/* Each bind with the path that its host side leads to. */
static int
find_binds(struct config_sandbox *s, const char *rundir, char *why,
    size_t why_size)
{
	char run[PATH_MAX], real[PATH_MAX], reason[256];
	char binds[sizeof(s->binds)] = "";
	const char *at = s->binds;
	struct box_bind b;
	size_t used = 0;

	real_of(rundir, run);
	while (config_next_bind(&at, &b)) {
		int n;

		if (realpath(b.host, real) == NULL)
			return config_refuse(why, why_size,
			    "sandbox.bind: %.200s: %s; expected a directory or "
			    "file that is there",
			    b.host, strerror(errno));
		if (box_bind_check(&b, real, run, reason, sizeof(reason)) < 0)
			return config_refuse(
			    why, why_size, "sandbox.bind: %s", reason);
		n = snprintf(binds + used, sizeof(binds) - used, "%s:%s:%s\n",
		    real, b.inside, b.writable ? "rw" : "ro");
		if (strchr(real, ':') != NULL || n < 0 ||
		    (size_t)n >= sizeof(binds) - used)
			return config_refuse(why, why_size,
			    "sandbox.bind: %.80s leads to \"%.80s\"; expected a "
			    "path without a colon, %zu bytes for all of them",
			    b.host, real, sizeof(binds) - 1);
		used += (size_t)n;
	}
	memcpy(s->binds, binds, sizeof(binds));
	return 0;
}

int
config_sandbox_resolve(struct config_sandbox *s, const char *rundir, char *why,
    size_t why_size)
{
	struct config_sandbox *copy;
	const char *home = NULL;
	int error;

	if (s->mode == CONFIG_SANDBOX_OFF || s->mode == CONFIG_SANDBOX_UNKNOWN)
		return 0;
	copy = malloc(sizeof(*copy));
	if (copy == NULL)
		return -ENOMEM;
	*copy = *s;
	error = find_user(copy, &home, why, why_size);
	if (error == 0)
		error = find_workspace(copy, home, why, why_size);
	if (error == 0)
		error = find_binds(copy, rundir, why, why_size);
	if (error == 0)
		error = check_nesting(copy, why, why_size);
	if (error == 0)
		*s = *copy;
	free(copy);
	return error;
}
