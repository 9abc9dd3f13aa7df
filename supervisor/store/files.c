/* SPDX-License-Identifier: MIT */
/*
 * Rings and spools in the runtime directory, by their names: a new master looks
 * there for what its index does not know. Called by recover.c.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/rundir.h"
#include "supervisor/master.h"

/* The files of sessions in a directory, one after the other; none where it
 * cannot be read. */
static DIR *
dir_open(const struct master *m, const char *dir)
{
	int fd = openat(m->dirfd, dir,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (d == NULL && fd >= 0)
		close(fd);
	return d;
}

/* The next one, and whose it is. NULL: there are no more. */
static const char *
dir_next(DIR *d, struct sid *ret)
{
	struct dirent *de;

	while (d != NULL && (de = readdir(d)) != NULL) {
		if (strlen(de->d_name) != 16 ||
		    strspn(de->d_name, "0123456789abcdef") != 16)
			continue;
		ret->v = strtoull(de->d_name, NULL, 16);
		if (ret->v != 0)
			return de->d_name;
	}
	return NULL;
}

static void
dir_close(DIR *d)
{
	if (d != NULL)
		closedir(d);
}

/* Rings and spools that no record speaks of are unlinked; rings become records
 * again where the index is damaged. */
void
files_sweep(struct master *m, const char *dir, bool adopt)
{
	DIR *d = dir_open(m, dir);
	const char *name;
	struct sid sid;

	while ((name = dir_next(d, &sid)) != NULL) {
		if (session_by_sid(m, sid) != NULL || spares_has(m, sid))
			continue;
		if (adopt)
			adopt_ended(m, sid);
		else
			(void)unlinkat(dirfd(d), name, 0);
	}
	dir_close(d);
}

/* What an earlier master had put aside for workers (spares.h). */
void
files_drop_spares(struct master *m)
{
	DIR *d = dir_open(m, "rings");
	struct dirent *de;

	while (d != NULL && (de = readdir(d)) != NULL)
		if (strlen(de->d_name) == 16 + strlen(RUNDIR_SPARE) &&
		    strcmp(de->d_name + 16, RUNDIR_SPARE) == 0)
			(void)unlinkat(dirfd(d), de->d_name, 0);
	dir_close(d);
}

/* Numbers that were given to sessions of which the index knows nothing any
 * more: those whose rings are there, and, by the clock, those that are
 * forgotten. Before anybody asks for a new one. */
void
files_skip_numbers(struct master *m)
{
	uint64_t next = (clock_wall_ms() / 1000) << 20;
	DIR *d = dir_open(m, "rings");
	struct sid sid;

	while (dir_next(d, &sid) != NULL)
		if (sid.v >= next && sid_is_real(sid))
			next = sid.v + 1;
	dir_close(d);
	if (next > m->next_sid)
		m->next_sid = next;
}

/* Is there any session's output? */
bool
files_has_rings(const struct master *m)
{
	DIR *d = dir_open(m, "rings");
	struct sid sid;
	bool any = dir_next(d, &sid) != NULL;

	dir_close(d);
	return any;
}
