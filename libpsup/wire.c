/* SPDX-License-Identifier: MIT */
/*
 * Bytes to and from the server's socket. Called by client.c; knows nothing of
 * messages.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/grow.h"
#include "internal.h"

#define BUFFER_KEEP 65536u

/* Makes room for `more` bytes behind len. 0 or -ENOMEM. */
int
buffer_reserve(struct buffer *b, size_t more)
{
	if (b->at == b->len)
		b->at = b->len = 0;
	if (b->cap - b->len < more && b->at > 0) {
		memmove(b->data, b->data + b->at, b->len - b->at);
		b->len -= b->at;
		b->at = 0;
	}
	if (more > SIZE_MAX - b->len)
		return -ENOMEM;
	return GROW(b->data, b->cap, b->len + more, 4096) ? 0 : -ENOMEM;
}

/* Empties it and gives the memory back. */
void
buffer_free(struct buffer *b)
{
	free(b->data);
	*b = (struct buffer){0};
}

/* What lies in it may be a command's environment. */
void
buffer_wipe(struct buffer *b)
{
	if (b->len > 0)
		explicit_bzero(b->data, b->len);
	b->at = b->len = 0;
}

int
wire_append(struct psup *p, const char *data, size_t len)
{
	struct buffer *b = &p->out, to = {0};

	if (b->cap - b->len < len) { /* no realloc(), which leaves a copy */
		if (len > SIZE_MAX - b->len ||
		    buffer_reserve(&to, b->len - b->at + len) < 0)
			return -ENOMEM;
		to.len = b->len - b->at;
		if (to.len > 0)
			memcpy(to.data, b->data + b->at, to.len);
		buffer_wipe(b);
		buffer_free(b);
		*b = to;
	}
	memcpy(b->data + b->len, data, len);
	b->len += len;
	return 0;
}

/* An emptied buffer does not keep what one large message needed. */
static void
buffer_shrink(struct buffer *b)
{
	if (b->at == b->len && b->cap > BUFFER_KEEP)
		buffer_free(b);
}

/* Why connecting failed, in words. */
static int
connect_error(struct psup *p, int errnum, const char *dir)
{
	if (errnum == ENOENT || errnum == ECONNREFUSED)
		return error_set(p, PSUP_ERR_NO_SERVER, "no-server", "",
		    "no server runs at %s", dir);
	if (errnum == EAGAIN)
		return error_set(p, PSUP_ERR_TIMEOUT, "timeout", "",
		    "the server at %s accepts no connection", dir);
	return error_set(p, PSUP_ERR_SYSTEM, "system", "", "%s/sock: %s", dir,
	    strerror(errnum));
}

/* Is it a uid that may be told what we have to say? */
static bool
is_trusted(const struct psup *p, uid_t uid)
{
	return uid == geteuid() || uid == 0 ||
	    (p->who.names_server && uid == p->who.server);
}

/* Says whom we found and whom we would believe. */
static int
foreign_error(struct psup *p, const char *what, const char *dir, uid_t found)
{
	char named[40] = ", or one named by server_user";

	if (p->who.names_server)
		snprintf(named, sizeof(named), " or %u, the server_user",
		    (unsigned)p->who.server);
	return error_set(p, PSUP_ERR_SYSTEM, "system", "server_user",
	    "%s %s %s uid %u; expected uid %u, who runs this, or 0%s; nothing "
	    "was sent", what, dir,
	    what[0] == 'T' ? "belongs to" : "runs as", (unsigned)found,
	    (unsigned)geteuid(), named);
}

/* Checks whose the directory is before anything in it is believed: ours, or of
 * somebody trusted whom nobody else can have made it for. */
static int
check_dir(struct psup *p, const char *dir, uid_t *ret_owner)
{
	struct stat st;
	char why[512];
	int fd;

	*ret_owner = geteuid();
	if (lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
	    st.st_uid != geteuid()) {
		*ret_owner = st.st_uid;
		if (!is_trusted(p, st.st_uid))
			return foreign_error(p, "The runtime directory", dir,
			    st.st_uid);
		if ((st.st_mode & 027) == 0)
			return PSUP_OK;
		return error_set(p, PSUP_ERR_SYSTEM, "system", "",
		    "The runtime directory %s has mode 0%03o, others may get "
		    "in; expected 0700 or 0710.", dir,
		    (unsigned)(st.st_mode & 07777));
	}
	fd = rundir_open(dir, false, true, why, sizeof(why));
	if (fd == -ENOENT)
		return connect_error(p, ENOENT, dir);
	if (fd < 0)
		return error_set(p, PSUP_ERR_SYSTEM, "system", "", "%s", why);
	close(fd);
	return PSUP_OK;
}

/* An access control list lets in whom the mode does not show. */
static int
check_acl(struct psup *p, const char *path)
{
	if (lgetxattr(path, "system.posix_acl_access", NULL, 0) <= 0)
		return PSUP_OK;
	return error_set(p, PSUP_ERR_SYSTEM, "system", "",
	    "%s has an access control list, which may let others in; expected "
	    "none (setfacl -b takes it away)", path);
}

/* Does the server run as somebody trusted, the directory's owner? Asked before
 * the first byte is sent. */
static int
check_server(struct psup *p, int fd, uid_t owner, const char *dir)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return error_errno(p, errno, "SO_PEERCRED");
	if (!is_trusted(p, cred.uid))
		return foreign_error(p, "the server at", dir, cred.uid);
	if (cred.uid != owner)
		return error_set(p, PSUP_ERR_SYSTEM, "system", "",
		    "the server at %s runs as uid %u; expected uid %u, who "
		    "owns the directory", dir, (unsigned)cred.uid,
		    (unsigned)owner);
	return PSUP_OK;
}

int
wire_connect(struct psup *p, const char *dir, int timeout_ms)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval limit = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
	int fd, n, rc;
	uid_t owner;

	n = snprintf(address.sun_path, sizeof(address.sun_path), "%s/sock",
	    dir);
	if (n < 0 || (size_t)n >= sizeof(address.sun_path))
		return error_set(p, PSUP_ERR_SYSTEM, "system", "",
		    "%s: the path is too long for a socket", dir);
	rc = check_dir(p, dir, &owner);
	if (rc == PSUP_OK)
		rc = check_acl(p, dir);
	if (rc == PSUP_OK)
		rc = check_acl(p, address.sun_path);
	if (rc != PSUP_OK)
		return rc;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_errno(p, errno, "socket");
	/* connect() to a full backlog waits as long as a send would */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	do {
		n = connect(fd, (const struct sockaddr *)&address,
		    sizeof(address));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		rc = connect_error(p, errno, dir);
	else if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		rc = error_errno(p, errno, "fcntl");
	else
		rc = check_server(p, fd, owner, dir);
	if (rc != PSUP_OK) {
		close(fd);
		return rc;
	}
	return fd;
}

int
wire_flush(struct psup *p)
{
	struct buffer *b = &p->out;
	ssize_t n;

	while (b->at < b->len) {
		n = send(p->fd, b->data + b->at, b->len - b->at, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		b->at += (size_t)n;
	}
	buffer_wipe(b);
	buffer_shrink(b);
	return 0;
}

ssize_t
wire_fill(struct psup *p, size_t max)
{
	struct buffer *b = &p->in;
	ssize_t n;

	if (buffer_reserve(b, max) < 0)
		return -ENOMEM;
	do {
		n = recv(p->fd, b->data + b->len, max, 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	b->len += (size_t)n;
	return n;
}
