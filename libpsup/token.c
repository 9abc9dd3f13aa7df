/* SPDX-License-Identifier: MIT */
/*
 * A scope token from a file or a descriptor, where no argument list and no
 * environment shows it. Called by psup_connect() and by programs. What is read
 * never comes into an error message.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#define DIGITS (PSUP_TOKEN_SIZE - 1)

/* Up to `size` bytes, or -errno. */
static ssize_t
read_all(int fd, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size) {
		n = read(fd, buf + len, size - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

/* 64 hex digits, with nothing but white space behind them. */
static bool
is_token(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (i < DIGITS ? !isxdigit((unsigned char)s[i])
			       : !isspace((unsigned char)s[i]))
			return false;
	return len >= DIGITS;
}

int
psup_read_token_fd(struct psup *p, int fd, char ret_token[PSUP_TOKEN_SIZE])
{
	char buf[128];
	ssize_t n = read_all(fd, buf, sizeof(buf));
	int rc = PSUP_OK;

	if (n < 0)
		rc = error_errno(p, (int)-n, "the token");
	else if (!is_token(buf, (size_t)n) || (size_t)n == sizeof(buf))
		rc = error_set(p, PSUP_ERR_SYSTEM, "system", "token",
		    "what was read is no token; expected %zu hex digits",
		    (size_t)DIGITS);
	if (rc == PSUP_OK) {
		memcpy(ret_token, buf, DIGITS);
		ret_token[DIGITS] = '\0';
	}
	explicit_bzero(buf, sizeof(buf));
	return rc;
}

/* Does nobody else read it? */
static int
judge_file(struct psup *p, const char *path, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(p, errno, path);
	if (!S_ISREG(st.st_mode))
		return error_set(p, PSUP_ERR_SYSTEM, "system", "token",
		    "%.200s is no file", path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return error_set(p, PSUP_ERR_SYSTEM, "system", "token",
		    "%.200s belongs to uid %u; expected uid %u, who runs this",
		    path, (unsigned)st.st_uid, (unsigned)geteuid());
	if ((st.st_mode & 077) != 0)
		return error_set(p, PSUP_ERR_SYSTEM, "system", "token",
		    "%.200s has mode 0%03o, others may get at the token; "
		    "expected 0600",
		    path, (unsigned)(st.st_mode & 07777));
	return PSUP_OK;
}

int
psup_read_token_file(struct psup *p, const char *path,
    char ret_token[PSUP_TOKEN_SIZE])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), rc;

	if (fd < 0)
		return error_errno(p, errno, path);
	rc = judge_file(p, path, fd);
	if (rc == PSUP_OK)
		rc = psup_read_token_fd(p, fd, ret_token);
	close(fd);
	return rc;
}
