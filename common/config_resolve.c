/* SPDX-License-Identifier: MIT */
/* What [sandbox] means on this machine: config_sandbox_resolve(). */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_options.h"
#include "path_answers.h"

#define LINKS 40u /* as many as the kernel follows */

/* Whom boxes run as: `user` where the server is root, else the server. Root
 * without one has none, which makes boxes impossible and not the file wrong. */
static int
find_user(struct config_sandbox *s, const char **ret_home, char why[CONFIG_WHY])
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
		return config_refuse(why, "sandbox.user: \"%.60s\" is not "
		    "known here (%s); expected the name of a user", s->user,
		    errno == 0 ? "no such user" : strerror(errno));
	if (pw->pw_uid == 0)
		return config_refuse(why, "sandbox.user: \"%.60s\" has uid 0; "
		    "expected a user without rights", s->user);
	return 0;
}

/* ~ is the home of whom boxes run as. */
static int
find_home(const char *name, char path[CONFIG_DIRECTORY], const char *home,
    char why[CONFIG_WHY])
{
	char full[CONFIG_DIRECTORY];
	int n;

	if (path[0] != '~')
		return 0;
	if (home == NULL || home[0] != '/')
		return config_refuse(why, "sandbox.%s: nobody knows the home "
		    "of whom boxes run as; expected an absolute path", name);
	n = snprintf(full, sizeof(full), "%s%s", home, path + 1);
	if (n < 0 || (size_t)n >= sizeof(full))
		return config_refuse(why, "sandbox.%s: %d bytes with the home "
		    "%.80s; expected at most %zu", name, n, home,
		    sizeof(full) - 1);
	memcpy(path, full, (size_t)n + 1);
	return 0;
}

/* The way to a path, as the kernel goes it. */
struct way {
	char at[PATH_MAX];   /* without links; the last name may be one */
	char left[PATH_MAX]; /* of the path */
	char to[PATH_MAX];   /* what the link says; "": of a .. */
	bool turns, ended;
	unsigned links;
};

static void
way_begin(struct way *w, const char *path)
{
	memset(w, 0, sizeof(*w));
	if (path[0] != '/' && getcwd(w->at, sizeof(w->at)) == NULL)
		w->at[0] = '\0';
	(void)strlcpy(w->left, path, sizeof(w->left));
}

/* ... goes back one name, and on from there, or from the root. */
static void
way_turn(struct way *w)
{
	char left[PATH_MAX];
	char *slash = strrchr(w->at, '/');

	if (slash != NULL)
		*slash = '\0';
	if (w->to[0] == '/')
		w->at[0] = '\0';
	(void)strlcpy(left, w->to, sizeof(left));
	(void)strlcat(left, "/", sizeof(left));
	(void)strlcat(left, w->left, sizeof(left));
	memcpy(w->left, left, sizeof(left));
}

/* On, to the next place at which it turns, by a link or a .., or to its end, all
 * of which `at` is; false: it was there. What is not there yet is no link. */
static bool
way_next(struct way *w)
{
	if (w->ended)
		return false;
	if (w->turns)
		way_turn(w);
	for (w->turns = false; !w->turns && !w->ended;) {
		const char *name = w->left + strspn(w->left, "/");
		size_t len = strcspn(name, "/"), at = strlen(w->at);
		ssize_t n = -1;

		w->ended = len == 0;
		if (len == 2 && memcmp(name, "..", 2) == 0)
			n = 0;
		else if (len > 0 && !(len == 1 && *name == '.')) {
			(void)snprintf(w->at + at, sizeof(w->at) - at, "/%.*s",
			    (int)len, name);
			if (w->links < LINKS)
				n = readlink(w->at, w->to, sizeof(w->to) - 1);
		}
		memmove(w->left, name + len, strlen(name + len) + 1);
		w->turns = n >= 0;
		w->to[n > 0 ? n : 0] = '\0';
		w->links += n > 0;
	}
	return true;
}

/* Where a path leads, or will once what is not there yet is made. */
static void
real_of(const char *path, char ret[PATH_MAX])
{
	struct way w;

	for (way_begin(&w, path); way_next(&w);)
		;
	(void)strlcpy(ret, w.at[0] != '\0' ? w.at : "/", PATH_MAX);
}

/* Is `path` below `dir`, and not the same? */
static bool
is_below(const char *path, const char *dir)
{
	return box_path_above(dir, path) && !box_path_above(path, dir);
}

/* Does the way to a path go through what is below `dir`? Who writes there may then
 * put a link in its place. */
static bool
is_through(const char *path, const char *dir)
{
	struct way w;

	for (way_begin(&w, path); way_next(&w);)
		if (is_below(w.at, dir))
			return true;
	return false;
}

/* What of the host a box shows beside /usr, /etc and its own workspace: binds,
 * then directories. */
