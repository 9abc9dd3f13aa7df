/* SPDX-License-Identifier: MIT */
/*
 * The keeper's own control groups: made at its start where a hierarchy lets
 * it, named to the workers in their heritage, emptied and removed at its end
 * or by the next keeper. What is in them is the workers' business.
 *
 * The file `cgroups` in the runtime directory lists them, a path a line, so
 * that a keeper started elsewhere finds what a dead one left.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/sched.h>
#include <unistd.h>

#include "cgroup.h"
#include "fault.h"
#include "kfile.h"
#include "supervisor/keeper/state.h"

#define FILE_NAME "cgroups"
#define PREFIX    "/psup-"
#define PROBE     "probe"
#define SWEEP_MAX 1024u
#define MAKE_TRIES 200u /* a millisecond apart */
#define BOUND_NS  (2 * NSEC_PER_SEC)
#define LIST_MAX  (2 * HERITAGE_GROUPS * HERITAGE_GROUP_MAX)

/* Opens a group. */
static int
open_group(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Kills what is in the group, waits for it, removes the group. 0: gone. */
static int
end_group(const char *path)
{
	uint64_t end = clock_boot_ns() + BOUND_NS;
	size_t first = 0, n;
	int fd, r = -EBUSY;

	fd = open_group(path);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	while (clock_boot_ns() < end) {
		n = cgroup_kill(fd);
		if (first == 0)
			first = n;
		r = n == 0 ? cgroup_remove(AT_FDCWD, path) : -EBUSY;
		if (r == 0)
			break;
		clock_nap(2 * NSEC_PER_MSEC);
	}
	(void)close(fd);
	if (first > 0)
		log_event(LOG_NOTE, "cgroup-emptied", KV("path", path),
		    KV("processes", first));
	if (r < 0)
		log_event(LOG_WARN, "cgroup-stays", KV("path", path),
		    KV("error", strerror(-r)));
	return r;
}

/* Is it one that a keeper made? The file may have been written by anybody. */
static bool
is_ours(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t n = sizeof(PREFIX) - 1;

	return path[0] == '/' && name != NULL &&
	    strncmp(name, PREFIX, n) == 0 && strlen(name) == n + 16 &&
	    strspn(name + n, "0123456789abcdef") == 16;
}

/* What is on file from keepers before us. */
void
group_leftover(int dirfd)
{
	static char text[LIST_MAX];
	char *line, *save = NULL;
	ssize_t n;

	n = kfile_read(dirfd, FILE_NAME, text, sizeof(text));
	if (n <= 0)
		return;
	for (line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save))
		if (is_ours(line))
			(void)end_group(line);
	(void)unlinkat(dirfd, FILE_NAME, 0);
}

/* Can a child be cloned into the group, and live? Some kernels kill it where
 * the group we are in was once emptied by cgroup.kill. */
