/* SPDX-License-Identifier: MIT */
/* The file of conf.h: read whole, written beside itself and put in its place.
 * Called by options.c at the start and by display.c. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf.h"

/* Where it is; where it is a link, what that leads to. False: nobody knows. */
static bool
where(char *ret, size_t size)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char path[PATH_MAX], real[PATH_MAX];
	int n;

	if (config != NULL && config[0] == '/')
		n = snprintf(path, sizeof(path), "%s/psup/top.conf", config);
	else if (home != NULL && home[0] == '/')
		n = snprintf(path, sizeof(path), "%s/.config/psup/top.conf",
		    home);
	else
		return false;
	if (n < 0 || (size_t)n >= sizeof(path))
		return false;
	n = snprintf(ret, size, "%s", realpath(path, real) != NULL ? real
	                                                           : path);
	return n > 0 && (size_t)n < size;
}

/* All of it, ended with NUL. How many bytes; -1: it cannot be read, and why;
 * -2: there is none. */
static ssize_t
read_all(const char *path, char *dst, size_t size, char *why, size_t why_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t len = 0;
	struct stat st;
	ssize_t n = 0;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return -2;
	if (fd < 0 || fstat(fd, &st) < 0) {
		snprintf(why, why_size, "%s: %s", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	while (S_ISREG(st.st_mode) && len < size &&
	    (n = read(fd, dst + len, size - len)) > 0)
		len += (size_t)n;
	close(fd);
	if (!S_ISREG(st.st_mode) || n < 0 || len == size) {
		snprintf(why, why_size, "%s: no file of up to %zu bytes", path,
		    size - 1);
		return -1;
	}
	dst[len] = '\0';
	return (ssize_t)len;
}

/* Reads and takes it: as conf_read(), and its text. */
static int
take_file(const char *path, struct conf *ret, char *text, size_t size,
    char *why, size_t why_size)
{
	ssize_t len = read_all(path, text, size, why, why_size);
	char what[CONF_WHY];

	if (len < 0)
		return len == -2 ? 0 : -1;
	if (conf_parse(text, (size_t)len, ret, what, sizeof(what)))
		return 1;
	/* where that is the manual says: a terminal has 80 columns */
	snprintf(why, why_size, "top.conf, %s", what);
	return -1;
}

int
conf_read(struct conf *ret, char *ret_why, size_t size)
{
	char path[PATH_MAX], text[CONF_BYTES];

	if (!where(path, sizeof(path)))
		return 0;
	return take_file(path, ret, text, sizeof(text), ret_why, size);
}

/* The folder, and the one above. What cannot be made is told by open(). */
static void
make_folder(const char *path)
{
	char folder[PATH_MAX];
	char *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	*slash = '\0';
	if (mkdir(folder, 0700) == 0 || errno != ENOENT)
		return;
	slash = strrchr(folder, '/');
	if (slash == NULL || slash == folder)
		return;
	*slash = '\0';
	(void)mkdir(folder, 0700);
	*slash = '/';
	(void)mkdir(folder, 0700);
}

/* In its place, whole. 0 or -errno. */
static int
put(const char *path, const char *text)
{
	char beside[PATH_MAX + 16];
	size_t len = strlen(text);
	int fd, rc = 0;

	make_folder(path);
	snprintf(beside, sizeof(beside), "%s.XXXXXX", path);
	fd = mkostemp(beside, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len || fsync(fd) < 0)
		rc = errno != 0 ? -errno : -EIO;
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(beside, path) < 0)
		rc = -errno;
	if (rc < 0)
		(void)unlink(beside);
	return rc;
}

bool
conf_keep(const struct top_list *l, char *ret_said, size_t size)
{
	char path[PATH_MAX], text[CONF_BYTES] = "", names[512], why[CONF_WHY];
	char changed[CONF_BYTES];
	struct conf was;
	int rc;

	if (!where(path, sizeof(path))) {
		snprintf(ret_said, size, "the columns are not kept: $HOME is "
		                         "no absolute path");
		return false;
	}
	if (take_file(path, &was, text, sizeof(text), why, sizeof(why)) < 0) {
		snprintf(ret_said, size, "the columns are not kept: %s", why);
		return false;
	}
	list_columns_text(l, names, sizeof(names));
	if (!conf_with_columns(text, names, changed, sizeof(changed))) {
		snprintf(ret_said, size, "the columns are not kept: %s: no "
		    "room in %d bytes", path, CONF_BYTES - 1);
		return false;
	}
	rc = put(path, changed);
	if (rc < 0)
		snprintf(ret_said, size, "the columns are not kept: %s: %s",
		    path, strerror(-rc));
	else
		snprintf(ret_said, size, "kept in %s", path);
	return rc == 0;
}
