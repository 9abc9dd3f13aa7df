/* SPDX-License-Identifier: MIT */
/*
 * Where psup metrics listens: this machine alone. Who wants the numbers from
 * afar puts a proxy in front, which knows who may ask.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "scrape.h"

#define BACKLOG 16

static struct stat made; /* the socket's file; st_ino 0: none */

/* The path of "unix:/PATH" or "/PATH"; NULL: an address of another kind. */
static const char *
path_of(const char *address)
{
	if (strncmp(address, "unix:", 5) == 0)
		return address + 5;
	return address[0] == '/' ? address : NULL;
}

/* Is this an address that only this machine reaches? */
static bool
is_loopback(const struct sockaddr *a)
{
	if (a->sa_family == AF_INET) {
		const struct sockaddr_in *in =
		    (const struct sockaddr_in *)(const void *)a;

		return (ntohl(in->sin_addr.s_addr) >> 24) == 127;
	}
	if (a->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in =
		    (const struct sockaddr_in6 *)(const void *)a;

		return IN6_IS_ADDR_LOOPBACK(&in->sin6_addr);
	}
	return false;
}

/* A socket of this address; -errno. */
static int
listen_at(const struct sockaddr *a, socklen_t len)
{
	int fd, on = 1, err;

	fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0);
	if (fd < 0)
		return -errno;
	if (a->sa_family != AF_UNIX)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on,
		    sizeof(on));
	if (bind(fd, a, len) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	err = errno;
	close(fd);
	return -err;
}

/* A path: made 0600, in place of one that nobody listens at any more. */
static int
bind_unix(const char *path, char *shown, size_t size)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct stat st;
	mode_t mask;
	int fd, probe;

	if (path[0] != '/' || strlen(path) >= sizeof(a.sun_path)) {
		snprintf(shown, size, "unix: wants an absolute path of at most "
		    "%zu bytes", sizeof(a.sun_path) - 1);
		return SCRAPE_NO_ADDRESS;
	}
	memcpy(a.sun_path, path, strlen(path) + 1);
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode)) {
		probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (probe >= 0 && connect(probe, (struct sockaddr *)&a,
			sizeof(a)) < 0 && errno == ECONNREFUSED)
			(void)unlink(path);
		if (probe >= 0)
			close(probe);
	}
	mask = umask(0177);
	fd = listen_at((struct sockaddr *)&a, sizeof(a));
	umask(mask);
	if (fd < 0) {
		snprintf(shown, size, "%.200s cannot be listened at: %s", path,
		    strerror(-fd));
		return -1;
	}
	if (lstat(path, &made) < 0)
		made.st_ino = 0;
	snprintf(shown, size, "unix:%s", path);
	return fd;
}

/* HOST:PORT in two; brackets stand round an IPv6 address. */
static bool
split(const char *address, char *host, size_t size, const char **ret_port)
{
	const char *colon = strrchr(address, ':');
	size_t n = colon != NULL ? (size_t)(colon - address) : 0;

	if (n == 0 || colon[1] == '\0' ||
	    strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
	    strlen(colon + 1) > 5 || atoi(colon + 1) > 65535)
		return false;
	if (address[0] == '[' && address[n - 1] == ']') {
		address++;
		n -= 2;
	}
	if (n == 0 || n >= size || memchr(address, '[', n) != NULL)
		return false;
	memcpy(host, address, n);
	host[n] = '\0';
	*ret_port = colon + 1;
	return true;
}

/* The address that the kernel gave: port 0 asks for any. */
static void
show_address(int fd, char *shown, size_t size)
{
	struct sockaddr_storage a = {0};
	socklen_t len = sizeof(a);
	char host[64] = "?", port[8] = "?";

	if (getsockname(fd, (struct sockaddr *)&a, &len) == 0)
		(void)getnameinfo((struct sockaddr *)&a, len, host,
		    sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(shown, size,
	    a.ss_family == AF_INET6 ? "http://[%s]:%s/metrics"
	                            : "http://%s:%s/metrics", host, port);
}

int
scrape_bind(const char *address, char *shown, size_t size)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
	    .ai_flags = AI_NUMERICSERV | AI_NUMERICHOST};
	const char *port, *path = path_of(address);
	struct addrinfo *list = NULL;
	char host[64];
	int fd;

	if (path != NULL)
		return bind_unix(path, shown, size);
	if (!split(address, host, sizeof(host), &port)) {
		snprintf(shown, size, "--listen %.80s: /PATH of a socket, "
		    "127.0.0.1:PORT or [::1]:PORT is expected", address);
		return SCRAPE_NO_ADDRESS;
	}
	/* a name is nobody's to choose but localhost's */
	if (strcmp(host, "localhost") == 0)
		snprintf(host, sizeof(host), "127.0.0.1");
	if (getaddrinfo(host, port, &hints, &list) != 0 ||
	    !is_loopback(list->ai_addr)) {
		snprintf(shown, size, "--listen %.80s: only addresses of this "
		    "machine's loopback are taken (127.0.0.1, [::1]); put a "
		    "proxy in front for others", address);
		if (list != NULL)
			freeaddrinfo(list);
		return SCRAPE_NO_ADDRESS;
	}
	fd = listen_at(list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	if (fd < 0) {
		snprintf(shown, size, "%.80s cannot be listened at: %s",
		    address, strerror(-fd));
		return -1;
	}
	show_address(fd, shown, size);
	return fd;
}

bool
scrape_is_loopback(const char *host)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
	    .ai_flags = AI_NUMERICHOST};
	size_t n = host[0] == '[' ? strcspn(host, "]") : strcspn(host, ":");
	bool v6 = host[0] == '[' && host[n] == ']';
	const char *rest = host + n + v6;
	struct addrinfo *list = NULL;
	char name[64];
	bool ours;

	if (n - v6 >= sizeof(name) ||
	    (rest[0] != '\0' && (rest[0] != ':' || strlen(rest) > 6 ||
	        strspn(rest + 1, "0123456789") != strlen(rest + 1))))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(n - v6), host + v6);
	if (strcasecmp(name, "localhost") == 0)
		return true;
	if (getaddrinfo(name, NULL, &hints, &list) != 0)
		return false;
	ours = is_loopback(list->ai_addr) &&
	    (list->ai_family == AF_INET6) == v6;
	freeaddrinfo(list);
	return ours;
}

void
scrape_unbind(const char *address)
{
	const char *path = path_of(address);
	struct stat st;

	if (path != NULL && lstat(path, &st) == 0 && st.st_ino == made.st_ino &&
	    st.st_dev == made.st_dev)
		(void)unlink(path);
}