static bool
can_clone_into(int dirfd)
{
	struct clone_args args;
	int32_t pid;
	int status = -1;

	memset(&args, 0, sizeof(args));
	args.flags = CLONE_INTO_CGROUP;
	args.exit_signal = SIGCHLD;
	args.cgroup = (unsigned)dirfd;
	pid = (int32_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0;
}

/* Can a process be moved into the group? Opening says so; nobody moves. */
static bool
can_move_into(int dirfd)
{
	int fd = openat(dirfd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

/* Has the group above this controller to give? A line of words says so. */
static bool
has_controller(int group, const char *name)
{
	char text[256], *word, *save = NULL;

	if (kfile_read(group, "cgroup.controllers", text, sizeof(text)) <= 0)
		return false;
	for (word = strtok_r(text, " \n", &save); word != NULL;
	     word = strtok_r(NULL, " \n", &save))
		if (strcmp(word, name) == 0)
			return true;
	return false;
}

/* Tries a leaf of the new group, and what it can do. */
static bool
probe(int group, bool v2, uint32_t *ret_flags)
{
	uint32_t flags = 0;
	bool ok = false;
	int leaf;

	if (mkdirat(group, PROBE, 0755) < 0)
		return false;
	leaf = openat(group, PROBE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (leaf >= 0) {
		ok = can_move_into(leaf);
		if (v2)
			flags |= HERITAGE_TREE_V2;
		if (ok && v2 && can_clone_into(leaf))
			flags |= HERITAGE_TREE_INTO;
		if (faccessat(leaf, "cgroup.kill", W_OK, 0) == 0)
			flags |= HERITAGE_TREE_KILL;
		if (faccessat(leaf, "memory.max", W_OK, 0) == 0)
			flags |= HERITAGE_TREE_LIMIT_MEMORY;
		if (faccessat(leaf, "pids.max", W_OK, 0) == 0)
			flags |= HERITAGE_TREE_LIMIT_PIDS;
		(void)close(leaf);
	}
	(void)cgroup_remove(group, PROBE);
	if (v2 && has_controller(group, "cpu"))
		flags |= HERITAGE_TREE_LIMIT_CPU;
	*ret_flags = flags;
	return ok;
}

/* Opens and locks the group that has this name now; -1: another keeper has the
 * lock, or has just removed it. A keeper locks what it sweeps away. */
static int
lock_group(int parent, const char *name)
{
	struct stat locked, named;
	int fd = openat(parent, name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    fstat(fd, &locked) == 0 &&
	    fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    locked.st_ino == named.st_ino)
		return fd;
	if (fd >= 0)
		(void)close(fd);
	return -1;
}

/* A new group, locked, or -1. Between the two a keeper that begins beside us may
 * take it for one that a dead keeper left, and remove it. */
static int
make_locked(const char *path)
{
	int fd = -1;

	for (unsigned i = 0; fd < 0 && i < MAKE_TRIES; i++) {
		if (i > 0)
			clock_nap(NSEC_PER_MSEC);
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -1;
		if (FAULT_FAILS("keeper.group-swept"))
			(void)rmdir(path);
		fd = lock_group(AT_FDCWD, path);
	}
	return fd;
}

/* Removes one that is empty and whose keeper is gone: it held a lock on it. */
static void
sweep_one(int parent, const char *name)
{
	int fd = lock_group(parent, name);

	if (fd < 0)
		return;
	if (cgroup_pids(fd, NULL, 0) == 0)
		(void)cgroup_remove(parent, name);
	(void)close(fd);
}

/* A keeper that was killed, and whose runtime directory is gone, has left its
 * group to nobody. */
static void
sweep(const char *own)
{
	const struct dirent *e;
	unsigned n = 0;
	char path[CGROUP_PATH_MAX];
	DIR *d = opendir(own);

	if (d == NULL)
		return;
	while ((e = readdir(d)) != NULL && n < SWEEP_MAX) {
		(void)snprintf(path, sizeof(path), "/%s", e->d_name);
		if (!is_ours(path))
			continue;
		n++;
		sweep_one(dirfd(d), e->d_name);
	}
	(void)closedir(d);
}

/* Makes our group in one hierarchy and keeps its path; the lock on it says
 * that we live. */
static bool
make_group(struct keeper *k, enum cgroup_hierarchy in,
    enum heritage_group which, uint32_t *ret_flags)
{
	static const char *const bounds[] = {"memory", "pids", NULL};
	static const char *const shares[] = {"cpu", NULL};
	char own[HERITAGE_GROUP_MAX - 32], *path = k->group[which];
	int fd;

	if (cgroup_own_path(in, own, sizeof(own)) < 0)
		return false;
	if (in == CGROUP_UNIFIED)
		(void)group_place(own, bounds, shares);
	sweep(own);
	(void)snprintf(path, HERITAGE_GROUP_MAX, "%s" PREFIX "%016" PRIx64,
	    strcmp(own, "/") == 0 ? "" : own, k->incarnation);
	fd = make_locked(path);
	if (fd >= 0 && in == CGROUP_UNIFIED) {
		/* where the one above has them to give */
		(void)kfile_write(fd, "cgroup.subtree_control", "+memory");
		(void)kfile_write(fd, "cgroup.subtree_control", "+pids");
	}
	if (fd >= 0 && probe(fd, in == CGROUP_UNIFIED, ret_flags)) {
		k->group_lock[which] = fd;
		return true;
	}
	if (fd >= 0)
		(void)close(fd);
	(void)cgroup_remove(AT_FDCWD, path);
	path[0] = '\0';
	return false;
}

/* Writes down what was made. */
static void
write_list(struct keeper *k)
{
	char text[HERITAGE_GROUPS * (HERITAGE_GROUP_MAX + 1) + 1];
	size_t len = 0, i;
	int fd;

	for (i = 0; i < HERITAGE_GROUPS; i++)
		if (k->group[i][0] != '\0')
			len += (size_t)snprintf(text + len, sizeof(text) - len,
			    "%s\n", k->group[i]);
	if (len == 0)
		return;
	fd = openat(k->dir, FILE_NAME, O_WRONLY | O_CREAT | O_TRUNC |
	    O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		log_event(LOG_WARN, "cgroups-not-noted", KV("file", FILE_NAME));
	if (fd >= 0)
		(void)close(fd);
}

/* Finds a hierarchy that takes leaves. None is no error: descendants are then
 * looked for in /proc. */
void
group_begin(struct keeper *k)
{
	uint64_t want = k->opt->config.cgroup;
	enum heritage_group tree = HERITAGE_GROUP_TREE;
	uint32_t flags = 0, none = 0;
	bool made = false;

	if (want == CONFIG_CGROUP_OFF)
		return;
	if (want == CONFIG_CGROUP_AUTO || want == CONFIG_CGROUP_V2)
		made = make_group(k, CGROUP_UNIFIED, tree, &flags);
	if (!made && (want == CONFIG_CGROUP_AUTO || want == CONFIG_CGROUP_V1))
		made = make_group(k, CGROUP_PIDS, tree, &flags) ||
		    make_group(k, CGROUP_FREEZER, tree, &flags);
	k->group_flags = made ? flags : 0;
	if (made && group_come_first(k->group[tree]))
		k->group_flags |= HERITAGE_TREE_AFTER_US;
	if ((k->group_flags & HERITAGE_TREE_LIMIT_MEMORY) == 0)
		(void)make_group(k, CGROUP_MEMORY, HERITAGE_GROUP_MEMORY,
		    &none);
	if ((k->group_flags & HERITAGE_TREE_LIMIT_PIDS) == 0)
		(void)make_group(k, CGROUP_PIDS, HERITAGE_GROUP_PIDS, &none);
	write_list(k);
	log_event(LOG_NOTE, "cgroup-used",
	    KV("path", made ? k->group[tree] : "none"));
}

/* Everything in them ends, and they go. */
void
group_end(struct keeper *k)
{
	size_t i;
	int r = 0;

	for (i = 0; i < HERITAGE_GROUPS; i++)
		if (k->group[i][0] != '\0' && end_group(k->group[i]) < 0)
			r = -1;
	if (r == 0)
		(void)unlinkat(k->dir, FILE_NAME, 0);
}
