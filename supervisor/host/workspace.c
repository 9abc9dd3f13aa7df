/* SPDX-License-Identifier: MIT */
/*
 * See workspace.h. The way to it is gone by descriptors, a name at a time: a
 * home may be its owner's, who could otherwise have a server of root's make
 * directories, and give them to him, wherever a link of his leads.
 */
#include "supervisor/host/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/config_sandbox.h"
#include "common/path_answers.h"
#include "supervisor/host/boxes.h"
#include "supervisor/master.h"

#define LINKS 16u

int
workspace_name(const char *key, uint64_t incarnation, char ret[NAME_MAX + 1])
{
	size_t n = 0;

	for (const unsigned char *k = (const unsigned char *)key; *k != '\0';
	     k++) {
		if (n + 4 + 17 > NAME_MAX)
			return -ENAMETOOLONG;
		if ((*k >= 'a' && *k <= 'z') || (*k >= '0' && *k <= '9') ||
		    (*k >= 'A' && *k <= 'Z') || *k == '_')
			ret[n++] = (char)*k;
		else
			n += (size_t)snprintf(ret + n, 4, "%%%02x", *k);
	}
	ret[n] = '\0';
	if (strncmp(key, "session ", 8) == 0)
		(void)snprintf(
		    ret + n, 18, "-%016llx", (unsigned long long)incarnation);
	return 0;
}

/* A path that is gone: what of it is left, and where it has come to. */
struct way {
	char left[PATH_MAX];
	int at;
	unsigned links;
	bool make; /* what is not there */
	char *why; /* of BOX_WHY_MAX bytes */
};

/* Puts what a link says before what is left. */
static int
way_turn(struct way *w, int link, const struct stat *st, const char *name)
{
	char to[PATH_MAX];
	ssize_t n;

	if (st->st_uid != 0 && st->st_uid != geteuid()) {
		(void)snprintf(w->why, BOX_WHY_MAX,
		    "no sandbox: workspace: the link %.80s on the way is uid "
		    "%u's; expected root's or the server's own",
		    name, (unsigned)st->st_uid);
		return -EPERM;
	}
	n = readlinkat(link, "", to, sizeof(to) - 1);
	if (n < 0)
		return -errno;
	to[n] = '\0';
	if (++w->links > LINKS)
		return -ELOOP;
	if (strlcat(to, "/", sizeof(to)) >= sizeof(to) ||
	    strlcat(to, w->left, sizeof(to)) >= sizeof(to))
		return -ENAMETOOLONG;
	if (to[0] == '/') {
		int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (root < 0)
			return -errno;
		close(w->at);
		w->at = root;
	}
	memcpy(w->left, to, sizeof(to));
	return 0;
}

/* The next name of it. */
static int
way_step(struct way *w)
{
	size_t skip = strspn(w->left, "/"), n = strcspn(w->left + skip, "/");
	char name[NAME_MAX + 1];
	struct stat st;
	int fd, r = 0;
	mode_t mask;

	if (n > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, w->left + skip, n);
	name[n] = '\0';
	memmove(w->left, w->left + skip + n, strlen(w->left + skip + n) + 1);
	if (n == 0)
		return 0;
	mask = umask(022);
	if (w->make && mkdirat(w->at, name, 0755) != 0 && errno != EEXIST)
		r = -errno;
	(void)umask(mask);
	if (r < 0)
		return r;
	fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0)
		r = -errno;
	else if (S_ISLNK(st.st_mode))
		r = way_turn(w, fd, &st, name);
	else if (!S_ISDIR(st.st_mode))
		r = -ENOTDIR;
	else {
		close(w->at);
		w->at = fd;
		return 0;
	}
	close(fd);
	return r;
}

/* The directory of all boxes; -errno. */
static int
open_all(const char *path, bool make, char why[BOX_WHY_MAX])
{
	struct way w = {.make = make, .why = why};
	int r = 0;

	if (strlcpy(w.left, path, sizeof(w.left)) >= sizeof(w.left))
		return -ENAMETOOLONG;
	w.at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w.at < 0)
		return -errno;
	while (r == 0 && w.left[strspn(w.left, "/")] != '\0')
		r = way_step(&w);
	if (r == 0)
		return w.at;
	close(w.at);
	return r;
}

