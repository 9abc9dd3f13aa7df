/* SPDX-License-Identifier: MIT */
/*
 * Where in version 2 the keeper's group is made, so that it can bound what runs.
 * A group there gives controllers to those below it only while no process is in
 * itself, and that of a service (Delegate=yes) begins with the keeper in it. A
 * keeper that is alone in its group goes into one below, beside which its commands'
 * is made then, and comes before it where processors are given, too: the scheduler
 * knows no autogroups in there. Where others are in it (a login's, a client that
 * started the server) nothing is given, and limits are rlimits.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"
#include "kfile.h"
#include "supervisor/keeper/state.h"

#define OWN_NAME "/psupd"

/* In the group itself, not below. */
static bool
is_alone(const char *group)
{
	char path[HERITAGE_GROUP_MAX + 32], text[64], self[16];

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	(void)snprintf(self, sizeof(self), "%d\n", (int)getpid());
	return kfile_read(AT_FDCWD, path, text, sizeof(text)) > 0 &&
	    strcmp(text, self) == 0;
}

static bool
move_to(const char *group)
{
	char path[HERITAGE_GROUP_MAX + 32];

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	return kfile_write_number(AT_FDCWD, path, getpid()) == 0;
}

/* The root's may have processes and give all the same. Of another with processes
 * the kernel refuses memory, but not pids or cpu: it makes its threads what is
 * shared out, for as long as it is there, and who is below gets no process. */
static bool
may_give(const char *group)
{
	char path[HERITAGE_GROUP_MAX + 32], text[64];

	(void)snprintf(path, sizeof(path), "%s/cgroup.type", group);
	if (faccessat(AT_FDCWD, path, F_OK, 0) != 0)
		return true;
	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	return kfile_read(AT_FDCWD, path, text, sizeof(text)) == 0;
}

/* Those of the controllers that the group has; how many. */
static unsigned
give(const char *group, const char *const *controllers)
{
	char path[HERITAGE_GROUP_MAX + 32], word[32];
	unsigned n = 0;

	if (!may_give(group))
		return 0;
	(void)snprintf(path, sizeof(path), "%s/cgroup.subtree_control", group);
	for (; *controllers != NULL; controllers++) {
		(void)snprintf(word, sizeof(word), "+%s", *controllers);
		n += kfile_write(AT_FDCWD, path, word) == 0;
	}
	return n;
}

bool
group_place(char *own, const char *const *bounds, const char *const *shares)
{
	char below[HERITAGE_GROUP_MAX];
	size_t n = strlen(own), tail = sizeof(OWN_NAME) - 1;

	/* a keeper before us, systemd's DelegateSubgroup= or a hand has made it */
	if (n > tail && strcmp(own + n - tail, OWN_NAME) == 0) {
		own[n - tail] = '\0';
		if (give(own, bounds) > 0) {
			(void)give(own, shares);
			return true;
		}
		own[n - tail] = '/';
	}
	if (!is_alone(own))
		return give(own, bounds) > 0;
	(void)snprintf(below, sizeof(below), "%s" OWN_NAME, own);
	if (mkdir(below, 0755) != 0 && errno != EEXIST)
		return false;
	if (move_to(below) && give(own, bounds) > 0) {
		(void)give(own, shares);
		return true;
	}
	(void)move_to(own);
	(void)rmdir(below);
	return false;
}

bool
group_come_first(const char *tree)
{
	char own[HERITAGE_GROUP_MAX + 32];
	size_t n, tail = sizeof(OWN_NAME) - 1;

	if (cgroup_own_path(CGROUP_UNIFIED, own, HERITAGE_GROUP_MAX) < 0)
		return false;
	n = strlen(own);
	if (n <= tail || strcmp(own + n - tail, OWN_NAME) != 0 ||
	    strncmp(own, tree, n - tail + 1) != 0 ||
	    strchr(tree + n - tail + 1, '/') != NULL)
		return false;
	(void)snprintf(own + n, sizeof(own) - n, "/cpu.weight");
	return kfile_write_number(AT_FDCWD, own, HERITAGE_OWN_WEIGHT) == 0;
}
