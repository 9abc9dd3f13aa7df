/* SPDX-License-Identifier: MIT */
/* See box_bind.h. */
#include "box_bind.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "format.h"

/* Who can talk to one of these is root on the host, or as good as. '*' is any
 * one name. */
static const char *const engine_sockets[] = {
    "/run/docker.sock",
    "/run/docker/containerd/containerd.sock",
    "/run/containerd/containerd.sock",
    "/run/crio/crio.sock",
    "/run/podman/podman.sock",
    "/run/user/*/docker.sock",
    "/run/user/*/podman/podman.sock",
    "/var/run/docker.sock",
    "/var/run/podman/podman.sock",
};

/* What the box has of its own, and a bind would take away. */
static const char *const own[] = {
    "/proc", "/dev", "/run/psup", "/usr", "/etc", "/workspace"};

__attribute__((format(printf, 3, 4))) static int
refuse(char *why, size_t size, const char *fmt, ...)
{
	(void)FORMATTED(why, size, fmt);
	return -EINVAL;
}

/* The next name of a path, and its length; 0: there is none. */
static const char *
next_name(const char **path, size_t *ret_len)
{
	const char *name = *path + strspn(*path, "/");

	*ret_len = strcspn(name, "/");
	*path = name + *ret_len;
	return name;
}

bool
box_path_above(const char *path, const char *pattern)
{
	for (;;) {
		size_t a, b;
		const char *p = next_name(&path, &a);
		const char *q = next_name(&pattern, &b);

		if (a == 0)
			return true;
		if (b == 1 && *q == '*')
			continue;
		if (a != b || memcmp(p, q, a) != 0)
			return false;
	}
}

/* Absolute, and each name is one: no "..", ".", and nothing to escape. */
bool
box_path_plain(const char *path)
{
	const char *at = path;
	size_t n;

	if (*path != '/')
		return false;
	for (const char *c = path; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	for (;;) {
		const char *name = next_name(&at, &n);

		if (n == 0)
			return true;
		if (name[0] == '.' && (n == 1 || (n == 2 && name[1] == '.')))
			return false;
	}
}

/* text[0..len) as a path of a bind. */
static int
take_path(const char *text, size_t len, const char *which,
    char ret[BOX_PATH_MAX], char *why, size_t why_size)
{
	if (len >= BOX_PATH_MAX)
		return refuse(why, why_size,
		    "%s has %zu bytes; expected at "
		    "most %d",
		    which, len, BOX_PATH_MAX - 1);
	memcpy(ret, text, len);
	ret[len] = '\0';
	if (box_path_plain(ret))
		return 0;
	return refuse(why, why_size,
	    "%s \"%.80s\"; expected an absolute path "
	    "without . and ..",
	    which, ret);
}

int
box_bind_parse(
    const char *text, struct box_bind *ret, char *why, size_t why_size)
{
	const char *one = strchr(text, ':');
	const char *two = one == NULL ? NULL : strchr(one + 1, ':');
	int error;

	if (two == NULL || (strcmp(two, ":ro") != 0 && strcmp(two, ":rw") != 0))
		return refuse(why, why_size,
		    "\"%.80s\"; expected "
		    "HOST:INSIDE:ro or HOST:INSIDE:rw",
		    text);
	ret->writable = two[2] == 'w';
	error = take_path(text, (size_t)(one - text), "the host's side",
	    ret->host, why, why_size);
	if (error == 0)
		error = take_path(one + 1, (size_t)(two - one - 1),
		    "the box's side", ret->inside, why, why_size);
	if (error != 0)
		return error;
	for (size_t i = 0; i < NELEMS(own); i++)
		if (box_path_above(ret->inside, own[i]) ||
		    (i < 3 && box_path_above(own[i], ret->inside)))
			return refuse(why, why_size,
			    "%.80s would hide the "
			    "box's own %s; expected another place in the box",
			    ret->inside, own[i]);
	return 0;
}

int
box_bind_check(const struct box_bind *bind, const char *real,
    const char *rundir, char *why, size_t why_size)
{
	if (box_path_above(real, rundir) || box_path_above(rundir, real)) {
		(void)refuse(why, why_size,
		    "%.80s shares the server's runtime "
		    "directory %.80s with the box; expected a directory that "
		    "neither contains it nor lies in it",
		    bind->host, rundir);
		return -EPERM;
	}
	for (size_t i = 0; i < NELEMS(engine_sockets); i++)
		if (box_path_above(real, engine_sockets[i])) {
			(void)refuse(why, why_size,
			    "%.80s contains the socket "
			    "of a container engine, %s; expected a directory "
			    "without it",
			    bind->host, engine_sockets[i]);
			return -EPERM;
		}
	return 0;
}