int
workspace_answers(const struct config_sandbox *c, char why[BOX_WHY_MAX])
{
	const char *at = c->binds, *silent = NULL, *what = "workspace";
	struct box_bind b;

	if (!path_answers(c->workspace))
		silent = c->workspace;
	if (silent == NULL && c->access != CONFIG_ACCESS_NONE) {
		what = "directory";
		silent = path_answers(c->directory) ? NULL : c->directory;
	}
	while (silent == NULL && config_next_bind(&at, &b)) {
		what = "bind";
		silent = path_answers(b.host) ? NULL : b.host;
	}
	if (silent == NULL)
		return 0;
	(void)snprintf(why, BOX_WHY_MAX,
	    "no sandbox: %s %.120s does not answer, as a mount whose server is "
	    "gone",
	    what, silent);
	return -ETIMEDOUT;
}

/* That of one box: made now and given away, or its owner's from before. */
static int
take(int fd, const struct config_sandbox *c, char why[BOX_WHY_MAX])
{
	uid_t owner = geteuid() == 0 ? c->uid : geteuid();
	struct stat st;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (st.st_uid == owner)
		return 0;
	if (st.st_uid == geteuid())
		return fchown(fd, c->uid, c->gid) == 0 ? 0 : -errno;
	(void)snprintf(why, BOX_WHY_MAX,
	    "no sandbox: its workspace is there and is uid %u's; expected uid "
	    "%u, whom boxes run as: give it to that one, or move it away",
	    (unsigned)st.st_uid, (unsigned)owner);
	return -EPERM;
}

