/* SPDX-License-Identifier: MIT */
/* psup doctor: the server, its version, and what dead ones have left. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor.h"

static void
probe_server(const struct doctor *d, struct finding *f)
{
	struct doctor_server s = {0};

	d->calls->server(d->calls->arg, &s);
	if (s.other_version) {
		finding_set(f, DOCTOR_PROBLEM, "the server's shared memory is "
		    "of another version of psup than this one, %s%s%s",
		    d->version, s.version[0] != '\0' ? ": " : "", s.version);
		finding_remedy(f, "use the psup that belongs to the server; or "
		    "bring the server to this version: psup upgrade");
	} else if (!s.runs) {
		finding_set(f, DOCTOR_OK, "%s", s.said);
	} else if (s.version[0] != '\0' && strcmp(s.version, d->version) != 0) {
		finding_set(f, DOCTOR_WARNING, "the server is psup %s, this is "
		    "%s", s.version, d->version);
		finding_remedy(f, "psup upgrade brings the server to the "
		    "version that is installed");
	} else {
		finding_set(f, DOCTOR_OK, "it runs%s%s",
		    s.version[0] != '\0' ? ", psup " : "", s.version);
	}
}

/* Does a keeper live in that directory? It holds the lock. 1, 0 or -errno. */
static int
is_alive(const char *dir)
{
	char path[DOCTOR_PATH + 8];
	int fd, r = 0;

	snprintf(path, sizeof(path), "%s/lock", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		r = errno == EWOULDBLOCK ? 1 : -errno;
	close(fd);
	return r;
}

/* Directories like the default ones that are ours and that nobody lives in:
 * how many, the first of them in `ret`. */
static size_t
count_stale(const struct doctor *d, char *ret, size_t size)
{
	char dir[DOCTOR_PATH], path[DOCTOR_PATH + 260];
	struct stat st;
	struct dirent *e;
	size_t n = 0;
	DIR *h;

	doctor_path(d, dir, "/dev/shm");
	h = opendir(dir);
	while (h != NULL && (e = readdir(h)) != NULL) {
		if (strncmp(e->d_name, "psup-", 5) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) ||
		    st.st_uid != d->uid || is_alive(path) != 0)
			continue;
		if (n++ == 0)
			snprintf(ret, size, "%s",
			    path + strlen(d->root));
	}
	if (h != NULL)
		closedir(h);
	return n;
}

static void
probe_stale(const struct doctor *d, struct finding *f)
{
	char first[300] = "", path[DOCTOR_PATH];
	size_t n = count_stale(d, first, sizeof(first));
	bool own;

	doctor_path(d, path, "%s", d->runtime_dir);
	own = is_alive(path) == 0;
	finding_set(f, DOCTOR_OK, "no directory of a server that has died");
	if (n > 0 && !(n == 1 && own)) {
		finding_set(f, DOCTOR_NOTE, "%zu director%s of servers that "
		    "have ended hold memory: %s%s", n, n == 1 ? "y" : "ies",
		    first, n > 1 ? " and others" : "");
		finding_remedy(f, "rm -r %s, once its output is not wanted any "
		    "more", first);
	} else if (own) {
		finding_set(f, DOCTOR_NOTE, "%s holds what the last server "
		    "left; the next start takes it over", d->runtime_dir);
		finding_remedy(f, "psupd --detach, or psup exec: both start "
		    "one");
	}
}

const struct doctor_check doctor_server_checks[] = {
	{"server", probe_server},
	{"stale", probe_stale},
	{NULL, NULL}};
