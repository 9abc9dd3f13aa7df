/* SPDX-License-Identifier: MIT */
/*
 * Control groups, by their files. Called by the keeper, which makes and
 * removes psup's own group, and by workers, which put commands into leaves of
 * it. Decides nothing about who is to be killed.
 */
#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cgroup_path.h"
#include "common/kfile.h"
#include "common/procfs.h"

#define DEPTH_MAX 16 /* of groups that commands make below theirs */
#define FILE_MAX  262144u /* of mountinfo */
#define KILL_MAX  512u /* processes killed in one pass, one by one */

/* What a hierarchy is called among the mount's options; NULL: version 2. */
static const char *const controllers[CGROUP_HIERARCHIES] = {
	[CGROUP_PIDS] = "pids",
	[CGROUP_FREEZER] = "freezer",
	[CGROUP_MEMORY] = "memory",
};

/* As the worker made it. */
void
cgroup_leaf_name(uint64_t box, uint64_t leaf, char ret[CGROUP_LEAF_MAX])
{
	int n = 0;

	ret[0] = '\0';
	if (box != 0)
		n = snprintf(ret, CGROUP_LEAF_MAX, "b%016" PRIx64 "%s", box,
		    leaf != 0 ? "/" : "");
	if (leaf != 0)
		(void)snprintf(ret + n, CGROUP_LEAF_MAX - (size_t)n,
		    "w%u.%u.%u", (unsigned)(leaf >> 56),
		    (unsigned)(leaf >> 32 & 0xffffffu),
		    (unsigned)(leaf & 0xffffffffu));
}

/* A whole file of /proc, or NULL. */
static char *
slurp(const char *path)
{
	char *text = malloc(FILE_MAX);

	if (text != NULL && kfile_read(AT_FDCWD, path, text, FILE_MAX) >= 0)
		return text;
	free(text);
	return NULL;
}

/* Where this process is. */
int
cgroup_own_path(enum cgroup_hierarchy which, char *ret, size_t size)
{
	char *groups = slurp("/proc/self/cgroup");
	char *mounts = slurp("/proc/self/mountinfo");
	int r = -ENOENT;

	if (groups != NULL && mounts != NULL)
		r = cgroup_path_of(groups, mounts, controllers[which], ret,
		    size);
	free(groups);
	free(mounts);
	return r;
}

/* What a walk through a group and those below it gathers. */
struct gather {
	int32_t *pids;
	size_t max, count;
};

/* The numbers in one cgroup.procs. */
static void
gather_procs(int dirfd, struct gather *g)
{
	int fd = openat(dirfd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	char buf[4096];
	int32_t pid = 0;
	bool digits = false;
	ssize_t n, i;

	if (fd < 0)
		return;
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (i = 0; i < n; i++) {
			if (buf[i] >= '0' && buf[i] <= '9' &&
			    pid < INT32_MAX / 10 - 1) {
				pid = pid * 10 + (buf[i] - '0');
				digits = true;
				continue;
			}
			if (digits) {
				if (g->count < g->max)
					g->pids[g->count] = pid;
				g->count++;
			}
			pid = 0;
			digits = false;
		}
	}
	(void)close(fd);
}

/* Has the group any below it? kernfs counts them as links. */
static bool
has_below(int dirfd)
{
	struct stat st;

	return fstat(dirfd, &st) == 0 && st.st_nlink > 2;
}