int
workspace_make(const struct config_sandbox *c, const char *name,
    char ret[PATH_MAX], char why[BOX_WHY_MAX])
{
	int dir = open_all(c->workspace, true, why), fd, r;
	char self[40];
	ssize_t n;

	if (dir < 0)
		return dir;
	r = mkdirat(dir, name, 0700) != 0 && errno != EEXIST ? -errno : 0;
	fd = r < 0 ? -1
		   : openat(dir, name,
			 O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	close(dir);
	if (fd < 0)
		return r < 0 ? r : -errno;
	r = take(fd, c, why);
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = r < 0 ? 0 : readlink(self, ret, PATH_MAX - 1);
	if (n < 0)
		r = -errno;
	ret[n > 0 ? n : 0] = '\0';
	close(fd);
	return r;
}

/* What a path is; -errno. */
static int
look(int at, const char *path, uint64_t flags, uint64_t resolve,
    struct stat *ret)
{
	struct open_how how = {
	    .flags = O_PATH | O_CLOEXEC | flags, .resolve = resolve};
	int fd = (int)syscall(SYS_openat2, at, path, &how, sizeof(how)), r;

	if (fd < 0)
		return -errno;
	r = fstat(fd, ret) != 0 ? -errno : 0;
	close(fd);
	return r;
}

int
workspace_directory(
    const struct config_sandbox *c, struct stat *ret, char why[BOX_WHY_MAX])
{
	uid_t owner = geteuid() == 0 ? c->uid : geteuid();
	int r = look(
	    AT_FDCWD, c->directory, O_DIRECTORY, RESOLVE_NO_SYMLINKS, ret);

	if (r < 0)
		(void)snprintf(why, BOX_WHY_MAX,
		    "no sandbox: directory %.120s: %s", c->directory,
		    r == -ELOOP ? "there is a link in it by now"
				: strerror(-r));
	else if (ret->st_uid != owner)
		(void)snprintf(why, BOX_WHY_MAX,
		    "no sandbox: directory %.120s is uid %u's; expected uid "
		    "%u, whom boxes run as",
		    c->directory, (unsigned)ret->st_uid, (unsigned)owner);
	else
		return 0;
	return r < 0 ? r : -EPERM;
}

/* Is that, a `what` of the host, what the box of that pid 1 shows there? -errno,
 * and `why`. */
static int
is_shown(const struct stat *want, const char *what, const char *host,
    int32_t pid, const char *inside, char why[BOX_WHY_MAX])
{
	struct stat st;
	char name[40];
	int root, r;

	(void)snprintf(name, sizeof(name), "/proc/%d/root", (int)pid);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = root < 0 ? -errno : look(root, inside, 0, RESOLVE_IN_ROOT, &st);
	if (root >= 0)
		close(root);
	if (r == 0 && (st.st_dev != want->st_dev || st.st_ino != want->st_ino))
		r = -ESTALE;
	if (r < 0)
		(void)snprintf(why, BOX_WHY_MAX,
		    "no sandbox: %s %.120s was replaced while its box was made "
		    "(%s)",
		    what, host, strerror(-r));
	return r;
}

/* Does one of those at `at` lie over it in the box? */
static bool
is_hidden(const char *at, const struct box_bind *b)
{
	struct box_bind other;

	while (config_next_bind(&at, &other))
		if (box_path_above(other.inside, b->inside))
			return true;
	return false;
}

int
workspace_shown(
    const struct config_sandbox *c, int32_t pid, char why[BOX_WHY_MAX])
{
	const char *at = c->binds;
	struct box_bind b;
	struct stat want;
	int r = workspace_answers(c, why);

	if (r == 0 && c->access != CONFIG_ACCESS_NONE) {
		r = workspace_directory(c, &want, why);
		if (r == 0)
			r = is_shown(&want, "directory", c->directory, pid,
			    c->access == CONFIG_ACCESS_RW ? "/workspace"
							  : BOX_AGENT,
			    why);
	}
	while (r == 0 && config_next_bind(&at, &b)) {
		if (is_hidden(at, &b))
			continue;
		r = look(AT_FDCWD, b.host, 0, RESOLVE_NO_SYMLINKS, &want);
		if (r < 0)
			(void)snprintf(why, BOX_WHY_MAX,
			    "no sandbox: bind %.120s: %s", b.host,
			    r == -ELOOP ? "there is a link in it by now"
					: strerror(-r));
		else
			r = is_shown(&want, "bind", b.host, pid, b.inside, why);
	}
	return r;
}

void
workspace_forget(const struct config_sandbox *c, const char *name)
{
	char why[BOX_WHY_MAX];
	int dir = path_answers(c->workspace)
	    ? open_all(c->workspace, false, why)
	    : -ETIMEDOUT;

	if (dir < 0)
		return;
	(void)unlinkat(dir, name, AT_REMOVEDIR);
	close(dir);
}

void
boxes_workspace(struct master *m, const char *scope, const char *directory,
    char ret[PATH_MAX])
{
	const struct config_sandbox *c = &m->cfg.sandbox;
	char key[BOXES_KEY_MAX], name[NAME_MAX + 1], self[40], why[BOX_WHY_MAX];
	ssize_t n;
	int dir;

	ret[0] = '\0';
	if (c->backend == CONFIG_BACKEND_CONTAINER)
		return;
	if (c->access == CONFIG_ACCESS_RW) {
		(void)strlcpy(ret, directory, PATH_MAX);
		return;
	}
	boxes_key(c, scope, 0, key);
	if (c->scope == CONFIG_BOX_SESSION ||
	    workspace_name(key, m->h.incarnation, name) < 0 ||
	    !path_answers(c->workspace))
		return;
	dir = open_all(c->workspace, false, why);
	if (dir < 0)
		return;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", dir);
	n = readlink(self, ret, PATH_MAX - 1);
	ret[n > 0 ? n : 0] = '\0';
	close(dir);
	if (n > 0 && (strlcat(ret, "/", PATH_MAX) >= PATH_MAX ||
			 strlcat(ret, name, PATH_MAX) >= PATH_MAX))
		ret[0] = '\0';
}