struct shown {
	const char *setting;
	struct box_bind bind;
};

/* The next of them; `at` as it is in *c at the beginning. */
static bool
next_shown(const struct config *c, const char *at[2], struct shown *ret)
{
	struct config_directory d;

	ret->setting = "bind";
	if (config_next_bind(&at[0], &ret->bind))
		return true;
	ret->setting = "directory";
	ret->bind.writable = c->sandbox.access == CONFIG_ACCESS_RW;
	if (at[1] == NULL) {
		at[1] = c->directories;
		(void)strlcpy(ret->bind.host, c->sandbox.directory,
		    sizeof(ret->bind.host));
		if (ret->bind.host[0] != '\0')
			return true;
	}
	if (!config_next_directory(&at[1], &d))
		return false;
	(void)strlcpy(ret->bind.host, d.path, sizeof(ret->bind.host));
	return true;
}

/* Boxes may replace nothing on the ways to what they show, to their workspaces and
 * to psup.conf, which are gone again. `said` has the paths as they were written. */
static int
check_nesting(const struct config *c, const struct config *said,
    const char *home, const char *conf, char why[CONFIG_WHY])
{
	const char *at[2] = {c->sandbox.binds, NULL};
	const char *written[2] = {said->sandbox.binds, NULL};
	const char *all = c->sandbox.workspace;
	char workspace[PATH_MAX], file[PATH_MAX];
	struct shown a, b, w;

	real_of(all, workspace);
	real_of(conf, file);
	if (conf[0] != '\0' && is_through(conf, workspace))
		return config_refuse(why, "sandbox.workspace: the way to %.80s "
		    "is through %.80s, and boxes may write there; expected "
		    "another one", conf, workspace);
	while (next_shown(c, at, &a) && next_shown(said, written, &w)) {
		const char *others[2] = {c->sandbox.binds, NULL};

		if (find_home(a.setting, w.bind.host, home, why) < 0)
			return -EINVAL;
		if (is_through(w.bind.host, workspace))
			return config_refuse(why, "sandbox.%s: the way to "
			    "%.80s is through the workspace %.80s, where boxes "
			    "may replace it; expected a directory elsewhere",
			    a.setting, w.bind.host, workspace);
		if (box_path_above(a.bind.host, workspace))
			return config_refuse(why, "sandbox.%s: %.80s contains "
			    "the workspace %.80s, and would show every box "
			    "those of all others; expected a directory without "
			    "it, or another sandbox.workspace", a.setting,
			    a.bind.host, workspace);
		if (a.bind.writable && is_through(all, a.bind.host))
			return config_refuse(why, "sandbox.workspace: the way "
			    "to %.80s is through %.80s, where boxes may "
			    "replace it; expected another one", all,
			    a.bind.host);
		if (a.bind.writable && conf[0] != '\0' &&
		    (box_path_above(a.bind.host, file) ||
			is_through(conf, a.bind.host)))
			return config_refuse(why, "sandbox.%s: %.80s contains "
			    "%.80s, or what is on the way to it, and boxes may "
			    "write there; expected a directory without the "
			    "server's own configuration", a.setting,
			    a.bind.host, conf);
		while (next_shown(c, others, &b))
			if (b.bind.writable &&
			    is_through(w.bind.host, b.bind.host))
				return config_refuse(why, "sandbox.%s: the way "
				    "to %.80s is through %.80s, where boxes "
				    "may replace it; expected that one "
				    "read-only, or another directory",
				    a.setting, w.bind.host, b.bind.host);
	}
	return 0;
}

/* One that a line of ours would not hold. */
static int
refuse_real(const char *name, const char *path, char why[CONFIG_WHY])
{
	return config_refuse(why, "sandbox.%s: %.200s leads to a path with "
	    "control characters; expected one without", name, path);
}

/* Else whoever looks at it sleeps, with all that he does for others. */
static int
check_answers(const char *name, const char *path, char why[CONFIG_WHY])
{
	return path_answers(path) ? 0 :
				    config_refuse(why, "sandbox.%s: %.200s "
				        "does not answer, as a mount whose "
				        "server is gone; expected one that "
				        "does", name, path);
}

