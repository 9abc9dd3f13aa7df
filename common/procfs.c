/* SPDX-License-Identifier: MIT */
/* See procfs.h. */
#include "common/procfs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/kfile.h"

/* The fields of a stat, as proc(5) numbers them. */
enum { PPID = 4, PGRP, SID, TTY_PGRP = 8, FLAGS, UTIME = 14, STIME, CUTIME,
       CSTIME, START = 22, SIZE, RSS, PENDING = 31, ENV_END = 51, FIELDS };

#define EXITING 0x4u /* PF_EXITING */

static void
path_of(int32_t pid, const char *file, char *ret, size_t size)
{
	(void)snprintf(ret, size, "/proc/%d/%s", (int)pid, file);
}

ssize_t
procfs_file(int32_t pid, const char *file, char *ret, size_t size)
{
	char path[64];

	path_of(pid, file, path, sizeof(path));
	return kfile_read(AT_FDCWD, path, ret, size);
}

int
procfs_write(int32_t pid, const char *file, const char *text)
{
	char path[64];

	path_of(pid, file, path, sizeof(path));
	return kfile_write(AT_FDCWD, path, text);
}

bool
procfs_number(int32_t pid, const char *file, const char *key, uint64_t *ret)
{
	char text[4096], *at = text, *end;
	size_t len = strlen(key);
	uint64_t v;

	if (procfs_file(pid, file, text, sizeof(text)) <= 0)
		return false;
	while (strncmp(at, key, len) != 0) {
		at = strchr(at, '\n');
		if (at == NULL)
			return false;
		at++;
	}
	v = strtoull(at + len, &end, 10);
	if (end == at + len)
		return false;
	*ret = v;
	return true;
}

bool
procfs_parse(const char *text, struct procfs_stat *ret)
{
	const char *name = strchr(text, '(');
	const char *p = strrchr(text, ')'); /* the name may hold anything */
	uint64_t v[FIELDS] = {0};
	char *end;
	int i;

	if (name == NULL || p == NULL || p < name || p[1] != ' ' ||
	    p[2] == '\0')
		return false;
	*ret = (struct procfs_stat){.pid = (int32_t)strtol(text, NULL, 10),
	    .state = p[2]};
	(void)snprintf(ret->name, sizeof(ret->name), "%.*s",
	    (int)(p - name - 1), name + 1);
	p += 3;
	for (i = PPID; i < FIELDS; i++, p = end) {
		v[i] = strtoull(p, &end, 10);
		if (end == p)
			break;
	}
	ret->ppid = (int32_t)v[PPID];
	ret->pgrp = (int32_t)v[PGRP];
	ret->sid = (int32_t)v[SID];
	ret->tty_pgrp = (int32_t)v[TTY_PGRP];
	ret->flags = (unsigned)v[FLAGS];
	ret->ticks = v[UTIME] + v[STIME] + v[CUTIME] + v[CSTIME];
	ret->start = v[START];
	ret->size = v[SIZE];
	ret->rss_pages = (int64_t)v[RSS] > 0 ? (int64_t)v[RSS] : 0;
	ret->env_end = v[ENV_END];
	ret->pending = v[PENDING];
	return i > RSS;
}

int
procfs_stat(int32_t pid, struct procfs_stat *ret)
{
	char text[1024];
	ssize_t n = procfs_file(pid, "stat", text, sizeof(text));
	struct procfs_stat st;

	if (n <= 0)
		return n < 0 ? (int)n : -ESRCH;
	if (!procfs_parse(text, &st))
		return -EBADMSG;
	*ret = st;
	return 0;
}

bool
procfs_has_ended(const struct procfs_stat *s)
{
	return s->state == 'Z' || s->state == 'X';
}

bool
procfs_is_dying(const struct procfs_stat *s)
{
	return s->state == 'R' && ((s->flags & EXITING) != 0 ||
	    (s->pending & 1u << (SIGKILL - 1)) != 0);
}

bool
procfs_alive(int32_t pid, struct procfs_stat *ret)
{
	struct procfs_stat st;

	if (procfs_stat(pid, &st) < 0 || procfs_has_ended(&st))
		return false;
	*ret = st;
	return true;
}

/* "/proc/self" is ours even where /proc is another namespace's, in which our
 * number is somebody else's. */
int
procfs_walk_begin(struct procfs_walk *w, int32_t pid)
{
	char path[64];

	if (pid == getpid())
		(void)snprintf(path, sizeof(path),
		    "/proc/self/task/%d/children", (int)pid);
	else
		(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
		    (int)pid, (int)pid);
	w->have = 0;
	w->text[0] = '\0';
	w->fd = open(path, O_RDONLY | O_CLOEXEC);
	return w->fd < 0 ? -errno : 0;
}

bool
procfs_walk_some(struct procfs_walk *w, bool (*each)(void *arg, int32_t child),
    void *arg)
{
	char *p = w->text, *end;
	bool more = true;
	ssize_t n;

	w->pause = false;
	if (strchr(p, ' ') == NULL) {
		n = read(w->fd, w->text + w->have,
		    sizeof(w->text) - 1 - w->have);
		more = n > 0;
		w->have += n > 0 ? (size_t)n : 0;
		w->text[w->have] = '\0';
	}
	/* the last number may be cut: only one that a blank ends */
	while (more && !w->pause && (end = strchr(p, ' ')) != NULL) {
		more = each(arg, (int32_t)strtol(p, NULL, 10));
		p = end + 1;
	}
	w->have = (size_t)(w->text + w->have - p);
	memmove(w->text, p, w->have + 1);
	if (!more) {
		(void)close(w->fd);
		w->fd = -1;
	}
	return more;
}

int
procfs_each_child(int32_t pid, bool (*each)(void *arg, int32_t child),
    void *arg)
{
	struct procfs_walk w;
	int r = procfs_walk_begin(&w, pid);

	while (r == 0 && procfs_walk_some(&w, each, arg))
		;
	return r;
}

struct gather {
	int32_t *pids;
	size_t count, max;
};

static bool
gather_one(void *arg, int32_t child)
{
	struct gather *g = arg;

	if (g->count == g->max)
		return false;
	g->pids[g->count++] = child;
	return true;
}

size_t
procfs_children(int32_t pid, int32_t *ret, size_t max)
{
	struct gather g = {.pids = ret, .max = max};

	(void)procfs_each_child(pid, gather_one, &g);
	return g.count;
}

int32_t
procfs_next(DIR *proc)
{
	const struct dirent *e;

	while (proc != NULL && (e = readdir(proc)) != NULL)
		if (isdigit((unsigned char)e->d_name[0]))
			return (int32_t)strtol(e->d_name, NULL, 10);
	return 0;
}

/* psup's own are not dumpable, so nobody but root may list theirs; how many
 * there are, newer kernels say as the size of the directory. */
int64_t
procfs_count_fds(int32_t pid)
{
	char path[48];
	struct stat st;
	int64_t n = 0;
	DIR *d;

	path_of(pid, "fd", path, sizeof(path));
	if (stat(path, &st) == 0 && st.st_size > 0)
		return st.st_size;
	d = opendir(path);
	if (d == NULL)
		return -1;
	for (const struct dirent *e; (e = readdir(d)) != NULL;)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}
