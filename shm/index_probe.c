/* SPDX-License-Identifier: MIT */
/*
 * Looks an index through before the master opens it. Called by index_open()
 * alone, while nobody has it open.
 */
#include "shm/index_probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/index_walk.h"
#include "shm/lent_map.h"

/* The mapped file. */
static int
probe_file(int fd, size_t bytes, uint64_t map_max,
    const struct index_names *names)
{
	void *map;
	int err = lent_map(fd, 0, bytes, false, &map);

	if (err != 0)
		return err;
	err = index_walk(map, bytes, map_max, names);
	lent_unmap(map);
	return err;
}

int
index_probe(const char *dir, uint64_t map_max,
    const struct index_names *names)
{
	char path[PATH_MAX];
	struct stat st;
	int n, fd, err;

	n = snprintf(path, sizeof(path), "%s/data.mdb", dir);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? 0
		    : errno == ELOOP || errno == ENXIO ? -EBADMSG
						       : -errno;
	if (fstat(fd, &st) != 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EBADMSG;
	else
		err = st.st_size == 0
		    ? -EBADMSG /* somebody cut it, or was killed making it */
		    : probe_file(fd, (size_t)st.st_size, map_max, names);
	close(fd);
	return err;
}

/* Removes one set-aside environment. */
static void
forget_one(int dirfd, const char *name)
{
	int fd;

	fd = openat(dirfd, name,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	unlinkat(fd, "data.mdb", 0);
	unlinkat(fd, "lock.mdb", 0);
	close(fd);
	unlinkat(dirfd, name, AT_REMOVEDIR);
}

/* Removes all of them. */
void
index_forget_bad(const char *runtime_dir)
{
	struct dirent *e;
	DIR *dir = opendir(runtime_dir);

	if (dir == NULL)
		return;
	while ((e = readdir(dir)) != NULL)
		if (strncmp(e->d_name, "index.bad.", 10) == 0)
			forget_one(dirfd(dir), e->d_name);
	closedir(dir);
}
