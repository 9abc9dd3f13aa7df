/* SPDX-License-Identifier: MIT */
/* See kfile.h. */
#include "common/kfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

ssize_t
kfile_read(int dirfd, const char *name, char *ret, size_t size)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t have = 0;
	int error;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, ret + have, size - 1 - have)) > 0)
		have += (size_t)n;
	error = n < 0 && have == 0 ? errno : 0;
	(void)close(fd);
	if (error != 0)
		return -error;
	ret[have] = '\0';
	return (ssize_t)have;
}

int
kfile_write(int dirfd, const char *name, const char *text)
{
	size_t len = strlen(text);
	int fd = openat(dirfd, name, O_WRONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len)
		error = -(errno != 0 ? errno : EIO);
	(void)close(fd);
	return error;
}

int
kfile_write_number(int dirfd, const char *name, int64_t v)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%lld", (long long)v);
	return kfile_write(dirfd, name, text);
}
