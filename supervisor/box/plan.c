/* SPDX-License-Identifier: MIT */
/* See plan.h. */
#include "supervisor/box/plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"

#define PROGRAM_INSIDE "/run/psup/box"

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
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, size, fmt, ap);
	va_end(ap);
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

/* Is `path` the same as `pattern`, or a directory above it? */
static bool
is_above(const char *path, const char *pattern)
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
static bool
is_plain(const char *path)
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
	if (is_plain(ret))
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
		if (is_above(ret->inside, own[i]) ||
		    (i < 3 && is_above(own[i], ret->inside)))
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
	if (is_above(real, rundir) || is_above(rundir, real)) {
		(void)refuse(why, why_size,
		    "%.80s shares the server's runtime "
		    "directory %.80s with the box; expected a directory that "
		    "neither contains it nor lies in it",
		    bind->host, rundir);
		return -EPERM;
	}
	for (size_t i = 0; i < NELEMS(engine_sockets); i++)
		if (is_above(real, engine_sockets[i])) {
			(void)refuse(why, why_size,
			    "%.80s contains the socket "
			    "of a container engine, %s; expected a directory "
			    "without it",
			    bind->host, engine_sockets[i]);
			return -EPERM;
		}
	return 0;
}

static void
add(struct box_argv *a, const char *arg)
{
	CHECK(a->count + 1 < BOX_ARGS);
	a->arg[a->count++] = arg;
}

static void
add3(struct box_argv *a, const char *how, const char *from, const char *to)
{
	add(a, how);
	add(a, from);
	add(a, to);
}

static void
add_number(struct box_argv *a, unsigned which, int n)
{
	(void)snprintf(a->numbers[which], sizeof(a->numbers[which]), "%d", n);
	add(a, a->numbers[which]);
}

static void
add_namespaces(const struct box_plan *plan, struct box_argv *a)
{
	static const char *const always[] = {"--unshare-user", "--unshare-pid",
	    "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
	    "--die-with-parent", "--as-pid-1", "--new-session", "--clearenv"};

	for (size_t i = 0; i < NELEMS(always); i++)
		add(a, always[i]);
	if (!plan->host_network)
		add(a, "--unshare-net");
	if (plan->disable_userns)
		add(a, "--disable-userns");
	add(a, "--cap-drop");
	add(a, "ALL");
}

/* Fresh ones of what a system changes; the listed ones of the host. */
static void
add_root(const struct box_plan *plan, struct box_argv *a)
{
	static const char *const fresh[] = {"/tmp", "/run", "/var"};

	add3(a, "--ro-bind", "/usr", "/usr");
	add3(a, "--ro-bind", "/etc", "/etc");
	for (size_t i = 0; i < plan->root_count; i++) {
		const struct box_root *r = &plan->roots[i];

		add3(a, r->link != NULL ? "--symlink" : "--ro-bind",
		    r->link != NULL ? r->link : r->path, r->path);
	}
	add(a, "--dev");
	add(a, "/dev");
	add(a, "--proc");
	add(a, "/proc");
	for (size_t i = 0; i < NELEMS(fresh); i++) {
		add(a, "--tmpfs");
		add(a, fresh[i]);
	}
}

void
box_plan_argv(const struct box_plan *plan, struct box_argv *ret)
{
	CHECK(plan->bind_count <= BOX_BINDS);
	ret->count = 0;
	add(ret, plan->bwrap);
	add_namespaces(plan, ret);
	add_root(plan, ret);
	add(ret, "--perms");
	add3(ret, "0555", "--dir", "/run/psup");
	add3(ret, "--ro-bind", plan->program, PROGRAM_INSIDE);
	add3(ret, "--bind", plan->workspace, "/workspace");
	for (size_t i = 0; i < plan->bind_count; i++) {
		const struct box_bind *b = &plan->binds[i];

		add3(ret, b->writable ? "--bind" : "--ro-bind", b->host,
		    b->inside);
	}
	add(ret, "--chdir");
	add(ret, "/workspace");
	add(ret, "--remount-ro");
	add(ret, "/");
	add(ret, "--info-fd");
	add_number(ret, 0, plan->info_fd);
	add(ret, "--");
	add(ret, PROGRAM_INSIDE);
	add_number(ret, 1, plan->ready_fd);
	ret->arg[ret->count] = NULL;
}
