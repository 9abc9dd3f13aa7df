/* SPDX-License-Identifier: MIT */
/*
 * Files that are mapped: made whole, then renamed into place, so that nobody
 * ever maps a half-made one, and allocated in full, so that nobody gets a
 * SIGBUS on a full tmpfs. Called by board.c and stats.c.
 */
#include "shm/shm_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shm/lent_map.h"

/* "board.new" for "board" */
static void
temp_name(const char *name, char ret[32])
{
	snprintf(ret, 32, "%s.new", name);
}

/* Makes the file under its temporary name. */
int
shm_file_create(int dirfd, const char *name, size_t bytes, void **ret)
{
	char temp[32];
	int fd, err;

	temp_name(name, temp);
	unlinkat(dirfd, temp, 0); /* what a killed keeper left */
	fd = openat(dirfd, temp,
	    O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	do
		err = posix_fallocate(fd, 0, (off_t)bytes);
	while (err == EINTR);
	if (err == 0)
		err = -lent_map(fd, 0, bytes, true, ret);
	close(fd);
	if (err != 0)
		unlinkat(dirfd, temp, 0);
	return -err;
}

/* Puts the filled file in the place of an older one. */
int
shm_file_publish(int dirfd, const char *name, void *map)
{
	char temp[32];
	int err;

	temp_name(name, temp);
	if (renameat(dirfd, temp, dirfd, name) == 0)
		return 0;
	/* an empty directory in its place is a stranger's */
	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0 &&
	    renameat(dirfd, temp, dirfd, name) == 0)
		return 0;
	err = -errno;
	unlinkat(dirfd, temp, 0);
	lent_unmap(map);
	return err;
}

/* Opens an existing file. */
int
shm_file_open(int dirfd, const char *name, bool writable, uint64_t *ret_bytes)
{
	struct stat st;
	int fd;

	fd = openat(dirfd, name,
	    (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW |
		O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		*ret_bytes = (uint64_t)st.st_size;
		return fd;
	}
	close(fd);
	return -EBADMSG;
}
