/* SPDX-License-Identifier: MIT */
/*
 * Finds, makes and judges the runtime directory. Whatever is not exactly as
 * expected is refused: somebody else may have made the directory first.
 */
#include "rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "format.h"

/* printf into `why`; the error passes through. */
__attribute__((format(printf, 4, 5))) static int
explain(int error, char *why, size_t why_size, const char *fmt, ...)
{
	if (why_size > 0)
		(void)FORMATTED(why, why_size, fmt);
	return error;
}

int
rundir_default(char ret_path[RUNDIR_PATH_MAX])
{
	const char *env = getenv("PSUP_RUNTIME_DIR");
	char path[RUNDIR_PATH_MAX];
	int n;

	if (env != NULL && env[0] != '\0') {
		n = snprintf(path, sizeof(path), "%s", env);
	} else if ((env = getenv("XDG_RUNTIME_DIR")) != NULL &&
	    env[0] != '\0') {
		n = snprintf(path, sizeof(path), "%s/psup", env);
	} else {
		n = snprintf(path, sizeof(path), "/dev/shm/psup-%u",
		    (unsigned)geteuid());
	}
	if (path[0] != '/')
		return -EINVAL;
	/* "/sock" must still fit into a socket address. */
	if (n < 0 || (size_t)n + sizeof("/sock") > sizeof(path))
		return -ENAMETOOLONG;
	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	memcpy(ret_path, path, sizeof(path));
	return 0;
}

/* Copies without trailing slashes, behind which O_NOFOLLOW would follow. */
static int
trim_path(const char *path, char ret_path[RUNDIR_PATH_MAX], char *why,
    size_t why_size)
{
	size_t n = strlen(path);
	const char *last;

	while (n > 1 && path[n - 1] == '/')
		n--;
	if (n == 0 || n >= RUNDIR_PATH_MAX)
		return explain(-ENAMETOOLONG, why, why_size,
		    "The runtime directory's path has %zu bytes; expected 1 to "
		    "%d.", n, RUNDIR_PATH_MAX - 1);
	memcpy(ret_path, path, n);
	ret_path[n] = '\0';
	last = strrchr(ret_path, '/');
	last = last != NULL ? last + 1 : ret_path;
	if (strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
		return explain(-EINVAL, why, why_size,
		    "The runtime directory %s ends in \"%s\"; expected a name.",
		    ret_path, last);
	return 0;
}

/* Owner, mode and file system of an open directory. */
static int
judge(int fd, const char *path, bool any_fs, char *why, size_t why_size)
{
	struct stat st;
	struct statfs fs;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return explain(-errno, why, why_size,
		    "Cannot examine the runtime directory %s: %s.", path,
		    strerror(errno));
	if (st.st_uid != geteuid())
		return explain(-EPERM, why, why_size,
		    "The runtime directory %s belongs to uid %u; expected uid "
		    "%u, who runs this.", path, (unsigned)st.st_uid,
		    (unsigned)geteuid());
	/* a group may pass through to the socket, and do nothing else */
	if ((st.st_mode & 067) != 0)
		return explain(-EPERM, why, why_size,
		    "The runtime directory %s has mode 0%03o, others may get "
		    "in; expected 0700 (0710 with a group).", path, (unsigned)(st.st_mode & 07777));
	if (!any_fs && (uint64_t)fs.f_type != TMPFS_MAGIC &&
	    (uint64_t)fs.f_type != RAMFS_MAGIC)
		return explain(-EMEDIUMTYPE, why, why_size,
		    "The runtime directory %s lies on a file system of type "
		    "0x%lx; expected a tmpfs (any_fs in psup.conf allows "
		    "others).", path, (unsigned long)fs.f_type);
	return 0;
}

/* What open() stumbled over, in a sentence. */
static int
explain_open(int error, const char *path, char *why, size_t why_size)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
		return explain(-ELOOP, why, why_size,
		    "The runtime directory %s is a symbolic link; expected a "
		    "directory of its own.", path);
	if (error == -ENOTDIR)
		return explain(error, why, why_size,
		    "The runtime directory %s is no directory.", path);
	return explain(error, why, why_size,
	    "Cannot open the runtime directory %s: %s.", path,
	    strerror(-error));
}

int
rundir_open(const char *path, bool create, bool any_fs, char *why,
    size_t why_size)
{
	char trimmed[RUNDIR_PATH_MAX];
	int fd, error;

	error = trim_path(path, trimmed, why, why_size);
	if (error < 0)
		return error;
	if (create && mkdir(trimmed, 0700) < 0 && errno != EEXIST)
		return explain(-errno, why, why_size,
		    "Cannot make the runtime directory %s: %s.", trimmed,
		    strerror(errno));
	fd = open(trimmed, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return explain_open(-errno, trimmed, why, why_size);
	error = judge(fd, trimmed, any_fs, why, why_size);
	if (error < 0) {
		close(fd);
		return error;
	}
	return fd;
}

/* The descriptor stays open: to close any of the file gives such a lock up. */
int
rundir_attend(int dirfd)
{
	struct flock l = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int fd = openat(dirfd, "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 || fcntl(fd, F_SETLK, &l) < 0 ? -errno : 0;
}

int32_t
rundir_attendant(int lock)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(lock, F_GETLK, &l) < 0 || l.l_type == F_UNLCK)
		return 0;
	return l.l_pid > 0 ? l.l_pid : -1;
}

void
rundir_ring_name(struct sid sid, char ret_name[RUNDIR_NAME_MAX])
{
	(void)snprintf(ret_name, RUNDIR_NAME_MAX, "rings/%016" PRIx64, sid.v);
}

void
rundir_spare_name(struct sid sid, char ret_name[RUNDIR_NAME_MAX])
{
	(void)snprintf(ret_name, RUNDIR_NAME_MAX,
	    "rings/%016" PRIx64 RUNDIR_SPARE, sid.v);
}

void
rundir_spool_name(struct sid sid, char ret_name[RUNDIR_NAME_MAX])
{
	(void)snprintf(ret_name, RUNDIR_NAME_MAX, "spool/%016" PRIx64, sid.v);
}