/* The group and all below. */
static void
gather_tree(int dirfd, struct gather *g, int depth)
{
	struct dirent *e;
	DIR *d;
	int fd;

	gather_procs(dirfd, g);
	if (depth >= DEPTH_MAX || !has_below(dirfd))
		return;
	fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd >= 0 ? fdopendir(fd) : NULL;
	if (d == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while ((e = readdir(d)) != NULL) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		fd = openat(dirfd, e->d_name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		gather_tree(fd, g, depth + 1);
		(void)close(fd);
	}
	(void)closedir(d);
}

/* Who is in it. */
size_t
cgroup_pids(int dirfd, int32_t *ret_pids, size_t max)
{
	struct gather g = { .pids = ret_pids, .max = max };

	gather_tree(dirfd, &g, 0);
	return g.count;
}

/* Is the process in a group of that path? */
static bool
is_in(int32_t pid, const char *part)
{
	char text[8192], *at;
	size_t n = strlen(part);

	if (procfs_file(pid, "cgroup", text, sizeof(text)) <= 0)
		return false;
	for (at = text; (at = strstr(at, part)) != NULL; at += n)
		if (at[n] == '/' || at[n] == '\n' || at[n] == '\0')
			return true;
	return false;
}

/* One process that is certainly in the group. */
int
cgroup_signal(int32_t pid, const char *part, int sig)
{
	int pidfd, r = 0;

	if (pid <= 1 || pid == getpid())
		return -ESRCH;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -errno;
	if (!is_in(pid, part))
		r = -ESRCH;
	else if (syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0) != 0)
		r = -errno;
	(void)close(pidfd);
	return r;
}

/* The order of two pids. */
static int
compare_pids(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return (x > y) - (x < y);
}

/* One by one. A process is in the group for certain if a list that was read
 * after its pidfd was opened has its number. How many there were. */
static size_t
kill_listed(int dirfd)
{
	struct kill_set {
		int32_t pids[KILL_MAX], again[KILL_MAX];
		int fds[KILL_MAX];
	} *set = malloc(sizeof(*set));
	size_t i, n, again, count;

	if (set == NULL)
		return 1;
	count = cgroup_pids(dirfd, set->pids, KILL_MAX);
	n = count < KILL_MAX ? count : KILL_MAX;
	for (i = 0; i < n; i++)
		set->fds[i] = set->pids[i] > 1 && set->pids[i] != getpid()
		    ? (int)syscall(SYS_pidfd_open, set->pids[i], 0)
		    : -1;
	again = cgroup_pids(dirfd, set->again, KILL_MAX);
	again = again < KILL_MAX ? again : KILL_MAX;
	qsort(set->again, again, sizeof(*set->again), compare_pids);
	for (i = 0; i < n; i++) {
		if (set->fds[i] < 0)
			continue;
		if (bsearch(&set->pids[i], set->again, again,
			sizeof(*set->again), compare_pids) != NULL)
			(void)syscall(SYS_pidfd_send_signal, set->fds[i],
			    SIGKILL, NULL, 0);
		(void)close(set->fds[i]);
	}
	free(set);
	return count;
}

/* Everything in it. */
size_t
cgroup_kill(int dirfd)
{
	size_t n = cgroup_pids(dirfd, NULL, 0);

	if (n == 0 || kfile_write(dirfd, "cgroup.kill", "1") == 0)
		return n;
	return kill_listed(dirfd);
}

/* Removes what is below `fd`. */
static void
remove_below(int fd, int depth)
{
	struct dirent *e;
	DIR *d;
	int copy, sub;

	if (depth >= DEPTH_MAX || !has_below(fd))
		return;
	copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = copy >= 0 ? fdopendir(copy) : NULL;
	if (d == NULL) {
		if (copy >= 0)
			(void)close(copy);
		return;
	}
	while ((e = readdir(d)) != NULL) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.' ||
		    unlinkat(fd, e->d_name, AT_REMOVEDIR) == 0)
			continue;
		sub = openat(fd, e->d_name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub < 0)
			continue;
		remove_below(sub, depth + 1);
		(void)close(sub);
		(void)unlinkat(fd, e->d_name, AT_REMOVEDIR);
	}
	(void)closedir(d);
}

/* The group and what is below. */
int
cgroup_remove(int parent, const char *name)
{
	int fd;

	if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	fd = openat(parent, name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	remove_below(fd, 0);
	(void)close(fd);
	return unlinkat(parent, name, AT_REMOVEDIR) == 0 ? 0 : -errno;
}