/* A directory as it was written: where it leads, if a box may show that. */
static int
find_directory(const struct config_sandbox *s, char path[CONFIG_DIRECTORY],
    const char *home, const char *run, char why[CONFIG_WHY])
{
	char real[PATH_MAX], reason[256];
	struct box_bind b = {.writable = s->access == CONFIG_ACCESS_RW};
	struct stat st;

	if (path[0] == '\0')
		return 0;
	if (find_home("directory", path, home, why) < 0 ||
	    check_answers("directory", path, why) < 0)
		return -EINVAL;
	if (realpath(path, real) == NULL || stat(real, &st) != 0)
		return config_refuse(why, "sandbox.directory: %.200s: %s; "
		    "expected a directory that is there", path,
		    strerror(errno));
	if (!box_path_plain(real))
		return refuse_real("directory", path, why);
	(void)strlcpy(b.host, path, sizeof(b.host));
	if (box_bind_check(&b, real, run, reason, sizeof(reason)) < 0)
		return config_refuse( why, "sandbox.directory: %s", reason);
	if (!S_ISDIR(st.st_mode) || strlen(real) >= CONFIG_DIRECTORY)
		return config_refuse(why, "sandbox.directory: %.80s is %s; "
		    "expected a directory", path, S_ISDIR(st.st_mode) ?
		    "too long" : "none");
	if (st.st_uid != s->uid && s->uid == 0)
		return config_refuse(why, "sandbox.user: none, and the server "
		    "is root; expected the name of uid %u, whose %.80s is",
		    (unsigned)st.st_uid, path);
	if (st.st_uid != s->uid)
		return config_refuse(why, "sandbox.directory: %.80s is uid "
		    "%u's; expected one of uid %u, whom boxes run as", path,
		    (unsigned)st.st_uid, (unsigned)s->uid);
	(void)strlcpy(path, real, CONFIG_DIRECTORY);
	return 0;
}

/* ... of each scope. */
static int
find_directories(struct config *c, const char *home, const char *rundir,
    char why[CONFIG_WHY])
{
	char found[sizeof(c->directories)] = "", run[PATH_MAX];
	char line[sizeof(struct config_directory)];
	const char *at = c->directories;
	struct config_directory d;

	real_of(rundir, run);
	if (find_directory(&c->sandbox, c->sandbox.directory, home, run, why) < 0)
		return -EINVAL;
	while (config_next_directory(&at, &d)) {
		if (find_directory(
			&c->sandbox, d.path, home, run, why) < 0)
			return -EINVAL;
		(void)snprintf(line, sizeof(line), "%s\"%s", d.scope, d.path);
		if (config_add_line(found, sizeof(found), line, 0, why) < 0)
			return -EINVAL;
	}
	memcpy(c->directories, found, sizeof(found));
	return 0;
}

/* Each bind with the path that its host side leads to. */
static int
find_binds(struct config_sandbox *s, const char *rundir, char why[CONFIG_WHY])
{
	char run[PATH_MAX], real[PATH_MAX], reason[256];
	char binds[sizeof(s->binds)] = "";
	const char *at = s->binds;
	struct box_bind b;
	size_t used = 0;

	real_of(rundir, run);
	while (config_next_bind(&at, &b)) {
		int n;

		if (check_answers("bind", b.host, why) < 0)
			return -EINVAL;
		if (realpath(b.host, real) == NULL)
			return config_refuse(why, "sandbox.bind: %.200s: %s; "
			    "expected a directory or file that is there",
			    b.host, strerror(errno));
		if (!box_path_plain(real))
			return refuse_real("bind", b.host, why);
		if (box_bind_check(&b, real, run, reason, sizeof(reason)) < 0)
			return config_refuse( why, "sandbox.bind: %s", reason);
		n = snprintf(binds + used, sizeof(binds) - used, "%s:%s:%s\n",
		    real, b.inside, b.writable ? "rw" : "ro");
		if (strchr(real, ':') != NULL || n < 0 ||
		    (size_t)n >= sizeof(binds) - used)
			return config_refuse(why, "sandbox.bind: %.80s leads "
			    "to \"%.80s\"; expected a path without a colon, "
			    "%zu bytes for all of them", b.host, real,
			    sizeof(binds) - 1);
		used += (size_t)n;
	}
	memcpy(s->binds, binds, sizeof(binds));
	return 0;
}

int
config_sandbox_resolve(struct config *c, const char *rundir,
    const char *conf, char *ret_why, size_t why_size)
{
	char why[CONFIG_WHY] = "";
	struct config *copy;
	struct config_sandbox *s;
	const char *home = NULL;
	int error;

	if (c->sandbox.mode == CONFIG_SANDBOX_OFF ||
	    c->sandbox.mode == CONFIG_SANDBOX_UNKNOWN)
		return 0;
	copy = malloc(sizeof(*copy));
	if (copy == NULL)
		return -ENOMEM;
	*copy = *c;
	s = &copy->sandbox;
	error = find_user(s, &home, why);
	if (error == 0)
		error = find_home("workspace", s->workspace, home, why);
	if (error == 0)
		error = check_answers(
		    "workspace", s->workspace, why);
	if (error == 0)
		error = find_binds(s, rundir, why);
	if (error == 0)
		error = find_directories(copy, home, rundir, why);
	if (error == 0)
		error = check_nesting(copy, c, home, conf, why);
	if (error == 0)
		*c = *copy;
	else
		(void)strlcpy(ret_why, why, why_size);
	free(copy);
	return error;
}
